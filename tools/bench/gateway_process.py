"""A gateway for the bench, in a process of its own: `python -m tools.bench.gateway_process [config as JSON]`.

It prints its port, then answers each line of standard input, a command in JSON, with one line: what it measured. It
ends with its standard input. Its model answers as the question says: `50 at 25` is 50 pieces of text, 25 a second, each
with the time at which it was written; `50 at 0` is 50 pieces at once.
"""

from __future__ import annotations

import asyncio
import json
import os
import resource
import sys
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from xmcp import AIClient
from xmcp.chat.completions import Completion
from xmcp.gateway.config_file import config_of
from xmcp.gateway.keys import Keys
from xmcp.gateway.service import Gateway, Offered
from xmcp.gateway.serving import GatewayServer
from xmcp.providers.base import ModelRequest, Piece
from xmcp.server.transports.http_server import listen


class PacedModel:
    """Writes as many pieces as it is asked for, at the rate that it is asked for."""

    name = "paced"
    supports_tools = True
    max_context_tokens: int | None = None

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Piece | Completion, None]:
        """Yield the pieces, then the answer."""
        count, _, rate = str(request.messages[-1]["content"]).partition(" at ")
        wait = 1 / float(rate) if float(rate) else 0.0
        begun, written = time.monotonic(), []
        for number in range(int(count)):
            if wait:
                await asyncio.sleep(max(0.0, begun + number * wait - time.monotonic()))
            written.append(f"<{time.monotonic():.6f}> of piece ")
            yield written[-1]
        yield Completion("".join(written), (), "stop", model="paced")


async def chat(ai: AIClient, question: str) -> tuple[float, float]:
    """Return the seconds to the first piece and to the end of a chat without a gateway: the floor."""
    begun, first = time.perf_counter(), 0.0
    async with aclosing(ai.stream_chat(question, [])) as chunks:
        async for chunk in chunks:
            if chunk.type == "llm_delta":
                first = first or time.perf_counter() - begun
    return first, time.perf_counter() - begun


def used() -> dict[str, float]:
    """Return the CPU seconds of the process and the bytes that it has in memory."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    with open("/proc/self/statm") as statm:
        pages = int(statm.read().split()[1])
    return {"cpu": usage.ru_utime + usage.ru_stime, "memory": pages * os.sysconf("SC_PAGE_SIZE")}


async def serve(config: dict[str, Any]) -> None:
    """Serve until the end of standard input."""
    settings = config_of(config, "bench.toml")
    gateway = Gateway(
        AIClient([], llm_provider=PacedModel()), [Offered("paced")], settings, Keys([], "none", os.environ)
    )
    listener = listen("127.0.0.1", 0)
    server = GatewayServer(gateway, lambda: print(listener.getsockname()[1], flush=True))
    serving = asyncio.create_task(server.serve([listener]))
    commands = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(commands), sys.stdin)
    async for line in commands:
        question, chats = json.loads(line)
        taken = await asyncio.gather(*(chat(gateway.ai, question) for _ in range(chats))) if chats else []
        print(json.dumps({**used(), "chats": taken}), flush=True)
    server.should_exit = True
    await serving


if __name__ == "__main__":
    asyncio.run(serve(json.loads(sys.argv[1]) if sys.argv[1:] else {}))
