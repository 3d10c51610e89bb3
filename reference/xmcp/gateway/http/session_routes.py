"""The routes of sessions: which there are, what is remembered of one, and forgetting it."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import islice
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from xmcp.chat.json_values import encode_json
from xmcp.chat.messages import message_to_json
from xmcp.chat.vendor_state import without_vendor_state
from xmcp.client.calls.worker_threads import in_worker_if_large
from xmcp.gateway.http.archive_refusals import archive_refusals
from xmcp.gateway.http.chats import caller_of, gateway_of, session_busy
from xmcp.gateway.http.gathering import ASKING, merged_sessions, others
from xmcp.gateway.http.homes import keep_to_home, name_of_session
from xmcp.gateway.http.pages import page_of, wrong_cursor
from xmcp.gateway.http.refusals import Refused, json_response
from xmcp.gateway.sessions.sessions import Name, Session, SessionBusy
from xmcp.gateway.workers.connections import is_from_peer


async def sessions(request: Request) -> Response:
    """`GET /sessions`: the sessions that are in memory, of any process; what was used last comes first."""
    page, remembered = page_of(request), gateway_of(request).memory.sessions
    before = page.cursor or ""
    if before and not (before.isascii() and before.isdecimal()):
        raise wrong_cursor()
    tenant = caller_of(request).tenant
    older = (one for one in remembered.of(tenant) if not before or one.place < int(before))
    found = [
        {"place": one.place, **_about(one, busy=remembered.is_busy((tenant, one.id)))}
        for one in islice(older, page.limit + 1)
    ]
    if is_from_peer(request.scope):
        return json_response(found)
    return json_response(merged_sessions([found, *await others(request, ASKING)], page.limit))


async def session(request: Request) -> Response:
    """`GET /sessions/{id}`: what the model of its next chat will be told."""
    gateway, name = gateway_of(request), _name_of(request)
    keep_to_home(request, lambda: name_of_session(*name))
    busy = gateway.memory.sessions.is_busy(name)
    with archive_refusals():
        found = await gateway.memory.session(name)
    if found is None and not busy:
        raise _not_found()
    found = found or gateway.memory.sessions.described(name, ())

    def shown() -> bytes:
        messages = [message_to_json(without_vendor_state(message)) for message in found.messages]
        return encode_json({**_about(found, busy=busy), "messages": messages})

    return json_response(await in_worker_if_large(found.size, shown))


async def forget(request: Request) -> Response:
    """`DELETE /sessions/{id}`: forget a session."""
    name = _name_of(request)
    keep_to_home(request, lambda: name_of_session(*name))
    try:
        with archive_refusals():
            gateway = gateway_of(request)
            forgotten = await gateway.memory.forget_session(name, gateway.runs)
    except SessionBusy:
        raise session_busy() from None
    if not forgotten:
        raise _not_found()
    return Response(status_code=204)


def _name_of(request: Request) -> Name:
    return caller_of(request).tenant, request.path_params["session_id"]


def _about(found: Session, *, busy: bool) -> dict[str, Any]:
    return {
        "id": found.id,
        "message_count": len(found.messages),
        "bytes": found.size,
        "used_at": datetime.fromtimestamp(found.used_at, UTC).isoformat(timespec="milliseconds"),
        "busy": busy,
    }


def _not_found() -> Refused:
    return Refused(404, "There is no such session, or it is not remembered any more.", "session_not_found")
