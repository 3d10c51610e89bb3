"""The ASGI application of a gateway: its routes behind the doorkeeper."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.routing import Route

from xmcp.gateway.http import conversation_routes, openai_routes, routes, session_routes, ui_routes
from xmcp.gateway.http.doorkeeper import Doorkeeper
from xmcp.gateway.http.refusals import Refused, crashed, no_such_route, refused
from xmcp.gateway.service import Gateway


def application(gateway: Gateway) -> Starlette:
    """Return the application. Its lifespan connects the client to its servers, and closes it.

    `app.state.abort` cuts the connection of a client at once, given its address; the server that runs the application
    sets it.
    """

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with gateway.running():
            yield

    app = Starlette(
        routes=[
            Route("/chat", routes.chat, methods=["POST"]),
            Route("/runs/{run_id}", routes.run_state, methods=["GET"]),
            Route("/runs/{run_id}/events", routes.run_events, methods=["GET"]),
            Route("/runs/{run_id}/cancel", routes.cancel, methods=["POST"]),
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
            Route("/v1/models", openai_routes.models, methods=["GET"]),
            Route("/v1/models/{model:path}", openai_routes.model, methods=["GET"]),
        ],
        middleware=[Middleware(Doorkeeper, keys=gateway.keys)],
        exception_handlers={Refused: refused, HTTPException: no_such_route, Exception: crashed},
        lifespan=lifespan,
    )
    app.router.redirect_slashes = False
    app.state.gateway = gateway
    app.state.started = time.time()
    app.state.abort = _no_abort
    return app


def _no_abort(client: Any) -> None:
    """Leave the connection to the server that runs the application."""
