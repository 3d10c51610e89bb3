"""A client for the bench, in a process of its own: `python -m tools.bench.client_process floor|xmcp`.

It reads one command in JSON from each line of standard input, and answers each with one line on standard output: what
it measured, or `{"error": …}`. It ends with its standard input. The floor must not import XMCP, and neither client may
import more than an application would, because their memory is measured.
"""

from __future__ import annotations

import asyncio
import gc
import itertools
import json
import logging
import os
import sys
import threading
import time
import tracemalloc
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, aclosing
from pathlib import Path
from typing import Any, Protocol

from tools.bench import open_files
from tools.bench.script import Script

MODEL, KEY = "scripted", "none"
MOST_TURNS = 40
COMMAND_SECONDS = 100.0
WARM = 50


class WrongAnswer(Exception):
    """The last answer of a chat is not the one of its script. The message is that answer."""


class Peer(Protocol):
    """A client of one model and some servers. One object serves many chats, also at the same time."""

    async def __aenter__(self) -> Any: ...
    async def __aexit__(self, *_: object) -> None: ...
    async def chat(self, prompt: str) -> str | None:
        """Run a new chat and return its last answer."""
        ...

    def stream(self, prompt: str) -> Any:
        """Run a new chat without tools; return an async generator of its text."""
        ...


class Floor:
    """A loop by hand: the openai SDK, and for each server a `fastmcp.Client` that stays connected."""

    def __init__(self, model: str, servers: list[Any], **_: object) -> None:
        from fastmcp import Client
        from openai import AsyncOpenAI

        self._model = AsyncOpenAI(base_url=model, api_key=KEY)
        self._clients = [Client(server) if isinstance(server, str) else server for server in servers]
        self._stack = AsyncExitStack()
        self._owner: dict[str, Any] = {}
        self._tools: list[Any] = []

    async def __aenter__(self) -> Floor:
        await self._stack.enter_async_context(self._model)
        for client in self._clients:
            await self._stack.enter_async_context(client)
            for tool in await client.list_tools():
                self._owner[tool.name] = client
                function = {"name": tool.name, "description": tool.description or "", "parameters": tool.input_schema}
                self._tools.append({"type": "function", "function": function})
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    async def call(self, call: Any) -> dict[str, Any]:
        """Run a tool call and return its tool message."""
        name = call.function.name
        result = await self._owner[name].call_tool(name, json.loads(call.function.arguments))
        text = "".join(getattr(block, "text", "") for block in result.content)
        return {"role": "tool", "tool_call_id": call.id, "content": text}

    async def chat(self, prompt: str) -> str | None:
        """Ask the model, run its tool calls at the same time, and repeat until it asks for none."""
        messages: list[Any] = [{"role": "user", "content": prompt}]
        for _ in range(MOST_TURNS):
            answer = await self._model.chat.completions.create(model=MODEL, messages=messages, tools=self._tools)
            message = answer.choices[0].message
            if not message.tool_calls:
                return message.content
            calls = [
                {
                    "id": c.id,
                    "type": "function",
                    "function": {"name": c.function.name, "arguments": c.function.arguments},
                }
                for c in message.tool_calls
                if c.type == "function"
            ]
            messages.append({"role": "assistant", "content": message.content, "tool_calls": calls})
            messages += await asyncio.gather(*map(self.call, message.tool_calls))
        return None

    async def stream(self, prompt: str) -> AsyncIterator[str]:
        """Yield the text of one answer."""
        messages: list[Any] = [{"role": "user", "content": prompt}]
        chunks = await self._model.chat.completions.create(
            model=MODEL, messages=messages, tools=self._tools, stream=True
        )
        async for chunk in chunks:
            if chunk.choices and chunk.choices[0].delta.content:
                yield chunk.choices[0].delta.content


class Xmcp:
    """`AIClient` with its defaults, and with its hooks, its log and its accounting in use."""

    def __init__(self, model: str, servers: list[Any], **options: Any) -> None:
        from xmcp import AIClient

        logger = logging.getLogger("bench")
        logger.setLevel(logging.INFO)
        logger.addHandler(logging.NullHandler())
        logger.propagate = False
        self.accounted = 0
        self._ai = AIClient(
            servers,
            openai_api_key=KEY,
            openai_base_url=model,
            llm_model=MODEL,
            max_turns=MOST_TURNS,
            on_display=lambda *_: None,
            usage_sink=self._account,
            logger=logger,
            **options,
        )

    async def __aenter__(self) -> Xmcp:
        await self._ai.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._ai.__aexit__(None, None, None)

    def _account(self, _record: object) -> None:
        self.accounted += 1

    async def chat(self, prompt: str) -> str | None:
        """Run `AIClient.chat`."""
        return (await self._ai.chat(prompt, []))["answer"]

    async def stream(self, prompt: str) -> AsyncIterator[str]:
        """Yield the text of `AIClient.stream_chat`, which is read to its last event."""
        async with aclosing(self._ai.stream_chat(prompt, [])) as chunks:
            async for chunk in chunks:
                if chunk.type == "llm_delta" and chunk.text:
                    yield chunk.text


def wide(url: str) -> Any:
    """Return a client of a server without a limit of connections. The default is 100; further calls would wait."""
    import httpx2
    from fastmcp import Client
    from fastmcp.client.transports import StreamableHttpTransport

    def connections(headers: Any = None, timeout: Any = None, auth: Any = None, **_: object) -> httpx2.AsyncClient:
        patient = timeout or httpx2.Timeout(30, read=COMMAND_SECONDS)
        return httpx2.AsyncClient(headers=headers, timeout=patient, auth=auth, limits=httpx2.Limits())

    return Client(StreamableHttpTransport(url, httpx_client_factory=connections))


PEERS: dict[str, Callable[..., Peer]] = {"floor": Floor, "xmcp": Xmcp}


# ---- measurements ----

_serial = itertools.count()


def own(script: Script) -> Script:
    """Return the script with texts unique to this chat, so that the result of another chat is a wrong one."""
    chat, place = next(_serial), itertools.count()
    turns = [
        [
            call._replace(
                arguments={
                    key: f"{chat}-{next(place)}" if value == "*" else value for key, value in call.arguments.items()
                }
            )
            for call in turn
        ]
        for turn in script.turns
    ]
    return script._replace(turns=turns)


def judge(script: Script, answer: str | None) -> None:
    """Raise `WrongAnswer` unless the answer is the one of the script."""
    if answer != script.answer:
        raise WrongAnswer(str(answer)[:400])


async def whole_chat(peer: Peer, script: Script) -> float:
    """Return the seconds to the last answer."""
    mine = own(script)
    prompt, begun = mine.prompt, time.perf_counter()
    answer = await peer.chat(prompt)
    taken = time.perf_counter() - begun
    judge(mine, answer)
    return taken


async def first_token(peer: Peer, script: Script) -> float:
    """Return the seconds to the first piece of text. The chat is read to its end."""
    mine = own(script)
    prompt, begun = mine.prompt, time.perf_counter()
    taken, pieces = 0.0, []
    async for piece in peer.stream(prompt):
        taken = taken or time.perf_counter() - begun
        pieces.append(piece)
    judge(mine, "".join(pieces))
    return taken


async def at_once(peer: Peer, script: Script, chats: int) -> list[float]:
    """Return the seconds for each of `chats` chats that run at the same time."""
    begun = time.perf_counter()
    ended = await asyncio.gather(*(whole_chat(peer, script) for _ in range(chats)), return_exceptions=True)
    taken = time.perf_counter() - begun
    for failure in ended:
        if isinstance(failure, BaseException):
            raise failure
    return [taken / chats]


async def in_turn(work: Callable[[Peer, Script], Any], peer: Peer, script: Script, chats: int) -> list[float]:
    """Return the seconds of each of `chats` chats that run one after the other."""
    return [await work(peer, script) for _ in range(chats)]


async def _until(true: Callable[[], bool]) -> None:
    while not true():  # noqa: ASYNC110 - the measured code is idle
        await asyncio.sleep(0.01)


class Worker:
    """Runs commands. Each public method is a command and returns its answer."""

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._stack = AsyncExitStack()
        self._peers: dict[str, Peer] = {}
        self._waiting: list[asyncio.Task[Any]] = []
        self._before = (0, 0)

    async def connect(self, peer: str, model: str, servers: list[str], options: dict[str, Any]) -> dict[str, Any]:
        """Create a client under the name `peer`. With options, its number of connections is not limited."""
        targets = [wide(url) for url in servers] if options else servers
        self._peers[peer] = await self._stack.enter_async_context(PEERS[self._kind](model, targets, **options))
        return {}

    async def measure(self, peer: str, how: str, script: list[Any], chats: int) -> dict[str, Any]:
        """Return the seconds of each chat, and the CPU seconds for each. `how` is chat, first_token or at_once."""
        cpu = time.process_time()
        client, chat_script = self._peers[peer], Script.of(script)
        if how == "at_once":
            seconds = await at_once(client, chat_script, chats)
        else:
            seconds = await in_turn({"chat": whole_chat, "first_token": first_token}[how], client, chat_script, chats)
        return {"seconds": seconds, "cpu": (time.process_time() - cpu) / chats}

    async def peak(self, peer: str, script: list[Any], chats: int) -> dict[str, Any]:
        """Return the peak of the resident memory in MB while `chats` chats run at the same time."""
        _forget_peak()
        await at_once(self._peers[peer], Script.of(script), chats)
        return {"mb": _memory("VmHWM") / 2**20}

    async def begin(self, peer: str, how: str, script: list[Any], chats: int) -> dict[str, Any]:
        """Start chats that will wait; measure the memory before them."""
        gc.collect()
        self._before = (_memory("VmRSS"), tracemalloc.get_traced_memory()[0])
        work = {"chat": whole_chat, "first_token": first_token}[how]
        chat_script = Script.of(script)
        self._waiting = [asyncio.create_task(work(self._peers[peer], chat_script)) for _ in range(chats)]
        return {}

    async def weigh(self) -> dict[str, Any]:
        """Return the memory of each waiting chat in bytes, measured when this process is idle."""
        cpu = 1.0
        while cpu > 0.005:
            before = time.process_time()
            await asyncio.sleep(0.2)
            cpu = time.process_time() - before
        ended = [task for task in self._waiting if task.done()]
        if ended:
            await asyncio.gather(*ended)
            raise WrongAnswer(f"{len(ended)} chats did not wait")
        gc.collect()
        chats, (rss, traced) = len(self._waiting), self._before
        return {
            "resident": (_memory("VmRSS") - rss) / chats,
            "traced": (tracemalloc.get_traced_memory()[0] - traced) / chats,
        }

    async def finish(self) -> dict[str, Any]:
        """Wait for the answers of the chats that waited."""
        await asyncio.gather(*self._waiting)
        self._waiting = []
        return {}

    async def own(self, how: str, chats: int) -> dict[str, Any]:
        """Return the memory of each waiting chat without the SDKs: the model and the tool are stand-ins.

        `how` is `in a tool call` or `for the model`.
        """
        gate, waiting = asyncio.Event(), 0

        async def wait() -> str:
            nonlocal waiting
            waiting += 1
            await gate.wait()
            return "ok"

        class Tools:
            async def discover_tools(self) -> list[dict[str, Any]]:
                return [{"name": "wait"}]

            async def execute_tool_call(self, *_: Any) -> str:
                return await wait()

        from xmcp import AIClient
        from xmcp.providers import ScriptedProvider, Turn

        async def script(messages: list[Any], _tools: list[Any]) -> Any:
            if how == "in a tool call" and messages[-1]["role"] == "user":
                return Turn(calls=[("wait", {})])
            return "done" if how == "in a tool call" else await wait()

        options: Any = {"max_concurrency": chats + WARM, "tool_timeout": COMMAND_SECONDS}
        async with AIClient([Tools()], llm_provider=ScriptedProvider(script), **options) as client:
            tasks = [asyncio.create_task(client.chat("q", [])) for _ in range(WARM)]
            await _until(lambda: waiting == WARM)
            gc.collect()
            before = _memory("VmRSS")
            tracemalloc.start()
            tasks += [asyncio.create_task(client.chat("q", [])) for _ in range(chats)]
            await _until(lambda: waiting == WARM + chats)
            gc.collect()
            traced, resident = tracemalloc.get_traced_memory()[0], _memory("VmRSS") - before
            tracemalloc.stop()
            gate.set()
            await asyncio.gather(*tasks)
        return {"traced": traced / chats, "resident": resident / chats}

    async def trace(self) -> dict[str, Any]:
        """Start counting what Python allocates."""
        tracemalloc.start()
        return {}

    async def run(self) -> None:
        """Run commands until the standard input ends; then end the process at once, whatever is running."""
        loop, lines = asyncio.get_running_loop(), asyncio.Queue[str]()

        def read() -> None:
            for line in sys.stdin:
                loop.call_soon_threadsafe(lines.put_nowait, line)
            os._exit(0)

        threading.Thread(target=read, daemon=True).start()
        while True:
            do, arguments = json.loads(await lines.get())
            try:
                async with asyncio.timeout(COMMAND_SECONDS):
                    answer = await getattr(self, do)(**arguments)
            except Exception as exc:
                answer = {"error": f"{type(exc).__name__}: {exc}"[:500]}
            print(json.dumps(answer), flush=True)


def _forget_peak() -> None:
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def _memory(name: str) -> int:
    """Return a value of /proc/self/status in bytes."""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith(name):
            return int(line.split()[1]) * 1024
    raise LookupError(name)


if __name__ == "__main__":
    open_files.raise_limit()
    asyncio.run(Worker(sys.argv[1]).run())
