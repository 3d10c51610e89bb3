"""Parameters that the server fills in: hidden from the caller, taken from the request, reported or kept secret."""

from __future__ import annotations

import asyncio
import logging
from typing import Annotated, Any

import pytest
from fastmcp import Client, FastMCP
from fastmcp.server.auth import StaticTokenVerifier
from fastmcp.tools import ToolResult
from mcp_types import ResourceLink, TextContent
from pydantic import BaseModel, Field

from xmcp import XMCP, DisplayEnvelope, ParamRequest, XMCPError
from xmcp_models.registry import TOOL_META_KEY

FILLED: Any = Field(json_schema_extra={"server_populated": True})
SECRET = "sk-live-4711"


class Kept(BaseModel):
    """It refers to itself, so FastMCP leaves it among the definitions."""

    inner: Kept | None = None


class Gone(BaseModel):
    inner: Gone | Kept | None = None


class Params(BaseModel):
    user: Annotated[str, FILLED]


async def listed(server: Any, era: str) -> dict[str, Any]:
    async with Client(server, mode=era) as client:
        return {tool.name: tool for tool in await client.list_tools()}


async def test_it_is_in_no_schema_and_only_its_name_in_the_metadata(era: str) -> None:
    mcp = XMCP()

    @mcp.tool(server_populated=["address", "key"], sensitive=["key"])
    def send(to: Kept, user: Annotated[str, FILLED], address: Gone, key: str, note: str = "") -> str:
        return ""

    tool = (await listed(mcp, era))["send"]
    assert tool.meta[TOOL_META_KEY] == {"server_populated": ["address", "key", "user"]}
    assert set(tool.input_schema["properties"]) == {"to", "note"}
    assert tool.input_schema["required"] == ["to"]
    assert list(tool.input_schema["$defs"]) == ["Kept"]


async def test_what_the_caller_sends_is_set_aside_whatever_it_is_and_named(call: Any) -> None:
    mcp = XMCP(strict_input_validation=True)
    seen = []

    @mcp.tool
    def orders(status: str, user: Annotated[int, FILLED]) -> int:
        seen.append(user)
        return user

    mcp.param_provider("user")(lambda: 17)
    for forged in ("x", None, {"$": []}, 17):
        reply = await call(mcp, "orders", status="open", user=forged)
        assert reply.filled == {"values": {"user": 17}, "overridden": ["user"]}
    assert (await call(mcp, "orders", status="open")).filled == {"values": {"user": 17}}
    assert set(seen) == {17}


async def test_a_server_can_refuse_instead(call: Any) -> None:
    mcp = XMCP(on_param_override="reject")
    called = []

    @mcp.tool
    def orders(user: Annotated[int, FILLED]) -> None:
        called.append(user)

    mcp.param_provider("user")(lambda: 17)
    reply = await call(mcp, "orders", user=1)
    assert reply.code == "FORBIDDEN_PARAM_OVERRIDE"
    assert reply.meta["fields"][0]["pointer"] == "/user"
    assert not called
    assert (await call(mcp, "orders")).code is None
    with pytest.raises(ValueError, match="on_param_override must be 'override' or 'reject', not 'refuse'"):
        XMCP(on_param_override="refuse")  # type: ignore[arg-type]


async def test_the_providers_own_name_comes_first_then_the_general_ones_in_order(call: Any) -> None:
    mcp = XMCP()

    @mcp.tool
    def many(a: Annotated[str, FILLED], b: Annotated[str, FILLED], c: Annotated[str, FILLED]) -> list[str]:
        return [a, b, c]

    @mcp.param_provider
    async def first(request: ParamRequest) -> Any:
        return {"a": "wrong", "b": "general"}[request.name]

    @mcp.param_provider()
    def second(request: ParamRequest) -> str | None:
        return f"second {request.tool_name}"

    @mcp.param_provider("a")
    async def own() -> str:
        await asyncio.sleep(0)
        return "own"

    assert (await call(mcp, "many")).structured == {"result": ["own", "general", "second many"]}


async def test_without_a_value_the_call_fails_and_the_function_is_not_called(
    call: Any, caplog: pytest.LogCaptureFixture
) -> None:
    mcp = XMCP()
    called = []

    @mcp.tool
    def orders(user: Annotated[str, FILLED]) -> None:
        called.append(user)

    async def missing() -> Any:
        with caplog.at_level(logging.WARNING, "xmcp.server"):
            reply = await call(mcp, "orders")
        assert (reply.code, reply.retryable) == ("MISSING_SERVER_PARAM", False)
        assert reply.meta == {"params": {"parameter": "user"}, "side_effects": "none"}
        return [record.getMessage() for record in caplog.records if record.name == "xmcp.server"][-1]

    assert "there is no provider for it" in await missing()
    mcp.param_provider("user")(lambda request: request.headers["x-user"])
    assert "raised KeyError" in await missing()
    assert "x-user" not in caplog.text  # what was looked up can be the caller's secret
    mcp.param_provider("user")(lambda: None)
    assert "returned None" in await missing()
    assert not called


async def test_none_is_a_value_where_the_parameter_takes_it_and_a_default_counts_where_nobody_has_one(
    call: Any,
) -> None:
    mcp = XMCP()

    @mcp.tool
    def t(a: Annotated[str | None, FILLED], b: Annotated[str, FILLED] = "b0", c: Annotated[Any, FILLED] = 1) -> str:
        return f"{a} {b} {c}"

    mcp.param_provider("a")(lambda: None)
    mcp.param_provider("c")(lambda: None)
    reply = await call(mcp, "t")
    assert reply.llm_output == "None b0 None"
    assert reply.filled == {"values": {"a": None, "b": "b0", "c": None}}


async def test_a_providers_failure_is_the_answer_or_is_masked(call: Any, caplog: pytest.LogCaptureFixture) -> None:
    mcp = XMCP()

    @mcp.tool
    def orders(user: Annotated[str, FILLED], n: Annotated[int, FILLED] = 0) -> None:
        return None

    @mcp.param_provider("user")
    def refuses() -> str:
        raise XMCPError("AUTH_REQUIRED", "Log in first.")

    assert (await call(mcp, "orders")).code == "AUTH_REQUIRED"
    mcp.param_provider("user")(lambda: 1 / 0)
    reply = await call(mcp, "orders")
    assert reply.code == "INTERNAL"
    assert "ZeroDivisionError" in caplog.text
    assert "Zero" not in reply.wire
    mcp.param_provider("user")(lambda: "u")
    mcp.param_provider("n")(lambda: SECRET)  # no int: the server's fault, not the caller's
    reply = await call(mcp, "orders")
    assert reply.code == "INTERNAL"
    assert "The value that the server filled in for 'n'" in caplog.text
    assert SECRET not in reply.wire.replace(f'"n":"{SECRET}"', "").replace(rf"\"n\":\"{SECRET}\"", "")
    assert SECRET not in caplog.text


async def test_a_provider_that_hangs_counts_as_time_of_the_tool(call: Any) -> None:
    mcp = XMCP()

    @mcp.tool(timeout=0.05)
    def orders(user: Annotated[str, FILLED]) -> None:
        return None

    @mcp.param_provider
    async def hangs() -> str:
        await asyncio.Event().wait()
        return ""

    assert (await call(mcp, "orders")).code == "TIMEOUT"


@pytest.mark.parametrize("how", ["text", "data", "structure", "error", "meta", "display", "blocks", "crash"])
async def test_a_sensitive_value_is_nowhere_in_an_answer(how: str, call: Any) -> None:
    mcp = XMCP()

    @mcp.display_tool(sensitive=["key"])
    def leak(
        show_user: bool,
        key: Annotated[str, FILLED],
        pin: Annotated[dict[str, Any], Field(json_schema_extra={"server_populated": True, "sensitive": True})],
    ) -> Any:
        said = f"with {key}, pin {pin['pin']}"
        match how:
            case "text":
                return said
            case "data":
                return [{key: {"deep": [said, key, pin]}}]
            case "structure":
                return ToolResult(content=[], structured_content={"a": said, "pin": pin["pin"]}, meta={"x/y": said})
            case "error":
                raise XMCPError("CONFLICT", said)
            case "meta":
                raise XMCPError("CONFLICT", "no", meta={"params": {"key": key, "pin": pin["pin"]}})
            case "display":
                return DisplayEnvelope(type="table", title=said, payload=[{"k": key, "p": pin["pin"]}])
            case "blocks":
                return [
                    TextContent(type="text", text=said),
                    ResourceLink(type="resource_link", name=said, uri=f"x:{key}"),
                ]
            case _:
                raise RuntimeError(said)

    mcp.param_provider("key")(lambda: SECRET)
    mcp.param_provider("pin")(lambda: {"pin": 90210, "ok": True})
    for show_user in (True, False):
        reply = await call(mcp, "leak", show_user=show_user, key="guess")
        assert SECRET not in reply.wire
        assert "90210" not in reply.wire
        assert reply.filled == {"redacted": ["key", "pin"], "overridden": ["key"]}
        if how in ("error", "data", "blocks") and not show_user:
            assert "[redacted]" in reply.wire


async def test_a_provider_sees_headers_and_the_verified_token(over_http: Any, era: str) -> None:
    mcp = XMCP(auth=StaticTokenVerifier(tokens={"tok": {"client_id": "alice", "scopes": ["read"]}}))
    seen = []

    @mcp.tool
    def whoami(user: Annotated[str, FILLED], place: Annotated[str, FILLED], x: int = 0) -> str:
        return f"{user} in {place}"

    @mcp.param_provider("user")
    def user(request: ParamRequest) -> str | None:
        seen.append(request)
        return request.client_id

    @mcp.param_provider("place")
    async def place(request: ParamRequest) -> str:
        return request.headers["x-place"]

    async with over_http(mcp.http_app()) as url:
        from fastmcp.client.transports import StreamableHttpTransport

        transport = StreamableHttpTransport(f"{url}/mcp", headers={"X-Place": "Rome"}, auth="tok")
        async with Client(transport, mode=era) as client:
            result = await client.call_tool_mcp("whoami", {"x": 5, "user": "eve"})
    assert result.structured_content == {"result": "alice in Rome"}
    request = seen[0]
    assert (request.tool_name, request.name, dict(request.arguments)) == ("whoami", "user", {"x": 5})
    assert request.access_token.scopes == ["read"]
    assert request.headers["authorization"] == "Bearer tok"
    assert "tok" not in repr(request).lower().replace("token", "")


async def test_off_http_there_are_no_headers_and_no_token(call: Any) -> None:
    mcp = XMCP()

    @mcp.tool
    def whoami(user: Annotated[str, FILLED]) -> str:
        return user

    mcp.param_provider(lambda request: f"{dict(request.headers)} {request.client_id}")
    assert (await call(mcp, "whoami")).llm_output == "{} None"


@pytest.mark.parametrize("parent_kind", [XMCP, FastMCP])
async def test_a_mounted_servers_own_providers_are_asked(parent_kind: Any, call: Any) -> None:
    child, parent = XMCP("child"), parent_kind("parent")

    @child.tool(sensitive=["key"], server_populated=["key"])
    def who(user: Annotated[str, FILLED], key: str) -> str:
        return f"{user} {key}"

    child.param_provider("user")(lambda: "child's")
    child.param_provider("key")(lambda: SECRET)
    parent.mount(child, namespace="c")
    reply = await call(parent, "c_who", user="x", key="y")
    assert reply.llm_output == "child's [redacted]"
    assert reply.filled == {"values": {"user": "child's"}, "redacted": ["key"], "overridden": ["key", "user"]}


async def test_a_display_tool_can_have_them(call: Any) -> None:
    mcp = XMCP()

    @mcp.display_tool
    def card(text: str, user: Annotated[str, FILLED]) -> DisplayEnvelope:
        return DisplayEnvelope(type="markdown", payload=f"{user}: {text}")

    mcp.param_provider("user")(lambda: "u")
    reply = await call(mcp, "card", text="hi", show_user=True)
    assert reply.display["payload"] == "u: hi"
    assert reply.filled == {"values": {"user": "u"}}


async def test_mcps_own_content_goes_out_with_what_was_filled_in(call: Any) -> None:
    mcp = XMCP()

    @mcp.tool
    def native(user: Annotated[str, FILLED]) -> ToolResult:
        return ToolResult(content="hi", meta={"own/x": 1})

    mcp.param_provider("user")(lambda: "u")
    async with Client(mcp) as client:
        result = await client.call_tool_mcp("native", {})
    assert '<server_populated>{"values":{"user":"u"}}</server_populated>' in result.content[0].text
    assert result.meta["own/x"] == 1


def test_what_would_hide_nothing_is_refused_at_registration() -> None:
    mcp = XMCP()

    def deep(params: list[dict[str, Params]]) -> None: ...
    def inline(params: Annotated[list[Annotated[str, FILLED]], Field()]) -> None: ...

    for fn in (deep, inline):
        with pytest.raises(ValueError, match="inside a parameter"):
            mcp.tool(fn)
    with pytest.raises(ValueError, match="names 'usr', which is not a parameter"):
        mcp.tool(server_populated=["usr"], name="t")(lambda user: None)
    with pytest.raises(ValueError, match="'user', which is not filled in by the server"):
        mcp.tool(sensitive=["user"], name="t")(lambda user: None)
    with pytest.raises(ValueError, match="show_user is set by the caller"):
        mcp.display_tool(server_populated=["show_user"], name="t")(lambda show_user=False: None)
    with pytest.raises(TypeError, match="must take one argument"):
        mcp.param_provider(lambda a, b: None)
    with pytest.raises(TypeError, match="server_populated must be a list of names"):
        mcp.tool(server_populated=7, name="t")(lambda user: None)


async def test_one_name_alone_is_one_name(era: str) -> None:
    mcp = XMCP()
    mcp.tool(server_populated="user", name="t")(lambda user, x: None)
    assert (await listed(mcp, era))["t"].meta[TOOL_META_KEY] == {"server_populated": ["user"]}


async def test_who_has_a_provider_of_its_own_is_not_filled_by_another(call: Any) -> None:
    mcp = XMCP()

    @mcp.tool
    def whoami(user: Annotated[str, FILLED]) -> str:
        return user

    mcp.param_provider(lambda: "anybody")
    mcp.param_provider("user")(lambda request: request.headers["x-user"])
    assert (await call(mcp, "whoami")).code == "MISSING_SERVER_PARAM"


def test_a_parameter_that_nobody_provides_is_told_at_the_start(caplog: pytest.LogCaptureFixture) -> None:
    mcp = XMCP()
    mcp.tool(server_populated=["user", "place"], name="t")(lambda user, place="here": user)
    mcp.param_provider("usr")(lambda: "u")
    mcp.check_tools()
    assert [record.getMessage() for record in caplog.records] == [
        "The parameter 'user' of the tool 't' has no provider yet."
    ]
    caplog.clear()
    mcp.param_provider(lambda: "anybody")
    mcp.check_tools()
    assert not caplog.records
