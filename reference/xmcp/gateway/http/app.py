"""The ASGI application of a gateway: its routes behind the doorkeeper."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any, Final

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.routing import Route

from xmcp.gateway.http import (
    admin_routes,
    conversation_routes,
    openai_routes,
    report_routes,
    responses_routes,
    routes,
    session_routes,
    ui_routes,
)
from xmcp.gateway.http.bodies import Arriving
from xmcp.gateway.http.doorkeeper import Doorkeeper
from xmcp.gateway.http.handing_on import hand_on
from xmcp.gateway.http.homes import Elsewhere
from xmcp.gateway.http.measured import Measured
from xmcp.gateway.http.refusals import Refused, crashed, no_such_route, refused
from xmcp.gateway.http.scopes import guarded
from xmcp.gateway.http.traced import Traced
from xmcp.gateway.http.worker_routes import ForWorkers
from xmcp.gateway.service import Gateway
from xmcp.gateway.workers.peers import Peers

if TYPE_CHECKING:
    from xmcp.gateway.metrics.counts import Counts
    from xmcp.gateway.workers.place import WorkerPlace

_ANSWER_SECONDS: Final = 90
"""For how long beyond the deadline of chats another process is waited for: it can take that long to end one."""


def application(gateway: Gateway, counts: Counts | None = None, place: WorkerPlace | None = None) -> Starlette:
    """Return the application. Its lifespan connects the client to its servers, and closes it.

    `app.state.abort` cuts the connection of a client at once, given its address; the server that runs the application
    sets it. `counts` are moved by every request. `place` is that of this process among several, which hand requests on
    to each other: `app.state.peers` are the others.
    """
    peers = None
    if place is not None:
        gateway.take_place(place)
        peers = Peers(place, gateway.config.runs.deadline_seconds + _ANSWER_SECONDS)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with AsyncExitStack() as exits:
            if peers is not None:
                exits.push_async_callback(peers.aclose)
            await exits.enter_async_context(gateway.running())
            yield

    app = Starlette(
        routes=[*map(guarded, _routes())],
        middleware=[
            *([] if place is None else [Middleware(ForWorkers)]),
            *([] if counts is None else [Middleware(Measured, counts=counts)]),
            *_open_to(gateway.config.listen.allow_origins),
            Middleware(Doorkeeper, access=gateway.access),
            Middleware(Traced),
        ],
        exception_handlers={
            Refused: refused,
            Elsewhere: hand_on,
            HTTPException: no_such_route,
            Exception: crashed,
        },
        lifespan=lifespan,
    )
    app.router.redirect_slashes = False
    app.state.gateway = gateway
    listen = gateway.config.listen
    app.state.arriving = Arriving(max(listen.max_reading_bytes, 2 * listen.max_body_bytes))
    app.state.started = time.time()
    app.state.abort = _no_abort
    app.state.peers = peers
    return app


def _open_to(origins: Sequence[str]) -> list[Middleware]:
    """Return what lets web pages of these origins call. It is before the doorkeeper: a browser asks without a key."""
    if not origins:
        return []
    return [
        Middleware(
            CORSMiddleware,
            allow_origins=list(origins),
            allow_methods=["GET", "POST", "PATCH", "DELETE"],
            allow_headers=["authorization", "content-type", "idempotency-key", "last-event-id"],
            expose_headers=["xmcp-run-id", "xmcp-history", "xmcp-replayed", "retry-after", "retry-after-ms"],
        )
    ]


def _routes() -> list[Route]:
    return [
        Route("/chat", routes.chat, methods=["POST"]),
        Route("/runs/{run_id}", routes.run_state, methods=["GET"]),
        Route("/runs/{run_id}/events", routes.run_events, methods=["GET"]),
        Route("/runs/{run_id}/cancel", routes.cancel, methods=["POST"]),
        Route("/runs/{run_id}/input", routes.give_input, methods=["POST"]),
        Route("/sessions", session_routes.sessions, methods=["GET"]),
        Route("/sessions/{session_id:path}", session_routes.session, methods=["GET"]),
        Route("/sessions/{session_id:path}", session_routes.forget, methods=["DELETE"]),
        Route("/conversations", conversation_routes.conversations, methods=["GET"]),
        Route("/conversations/{conversation_id}", conversation_routes.conversation, methods=["GET"]),
        Route("/conversations/{conversation_id}", conversation_routes.delete, methods=["DELETE"]),
        Route("/conversations/{conversation_id}/replay", conversation_routes.replay, methods=["GET"]),
        Route("/tools", routes.tools, methods=["GET"]),
        Route("/tools/refresh", routes.refresh_tools, methods=["POST"]),
        Route("/health", routes.health, methods=["GET"]),
        Route("/livez", routes.alive, methods=["GET"]),
        Route("/readyz", routes.ready, methods=["GET"]),
        Route("/ui/ai-sdk", ui_routes.ai_sdk_chat, methods=["POST"]),
        Route("/ui/ag-ui", ui_routes.ag_ui_run, methods=["POST"]),
        Route("/v1/chat/completions", openai_routes.completions, methods=["POST"]),
        Route("/v1/responses", responses_routes.create, methods=["POST"]),
        Route("/v1/responses/{response_id}", responses_routes.retrieve, methods=["GET"]),
        Route("/v1/responses/{response_id}/cancel", responses_routes.cancel, methods=["POST"]),
        Route("/v1/models", openai_routes.models, methods=["GET"]),
        Route("/v1/models/{model:path}", openai_routes.model, methods=["GET"]),
        Route("/analytics/usage", report_routes.usage, methods=["GET"]),
        Route("/analytics/tools", report_routes.tools, methods=["GET"]),
        Route("/analytics/errors", report_routes.errors, methods=["GET"]),
        Route("/cache/stats", report_routes.cache_statistics, methods=["GET"]),
        Route("/cache", report_routes.clear_cache, methods=["DELETE"]),
        Route("/openapi.json", routes.openapi, methods=["GET"]),
        Route("/admin/tenants", admin_routes.list_tenants, methods=["GET"]),
        Route("/admin/tenants", admin_routes.put_tenant, methods=["POST"]),
        Route("/admin/tenants/{name}", admin_routes.delete_tenant, methods=["DELETE"]),
        Route("/admin/keys", admin_routes.list_keys, methods=["GET"]),
        Route("/admin/keys", admin_routes.add_key, methods=["POST"]),
        Route("/admin/keys/{key_id}", admin_routes.set_key_limits, methods=["PATCH"]),
        Route("/admin/keys/{key_id}", admin_routes.revoke_key, methods=["DELETE"]),
        Route("/admin/audit", admin_routes.list_changes, methods=["GET"]),
    ]


def _no_abort(client: Any) -> None:
    """Leave the connection to the server that runs the application."""
