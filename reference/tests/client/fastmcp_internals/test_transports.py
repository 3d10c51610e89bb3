"""Every transport of FastMCP is replaced by a bounded one with its settings. Red means: FastMCP has changed."""

from __future__ import annotations

import gzip
import sys
from dataclasses import fields
from typing import Any

import fastmcp
import httpx2
import pytest
from fastmcp.client.transports import SSETransport, StdioTransport, StreamableHttpTransport
from fastmcp.client.transports import stdio as fastmcp_stdio
from fastmcp.client.transports.base import TransportOptions
from fastmcp.client.transports.config import MCPConfigTransport
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Mount
from support.http_host import hosted
from support.raw_peer import RawPeer

from xmcp.client.servers import stdio_transport
from xmcp.client.servers.fastmcp_internals import resilient
from xmcp.client.servers.fastmcp_internals.http_transport import ResilientHttpTransport
from xmcp.client.servers.fastmcp_internals.sse_transport import READ_BESIDE
from xmcp.client.servers.stdio_transport import BoundedStdioTransport
from xmcp.client.servers.targets import source

MODES = pytest.mark.parametrize("mode", ["auto", "legacy"])


def test_a_roomy_transport_has_all_that_the_given_one_has_and_leaves_it_as_it_is() -> None:
    given = StreamableHttpTransport("http://host/mcp", headers={"x-a": "1"}, auth="token")
    made: Any = resilient(given)
    assert isinstance(made, StreamableHttpTransport)
    assert (made.url, made.headers, made.auth) == (given.url, given.headers, given.auth)
    assert type(given) is StreamableHttpTransport


def test_a_transport_has_no_settings_but_those_that_are_copied() -> None:
    """Red: a setting was added, which `resilient` has to copy and `connect_session` to heed."""
    given = StreamableHttpTransport("http://host/mcp")
    # FastMCP 4.1.4 has a limit for events, too. It is not copied: this client has limits of its own.
    ours = vars(given).keys() - {"max_sse_event_size"}
    assert ours == {"url", "headers", "auth", "verify", "httpx_client_factory", "_session_id"}
    assert {field.name for field in fields(TransportOptions)} == {
        "session_class",
        "forward_incoming_headers",
        "backend_mode",  # for transports of several servers only
    }


def test_transports_that_cannot_be_bounded_stay_as_they_are() -> None:
    peer = RawPeer({})
    assert resilient(peer) is peer
    kept_alive = StdioTransport(command="python", args=[], keep_alive=True)
    given = (StreamableHttpTransport("http://host/mcp"), SSETransport("http://host/sse"), kept_alive)
    for bounded in map(resilient, given):
        assert resilient(bounded) is bounded


async def test_a_program_that_is_kept_alive_is_bounded_if_started_here_and_stays_its_transports() -> None:
    """Red: FastMCP starts such programs in another way, or in another context."""
    program = "import sys\nfor line in sys.stdin: pass"
    started: list[str] = []
    begin, begin_bounded = vars(fastmcp_stdio)["stdio_client"].__wrapped__, stdio_transport.bounded_stdio

    def noted(name: str, start: Any) -> Any:
        return lambda *arguments, **options: (started.append(name), start(*arguments, **options))[1]

    async def session(transport: Any) -> Any:
        async with transport.connect_session() as opened:
            return opened

    given = StdioTransport(command=sys.executable, args=["-c", program], keep_alive=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stdio_transport, "bounded_stdio", noted("bounded", begin_bounded))
        wrapped = stdio_transport._bounded_if_started_here(noted("sdk", begin))
        patch.setitem(vars(fastmcp_stdio), "stdio_client", wrapped)
        try:
            first = await session(resilient(given))
            assert started == ["bounded"]
            assert await session(given) is first  # which runs on
            await given.close()
            await session(given)
            assert started == ["bounded", "sdk"]
        finally:
            await given.close()


class OwnHttp(StreamableHttpTransport):
    """A transport of an application's own class."""

    def __init__(self, url: str, opened: list[Any], **options: Any) -> None:
        super().__init__(url, **options)
        self.opened = opened

    def connect_session(self, **options: Any) -> Any:
        self.opened.append(options)
        return super().connect_session(**options)


class OwnSSE(SSETransport):
    """Another one."""


@MODES
@pytest.mark.parametrize("own_factory", [False, True])
async def test_the_http_client_of_an_applications_own_class_is_bounded_and_its_session_is_its_own(
    mode: str, own_factory: bool
) -> None:
    compressed = Response(gzip.compress(b"{}"), headers={"content-encoding": "gzip"}, media_type="application/json")
    app = Starlette(routes=[Mount("/", compressed)])
    opened: list[Any] = []
    options: Any = {"httpx_client_factory": httpx2.AsyncClient} if own_factory else {}
    async with hosted(app) as url:
        given = OwnHttp(url, opened, **options)
        made: Any = resilient(given)
        assert type(made) is OwnHttp
        assert given.httpx_client_factory is options.get("httpx_client_factory")
        with pytest.raises(Exception, match="compressed"):
            async with fastmcp.Client(made, mode=mode):
                pass
    assert opened


async def test_events_of_an_applications_own_class_for_the_older_http_binding_may_be_large() -> None:
    made: Any = resilient(OwnSSE("http://host/sse"))
    assert type(made) is OwnSSE
    async with made.httpx_client_factory(timeout=httpx2.Timeout(1)) as client:
        assert client in READ_BESIDE


def test_the_servers_of_a_configuration_are_bounded_one_by_one() -> None:
    web: Any = {"url": "http://host/mcp"}
    program: Any = {"command": "python", "keep_alive": False}
    one: Any = resilient(MCPConfigTransport({"mcpServers": {"a": web}}))
    assert type(one.transport) is ResilientHttpTransport
    assert one._transports == [one.transport]
    several = MCPConfigTransport({"mcpServers": {"a": web, "b": program}}, name_as_prefix=False)
    made: Any = resilient(several)
    assert not made.name_as_prefix
    assert [type(each) for each in made._prepare_transports().values()] == [
        ResilientHttpTransport,
        BoundedStdioTransport,
    ]


@pytest.mark.parametrize(
    "target", ["http://host/mcp", StreamableHttpTransport("http://host/mcp"), fastmcp.Client("http://host/mcp")]
)
def test_a_target_is_bounded_in_whatever_form_it_is_given(target: Any) -> None:
    async def ignored(_: Any) -> None: ...

    assert type(source(target, 1).client(ignored).transport) is ResilientHttpTransport


def test_a_transport_of_the_older_http_binding_has_all_that_the_given_one_has() -> None:
    """Red: a setting was added, which `BoundedSSETransport` has to copy."""
    given = SSETransport("http://host/sse", headers={"x-a": "1"}, auth="token", sse_read_timeout=7)
    settings = {"url", "headers", "auth", "verify", "sse_read_timeout"}
    assert vars(given).keys() == settings | {"httpx_client_factory"}
    made: Any = resilient(given)
    kept = settings - {"verify"}  # the factory that is made uses it
    assert {name: getattr(made, name) for name in kept} == {name: getattr(given, name) for name in kept}


def test_a_program_that_ends_with_its_connection_gets_a_bounded_transport_with_its_settings() -> None:
    """Red: a setting was added, which `BoundedStdioTransport.like` has to copy."""
    given = StdioTransport(
        command="python", args=["-V"], env={"A": "1"}, cwd="/", keep_alive=False, log_file=sys.stderr
    )
    settings = {"command", "args", "env", "cwd", "keep_alive", "log_file"}
    assert {name for name in vars(given) if not name.startswith("_")} == settings
    made: Any = resilient(given)
    assert isinstance(made, BoundedStdioTransport)
    assert {name: getattr(made, name) for name in settings} == {name: getattr(given, name) for name in settings}


def test_a_factory_of_the_applications_own_is_used_as_it_is() -> None:
    def own(**_: Any) -> httpx2.AsyncClient:
        return httpx2.AsyncClient()

    made: Any = resilient(StreamableHttpTransport("http://host/mcp", httpx_client_factory=own))
    assert made.httpx_client_factory is own
