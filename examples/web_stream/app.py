"""A chat in a web page: text and thoughts as they grow, tools at work, displays, a conversation, a stop button.

    export OPENAI_API_KEY=sk-…        # or OPENAI_BASE_URL=http://localhost:11434/v1 of a model that runs here
    export MODEL=gpt-4o MCP_SERVER=http://127.0.0.1:3333        # or a command that starts a server
    uv run python examples/web_stream/app.py        # then open http://127.0.0.1:8089

Whoever reaches the port can ask, and conversations are kept until the program ends: before others use it, add a login
and sessions.
"""

import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import FileResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from xmcp import AIClient, Conversation
from xmcp.client import SSE_HEADERS
from xmcp.render.web import MEDIA_TYPE, SCRIPT

HERE = Path(__file__).parent
SAMPLE = [sys.executable, "-m", "xmcp", "serve", str(HERE.parent / "display_server.py"), "--transport", "stdio"]
CALLS = {"tool_call", "tool_started", "tool_progress", "tool_result", "tool_error", "tool_display"}
SHOWN = CALLS | {"llm_delta", "llm_reasoning", "retry", "done", "failed"}


async def ask(request: Request) -> Response:
    """Answer a question of a page. Pages of other sites can send no JSON here without being allowed to."""
    if request.headers.get("content-type", "").partition(";")[0] != "application/json":
        return PlainTextResponse("Send JSON.", status_code=415)
    try:
        asked = await request.json()
        page, question = str(asked["page"]), str(asked["question"])
    except (ValueError, TypeError, KeyError):
        return PlainTextResponse('Send {"page": "…", "question": "…"}.', status_code=400)
    conversation = request.state.conversations.setdefault(page, Conversation(request.state.ai))
    if conversation.busy:
        return PlainTextResponse("The last question is still being answered: wait, or stop it.", status_code=409)
    return StreamingResponse(conversation.stream_chat(question).sse(types=SHOWN), headers=SSE_HEADERS)


@asynccontextmanager
async def client(_: Starlette) -> AsyncIterator[dict[str, Any]]:
    """Keep one client for all conversations."""
    async with AIClient([os.environ.get("MCP_SERVER", SAMPLE)], llm_model=os.environ.get("MODEL")) as ai:
        yield {"ai": ai, "conversations": {}}


app = Starlette(
    routes=[
        Route("/ask", ask, methods=["POST"]),
        Route("/xmcp_display.js", lambda _: FileResponse(SCRIPT, media_type=MEDIA_TYPE)),  # the element of the page
        Mount("/", StaticFiles(directory=HERE / "page", html=True)),
    ],
    lifespan=client,
    middleware=[Middleware(TrustedHostMiddleware, allowed_hosts=["127.0.0.1", "localhost"])],
)

if __name__ == "__main__":
    uvicorn.run(app, port=8089)
