"""The tools, resources and prompts that the scenarios of MCP's conformance package name, and a few more.

One function, `register`, puts them on any FastMCP server, so that what differs between two runs is the
server and nothing else. Names, texts and behaviour are those of the scenarios' descriptions. The tools named
`more_…` are ours: results the scenarios never ask for and clients get every day.
"""

from __future__ import annotations

import asyncio
import base64
import json
import struct
import warnings
import zlib
from typing import Annotated, Any, Final

import mcp_types as mt
from fastmcp import Context, FastMCP
from fastmcp.exceptions import ToolError
from fastmcp.prompts import Message, Prompt
from fastmcp.tools.function_tool import FunctionTool
from mcp import MCPError
from pydantic import Field

PAUSE: Final = 0.05  # seconds; what the scenarios ask for between two notifications


def register(mcp: FastMCP[Any]) -> FastMCP[Any]:
    """Put every fixture on `mcp` and return it."""
    for name, content in CONTENT.items():
        mcp.tool(name=name, description=f"Return fixed content: {name}.")(_answering(content))
    for name, (message, schema) in QUESTIONS.items():
        mcp.tool(name=name, description=f"Ask the person during the call: {name}.")(_eliciting(message, schema))
    for name, rounds in ROUNDS.items():
        mcp.tool(name=name, description=f"Ask for input and be called again: {name}.")(_asking(*rounds))
    for tool in TOOLS:
        mcp.tool(tool)
    schema_tool = FunctionTool.from_function(json_schema_2020_12_tool)
    schema_tool.parameters = JSON_SCHEMA
    mcp.add_tool(schema_tool)
    _register_resources(mcp)
    _register_prompts(mcp)
    mcp.completion(_complete)
    return mcp


# ---- content ----


def _png() -> str:
    """Return one red pixel as a PNG in base64."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0)
    chunks = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"\0\xff\0\0")) + chunk(b"IEND", b"")
    return base64.b64encode(b"\x89PNG\r\n\x1a\n" + chunks).decode()


def _wav() -> str:
    """Return one silent sample as a WAV in base64."""
    fields = (b"RIFF", 38, b"WAVE", b"fmt ", 16, 1, 1, 8000, 16000, 2, 16, b"data", 2, 0)
    return base64.b64encode(struct.pack("<4sI4s4sIHHIIHH4sIh", *fields)).decode()


def _resource(uri: str, mime_type: str, text: str) -> mt.EmbeddedResource:
    return mt.EmbeddedResource(
        type="resource", resource=mt.TextResourceContents(uri=uri, mime_type=mime_type, text=text)
    )


PNG: Final = _png()
IMAGE: Final = mt.ImageContent(type="image", data=PNG, mime_type="image/png")

CONTENT: Final[dict[str, list[mt.ContentBlock]]] = {
    "test_image_content": [IMAGE],
    "test_audio_content": [mt.AudioContent(type="audio", data=_wav(), mime_type="audio/wav")],
    "test_embedded_resource": [
        _resource("test://embedded-resource", "text/plain", "This is an embedded resource content.")
    ],
    "test_multiple_content_types": [
        mt.TextContent(type="text", text="Multiple content types test:"),
        IMAGE,
        _resource("test://mixed-content-resource", "application/json", json.dumps({"test": "data", "value": 123})),
    ],
}


def _answering(content: list[mt.ContentBlock]) -> Any:
    def answer() -> list[mt.ContentBlock]:
        return content

    return answer


# ---- tools with something of their own to do ----


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
    """Fail in a way nobody foresaw."""
    raise LookupError("no such row")


async def test_tool_with_logging(ctx: Context) -> str:
    """Send three log messages."""
    for message in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        await ctx.info(message)
        await asyncio.sleep(PAUSE)
    return "Three log messages were sent."


async def test_logging_tool(ctx: Context) -> str:
    """Send a log message, which nobody gets who did not ask for it."""
    await ctx.info("A log message")
    return "A log message was sent."


async def test_tool_with_progress(ctx: Context) -> str:
    """Report progress three times."""
    for progress in (0, 50, 100):
        await ctx.report_progress(progress, 100)
        await asyncio.sleep(PAUSE)
    return "Progress was reported."


async def test_reconnection(ctx: Context) -> str:
    """Close the stream of the call and answer when the client is back."""
    await ctx.close_sse_stream()
    await asyncio.sleep(PAUSE)
    return "Reconnection test completed."


async def test_sampling(prompt: str, ctx: Context) -> str:
    """Ask the client's model during the call."""
    asked = mt.SamplingMessage(role="user", content=mt.TextContent(type="text", text=prompt))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # deprecated in 2026-07-28, and what the scenario of 2025-11-25 wants
        answer = await ctx.session.create_message([asked], max_tokens=100, related_request_id=ctx.request_id)
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
    """Refuse a client that did not say it can sample."""
    if not _can(ctx, mt.ClientCapabilities(sampling=mt.SamplingCapability())):
        raise MCPError(
            code=mt.MISSING_REQUIRED_CLIENT_CAPABILITY,
            message="This tool needs the client capability `sampling`.",
            data={"requiredCapabilities": {"sampling": {}}},
        )
    return "The client can sample."


def test_input_required_result_capabilities(ctx: Context) -> str | mt.InputRequiredResult:
    """Ask only for what the client says it can do."""
    asks: dict[str, tuple[mt.ClientCapabilities, mt.InputRequest]] = {
        "user_name": (mt.ClientCapabilities(elicitation=mt.ElicitationCapability()), NAME),
        "capital_question": (mt.ClientCapabilities(sampling=mt.SamplingCapability()), CAPITAL),
    }
    possible = {key: request for key, (capability, request) in asks.items() if _can(ctx, capability)}
    return _next(ctx, possible, None)


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


# ---- a schema whose keywords are all to arrive ----

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
    """Stand for its input schema, which is set by hand."""
    return "Nobody calls this."


# ---- questions during a call (handshake eras) ----


def _object(**properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties)}


_OPTIONS: Final = ["option1", "option2", "option3"]
_TITLED: Final = [{"const": f"value{n}", "title": f"{word} Option"} for n, word in enumerate(("First", "Second"), 1)]

QUESTIONS: Final[dict[str, tuple[str, dict[str, Any]]]] = {
    "test_elicitation": (
        "Please answer",
        _object(
            username={"type": "string", "description": "User's response"},
            email={"type": "string", "description": "User's email address"},
        ),
    ),
    "test_elicitation_sep1034_defaults": (
        "Please review the defaults",
        _object(
            name={"type": "string", "default": "John Doe"},
            age={"type": "integer", "default": 30},
            score={"type": "number", "default": 95.5},
            status={"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
            verified={"type": "boolean", "default": True},
        ),
    ),
    "test_elicitation_sep1330_enums": (
        "Please choose",
        _object(
            untitledSingle={"type": "string", "enum": _OPTIONS},
            titledSingle={"type": "string", "oneOf": _TITLED},
            legacyEnum={"type": "string", "enum": ["opt1", "opt2"], "enumNames": ["Option One", "Option Two"]},
            untitledMulti={"type": "array", "items": {"type": "string", "enum": _OPTIONS}},
            titledMulti={"type": "array", "items": {"anyOf": _TITLED}},
        ),
    ),
}


def _eliciting(asked: str, schema: dict[str, Any]) -> Any:
    async def elicit(ctx: Context, message: str = asked) -> str:
        answer = await ctx.session.elicit_form(message, schema, related_request_id=ctx.request_id)
        return f"User response: action={answer.action}, content={json.dumps(answer.content)}"

    return elicit


# ---- questions between two calls (2026-07-28) ----

Requests = dict[str, mt.InputRequest]


def _elicit(message: str, **properties: dict[str, Any]) -> mt.ElicitRequest:
    params = mt.ElicitRequestFormParams(message=message, requested_schema=_object(**properties))
    return mt.ElicitRequest(params=params)


def _sample(prompt: str, max_tokens: int = 100) -> mt.CreateMessageRequest:
    message = mt.SamplingMessage(role="user", content=mt.TextContent(type="text", text=prompt))
    params = mt.CreateMessageRequestParams(messages=[message], max_tokens=max_tokens)
    return mt.CreateMessageRequest(params=params)


_STRING: Final = {"type": "string"}
NAME: Final = _elicit("What is your name?", name=_STRING)
CAPITAL: Final = _sample("What is the capital of France?")
CONFIRM: Final[Requests] = {"confirm": _elicit("Please confirm", ok={"type": "boolean"})}

ROUNDS: Final[dict[str, tuple[tuple[Requests, str | None], ...]]] = {
    "test_input_required_result_elicitation": (({"user_name": NAME}, None),),
    "test_input_required_result_sampling": (({"capital_question": CAPITAL}, None),),
    "test_input_required_result_list_roots": (({"client_roots": mt.ListRootsRequest()}, None),),
    "test_input_required_result_request_state": ((CONFIRM, "asked to confirm"),),
    "test_input_required_result_tampered_state": ((CONFIRM, "asked to confirm"),),
    "test_input_required_result_multiple_inputs": (
        (
            {
                "user_name": NAME,
                "greeting": _sample("Generate a greeting", 50),
                "client_roots": mt.ListRootsRequest(),
            },
            "asked for all three",
        ),
    ),
    "test_input_required_result_multi_round": (
        ({"step1": _elicit("Step 1: What is your name?", name=_STRING)}, "asked for step 1"),
        ({"step2": _elicit("Step 2: What is your favorite color?", color=_STRING)}, "asked for step 2"),
    ),
    "test_streaming_elicitation": (({"user_name": NAME}, None),),
}
"""For each tool its rounds: what it asks for, and the state that the client carries to the next call."""


def _asking(*rounds: tuple[Requests, str | None]) -> Any:
    def ask(ctx: Context) -> str | mt.InputRequiredResult:
        states = [state for _, state in rounds]
        reached = states.index(ctx.request_state) if ctx.request_state in states else 0
        for requests, state in rounds[reached:]:
            asked = _next(ctx, requests, state)
            if isinstance(asked, mt.InputRequiredResult):
                return asked
        return f"{asked} {'state-ok' if ctx.request_state == states[-1] else ''}"

    return ask


def _next(ctx: Context, requests: Requests, state: str | None) -> str | mt.InputRequiredResult:
    """Return the question, or what was answered where every answer is there."""
    answers = ctx.input_responses or {}
    if not requests.keys() <= answers.keys():
        return mt.InputRequiredResult(input_requests=requests, request_state=state)
    told = {key: answers[key].model_dump(mode="json", exclude_none=True) for key in requests}
    return f"Answers: {json.dumps(told)}"


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
            Message(_resource(resourceUri, "text/plain", "Embedded resource content for testing.")),
            Message("Please process the embedded resource above."),
        ]

    @mcp.prompt(description="A prompt with a picture in it.")
    def test_prompt_with_image() -> list[Message]:
        return [Message(IMAGE), Message("Please analyze the image above.")]

    @mcp.prompt(description="A prompt that asks for input.")
    def test_input_required_result_prompt(ctx: Context) -> str | mt.InputRequiredResult:
        context = _elicit("What context should the prompt use?", context=_STRING)
        return _next(ctx, {"user_context": context}, None)


def _complete(
    _reference: object, argument: mt.CompletionArgument, _context: mt.CompletionContext | None
) -> list[str] | None:
    return [word for word in ("paris", "park", "party") if word.startswith(argument.value)]
