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
from xmcp.gateway.http.chats import caller_of, gateway_of, session_busy
from xmcp.gateway.http.pages import page_of, wrong_cursor
from xmcp.gateway.http.refusals import Refused, json_response
from xmcp.gateway.sessions.sessions import Name, Session


async def sessions(request: Request) -> Response:
    """`GET /sessions`: the sessions that are in memory; what was used last comes first."""
    page, remembered = page_of(request), gateway_of(request).sessions
    before = page.cursor or ""
    if before and not (before.isascii() and before.isdecimal()):
        raise wrong_cursor()
    tenant = caller_of(request).tenant
    older = (one for one in remembered.of(tenant) if not before or one.place < int(before))
    found = [*islice(older, page.limit + 1)]
    shown = found[: page.limit]
    listed = [_about(one, busy=remembered.is_busy((tenant, one.id))) for one in shown]
    return json_response({"sessions": listed, "next": str(shown[-1].place) if len(found) > page.limit else None})


async def session(request: Request) -> Response:
    """`GET /sessions/{id}`: what the model of its next chat will be told."""
    remembered, name = gateway_of(request).sessions, _name_of(request)
    found, busy = remembered.get(name), remembered.is_busy(name)
    if found is None and not busy:
        raise _not_found()
    found = found or Session(name[1], (), 0, 0.0, 0)

    def shown() -> bytes:
        messages = [message_to_json(without_vendor_state(message)) for message in found.messages]
        return encode_json({**_about(found, busy=busy), "messages": messages})

    return json_response(await in_worker_if_large(found.size, shown))


async def forget(request: Request) -> Response:
    """`DELETE /sessions/{id}`: forget a session."""
    remembered, name = gateway_of(request).sessions, _name_of(request)
    if remembered.is_busy(name):
        raise session_busy()
    if not remembered.drop(name):
        raise _not_found()
    return Response(status_code=204)


def _name_of(request: Request) -> Name:
    return caller_of(request).tenant, request.path_params["session_id"]


def _about(found: Session, *, busy: bool) -> dict[str, Any]:
    return {
        "id": found.id,
        "message_count": len(found.messages),
        "bytes": found.size,
        "used_at": None if not found.used_at else datetime.fromtimestamp(found.used_at, UTC).isoformat(),
        "busy": busy,
    }


def _not_found() -> Refused:
    return Refused(404, "There is no such session, or it is not remembered any more.", "session_not_found")
