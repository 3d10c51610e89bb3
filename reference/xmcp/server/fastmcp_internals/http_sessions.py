"""Sessions over streamable HTTP: each request id once at a time, and each session for the user who opened it.

The SDK sends an answer to the stream that was opened last for its request id. Two requests of one session with the same
id would get each other's answers, so the second one is refused. It binds a session to the verified token that opened
it, but knows only its own class of users.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from contextvars import ContextVar
from http import HTTPStatus
from typing import Any, Final

from mcp.server.streamable_http import GET_STREAM_KEY, StreamableHTTPServerTransport
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp_types import INVALID_REQUEST, JSONRPCError, JSONRPCResponse
from starlette.requests import Request
from starlette.types import Receive, Scope, Send

_posting: Final[ContextVar[bool]] = ContextVar("xmcp_posting", default=False)
"""Whether a request is being accepted; a stream that is replayed has the id of a request, too."""

SHOWN_ID: Final = 64  # characters of a request id in an error


class _RefusedError(BaseException):
    """Leaves the SDK's code, which answers any `Exception` with status 500 and logs it."""

    def __init__(self, request_id: str) -> None:
        self.request_id = request_id


def guard_sessions(manager: StreamableHTTPSessionManager) -> None:
    """Make each session that `manager` opens refuse request ids in use, and requests of other users."""
    admit = manager._admit_session

    def admitted(requestor: Any) -> StreamableHTTPServerTransport | None:
        transport = admit(requestor)
        if transport is not None:
            transport.__class__ = _GuardedTransport
            transport._request_streams = _Streams()
        return transport

    manager._admit_session = admitted  # type: ignore[method-assign]


class _Streams(dict[Any, Any]):
    """The streams of a session by request id, and the requests that are not answered yet, connected or not."""

    def __init__(self) -> None:
        super().__init__()
        self.unanswered: set[str] = set()
        self.answering: set[str] = set()
        """Of the unanswered requests, those whose answer is on its way to the stream of its request."""

    def refuse_in_use(self, request_id: str) -> None:
        if request_id == GET_STREAM_KEY or request_id in self or request_id in self.unanswered:
            raise _RefusedError(request_id)

    def __contains__(self, request_id: object) -> bool:
        # The SDK's router asks before it hands the answer to the stream of this request; from now on no other one can
        # get it.
        if request_id in self.answering and not _posting.get():
            self.answering.discard(str(request_id))
            self.unanswered.discard(str(request_id))
        return super().__contains__(request_id)

    def __setitem__(self, request_id: str, streams: Any) -> None:
        if _posting.get():
            try:
                self.refuse_in_use(request_id)
            except _RefusedError:
                for stream in streams:
                    stream.close()
                raise
            self.unanswered.add(request_id)
        super().__setitem__(request_id, streams)


class _GuardedTransport(StreamableHTTPServerTransport):
    """One session over streamable HTTP."""

    _request_streams: _Streams
    _owner: tuple[str | None] | None = None

    async def handle_request(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request, if it is of the user who opened the session."""
        user = user_of(scope)
        if self._owner is None:
            self._owner = (user,)
        if self._owner == (user,):
            await super().handle_request(scope, receive, send)
        else:  # as if there were no such session, as the SDK answers for its own users
            await self._create_error_response("Session not found", HTTPStatus.NOT_FOUND)(scope, receive, send)

    async def _handle_post_request(self, scope: Scope, request: Request, receive: Receive, send: Send) -> None:
        token = _posting.set(True)
        try:
            await super()._handle_post_request(scope, request, receive, send)
        except _RefusedError as refused:
            text = (
                f"The request id {refused.request_id[:SHOWN_ID]!r} belongs to a request of this session that is not "
                "answered yet. Use each id once."
            )
            response = self._create_error_response(text, HTTPStatus.CONFLICT, INVALID_REQUEST)
            await response(scope, receive, send)
        finally:
            _posting.reset(token)

    async def _mint_priming_event(self, stream_id: str, protocol_version: str) -> Any:
        # Called for each request that is answered by a stream, before anything of it is stored under its id.
        if _posting.get():
            self._request_streams.refuse_in_use(stream_id)
        return await super()._mint_priming_event(stream_id, protocol_version)

    @asynccontextmanager
    async def connect(self) -> AsyncIterator[Any]:
        """Open the session's streams for messages; the id of a request is free again once it is answered."""
        async with super().connect() as (incoming, outgoing):
            self._write_stream = _Answers(outgoing, self._request_streams.answering)  # type: ignore[assignment]
            yield incoming, self._write_stream


class _Answers:
    """A stream of outgoing messages that notes which requests are being answered."""

    def __init__(self, stream: Any, answering: set[str]) -> None:
        self._stream = stream
        self._answering = answering

    async def send(self, item: Any) -> None:
        if isinstance(item.message, JSONRPCResponse | JSONRPCError) and item.message.id is not None:
            self._answering.add(str(item.message.id))
        await self._stream.send(item)

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def __aenter__(self) -> _Answers:
        await self._stream.__aenter__()
        return self

    async def __aexit__(self, *raised: Any) -> Any:
        return await self._stream.__aexit__(*raised)


def user_of(scope: Scope) -> str | None:
    """Return the id of the user that Starlette's authentication middleware, or one like it, found; None without one."""
    user = scope.get("user")
    if user is None or not getattr(user, "is_authenticated", False):
        return None
    try:
        return str(user.identity)
    except (AttributeError, NotImplementedError):  # Starlette's own users have no `identity`
        return str(getattr(user, "display_name", ""))
