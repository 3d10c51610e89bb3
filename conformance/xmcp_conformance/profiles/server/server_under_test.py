"""Connect to a server under test, and say in one clear sentence why that failed.

Everything here is bounded in time, and a process that was started has ended afterwards.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from fnmatch import fnmatchcase
from typing import Any

import anyio
import httpx2
import mcp_types
from mcp import Client, ClientSession, MCPError
from mcp.client import advertise
from mcp_types.methods import parse_server_notification, parse_server_request
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, LATEST_HANDSHAKE_VERSION
from pydantic import RootModel, ValidationError

from xmcp_conformance import suite_version
from xmcp_conformance.core.last_words import LastWords
from xmcp_conformance.core.untrusted_text import quoted
from xmcp_models.registry import VIEW_URI

from .bounded_wire import RATE_LIMITED, Bounds, Stray, http_wire, stdio_wire
from .catalogue import HINTS, Catalogue, ListedTool
from .clients import ClientKind
from .command_process import CommandProcess, start
from .exchange import LIMITS_RATE, NO_ANSWER, Exchange, ReadView, ToolCall
from .pace import Pace
from .peers import HttpPeer, InMemoryPeer, Peer, PeerLate, PeerUnavailable, StdioPeer

_PAGES = 100
_MAX_TOOLS = 2_000
_MAX_CATALOGUE_BYTES = 16 * 1024 * 1024
_FITS_NOTHING: dict[str, Any] = {"not": {}}
_MAX_GARBAGE = 10  # only the first line is shown
_MOST_FAULTS = 1000
_PATIENCE = 3.0
"""Seconds after which it is told that a call has no answer yet."""
_LONGEST_WAIT = 300
"""Maximum of --connect-timeout in seconds."""
_MODES = {"newest": "auto", "handshake": "legacy"}  # the names that the SDK uses


class _RawResult(RootModel[dict[str, Any]]):
    """A result as the peer wrote it: the suite judges it, and not the models of the SDK."""


class _DeclaringClient(Client):
    """Declares its extensions in the handshake era under `experimental` alone, where section 6.1 permits it.

    It notes the messages of a server that MCP's own schema of the negotiated version does not allow.
    """

    stray: Stray

    async def _build_session(self, exit_stack: AsyncExitStack) -> ClientSession:
        session = await super()._build_session(exit_stack)
        built = session._build_capabilities

        def capabilities(version: str) -> mcp_types.ClientCapabilities:
            found = built(version)
            moved = {"experimental": found.extensions, "extensions": None}
            return found.model_copy(update=moved if version in HANDSHAKE_PROTOCOL_VERSIONS else {})

        session._build_capabilities = capabilities  # type: ignore[method-assign]
        _let_note(session, self.stray)
        return session


def _let_note(session: ClientSession, stray: Stray) -> None:
    """Let a session note invalid notifications and requests of the server; the SDK drops them, and answers requests."""
    on_notify, on_request = session._on_notify, session._on_request

    def note(parse: Callable[[str, str, Any], object], method: str, params: Mapping[str, Any] | None) -> None:
        version = session._negotiated_version or LATEST_HANDSHAKE_VERSION
        with suppress(KeyError):  # a method that this version does not have is ignored
            try:
                parse(method, version, params)
            except ValidationError as error:
                many = error.error_count() > _MOST_FAULTS  # each would become an object, and a server chooses how many
                stray.add_message(method, version, "with very many faults" if many else _first_fault(error))

    async def noting_notify(dctx: Any, method: str, params: Mapping[str, Any] | None) -> None:
        note(parse_server_notification, method, params)
        await on_notify(dctx, method, params)

    async def noting_request(dctx: Any, method: str, params: Mapping[str, Any] | None) -> dict[str, Any]:
        note(parse_server_request, method, params)
        return await on_request(dctx, method, params)

    session._on_notify = noting_notify  # type: ignore[method-assign]
    session._on_request = noting_request  # type: ignore[method-assign]


class Session:
    """An open connection to a peer in one protocol era."""

    def __init__(
        self,
        client: Client,
        call_timeout: float,
        bounds: Bounds | None = None,
        *,
        name: str = "The server",
        list_timeout: float = 30.0,
        is_stateless: bool = False,
        tool_timeouts: Sequence[tuple[str, float]] = (),
        pace: Pace | None = None,
        kind: str = "declared",
        record: Callable[[str, str, Exchange], None] | None = None,
        lasts: Callable[[str, float], None] | None = None,
    ) -> None:
        self._client = client
        self._bounds = bounds or Bounds()
        self._call_timeout = call_timeout
        self._tool_timeouts = tool_timeouts
        self._pace = pace or Pace()
        self._kind = kind
        self._record = record
        self._lasts = lasts
        self._name = name
        self._list_timeout = list_timeout
        self.is_stateless = is_stateless
        """Whether each request says what the client declares."""
        self._extensions: dict[str, Any] | None = None
        if is_stateless:
            _let_declare(client.session, self._declared)

    def declare(self, client: ClientKind) -> None:
        """Be another client from the next request on, in the stateless era."""
        self._extensions = client.extensions("newest")
        self._kind = client

    def _declared(self) -> dict[str, Any] | None:
        return self._extensions

    @property
    def sent(self) -> int:
        """The number of requests that have left, as far as the suite can see; of a server in this process, none."""
        return self._bounds.sent

    async def catalogue(self) -> Catalogue:
        """Return what the peer announces and lists.

        Raises:
            PeerUnavailable: the list of tools is not valid MCP, is too large, or does not end, or does not arrive in
                time. The suite judges all tools or none, because a tool that it did not see could break a requirement.
        """
        with anyio.CancelScope(deadline=anyio.current_time() + self._list_timeout):
            return await self._catalogue()
        raise PeerUnavailable(
            f"{self._name} answers, but did not list its tools within {self._list_timeout:g} s."
            " Look at what it does for `tools/list`, or raise --connect-timeout."
        )

    async def _catalogue(self) -> Catalogue:
        tools: list[mcp_types.Tool] = []
        size = 0
        cursor: str | None = None
        try:
            for _ in range(_PAGES):
                page = await self._client.list_tools(cursor=cursor)
                tools += page.tools
                size += sum(len(tool.model_dump_json()) for tool in page.tools)
                if len(tools) > _MAX_TOOLS or size > _MAX_CATALOGUE_BYTES:
                    raise PeerUnavailable(
                        f"{self._name} has a list of tools that is too large to be judged: {len(tools)} tools with"
                        f" {size} bytes so far, where {_MAX_TOOLS} tools and {_MAX_CATALOGUE_BYTES} bytes are the most."
                        " Check it with fewer tools, or shorter descriptions and schemas."
                    )
                cursor = page.next_cursor
                if cursor is None:
                    break
            else:
                raise PeerUnavailable(
                    f"{self._name} has a list of tools that goes on after {_PAGES} pages with {len(tools)} tools."
                    " Does its last page leave `nextCursor` out?"
                )
        except (MCPError, ValidationError) as error:
            if self._bounds.fault:
                raise PeerUnavailable(f"{self._name} {self._bounds.fault}.") from error
            raise PeerUnavailable(f"{self._name} does not list its tools ({_first_line(error)}).") from error
        capabilities = self._client.server_capabilities
        if self._extensions is not None:
            try:
                found = await self._client.session.send_request(mcp_types.DiscoverRequest(), mcp_types.DiscoverResult)
            except (MCPError, ValidationError) as error:
                raise PeerUnavailable(
                    f"{self._name} answers `server/discover` to one client, and not to another ({_first_line(error)})."
                ) from error
            capabilities = found.capabilities
        # The handshake era has no `extensions`: `experimental` takes their place (section 6.1).
        of_handshake = self._client.protocol_version in HANDSHAKE_PROTOCOL_VERSIONS
        announced_in_the_handshake = (capabilities.experimental or {}) if of_handshake else {}
        return Catalogue(
            protocol_version=self._client.protocol_version,
            extensions={**announced_in_the_handshake, **(capabilities.extensions or {})},
            tools=tuple(listed_tool(tool) for tool in tools),
        )

    async def read_view(self) -> ReadView:
        """Read the view of MCP Apps (section 6.7), and return how that ended; nothing that the peer does raises."""
        request = mcp_types.ReadResourceRequest(params=mcp_types.ReadResourceRequestParams(uri=VIEW_URI))
        try:
            result = await self._client.session.send_request(
                request, _RawResult, request_read_timeout_seconds=self._list_timeout
            )
        except MCPError as error:
            return ReadView(failure=self._bounds.fault or f"the JSON-RPC error {error.code}: {quoted(error.message)}")
        except ValidationError as error:
            return ReadView(failure=f"a result that MCP does not allow: {_first_fault(error)}")
        except (httpx2.HTTPError, anyio.ClosedResourceError, anyio.BrokenResourceError, OSError) as error:
            return ReadView(failure=f"the end of the connection ({type(error).__name__})")
        return ReadView(result.root)

    async def call(self, call: ToolCall) -> Exchange:
        """Make one call in its turn, and return how it ended; nothing that the peer does raises an exception."""
        fits = (seconds for pattern, seconds in self._tool_timeouts if fnmatchcase(call.name, pattern))
        timeout = next(fits, self._call_timeout)
        await self._pace.turn()
        begun = anyio.current_time()
        with self._told_if_it_lasts(call, timeout):
            exchange = await self._call(call, timeout)
        exchange.seconds = anyio.current_time() - begun
        if self._record is not None:
            self._record(self._client.protocol_version, self._kind, exchange)
        return exchange

    @contextmanager
    def _told_if_it_lasts(self, call: ToolCall, timeout: float) -> Iterator[None]:
        if self._lasts is None:
            yield
            return
        timer = asyncio.get_running_loop().call_later(_PATIENCE, self._lasts, quoted(call.name), timeout)
        try:
            yield
        finally:
            timer.cancel()

    async def _call(self, call: ToolCall, timeout: float) -> Exchange:
        request = mcp_types.CallToolRequest(
            params=mcp_types.CallToolRequestParams(name=call.name, arguments=call.arguments)
        )
        try:
            result = await self._client.session.send_request(request, _RawResult, request_read_timeout_seconds=timeout)
        except MCPError as error:
            if self._bounds.fault:
                return Exchange(call, lost=f"no answer that is read: the server {self._bounds.fault}")
            if error.code == mcp_types.CONNECTION_CLOSED:
                return Exchange(call, lost="the end of the connection")
            if error.code == mcp_types.REQUEST_TIMEOUT:
                return Exchange(call, lost=f"{NO_ANSWER} {timeout:g} s")
            if error.code == RATE_LIMITED and error.message == LIMITS_RATE:
                return Exchange(call, lost=LIMITS_RATE)
            return Exchange(call, rpc_error=f"{error.code}: {quoted(error.message)}")
        except ValidationError as error:
            return Exchange(call, malformed=f"a result that MCP does not allow: {_first_fault(error)}")
        except (httpx2.HTTPError, anyio.ClosedResourceError, anyio.BrokenResourceError, OSError) as error:
            return Exchange(call, lost=f"the end of the connection ({type(error).__name__})")
        return Exchange(call, result=result.root)


def _let_declare(session: ClientSession, extensions: Callable[[], dict[str, Any] | None]) -> None:
    """Let `extensions`, where it returns any, replace those that the SDK would declare in each request."""
    stamp = session._stamp

    def declaring(data: dict[str, Any], options: Any) -> None:
        stamp(data, options)
        if (declared := extensions()) is not None:
            meta = data["params"]["_meta"]
            key = mcp_types.CLIENT_CAPABILITIES_META_KEY
            meta[key] = {name: value for name, value in meta[key].items() if name != "extensions"}
            meta[key] |= {"extensions": declared} if declared else {}

    session._stamp = declaring


def listed_tool(tool: mcp_types.Tool) -> ListedTool:
    """Return a tool as the suite sees it."""
    # The SDK accepts `null` for a keyword that takes an object or a list; it counts as absent.
    schema = {word: value for word, value in tool.input_schema.items() if value is not None}
    usable = isinstance(schema.get("properties", {}), dict) and isinstance(schema.get("required", []), list)
    return ListedTool(
        name=tool.name,
        input_schema=schema if usable else _FITS_NOTHING,
        meta=dict(tool.meta or {}),
        read_only=bool(tool.annotations and tool.annotations.read_only_hint),
        has_output_schema=tool.output_schema is not None,
        is_marked_as_wrapped=(tool.output_schema or {}).get("x-fastmcp-wrap-result") is True,
        unsaid_hints=tuple(hint for hint, said in zip(HINTS, _said_hints(tool), strict=True) if said is None),
    )


def _said_hints(tool: mcp_types.Tool) -> tuple[bool | None, bool | None, bool | None]:
    said = tool.annotations or mcp_types.ToolAnnotations()
    return said.read_only_hint, said.destructive_hint, said.open_world_hint


@asynccontextmanager
async def connect(
    peer: Peer,
    era: str,
    *,
    connect_timeout: float,
    call_timeout: float,
    kind: ClientKind = ClientKind.DECLARED,
    stray: Stray | None = None,
    tool_timeouts: Sequence[tuple[str, float]] = (),
    pace: Pace | None = None,
    record: Callable[[str, str, Exchange], None] | None = None,
    started: CommandProcess | None = None,
    lasts: Callable[[str, float], None] | None = None,
) -> AsyncIterator[Session]:
    """Open a session.

    Args:
        peer: the server.
        era: `newest` for the newest that the peer speaks, `handshake` for MCP up to 2025-11-25.
        connect_timeout: seconds within which the peer has to answer, and again for the list of its tools.
        call_timeout: seconds for each call.
        kind: the client that calls.
        stray: gets the lines of a command that are no message.
        tool_timeouts: seconds for a call of a tool whose name fits a pattern, the first that fits.
        pace: says when the next call can be made.
        record: gets the version of MCP, the kind of the client and the exchange, for each call that has ended.
        started: a process of the command, which is used instead of a new one, and ended.
        lasts: gets the name of a tool whose call has no answer after some seconds, and for how many it is waited.

    Raises:
        PeerUnavailable: the session cannot be opened; the message says what to look at.
    """
    garbage: list[str] = []
    bounds = Bounds(stray)

    async def on_message(message: object) -> None:
        if isinstance(message, Exception) and len(garbage) < _MAX_GARBAGE:
            garbage.append(_first_input(message))

    log = peer.environment.log if isinstance(peer, StdioPeer) else None
    with started.stderr if started else LastWords(log) as stderr:
        client = _DeclaringClient(
            _transport(peer, stderr, bounds, started),
            mode=_MODES[era],
            cache=None,
            message_handler=on_message,
            extensions=[advertise(name, settings) for name, settings in kind.extensions(era).items()],
            client_info=mcp_types.Implementation(name="xmcp-conformance", version=suite_version()),
        )
        client.stray = bounds.stray
        connected, fault = False, None
        try:
            with anyio.CancelScope(deadline=anyio.current_time() + connect_timeout) as scope:
                async with client:
                    connected, scope.deadline = True, math.inf
                    try:
                        yield Session(
                            client,
                            call_timeout,
                            bounds,
                            name=_named(peer),
                            list_timeout=connect_timeout,
                            is_stateless=client.protocol_version not in HANDSHAKE_PROTOCOL_VERSIONS,
                            tool_timeouts=tool_timeouts,
                            pace=pace,
                            kind=kind,
                            record=record,
                            lasts=lasts,
                        )
                    except BaseException as error:
                        fault = error  # the caller's exception: it is raised again unchanged, whatever closing adds
                        raise
            if not connected:
                raise TimeoutError
        except BaseException as error:
            if fault is not None:
                raise fault from None
            if connected:
                if not isinstance(error, Exception):
                    raise
                # A fault while closing says nothing about the peer that was not judged before.
                logging.getLogger(__name__).debug("closing: %s", error)
                return
            sentence = _why(peer, error, bounds, garbage, stderr.telling_line(), connect_timeout)
            if sentence is None:
                raise
            late = isinstance(_leaves(error)[0], TimeoutError)
            raise (PeerLate if late else PeerUnavailable)(sentence) from error


def _transport(peer: Peer, stderr: LastWords, bounds: Bounds, started: CommandProcess | None) -> Any:
    if isinstance(peer, InMemoryPeer):
        return peer.server
    if isinstance(peer, HttpPeer):
        return http_wire(peer.url, bounds, peer.headers)

    async def process() -> CommandProcess:
        return started or await start(peer, stderr)

    return stdio_wire(process, bounds)


def _first_input(error: Exception) -> str:
    """Return the line that is not JSON-RPC, from the error that pydantic raised for it."""
    if isinstance(error, ValidationError):
        line = error.errors(include_url=False)[0].get("input", "")
        return (line[:800].decode("utf-8", "replace") if isinstance(line, bytes) else str(line))[:200]
    return str(error)[:200]


def _first_fault(error: ValidationError) -> str:
    """Return where and how a message is not valid MCP, from the error that pydantic raised for it."""
    fault = error.errors(include_url=False, include_input=False, include_context=False)[0]
    return quoted(f"`{'.'.join(map(str, fault['loc']))}`: {fault['msg']}")


def _leaves(error: BaseException) -> list[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        return [leaf for inner in error.exceptions for leaf in _leaves(inner)]
    return [error]


def _why(
    peer: Peer, error: BaseException, bounds: Bounds, garbage: list[str], last_words: str, timeout: float
) -> str | None:
    """Return a sentence on why a connection failed; `None` where that is not the peer's fault."""
    said = f"; it wrote to stderr: {quoted(last_words)}" if last_words else ""
    name = _named(peer)
    leaf = _leaves(error)[0]
    if not isinstance(leaf, Exception):
        return None
    if isinstance(leaf, PeerUnavailable):
        return str(leaf)
    if bounds.fault:
        return f"{name} {bounds.fault}{said}."
    if garbage:
        return f"{name} writes something that is not MCP on its standard output: `{quoted(garbage[0])}`{said}."
    if isinstance(leaf, TimeoutError):
        return f"{name} did not answer within {timeout:g} s{said}. {_after_waiting(peer, timeout)}"
    if isinstance(leaf, httpx2.ConnectError):
        return f"Nothing answers at {peer} ({_first_line(leaf)}). Is the server running, and is the port right?"
    if isinstance(leaf, MCPError) and leaf.code == mcp_types.CONNECTION_CLOSED:
        return f"{name} ended before it answered{said}.{'' if said else _silent(peer)}"
    if bounds.limits_rate:
        return f"{peer}: {LIMITS_RATE}. Ask its operator for a higher limit; --rate 1 makes one call in a second."
    if bounds.wants_credentials and isinstance(peer, HttpPeer):
        if peer.headers or peer.has_credentials:
            sent = "--header" if peer.headers else "the credentials of the URL, which were sent as Basic"
            return f"{peer} refused {sent} (HTTP 401). Is the token right, and has it not expired?"
        return f"{peer} asks for credentials (HTTP 401). Send them with --header 'Authorization: Bearer …'."
    if isinstance(leaf, MCPError) and isinstance(peer, HttpPeer):
        return f"{peer} answers, but not as an MCP endpoint ({_first_line(leaf)}). Check the path, usually /mcp."
    if isinstance(leaf, MCPError):
        return f"{name} refuses to begin a session ({_first_line(leaf)}){said}."
    return f"The connection to {peer} did not come about ({_first_line(leaf)}){said}."


def _named(peer: Peer) -> str:
    """Return the subject of a sentence about a peer."""
    return f"The server `{quoted(str(peer))}`"


def _after_waiting(peer: Peer, timeout: float) -> str:
    """Return what to do about a peer that did not answer in time."""
    longer = f"allow it longer with --connect-timeout {min(_LONGEST_WAIT, max(60, timeout * 4)):g}"
    if isinstance(peer, HttpPeer):
        return f"Is it an MCP endpoint, and is its path right, usually /mcp? On a busy machine, {longer}."
    return (
        f"If it still starts, {longer}. If not, run the command yourself: a server that speaks MCP over stdio waits "
        "for input, and one that listens on a port is checked with its URL."
    )


def _silent(peer: Peer) -> str:
    """Return what to do about a peer that ended without a word on standard error."""
    return " Run the command yourself to see why." if isinstance(peer, StdioPeer) else ""


def _first_line(error: Exception) -> str:
    """Return the first line of an error's message; its type where the message is empty."""
    if isinstance(error, ValidationError):
        return _first_fault(error)
    return quoted((str(error).strip().splitlines() or [type(error).__name__])[0])
