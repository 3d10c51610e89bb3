"""The ASGI applications: mounted in others, behind tokens, with large requests and results, for old clients."""

from __future__ import annotations

import functools
import json
import sys
from pathlib import Path
from typing import Any

import httpx2
import mcp.client.streamable_http
import pytest
from fastmcp import Client
from fastmcp.client.transports import SSETransport, StdioTransport, StreamableHttpTransport
from fastmcp.server.auth.providers.jwt import StaticTokenVerifier
from fastmcp.utilities.authorization import require_scopes
from mcp import MCPError
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Mount

from xmcp import XMCP
from xmcp_models.registry import EXTENSION_ID

HEADERS = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
BIG = "x" * 12_000_000


def weighing(**options: Any) -> XMCP:
    mcp = XMCP("weighing", **options)

    @mcp.tool
    def weigh(text: str) -> int:
        return len(text)

    return mcp


# ---- large requests and results ----


async def test_arguments_of_12_megabytes_arrive(era: str, over_http: Any, reply: Any) -> None:
    async with over_http(weighing().http_app()) as url, Client(f"{url}/mcp", mode=era, timeout=300) as client:
        assert reply(await client.call_tool_mcp("weigh", {"text": BIG})).structured == {"result": len(BIG)}


async def test_arguments_of_12_megabytes_arrive_over_sse(over_http: Any, reply: Any) -> None:
    app = weighing().http_app(transport="sse")
    async with over_http(app) as url, Client(SSETransport(f"{url}/sse"), timeout=300) as client:
        assert reply(await client.call_tool_mcp("weigh", {"text": BIG})).structured == {"result": len(BIG)}


async def test_a_request_above_the_limit_is_refused_in_words_and_the_session_lives(
    era: str, over_http: Any, reply: Any
) -> None:
    app = weighing().http_app(max_body_bytes=100_000)
    async with over_http(app) as url, Client(f"{url}/mcp", mode=era, timeout=300) as client:
        with pytest.raises(MCPError, match="longer than the 100,000 bytes this server accepts"):
            await client.call_tool_mcp("weigh", {"text": "x" * 100_000})
        assert reply(await client.call_tool_mcp("weigh", {"text": "x" * 90_000})).structured == {"result": 90_000}


@pytest.mark.parametrize("protected", [False, True])
@pytest.mark.parametrize("transport", ["http", "sse"])
async def test_the_limit_holds_on_every_endpoint(transport: Any, protected: bool, over_http: Any) -> None:
    auth = StaticTokenVerifier(tokens={"t": {"client_id": "alice", "scopes": []}}) if protected else None
    app = weighing(auth=auth).http_app(transport=transport, max_body_bytes=1000)
    headers = {**HEADERS, "Authorization": "Bearer t"}
    async with over_http(app) as url, httpx2.AsyncClient() as http:
        endpoint = f"{url}/mcp" if transport == "http" else f"{url}/messages/?session_id={'0' * 32}"
        short = await http.post(endpoint, content=b"x" * 1000, headers=headers)
        long = await http.post(endpoint, content=b"x" * 1001, headers=headers)

        async def in_pieces() -> Any:  # of which nobody has said how many there are
            for _ in range(11):
                yield b"x" * 100

        undeclared = await http.post(endpoint, content=in_pieces(), headers=headers)
    assert short.status_code in (400, 404)
    for refusal in (long, undeclared):
        assert refusal.status_code == 413
        assert "1,000 bytes" in refusal.json()["error"]["message"]


@pytest.mark.parametrize("limit", [0, -1])
def test_a_limit_is_a_positive_number(limit: int) -> None:
    with pytest.raises(ValueError, match="max_body_bytes must be a positive number"):
        weighing().http_app(max_body_bytes=limit)


LARGE = """
from xmcp import XMCP
mcp = XMCP("large", wire="always")
@mcp.tool
def text(n: int):
    return "y" * n
"""


@pytest.mark.slow
@pytest.mark.parametrize("transport", ["http", "stdio"])
async def test_results_of_8_megabytes_arrive(
    transport: str, era: str, over_http: Any, reply: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if transport == "stdio":
        file = tmp_path / "large.py"
        file.write_text(LARGE + "mcp.serve('stdio')")
        child = StdioTransport(sys.executable, [str(file)], keep_alive=False)
        async with Client(child, mode=era, timeout=300) as client:
            assert len(reply(await client.call_tool_mcp("text", {"n": 8_000_000})).llm_output) == 8_000_000
        return
    large = functools.partial(mcp.client.streamable_http.streamable_http_client, max_sse_event_size=64 << 20)
    monkeypatch.setattr("fastmcp.client.transports.http.streamable_http_client", large)
    names: dict[str, Any] = {}
    exec(LARGE, names)
    async with over_http(names["mcp"].http_app()) as url:
        line = StreamableHttpTransport(f"{url}/mcp")
        line.max_sse_event_size = 64 << 20  # FastMCP passes on a limit of its own from 4.1.4 on
        async with Client(line, mode=era, timeout=300) as client:
            assert len(reply(await client.call_tool_mcp("text", {"n": 8_000_000})).llm_output) == 8_000_000


# ---- inside another application, behind tokens, for old clients ----


@pytest.mark.parametrize("stateless", [True, False])
async def test_mounted_in_another_application_it_serves_under_its_prefix(
    era: str, stateless: bool, over_http: Any, reply: Any
) -> None:
    app = weighing().http_app(path="/mcp", stateless_http=stateless)
    site = Starlette(routes=[Mount("/tools", app)], lifespan=app.lifespan)
    async with over_http(site) as url, Client(f"{url}/tools/mcp", mode=era, timeout=300) as client:
        assert reply(await client.call_tool_mcp("weigh", {"text": "four"})).structured == {"result": 4}


async def test_a_mounted_application_can_be_started_again(over_http: Any, reply: Any) -> None:
    app = weighing().http_app(max_body_bytes=5_000_000)
    for _ in range(2):
        async with over_http(app) as url, Client(f"{url}/mcp", timeout=300) as client:
            assert reply(await client.call_tool_mcp("weigh", {"text": BIG[:4_900_000]})).structured == {
                "result": 4_900_000
            }


@pytest.mark.parametrize(("transport", "era"), [("http", "auto"), ("http", "legacy"), ("sse", "legacy")])
async def test_tokens_are_demanded_and_scopes_hide_tools(transport: Any, era: str, over_http: Any, reply: Any) -> None:
    people = {
        "reader": {"client_id": "alice", "scopes": ["read"]},
        "admin": {"client_id": "bob", "scopes": ["read", "admin"]},
    }
    mcp = weighing(auth=StaticTokenVerifier(tokens=people))

    @mcp.tool(auth=require_scopes("admin"))
    def erase() -> str:
        return "erased"

    kind = SSETransport if transport == "sse" else StreamableHttpTransport
    async with over_http(mcp.http_app(path="/mcp", transport=transport)) as url:
        for token in (None, "wrong"):
            with pytest.raises((MCPError, httpx2.HTTPStatusError, RuntimeError, ExceptionGroup)):
                async with Client(kind(f"{url}/mcp", auth=token), mode=era, timeout=300) as client:
                    await client.list_tools()
        async with Client(kind(f"{url}/mcp", auth="reader"), mode=era, timeout=300) as client:
            assert [tool.name for tool in await client.list_tools()] == ["weigh"]
            assert reply(await client.call_tool_mcp("weigh", {"text": "four"})).structured == {"result": 4}
            assert reply(await client.call_tool_mcp("erase", {})).code == "UNKNOWN_TOOL"
        async with Client(kind(f"{url}/mcp", auth="admin"), mode=era, timeout=300) as client:
            assert reply(await client.call_tool_mcp("erase", {})).llm_output == "erased"


async def test_without_a_token_the_status_is_401(over_http: Any) -> None:
    mcp = weighing(auth=StaticTokenVerifier(tokens={"t": {"client_id": "alice", "scopes": []}}))
    async with over_http(mcp.http_app()) as url, httpx2.AsyncClient() as http:
        assert (await http.post(f"{url}/mcp", json={}, headers=HEADERS)).status_code == 401


@pytest.mark.parametrize("transport", ["http", "sse"])
async def test_other_hosts_and_origins_are_refused_unless_they_are_allowed(transport: Any, over_http: Any) -> None:
    endpoint = "mcp" if transport == "http" else "messages/"
    mcp = weighing()
    hostile = ({"Origin": "https://evil.example"}, {"Host": "evil.example"})
    async with over_http(mcp.http_app(transport=transport)) as url, httpx2.AsyncClient() as http:
        answers = [await http.post(f"{url}/{endpoint}", json={}, headers={**HEADERS, **h}) for h in hostile]
    assert [answer.status_code for answer in answers] == [403, 421]
    app = mcp.http_app(transport=transport, allowed_hosts=["evil.example"], allowed_origins=["https://evil.example"])
    async with over_http(app) as url, httpx2.AsyncClient() as http:
        answers = [await http.post(f"{url}/{endpoint}", json={}, headers={**HEADERS, **h}) for h in hostile]
    assert not {answer.status_code for answer in answers} & {403, 421}


async def test_an_old_client_is_served_over_sse(over_http: Any, reply: Any) -> None:
    app = weighing().http_app(transport="sse")
    async with over_http(app) as url, Client(SSETransport(f"{url}/sse"), timeout=300) as client:
        assert client.session.protocol_version in ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
        assert EXTENSION_ID in json.dumps(client.session.server_capabilities.model_dump(by_alias=True))
        assert reply(await client.call_tool_mcp("weigh", {"text": "four"})).structured == {"result": 4}


@pytest.mark.parametrize("method", ["GET", "PUT", "POST"])
@pytest.mark.parametrize("sessions", [True, False])
async def test_a_request_without_a_token_is_told_how_to_get_one_whatever_its_method(
    method: str, sessions: bool
) -> None:
    people = {"t": {"client_id": "alice", "scopes": ["reads"]}}
    mcp = weighing(auth=StaticTokenVerifier(tokens=people, required_scopes=["reads"]))
    transport = httpx2.ASGITransport(app=mcp.http_app(stateless_http=not sessions))
    async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
        refused = await client.request(method, "/mcp")
        assert (refused.status_code, "reads" in refused.headers["www-authenticate"]) == (401, True)
        if not sessions and method != "POST":
            known = await client.request(method, "/mcp", headers={"Authorization": "Bearer t"})
            assert (known.status_code, known.headers["allow"]) == (405, "DELETE, POST")


async def test_an_author_can_serve_a_page_at_the_endpoint_of_a_protected_server() -> None:
    mcp = weighing(auth=StaticTokenVerifier(tokens={"t": {"client_id": "alice", "scopes": []}}))

    @mcp.custom_route("/mcp", methods=["GET"])
    async def page(_request: Any) -> PlainTextResponse:
        return PlainTextResponse("This is a tool server.")

    transport = httpx2.ASGITransport(app=mcp.http_app())
    async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
        assert (await client.get("/mcp")).text == "This is a tool server."
        assert (await client.put("/mcp")).status_code == 401
