"""What the routes that begin or follow a chat have in common: the body, the run, its answer whole or streamed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final, TypeVar

from starlette.requests import Request

from xmcp.client.calls.worker_threads import in_worker_if_large
from xmcp.gateway.decoders.fields import BadRequest
from xmcp.gateway.encoders.framing import Encoder
from xmcp.gateway.http.bodies import json_object, read_body
from xmcp.gateway.http.event_stream import ClientGone, EventStream, unless_gone
from xmcp.gateway.http.homes import keep_to_home, name_of_chat
from xmcp.gateway.http.refusals import Refused, overloaded
from xmcp.gateway.runs.admission import Overloaded
from xmcp.gateway.runs.questions import Answer
from xmcp.gateway.runs.registry import Draining, KeyReused
from xmcp.gateway.runs.request import Caller, ChatRequest
from xmcp.gateway.runs.retries import BadIdempotencyKey, mark_of
from xmcp.gateway.runs.run import Run
from xmcp.gateway.service import Gateway
from xmcp.gateway.sessions.sessions import SessionBusy

T = TypeVar("T")

HEADERS_WITHIN: Final = 2.0
"""Seconds that a stream's status waits for the first event: until then, a failure still gets a status of its own."""

MAX_READERS: Final = 64
"""Maximum number of readers of one run, those that repeated its request or resume it included."""

MAX_SESSION_ID: Final = 256
"""Maximum number of characters of an id of a conversation."""


def gateway_of(request: Request) -> Gateway:
    """Return the gateway that serves a request."""
    gateway: Gateway = request.app.state.gateway
    return gateway


def caller_of(request: Request) -> Caller:
    """Return whose request it is, as the doorkeeper found."""
    caller: Caller = request.state.caller
    return caller


class Asked:
    """A request for a chat: its body, as JSON and, in `raw`, as it came."""

    def __init__(self, request: Request, raw: bytes, body: dict[str, Any]) -> None:
        self._request = request
        self.raw = raw
        self._body = body

    @classmethod
    async def by(cls, request: Request) -> Asked:
        """Read a request.

        Raises:
            Refused: its body cannot be read.
        """
        listen = gateway_of(request).config.listen
        raw = await read_body(request, listen.max_body_bytes, listen.body_seconds)
        return cls(request, raw, await json_object(raw))

    async def decoded(self, decode: Callable[..., T], *arguments: Any) -> T:
        """Return `decode(body, *arguments)`.

        Raises:
            Refused: the body cannot be answered.
        """
        try:
            return await in_worker_if_large(len(self.raw), decode, self._body, *arguments)
        except BadRequest as error:
            raise Refused(400, str(error), error.code, error.param) from None

    async def begin(self, chat: ChatRequest) -> Following:
        """Return the run for a chat: a new one, or the one that an equal request began before.

        Raises:
            Refused: there is no such model or tool, or no place for another run, or an `Idempotency-Key` is wrong, or
                a chat of the session runs.
            Elsewhere: it belongs to another process.
        """
        gateway, caller = gateway_of(self._request), caller_of(self._request)
        try:
            marking = mark_of, self._request.headers, caller.key_name, chat.surface, chat.session_id, self.raw
            mark = await in_worker_if_large(len(self.raw), *marking)
            name = name_of_chat(chat, caller.tenant, mark)
            # What has no other name goes on from nothing.
            keep_to_home(self._request, lambda: name, self.raw, unless_away=name == mark.digest.hex())
            _refuse_what_is_not_offered(gateway, caller, chat)
            starting = gateway.start(replace(chat, size=chat.size + len(self.raw)), caller, mark)
            run, joined = await unless_gone(self._request.receive, starting)  # it can wait for a place
        except BadIdempotencyKey as error:
            raise Refused(400, str(error), "invalid_idempotency_key") from None
        except KeyReused:
            told = "This Idempotency-Key came with another request before. Use a new one."
            raise Refused(409, told, "idempotency_key_reused", headers={"x-should-retry": "false"}) from None
        except SessionBusy:
            raise session_busy() from None
        except Overloaded as error:
            raise overloaded(str(error), error.retry_after) from None
        except ClientGone:
            raise gone() from None
        except Draining:
            headers = {"retry-after": "1", "connection": "close"}
            raise Refused(503, "The gateway is stopping. Try again.", "shutting_down", headers=headers) from None
        if joined:
            refuse_crowd(run)
        return Following(self._request, run, joined=joined)


class Following:
    """A request that follows a run, which goes on while it does."""

    def __init__(self, request: Request, run: Run, *, joined: bool = False, after: int = 0) -> None:
        self._request = request
        self.run = run
        self._reader = run.read(after)
        self.headers = {
            "xmcp-run-id": run.id,
            **({"xmcp-history": run.request.recall} if run.request.recall is not None else {}),
            **({"xmcp-replayed": "true"} if joined else {}),
        }

    async def to_the_end(self) -> None:
        """Wait until the run has ended.

        Raises:
            Refused: it ended without a result, or the client has left.
        """
        try:
            await unless_gone(self._request.receive, self.run.over())
        except ClientGone:
            raise gone() from None
        finally:
            self._reader.close()
        self._refuse_if_failed()

    async def stream(
        self, encoder: Encoder, headers: Mapping[str, str] | None = None, pause: bytes = b""
    ) -> EventStream:
        """Return the response that streams the answer; `pause` as for `EventStream`.

        Raises:
            Refused: the run has failed already, with nothing to show.
        """
        await self.run.begun(HEADERS_WITHIN)
        if self.run.ended and not self.run.state.tools and not self.run.state.text:
            self._reader_closed_if_failed()
        return self.events(encoder, headers, pause)

    def events(self, encoder: Encoder, headers: Mapping[str, str] | None = None, pause: bytes = b"") -> EventStream:
        """Return the response that streams the run, however it ended."""
        listen = gateway_of(self._request).config.listen
        return EventStream(
            self.run,
            self._reader,
            encoder,
            headers={**self.headers, **(headers or {})},
            pause=pause,
            ping=listen.ping_seconds,
            send_timeout=listen.send_seconds,
            abort=self._request.app.state.abort,
        )

    def leave(self) -> None:
        """Follow no longer."""
        self._reader.close()

    def _reader_closed_if_failed(self) -> None:
        try:
            self._refuse_if_failed()
        except Refused:
            self._reader.close()
            raise

    def _refuse_if_failed(self) -> None:
        error = self.run.state.error
        if error is not None:
            # A tool may have changed something, and another run would call it again.
            again = {"x-should-retry": "false"} if self.run.state.tools else {}
            raise Refused.failure(error, {**self.headers, **again})


def run_of(request: Request, run_id: str, body: bytes | None = None) -> Run:
    """Return a run of the caller's tenant; `body` is that of the request if it was read.

    Raises:
        Refused: there is none with this id.
        Elsewhere: it belongs to another process.
    """
    run = gateway_of(request).runs.get(run_id, caller_of(request))
    if run is None:
        keep_to_home(request, lambda: run_id, body)
        raise Refused(404, "There is no such run, or it is not kept any more.", "run_not_found")
    return run


def give_answer(run: Run, call_id: str, answer: Answer, by: str) -> None:
    """Answer a question of a run; `by` is the name of the caller's key. To give the same answer again changes nothing.

    Raises:
        Refused: the run does not ask about this call, or has another answer.
    """
    if not run.questions.answer(call_id, answer, by):
        told = "The run does not ask about this call: it never did, or has an answer, or the time for it is over."
        raise Refused(409, told, "not_asked", "call_id")


def refuse_crowd(run: Run) -> None:
    """Refuse a further reader of a run that has many: each costs as much for every event.

    Raises:
        Refused: it has `MAX_READERS`.
    """
    if run.readers >= MAX_READERS:
        raise Refused(429, f"{MAX_READERS} readers follow this run already.", "too_many_readers")


def gone() -> Refused:
    """Return the answer that nobody reads any more."""
    return Refused(499, "The client has left.", "client_gone")


def session_busy() -> Refused:
    """Return the answer for a session that a chat has at the moment."""
    told = "A chat of this session runs. Wait for its end, or cancel it: POST /runs/{id}/cancel."
    return Refused(409, told, "session_busy", headers={"retry-after": "1"})


def _refuse_what_is_not_offered(gateway: Gateway, caller: Caller, chat: ChatRequest) -> None:
    if not gateway.offers(chat.model, caller):
        told = f"There is no model {chat.model[:128]!r}. GET /v1/models lists them."
        raise Refused(404, told, "model_not_found", "model")
    if chat.session_id is not None and len(chat.session_id) > MAX_SESSION_ID:
        raise Refused(400, f"The id of the conversation has more than {MAX_SESSION_ID} characters.", "invalid_value")
    if isinstance(tools := chat.options.get("tools"), list) and not gateway.tools_depend_on_tenant:
        offered = {tool["name"] for tool in gateway.tools_for(caller)}
        if unknown := next((name for name in tools if name not in offered), None):
            told = f"There is no tool {unknown[:128]!r}. GET /tools lists them."
            raise Refused(400, told, "unknown_tool", "tools")
    own = {tool["function"]["name"] for tool in chat.options.get("external_tools") or ()}
    if own and (twice := sorted(own & gateway.offered_in(chat, caller))):
        member = "client_tools" if chat.surface == "chat" else "tools"
        told = f"{member} has {twice[0]!r}, and so has this gateway: GET /tools lists its tools. Use another name."
        raise Refused(400, told, "tool_name_clash", member)
