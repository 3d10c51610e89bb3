"""The routes of conversations: what the audit store has of the chats of the caller's tenant."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from itertools import starmap
from typing import TYPE_CHECKING, Any, Final

from starlette.requests import Request
from starlette.responses import Response

from xmcp.chat.json_values import encode_json
from xmcp.chat.vendor_state import without_vendor_state
from xmcp.client.calls.worker_threads import in_worker_if_large
from xmcp.gateway.audit.errors import ConversationRunning
from xmcp.gateway.http.archive_refusals import archive_refusals, not_configured
from xmcp.gateway.http.chats import caller_of, gateway_of
from xmcp.gateway.http.homes import keep_to_home
from xmcp.gateway.http.pages import page_of, wrong_cursor
from xmcp.gateway.http.refusals import Refused, json_response
from xmcp.gateway.ids import time_text
from xmcp.gateway.sessions.sessions import SessionBusy
from xmcp.gateway.sessions.window import size_of

if TYPE_CHECKING:
    from xmcp.gateway.audit.archive import Archive
    from xmcp.gateway.audit.rebuild import ModelCall

REPLAY_BYTES: Final = 4 * 1024 * 1024
"""About how many bytes a page of a replay has; it has one model call at least."""

_RUN: Final = (
    "id",
    "status",
    "surface",
    "model",
    "finish_reason",
    "error_code",
    "error_message",
    "started_at",
    "first_event_at",
    "finished_at",
)
"""What is told of a run: not whose key it was, nor which process ran it."""


async def conversations(request: Request) -> Response:
    """`GET /conversations`: a page of them; what was used last comes first."""
    page = page_of(request)
    before = _moment(page.cursor)
    with archive_refusals():
        found = await _archive_of(request).conversations(caller_of(request).tenant, page.limit + 1, before)
    shown = found[: page.limit]
    more = _cursor(shown[-1]["last_run_at"], shown[-1]["id"]) if len(found) > page.limit else None
    return json_response({"conversations": [_about(one) for one in shown], "next": more})


async def conversation(request: Request) -> Response:
    """`GET /conversations/{id}`: its messages, and a page of its runs, the newest first."""
    page = page_of(request)
    before, name = _moment(page.cursor), request.path_params["conversation_id"]
    with archive_refusals():
        found = await _archive_of(request).one(caller_of(request).tenant, name, page.limit + 1, before)
    if found is None:
        raise _not_found()
    about, runs, messages = found
    shown = runs[: page.limit]
    more = _cursor(shown[-1]["started_at"], shown[-1]["id"]) if len(runs) > page.limit else None

    def body() -> bytes:
        listed = [{name: _value(name, run[name]) for name in _RUN} for run in shown]
        said = [without_vendor_state(message) for message in messages]
        return encode_json({**_about(about), "messages": said, "runs": listed, "next": more})

    return json_response(await in_worker_if_large(sum(map(size_of, messages)), body))


async def replay(request: Request) -> Response:
    """`GET /conversations/{id}/replay`: a page of its model calls, each with what it received that was new."""
    page = page_of(request)
    after, name = _place(page.cursor), request.path_params["conversation_id"]
    with archive_refusals():
        found = await _archive_of(request).replay(caller_of(request).tenant, name, page.limit, REPLAY_BYTES, after)
    if found is None:
        raise _not_found()
    last = found.calls[-1][0] if found.calls else None
    more = _cursor(last.run_id, last.attempt, last.number) if last is not None and found.more else None

    def body() -> bytes:
        return encode_json({"conversation": name, "model_calls": [*starmap(_call, found.calls)], "next": more})

    return json_response(await in_worker_if_large(REPLAY_BYTES, body))


async def delete(request: Request) -> Response:
    """`DELETE /conversations/{id}`: delete it, with everything that is recorded of it."""
    name = request.path_params["conversation_id"]
    _archive_of(request)
    keep_to_home(request, lambda: name)
    gateway = gateway_of(request)
    try:
        with archive_refusals():
            deleted = await gateway.memory.forget_conversation(caller_of(request).tenant, name, gateway.runs)
    except (ConversationRunning, SessionBusy):
        told = "A run of this conversation goes on. Wait for its end, or cancel it: POST /runs/{id}/cancel."
        raise Refused(409, told, "conversation_busy", headers={"retry-after": "1"}) from None
    if not deleted:
        raise _not_found()
    return Response(status_code=204)


def _archive_of(request: Request) -> Archive:
    archive = gateway_of(request).archive
    if archive is None:
        raise not_configured()
    return archive


def _about(found: Mapping[str, Any]) -> dict[str, Any]:
    names = ("id", "session", "created_at", "last_run_at", *(["run_count"] if "run_count" in found else []))
    return {name: _value(name, found[name]) for name in names}


def _call(call: ModelCall, before: ModelCall | None) -> dict[str, Any]:
    """Return a model call, without what the one before it has as well."""
    same = call.same_messages(before)
    told = {name: _value(name, value) for name, value in call.to_dict(same).items()} | {"same_messages": same}
    if before is not None and call.tools == before.tools:
        del told["tools"]
    return told


def _value(name: str, value: Any) -> Any:
    return time_text(value) if name.endswith("_at") and value is not None else value


def _cursor(*place: int | str) -> str:
    return base64.urlsafe_b64encode(json.dumps(place).encode()).decode()


def _moment(cursor: str | None) -> tuple[int, str] | None:
    match _place_in(cursor):
        case None:
            return None
        case [int(at), str(name)]:
            return at, name
        case _:
            raise wrong_cursor()


def _place(cursor: str | None) -> tuple[str, int, int] | None:
    match _place_in(cursor):
        case None:
            return None
        case [str(run_id), int(attempt), int(number)]:
            return run_id, attempt, number
        case _:
            raise wrong_cursor()


def _place_in(cursor: str | None) -> list[Any] | None:
    if cursor is None:
        return None
    try:
        place = json.loads(base64.b64decode(cursor, b"-_", validate=True))
    except (ValueError, RecursionError):
        raise wrong_cursor() from None
    if not isinstance(place, list) or any(isinstance(one, int) and not 0 <= one < 2**62 for one in place):
        raise wrong_cursor()
    return place


def _not_found() -> Refused:
    return Refused(
        404,
        "There is no such conversation. GET /conversations lists them: their ids begin with conv_ or run_.",
        "conversation_not_found",
    )
