"""A chat in a web page: the events of a chat as server-sent events, shown by a page without a framework.

    uv run python examples/web_page/chat.py        # then open http://127.0.0.1:8088

Without a key, a script stands in for the model: it calls the tool that you name. For a model and a server of your own:

    export OPENAI_API_KEY=sk-…        # or OPENAI_BASE_URL=http://localhost:11434/v1 of a model that runs here
    export MODEL=gpt-4o MCP_SERVER=http://127.0.0.1:3333        # or a command that starts a server

Each question begins a new chat, and whoever reaches the port can ask: before others use it, add a login and a history.
"""

import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import uvicorn
from stand_in import hint, stand_in
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from xmcp import AIClient
from xmcp.client import SSE_HEADERS
from xmcp.providers import ScriptedProvider

# The other events have what the model asked and read, and what it cost: they stay here.
SHOWN = {"llm_delta", "retry", "tool_started", "tool_error", "tool_display", "failed", "done"}

SAMPLE = Path(__file__).parents[1] / "display_server.py"
SERVER = os.environ.get("MCP_SERVER", [sys.executable, "-m", "xmcp", "serve", str(SAMPLE), "--transport", "stdio"])


async def ask(request: Request) -> Response:
    """Answer a question. Pages of other sites can send no JSON here without being allowed to."""
    if request.headers.get("content-type") != "application/json":
        return PlainTextResponse("Send the question as a JSON string.", status_code=415)
    try:
        question = str(await request.json())
    except ValueError:
        return PlainTextResponse("The question is not JSON.", status_code=400)
    return StreamingResponse(request.state.ai.stream_chat(question, []).sse(types=SHOWN), headers=SSE_HEADERS)


async def begin(request: Request) -> Response:
    """Answer with what the page shows first: without a model, what can be asked."""
    return PlainTextResponse("" if request.state.has_model else hint(request.state.ai.tools))


@asynccontextmanager
async def client(_: Starlette) -> AsyncIterator[dict[str, Any]]:
    """Keep one client for all chats."""
    model = None
    if not {"OPENAI_API_KEY", "OPENAI_BASE_URL"} & os.environ.keys():
        print("Neither OPENAI_API_KEY nor OPENAI_BASE_URL is set: a script stands in for the model.")
        model = ScriptedProvider(stand_in)
    async with AIClient([SERVER], llm_provider=model, llm_model=os.environ.get("MODEL")) as ai:
        yield {"ai": ai, "has_model": model is None}


page = StaticFiles(directory=Path(__file__).parent / "page", html=True)
app = Starlette(
    routes=[Route("/ask", ask, methods=["POST"]), Route("/begin", begin), Mount("/", page)],
    lifespan=client,
    middleware=[Middleware(TrustedHostMiddleware, allowed_hosts=["127.0.0.1", "localhost"])],
)

if __name__ == "__main__":
    uvicorn.run(app, port=8088)
