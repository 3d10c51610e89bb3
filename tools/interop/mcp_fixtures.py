"""The tools, resources and prompts that the scenarios of the conformance package of the MCP project call.

`register` adds them to any FastMCP server, so that two runs differ in the server and in nothing else. Names, texts and
behaviour follow the descriptions of the scenarios. The tools named `more_…` are ours: they return common results that
no scenario covers.
"""

from __future__ import annotations

import asyncio
import base64
import json
import warnings
from typing import Annotated, Any, Final

import mcp_types as mt
from fastmcp import Context, FastMCP
from fastmcp.exceptions import ToolError
from fastmcp.prompts import Message, Prompt
from fastmcp.tools.function_tool import FunctionTool
from mcp import MCPError
from pydantic import Field

from tools.interop.mcp_fixture_content import CONTENT, IMAGE, PNG, text_resource
from tools.interop.mcp_fixture_questions import (
    CAPITAL,
    NAME,
    QUESTIONS,
    ROUNDS,
    STRING,
    asking,
    elicit_request,
    eliciting,
    next_round,
)

PAUSE: Final = 0.05  # seconds between two notifications, as the scenarios require


def register(mcp: FastMCP[Any]) -> FastMCP[Any]:
    """Add every fixture to `mcp` and return it."""
    for name, content in CONTENT.items():
        mcp.tool(name=name, description=f"Return fixed content: {name}.")(_answering(content))
    for name, (message, schema) in QUESTIONS.items():
        mcp.tool(name=name, description=f"Ask the person during the call: {name}.")(eliciting(message, schema))
    for name, rounds in ROUNDS.items():
        mcp.tool(name=name, description=f"Ask for input and be called again: {name}.")(asking(*rounds))
    for tool in TOOLS:
        mcp.tool(tool)
    schema_tool = FunctionTool.from_function(json_schema_2020_12_tool)
    schema_tool.parameters = JSON_SCHEMA
    mcp.add_tool(schema_tool)
    _register_resources(mcp)
    _register_prompts(mcp)
    mcp.completion(_complete)
    return mcp


# ---- tools ----


def _answering(content: list[mt.ContentBlock]) -> Any:
    def answer() -> list[mt.ContentBlock]:
        return content

    return answer


def test_simple_text() -> str:
    """Return a sentence."""
    return "This is a simple text response for testing."


def test_error_handling() -> str:
    """Fail."""
    raise ToolError("This tool intentionally returns an error for testing")


def more_data() -> dict[str, Any]:
    """Return data."""
    return {"region": "EMEA", "revenue": [1.5, 2.0]}


def more_null() -> None:
    """Return nothing."""


def more_unexpected_error() -> str:
    """Raise an exception that no code handles."""
    raise LookupError("no such row")


async def test_tool_with_logging(ctx: Context) -> str:
    """Send three log messages."""
    for message in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        await ctx.info(message)
        await asyncio.sleep(PAUSE)
    return "Three log messages were sent."


async def test_logging_tool(ctx: Context) -> str:
    """Send a log message, which only clients get that asked for logs."""
    await ctx.info("A log message")
    return "A log message was sent."


async def test_tool_with_progress(ctx: Context) -> str:
    """Report progress three times."""
    for progress in (0, 50, 100):
        await ctx.report_progress(progress, 100)
        await asyncio.sleep(PAUSE)
    return "Progress was reported."


async def test_reconnection(ctx: Context) -> str:
    """Close the stream of the call; the client gets the answer when it connects again."""
    await ctx.close_sse_stream()
    await asyncio.sleep(PAUSE)
    return "Reconnection test completed."


async def test_sampling(prompt: str, ctx: Context) -> str:
    """Ask the client's model during the call."""
    message = mt.SamplingMessage(role="user", content=mt.TextContent(type="text", text=prompt))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # deprecated in 2026-07-28, but the scenario of 2025-11-25 needs it
        answer = await ctx.session.create_message([message], max_tokens=100, related_request_id=ctx.request_id)
    return f"LLM response: {_text_of(answer)}"


def test_header_mirroring(
    region: Annotated[str, Field(description="A region.", json_schema_extra={"x-mcp-header": "Region"})],
) -> str:
    """Return the argument that the client repeats in a header."""
    return region


def test_trigger_tool_change(ctx: Context) -> str:
    """Change the list of tools, and change it back."""
    ctx.fastmcp.add_tool(FunctionTool.from_function(test_simple_text, name="passing"))
    ctx.fastmcp.local_provider.remove_tool("passing")
    return "The list of tools has changed."


def test_trigger_prompt_change(ctx: Context) -> str:
    """Change the list of prompts, and change it back."""
    ctx.fastmcp.add_prompt(Prompt.from_function(test_simple_text, name="passing"))
    ctx.fastmcp.local_provider.remove_prompt("passing")
    return "The list of prompts has changed."


def test_missing_capability(ctx: Context) -> str:
    """Refuse a client that does not declare the capability `sampling`."""
    if not _can(ctx, mt.ClientCapabilities(sampling=mt.SamplingCapability())):
        raise MCPError(
            code=mt.MISSING_REQUIRED_CLIENT_CAPABILITY,
            message="This tool needs the client capability `sampling`.",
            data={"requiredCapabilities": {"sampling": {}}},
        )
    return "The client can sample."


def test_input_required_result_capabilities(ctx: Context) -> str | mt.InputRequiredResult:
    """Request only what the capabilities of the client allow."""
    asks: dict[str, tuple[mt.ClientCapabilities, mt.InputRequest]] = {
        "user_name": (mt.ClientCapabilities(elicitation=mt.ElicitationCapability()), NAME),
        "capital_question": (mt.ClientCapabilities(sampling=mt.SamplingCapability()), CAPITAL),
    }
    possible = {key: request for key, (capability, request) in asks.items() if _can(ctx, capability)}
    return next_round(ctx, possible, None)


TOOLS: Final = (
    test_simple_text,
    test_error_handling,
    more_data,
    more_null,
    more_unexpected_error,
    test_tool_with_logging,
    test_logging_tool,
    test_tool_with_progress,
    test_reconnection,
    test_sampling,
    test_header_mirroring,
    test_trigger_tool_change,
    test_trigger_prompt_change,
    test_missing_capability,
    test_input_required_result_capabilities,
)


def _can(ctx: Context, capability: mt.ClientCapabilities) -> bool:
    return ctx.session.check_client_capability(capability)


def _text_of(answer: Any) -> str:
    content = answer.content
    return content.text if isinstance(content, mt.TextContent) else str(content)


# ---- a schema whose keywords must all arrive ----

JSON_SCHEMA: Final[dict[str, Any]] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}


def json_schema_2020_12_tool() -> str:
    """Carry an input schema that is set by hand."""
    return "No scenario calls this tool."


# ---- resources, prompts, completion ----


def _register_resources(mcp: FastMCP[Any]) -> None:
    @mcp.resource("test://static-text", description="A text.", mime_type="text/plain")
    def static_text() -> str:
        return "This is the content of the static text resource."

    @mcp.resource("test://static-binary", description="A picture.", mime_type="image/png")
    def static_binary() -> bytes:
        return base64.b64decode(PNG)

    @mcp.resource("test://watched-resource", description="A text to subscribe to.", mime_type="text/plain")
    def watched_resource() -> str:
        return "This is the content of the watched resource."

    @mcp.resource("test://template/{id}/data", description="A text for each id.", mime_type="application/json")
    def template_data(id: str) -> str:
        return json.dumps({"id": id, "templateTest": True, "data": f"Data for ID: {id}"})


def _register_prompts(mcp: FastMCP[Any]) -> None:
    @mcp.prompt(description="A prompt.")
    def test_simple_prompt() -> str:
        return "This is a simple prompt for testing."

    @mcp.prompt(description="A prompt with two arguments.")
    def test_prompt_with_arguments(arg1: str, arg2: str) -> str:
        return f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"

    @mcp.prompt(description="A prompt with a resource in it.")
    def test_prompt_with_embedded_resource(resourceUri: str) -> list[Message]:
        return [
            Message(text_resource(resourceUri, "text/plain", "Embedded resource content for testing.")),
            Message("Please process the embedded resource above."),
        ]

    @mcp.prompt(description="A prompt with a picture in it.")
    def test_prompt_with_image() -> list[Message]:
        return [Message(IMAGE), Message("Please analyze the image above.")]

    @mcp.prompt(description="A prompt that asks for input.")
    def test_input_required_result_prompt(ctx: Context) -> str | mt.InputRequiredResult:
        context = elicit_request("What context should the prompt use?", context=STRING)
        return next_round(ctx, {"user_context": context}, None)


def _complete(
    _reference: object, argument: mt.CompletionArgument, _context: mt.CompletionContext | None
) -> list[str] | None:
    return [word for word in ("paris", "park", "party") if word.startswith(argument.value)]
