"""The native routes: chats, runs, tools, health."""

from __future__ import annotations

import asyncio
import hashlib
import time
from dataclasses import replace
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp

from xmcp.chat.json_values import encode_json
from xmcp.chat.messages import message_to_json
from xmcp.client.calls.worker_threads import in_worker_if_large
from xmcp.gateway.decoders import native as decoding
from xmcp.gateway.encoders import native as encoding
from xmcp.gateway.http.chats import Asked, Following, caller_of, gateway_of, give_answer, refuse_crowd, run_of
from xmcp.gateway.http.gathering import ASKING, TELLING, merged_health, others
from xmcp.gateway.http.homes import peers_of
from xmcp.gateway.http.openapi import document
from xmcp.gateway.http.refusals import Refused, json_response
from xmcp.gateway.runs.events import place_of
from xmcp.gateway.runs.run import Run


async def chat(request: Request) -> ASGIApp:
    """`POST /chat`: the answer in one piece, or its events if the caller accepts `text/event-stream`."""
    asked = await Asked.by(request)
    wanted = await asked.decoded(decoding.decode, gateway_of(request).default_for(caller_of(request)))
    streamed = "text/event-stream" in request.headers.get("accept", "")
    following = await asked.begin(replace(wanted.request, can_be_asked=streamed))
    if streamed:
        return await following.stream(encoding.NativeEncoder())
    await following.to_the_end()
    run = following.run

    def whole() -> bytes:
        history = [message_to_json(message) for message in run.history] if wanted.history else None
        return encoding.whole(run.id, run.request.model, run.state, run.latency_ms, history)

    return json_response(await in_worker_if_large(run.size, whole), headers=following.headers)


async def run_state(request: Request) -> Response:
    """`GET /runs/{id}`: what has come of a run so far."""
    return await _state_of(_run_of(request))


async def run_events(request: Request) -> ASGIApp:
    """`GET /runs/{id}/events`: the events of a run after `Last-Event-ID`, or after `?after=`."""
    run = _run_of(request)
    named = request.headers.get("last-event-id") or request.query_params.get("after")
    after = 0
    if named is not None:
        place = place_of(named)
        if place is None or place[0] != run.id or place[1] != run.attempt or place[2] > run.state.seq:
            told = "Last-Event-ID, or after, must be the id of an event of this run."
            raise Refused(400, told, "invalid_event_id")
        after = place[2]
    if run.ended and after == run.state.seq:
        # By the standard of server-sent events, a browser then stops asking.
        return Response(status_code=204)
    refuse_crowd(run)
    return Following(request, run, after=after).events(encoding.NativeEncoder())


async def cancel(request: Request) -> Response:
    """`POST /runs/{id}/cancel`: end a run. One that has ended is left as it is."""
    run = _run_of(request)
    run.cancel("caller")
    await run.over()
    return await _state_of(run)


async def give_input(request: Request) -> Response:
    """`POST /runs/{id}/input`: answer the question whether a call may be made. Any caller of the tenant can."""
    run = _run_of(request)
    asked = await Asked.by(request)
    call_id, answer = await asked.decoded(decoding.decode_answer)
    give_answer(run, call_id, answer, caller_of(request).key_name)
    return await _state_of(run)


async def tools(request: Request) -> Response:
    """`GET /tools`: what the model is offered, and whether each server can be reached."""
    gateway = gateway_of(request)
    listed = gateway.tools_for(caller_of(request))
    digest = hashlib.sha256(encode_json(listed)).hexdigest()
    tag = f'"{digest[:32]}"'
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers={"etag": tag})
    value = {"tools": listed, "servers": _servers(request), "hash": digest}
    return json_response(value, headers={"etag": tag})


async def refresh_tools(request: Request) -> Response:
    """`POST /tools/refresh`: list the tools of all servers again, and say what changed."""
    changes, _ = await asyncio.gather(gateway_of(request).refresh_tools(), others(request, TELLING))
    return json_response({**changes.to_dict(), "servers": _servers(request)})


async def health(request: Request) -> Response:
    """`GET /health`: how the gateway is, for people."""
    gateway = gateway_of(request)
    servers = _servers(request)
    backends = gateway.backends
    well = all(server["connected"] for server in servers) and all(backends.values())
    status = "ok" if well else "degraded"
    runs = {"running": gateway.runs.places.running, "waiting": gateway.runs.places.waiting}
    value: dict[str, Any] = {
        "status": "draining" if gateway.stopping else status,
        "uptime_seconds": round(time.time() - request.app.state.started, 1),
        "runs": runs,
        "servers": servers,
        "models": gateway.models_for(caller_of(request)),
        "backends": {name: "up" if up else "down" for name, up in backends.items()},
        **({} if gateway.audit is None else gateway.audit.health()),
    }
    if (peers := peers_of(request)) is not None:
        value = merged_health([value, *await others(request, ASKING)], peers.place.count)
    return json_response(value)


async def openapi(_: Request) -> Response:
    """`GET /openapi.json`: these routes, as a document."""
    return json_response(document())


async def alive(_: Request) -> Response:
    """`GET /livez`: 200 while the process answers at all."""
    return json_response({"status": "ok"})


async def ready(request: Request) -> Response:
    """`GET /readyz`: 200 while new chats are to come here, 503 when the gateway is stopping, or cannot record them."""
    gateway = gateway_of(request)
    if gateway.stopping:
        return json_response({"status": "draining"}, 503)
    if gateway.config.audit.required and gateway.audit is not None and not gateway.audit.statistics.database_up:
        return json_response({"status": "audit_down"}, 503)
    return json_response({"status": "ok"})


def _run_of(request: Request) -> Run:
    return run_of(request, request.path_params["run_id"])


async def _state_of(run: Run) -> Response:
    value = {
        "run_id": run.id,
        **run.state.to_dict(),
        "latency_ms": run.latency_ms,
        "last_event_id": f"{run.id}:{run.attempt}:{run.state.seq}",
    }
    return json_response(await in_worker_if_large(run.size, encode_json, value))


def _servers(request: Request) -> list[dict[str, Any]]:
    """Return the state of the servers, without addresses and reasons, which are for the log."""
    servers = gateway_of(request).ai.servers
    return [{"name": one.name, "connected": one.connected, "tools": one.tools} for one in servers]
