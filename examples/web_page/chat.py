"""A chat in a web page: the events of a chat as server-sent events, shown by a page without a framework.

    export OPENAI_API_KEY=sk-…        # or OPENAI_BASE_URL=http://localhost:8000/v1 of a model that runs here
    export MCP_SERVER="uv run xmcp serve examples/display_server.py --transport stdio"        # or a URL
    uv run python examples/web_page/chat.py        # then open http://127.0.0.1:8000

Each question begins a new chat, and whoever reaches the port can ask: before others use it, add a login and a history.
"""

import json
import logging
import os
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from xmcp import AIClient
from xmcp.providers import ProviderError

# The other events have results of tools, and the history: they stay here.
SHOWN = {"llm_delta", "retry", "tool_started", "tool_error", "tool_display", "failed"}


async def events(ai: AIClient, question: str) -> AsyncIterator[str]:
    """Yield the events of one chat. If the reader closes the page, the chat ends, and so do its calls."""
    try:
        async with aclosing(ai.stream_chat(question, [])) as stream:
            async for event in stream:
                if event.type in SHOWN:
                    yield f"data: {json.dumps({**event.to_json(), 'history': None})}\n\n"
    except ProviderError as failure:
        logging.warning("A chat failed: %s", failure)  # the page has the event `failed`


async def ask(request: Request) -> Response:
    """Answer a question. Pages of other sites can send no JSON here without being allowed to."""
    if request.headers.get("content-type") != "application/json":
        return PlainTextResponse("Send the question as a JSON string.", status_code=415)
    return StreamingResponse(events(request.state.ai, str(await request.json())), media_type="text/event-stream")


@asynccontextmanager
async def client(_: Starlette) -> AsyncIterator[dict[str, Any]]:
    """Keep one client for all chats."""
    servers = [os.environ.get("MCP_SERVER", "http://127.0.0.1:3333")]
    async with AIClient(servers, llm_model=os.environ.get("MODEL", "gpt-4o")) as ai:
        yield {"ai": ai}


page = StaticFiles(directory=Path(__file__).parent / "page", html=True)
hosts = Middleware(TrustedHostMiddleware, allowed_hosts=["127.0.0.1", "localhost"])
app = Starlette(routes=[Route("/ask", ask, methods=["POST"]), Mount("/", page)], lifespan=client, middleware=[hosts])

if __name__ == "__main__":
    uvicorn.run(app, port=8000)
