"""Values that an author marks as sensitive are in no answer, in any form that the server writes."""

from __future__ import annotations

import base64
import json
import uuid
from dataclasses import dataclass
from typing import Annotated, Any

import pytest
from fastmcp import Client
from fastmcp.exceptions import ToolError
from fastmcp.server.middleware.caching import ResponseCachingMiddleware
from fastmcp.tools import Tool
from fastmcp.utilities.types import Image
from mcp_types import InputRequiredResult, TextContent
from pydantic import BaseModel, Field, SecretStr

from xmcp import XMCP, DisplayEnvelope, ToolResponse, XMCPError
from xmcp.wire import decode

SECRET = "sk-live-4711"


class Login(BaseModel):
    password: SecretStr
    token: str = Field(exclude=True)


@dataclass
class Door:
    code: int


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("p&ss<wo>rd", lambda v: v),
        ('pa"ss\\word', lambda v: v),
        ("  spaced \n", lambda v: v.strip()),
        (123456, float),
        (SecretStr("hunter22"), lambda v: v.get_secret_value()),
        (Login(password=SecretStr("hunter22"), token="tok-4711"), lambda v: [v.password.get_secret_value(), v.token]),
        (Door(90210), lambda v: v.code),
        ({"a": ["nested-secret"]}, lambda v: v["a"]),
        (b"\xff\xfebinary", lambda v: base64.b64encode(v).decode()),
        (uuid.UUID(int=7), str),
        ("secret" * 1000, lambda v: v),
        ("data:" + "x" * 200, lambda v: v),
    ],
    ids=["xml", "json", "space", "number", "SecretStr", "model", "dataclass", "nested", "bytes", "uuid",
         "longer than a summary", "data URI"],
)  # fmt: skip
async def test_a_sensitive_value_is_told_in_no_form_that_the_server_writes(value: Any, told: Any, call: Any) -> None:
    mcp = XMCP()
    leaks = told(value)

    @mcp.display_tool(server_populated=["key"], sensitive=["key"])
    def leak(how: str, key: Any, show_user: bool = False) -> Any:
        match how:
            case "data":
                return {"found": leaks, "n": 1}
            case "display":
                return DisplayEnvelope(type="table", payload=[{"found": leaks}])
            case "response":
                return ToolResponse("t", llm_output=str(leaks), display={"type": "table", "payload": [{"a": leaks}]})
            case "error":
                raise XMCPError("CONFLICT", f"with {leaks}", meta={"params": {"found": leaks}})
            case _:
                raise LookupError(leaks)

    mcp.param_provider("key")(lambda: value)
    forms = {form for leaf in (leaks if isinstance(leaks, list) else [leaks]) for form in _written(leaf)}
    for how in ("data", "display", "response", "error", "crash"):
        for show_user in (False, True):
            reply = await call(mcp, "leak", how=how, show_user=show_user)
            assert reply.filled == {"redacted": ["key"]}
            sent = reply.wire + (reply.llm_output or "") + json.dumps(reply.display) + json.dumps(reply.meta)
            assert not [form for form in forms if form in sent], how
            assert reply.code == {"error": "CONFLICT", "crash": "INTERNAL"}.get(
                how, "INVALID_PAYLOAD" if show_user and how == "data" else None
            )


def _written(leaf: Any) -> set[str]:
    text = str(leaf)
    return {text[:50], json.dumps(text)[1:-1][:50], text[:50].replace("&", "&amp;").replace("<", "&lt;")}


async def test_a_default_a_code_and_an_earlier_value_are_not_told_either(call: Any) -> None:
    mcp = XMCP()

    @mcp.tool(server_populated=["key"], sensitive=["key"])
    def default(key: str = "default-secret") -> str:
        return key

    @mcp.tool(server_populated=["key", "user"], sensitive=["key"])
    def second(user: str, key: str) -> None:
        raise XMCPError(key.upper().replace("-", "_"))

    assert (await call(mcp, "default")).llm_output == "[redacted]"
    mcp.param_provider("key")(lambda: "SK_LIVE_4711")
    mcp.param_provider("user")(lambda: "u")
    reply = await call(mcp, "second")
    assert reply.code == "TOOL_ERROR"
    assert "SK_LIVE" not in reply.wire

    @mcp.param_provider("user")
    def refuses() -> str:
        raise XMCPError("AUTH_REQUIRED", "Not with SK_LIVE_4711.")

    assert "SK_LIVE" not in (await call(mcp, "second")).wire


@pytest.mark.parametrize("wire", ["always", "negotiated"])
@pytest.mark.parametrize("adopted", [False, True])
@pytest.mark.parametrize(
    ("value", "leaks"),
    [("Musterstraße 7\n12345 Köln", "Musterstra"), ('p"ss-w0rd', "ss-w0rd"), (0.000012345, "2345"), (4711, "4711")],
)
async def test_data_with_a_sensitive_value_is_told_without_it(
    value: Any, leaks: str, adopted: bool, wire: Any, era: str
) -> None:
    """FastMCP writes the JSON of data before the values are taken out: in forms in which they cannot be found."""

    def data(key: Annotated[Any, Field(json_schema_extra={"server_populated": True, "sensitive": True})]) -> Any:
        return {"x": key, "inner": json.dumps({"pw": key}), "list": [key]}

    mcp = XMCP(wire=wire)
    if adopted:
        mcp.add_tool(Tool.from_function(data))
    else:
        mcp.tool(data)
    mcp.param_provider("key")(lambda: value)
    async with Client(mcp, mode=era) as client:
        result = await client.call_tool_mcp("data", {})
    assert leaks not in json.dumps(result.model_dump(mode="json"), ensure_ascii=False)
    text, *told = [block.text for block in result.content if isinstance(block, TextContent)]
    assert told == ([] if wire == "always" else ["Filled in by the server: key (not disclosed)."])
    if wire == "always":
        text = decode(text).llm_output or ""
    assert json.loads(text)["x"] == "[redacted]"


async def test_a_question_to_the_client_tells_no_sensitive_value() -> None:
    mcp = XMCP()

    @mcp.tool(server_populated=["key"], sensitive=["key"])
    def asks(key: str) -> InputRequiredResult:
        return InputRequiredResult.model_validate(
            {
                "resultType": "input_required",
                "inputRequests": {
                    "a": {
                        "method": "elicitation/create",
                        "params": {"message": f"use {key}?", "requestedSchema": {"type": "object", "properties": {}}},
                    }
                },
            }
        )

    mcp.param_provider("key")(lambda: SECRET)
    asked = []

    async def answers(message: str, *_: Any) -> Any:
        asked.append(message)
        return {}

    async with Client(mcp, mode="auto", elicitation_handler=answers) as client:
        with pytest.raises(RuntimeError, match="more than 10 rounds"):  # it asks for ever
            await client.call_tool_mcp("asks", {})
    assert set(asked) == {"use [redacted]?"}


@pytest.mark.parametrize("value", ["text", "table", "image", "result", "xmcp", "type", "AAAA", "payload"])
async def test_a_sensitive_value_that_is_also_a_word_of_the_protocol_breaks_nothing(value: str, call: Any) -> None:
    mcp = XMCP()

    @mcp.display_tool(server_populated=["key"], sensitive=["key"])
    def shows(key: str) -> DisplayEnvelope:
        return DisplayEnvelope(type="table", payload=[{"a": 1}], alt="fine")

    @mcp.tool(server_populated=["key"], sensitive=["key"])
    def blocks(key: str) -> list[Any]:
        return [TextContent(type="text", text="fine"), Image(data=b"\0\0\0", format="png")]

    mcp.param_provider("key")(lambda: value)
    if value not in ("payload", "type"):  # a secret that is called as a member cannot be told from it
        assert (await call(mcp, "shows", show_user=True)).display["type"] == "table"
    reply = await call(mcp, "blocks")
    assert reply.code is None
    assert reply.other_blocks[0].data == "AAAA"
    assert reply.other_blocks[0].mime_type == "image/png"


async def test_data_that_does_not_fit_its_schema_any_more_is_not_sent(call: Any) -> None:
    mcp = XMCP()

    @mcp.tool(server_populated=["year"], sensitive=["year"])
    def years(year: int) -> list[int]:
        return [year, 1999]

    mcp.param_provider("year")(lambda: 2024)
    reply = await call(mcp, "years")
    assert reply.code == "INTERNAL"
    assert "2024" not in reply.wire


async def test_a_cache_inside_of_the_server_keeps_nothing_sensitive(call: Any) -> None:
    mcp = XMCP(middleware=[ResponseCachingMiddleware()])

    @mcp.tool(server_populated=["key"], sensitive=["key"])
    def leak(key: str) -> str:
        return f"you have {key}"

    mcp.param_provider("key")(lambda: SECRET)
    for _ in range(2):
        reply = await call(mcp, "leak")
        assert reply.llm_output == "you have [redacted]"
        assert reply.filled == {"redacted": ["key"]}


async def test_what_another_tool_was_given_is_not_told(call: Any) -> None:
    mcp = XMCP()

    @mcp.tool(server_populated=["user"])
    def prof(user: str, fail: bool = False) -> str:
        if fail:
            raise XMCPError("CONFLICT", "no")
        return "prof"

    @mcp.tool
    async def asks(fail: bool, give_up: bool) -> str:
        try:
            await mcp.call_tool("prof", {"fail": fail})
        except ToolError:
            if give_up:
                raise XMCPError("NOT_FOUND", "gave up") from None
        return "done"

    mcp.param_provider("user")(lambda: "u-1")
    for fail, give_up in ((False, False), (True, False), (True, True)):
        reply = await call(mcp, "asks", fail=fail, give_up=give_up)
        assert reply.filled is None
        assert "u-1" not in reply.wire
    assert (await call(mcp, "prof", fail=True)).filled == {"values": {"user": "u-1"}}


async def test_a_value_that_may_be_told_tells_none_that_may_not(call: Any) -> None:
    mcp = XMCP()

    @mcp.tool(server_populated=["url", "key"], sensitive=["key"])
    def fetch(url: str, key: str, fail: bool = False) -> str:
        if fail:
            raise XMCPError("CONFLICT", "no")
        return "fetched"

    mcp.param_provider("url")(lambda: f"https://example.test/?key={SECRET}")
    mcp.param_provider("key")(lambda: SECRET)
    for fail in (False, True):
        reply = await call(mcp, "fetch", fail=fail)
        assert reply.filled == {"values": {"url": "https://example.test/?key=[redacted]"}, "redacted": ["key"]}
