"""The client of the soak, in a process of its own: `python -m tools.soak.client_process`.

It reads one command in JSON from each line of standard input and answers each with one line on standard output. All its
chats, honest and hostile, use one `AIClient`. It ends with its standard input.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sys
import threading
import time
import traceback
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import aclosing
from random import Random
from types import FrameType
from typing import Any

from tools import ROOT
from tools.soak.process_tree import tree
from tools.soak.script import (
    HONEST,
    HONEST_TOOLS,
    HOSTILE,
    TENANTS,
    Deck,
    Storm,
    arrivals,
    canary,
    foreign,
    honest_plan,
    owners,
    tickets,
)

PERIOD = 2.0
"""Seconds between two chats of an honest tenant."""
PAUSE = 0.5
"""Seconds between two hostile chats of a tenant."""
END_SECONDS = 60.0
"""Maximum time after the end for honest chats that still run; one that takes longer is a failure."""
CONVERSATION = 3
"""Chats in a conversation; then a new one begins."""
MOST_TICKETS = 10_000
"""Tickets that are kept: a long run must not make the memory grow."""
NEWEST = 8
"""Messages of a history that a callback looks at: looking at all of them for each call would be a stall of our own."""
MOST_STALLS = 20
STALL = 0.1
"""Seconds for which the event loop may do nothing else before the place is noted."""
LOOKS = 10
"""How often, at most, what is left after `aclose()` is looked at: the system needs a moment for killed processes."""

HONEST_SECONDS = 30.0
OPTIONS: dict[str, Any] = {
    # Hostile calls hang until they time out, so the application gives them short limits, and more slots than hanging
    # calls can take. The limits of honest calls are long: a machine without a free processor must not break them.
    "tool_timeout": dict.fromkeys(HONEST_TOOLS, HONEST_SECONDS) | {"*": 2.0},
    "connect_timeout": 3.0,
    "llm_timeout": 15.0,
    "max_concurrency": 64,
    # Long pauses would spare the client most of the storm.
    "breaker_reset_after": 0.3,
    "retry_policy": {"max_attempts": 2, "backoff_base": 0.1},
    "refresh_interval": 2.0,
    "display": "continue",
    "meta_tools": True,
}


class Log(logging.Handler):
    """Keeps what no log of a client should have: tracebacks, errors of asyncio, and control characters of peers."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self.lines: Counter[str] = Counter()
        self.faults: Counter[str] = Counter()
        self.opened: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Judge a record."""
        fields = getattr(record, "xmcp", {})
        self.lines[record.name] += 1
        if record.levelno < logging.WARNING:
            return
        text = record.getMessage()
        if text.startswith("circuit_open") and str(fields.get("server", "")).startswith(("honest", "vault")):
            self.opened.append(text[:200])
        if "\x1b" in text:
            self.faults[f"an escape sequence in a record of {record.name}"] += 1
        if record.exc_info and record.exc_info[1] is not None:
            event = text.split(" ")[0] if fields else text[:100]  # our own events go on with ids of the chat
            self.faults[f"{record.name}: {event} {_place(record.exc_info[1])}"] += 1
        elif (record.levelno >= logging.ERROR and record.name == "asyncio") or "Traceback (most" in text:
            self.faults[f"{record.name}: {text[:300]}"] += 1


def _place(exc: BaseException) -> str:
    """Return an exception as one line, with the place where it was raised."""
    frames = traceback.extract_tb(exc.__traceback__)
    place = f" at {frames[-1].filename}:{frames[-1].lineno}" if frames else ""
    return f"{type(exc).__name__}: {str(exc)[:160]}{place}"


class Watch(threading.Thread):
    """Notes where the event loop stood when it did nothing else for `STALL` seconds."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.main = threading.main_thread().ident or 0
        self.last = time.monotonic()
        self.places: Counter[str] = Counter()
        self.stalls: list[tuple[float, str]] = []
        """The longest stalls, with their places."""
        self.lag = 0.0
        """The longest time of all."""

    def run(self) -> None:
        """Look at the loop every 20 ms."""
        while True:
            time.sleep(0.02)
            if time.monotonic() - self.last > STALL:
                self.places[_stack(sys._current_frames().get(self.main))] += 1

    async def beat(self) -> None:
        """Show every 10 ms that the loop runs."""
        while True:
            self.last = time.monotonic()
            await asyncio.sleep(0.01)
            late = time.monotonic() - self.last - 0.01
            self.lag = max(self.lag, late)
            if late > STALL:
                self.stalls.append((late, max(self.places, key=self.places.__getitem__, default="unknown")))
                self.stalls = sorted(self.stalls, reverse=True)[:MOST_STALLS]
            self.places = Counter()


def _stack(frame: FrameType | None) -> str:
    """Return the innermost functions of a stack, innermost first, without the event loop and this file."""
    names: list[str] = []
    while frame is not None and len(names) < 4:
        path = frame.f_code.co_filename
        if not any(part in path for part in ("/asyncio/", "/tools/soak/", "<frozen", "/selectors.py", "/weakref.py")):
            place = path.rpartition("site-packages/")[2].removeprefix(f"{ROOT}/")
            names.append(f"{place}:{frame.f_lineno} {frame.f_code.co_name}")
        frame = frame.f_back
    return " < ".join(names) or "in the event loop itself, or without a processor"


class Router:
    """A provider that asks the model of honest chats or the model of hostile ones, by the real openai SDK."""

    name = "soak"
    supports_tools = True
    max_context_tokens: int | None = None

    def __init__(self, honest: str, hostile: str) -> None:
        from xmcp.providers import OpenAIProvider

        self.providers = [OpenAIProvider("none", url, "scripted") for url in (honest, hostile)]

    async def stream(self, request: Any) -> AsyncGenerator[Any, None]:
        """Ask the model whose chat it is: an honest prompt has a canary."""
        prompt = next(message["content"] for message in reversed(request.messages) if message["role"] == "user")
        provider = self.providers[0 if owners(prompt) else 1]
        async with aclosing(provider.stream(request)) as pieces:
            async for piece in pieces:
                yield piece


class Soak:
    """Runs commands. Each public method is a command and returns its answer."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._watch = Watch()
        self._ai: Any = None
        self._router: Any = None
        self._chats = 0
        self._latencies: list[float] = []
        self._failures: Counter[str] = Counter()
        self._crossed: Counter[str] = Counter()
        self._storms: Counter[str] = Counter()
        self._outcomes: Counter[str] = Counter()
        self._conversations: dict[str, list[Any]] = {}
        self._tickets: dict[str, str] = {}
        """The tenant who got each ticket of the cacheable tool."""
        self._deck = Deck(Random(0))
        self._before: set[asyncio.Task[Any]] = set()

    async def connect(
        self, models: list[str], honest: str, hostile: str | None, mortal: str | None, seed: int
    ) -> dict[str, Any]:
        """Create the client: with the honest server only, or with the hostile ones too."""
        from xmcp import AIClient
        from xmcp.client import ServerTarget
        from xmcp.storage import MemoryCache

        self._deck = Deck(Random(seed))
        url, patient = f"{honest}/mcp", HONEST_SECONDS
        credential = ServerTarget(url, headers=lambda chat: {"x-tenant": chat.tenant_id}, connect_timeout=patient)
        servers: dict[str, Any] = {"honest": ServerTarget(url, connect_timeout=patient), "vault": credential}
        if hostile is not None:
            servers |= {name: f"{hostile}/{name}/mcp" for name in ("liar", "shifty")}
            servers["mortal"] = f"{mortal}/mortal/mcp"
            servers["elder"] = ServerTarget(f"{hostile}/elder/mcp", mode="legacy")
            program = [sys.executable, "-m", "tools.soak.stdio_peer"]
            servers |= {name: ServerTarget(program, cwd=ROOT) for name in ("pipe", "hose")}
        self._before = asyncio.all_tasks()
        self._watch.start()
        self._beat = asyncio.create_task(self._watch.beat(), name="soak beat")
        self._router = Router(*models)
        self._ai = AIClient(
            servers,
            llm_provider=self._router,
            params={"tenant": lambda call: call.tenant_id},
            cache=MemoryCache(ttl=5),
            on_display=self._on_display,
            on_error=self._on_error,
            usage_sink=self._on_usage,
            **OPTIONS,
        )
        await self._ai.__aenter__()
        return {}

    async def work(self, seconds: float, seed: int, *, storm: bool) -> dict[str, Any]:
        """Run honest chats for some seconds, and hostile ones beside them in a storm. Return what happened."""
        self._latencies, self._watch.lag, self._watch.stalls = [], 0.0, []
        self._failures, self._outcomes = Counter(), Counter()
        begun = asyncio.get_running_loop().time()
        hostile = [asyncio.create_task(self._storm(tenant), name=f"soak {tenant}") for tenant in HOSTILE if storm]
        running: set[asyncio.Task[None]] = set()
        for moment, tenant in arrivals(HONEST, seconds, PERIOD, Random(seed)):
            await asyncio.sleep(max(0.0, begun + moment - asyncio.get_running_loop().time()))
            chat = asyncio.create_task(self._honest(tenant, begun + moment), name=f"soak {tenant}")
            running.add(chat)
            chat.add_done_callback(running.discard)
        await asyncio.sleep(max(0.0, begun + seconds - asyncio.get_running_loop().time()))
        for task in hostile:
            task.cancel()
        if hostile:
            ended, _ = await asyncio.wait(hostile, timeout=END_SECONDS)
            for task in ended:
                if not task.cancelled() and (exc := task.exception()) is not None:
                    self._failures[f"hostile chats ended early: {_place(exc)}"] += 1
        late = [*running]
        if late:
            await asyncio.wait(late, timeout=END_SECONDS)
        for task in [*running]:
            self._failures[f"no end within {END_SECONDS:g} s"] += 1
            task.cancel()
        return {
            "latencies": self._latencies,
            "failures": self._failures,
            "outcomes": self._outcomes,
            "lag": self._watch.lag,
            "stalls": self._watch.stalls,
        }

    def _left(self) -> list[str]:
        """Return the tasks and the processes that are there, and were not before the client."""
        tasks = asyncio.all_tasks() - self._before
        processes = [one.pid for one in tree(os.getpid()) if one.pid != os.getpid()]
        return [
            *(
                f"task {task.get_name()}: {task.get_coro()!r}"[:200]
                for task in tasks
                if task is not asyncio.current_task() and not task.get_name().startswith("soak")
            ),
            *(f"process {pid}" for pid in processes),
        ]

    async def finish(self) -> dict[str, Any]:
        """Close the client. Return what is left of it, and what was seen from the beginning on."""
        begun = time.monotonic()
        await self._ai.aclose()
        for provider in self._router.providers:
            await provider.aclose()
        closing = time.monotonic() - begun
        self._beat.cancel()
        left: list[str] = []
        for _ in range(LOOKS):
            await asyncio.sleep(0.5)
            if not (left := self._left()):
                break
        return {
            "left": left,
            "closing": closing,
            "crossed": self._crossed,
            "storms": self._storms,
            "log": self._log.faults,
            "lines": self._log.lines,
            "opened": self._log.opened,
        }

    # ---- chats ----

    async def _honest(self, tenant: str, due: float) -> None:
        """Run an honest chat; its latency counts from the moment when it was due."""
        self._chats += 1
        number, own = self._chats, canary(tenant, self._chats)
        if len(self._tickets) > MOST_TICKETS:
            self._tickets.clear()
        history = self._conversations.pop(tenant, [])
        plan, errors, displays, result = honest_plan(own, Random(own)), [], 0, None
        session = f"{tenant}-session"
        try:
            stream = self._ai.stream_chat(plan.prompt, history, tenant_id=tenant, session_id=session)
            async with aclosing(stream) as chunks:
                async for chunk in chunks:
                    told = chunk.to_json()
                    self._see(json.dumps(told), tenant, f"event {told['type']}")
                    if told["type"] == "tool_error":
                        errors.append(told.get("error", {}).get("code", "?"))
                    displays += told["type"] == "tool_display"
                    if told["type"] == "done":
                        result = chunk.result
        except Exception as exc:
            self._failures[_reason(exc)] += 1
        else:
            shows = sum(call.name == "honest__table" for turn in plan.turns for call in turn)
            if result is None:
                self._failures["no last event"] += 1
            elif errors:
                self._failures[f"a tool failed: {errors[0]}"] += 1
            elif result["answer"] != plan.answer:
                self._failures[f"wrong answer: {result['answer'] or result['stop_reason']}"[:200]] += 1
            elif displays != shows:
                self._failures[f"{displays} displays, not {shows}"] += 1
            if result is not None:
                self._see(json.dumps(result["history"]), tenant, "history")
                if number % CONVERSATION:
                    self._conversations[tenant] = result["history"]
        self._latencies.append(asyncio.get_running_loop().time() - due)

    async def _storm(self, tenant: str) -> None:
        """Run hostile chats, one after the other."""
        while True:
            storm = self._deck.deal()
            self._storms[storm.name] += 1
            self._outcomes[f"{storm.name} -> {await self._hostile(tenant, storm)}"] += 1
            await asyncio.sleep(PAUSE)

    async def _hostile(self, tenant: str, storm: Storm) -> str:
        codes: Counter[str] = Counter()
        stream = self._ai.stream_chat(storm.plan.prompt, [], tenant_id=tenant, session_id=f"{tenant}-session")
        try:
            async with asyncio.timeout(storm.leaves), aclosing(stream) as chunks:
                async for chunk in chunks:
                    if chunk.type == "tool_error":
                        codes[chunk.error.code] += 1
                    if chunk.type == "done":
                        codes[chunk.result["stop_reason"]] += 1
        except TimeoutError:
            return "left"
        except Exception as exc:
            if type(exc).__name__ not in ("ProviderError", "QuotaExceeded"):
                # A peer's fault must come out as an answer or as one of these two.
                self._log.faults[f"a chat raised {storm.name}: {_place(exc)}"] += 1
            return _reason(exc)
        return ", ".join(f"{code} x{times}" for code, times in sorted(codes.items()))

    # ---- what must belong to one tenant ----

    def _see(self, text: str, tenant: str, where: str) -> None:
        for other in foreign(text, tenant):
            self._crossed[f"{where} of {tenant} has {other}"] += 1
        for drawn in tickets(text):
            if (owner := self._tickets.setdefault(drawn, tenant)) != tenant:
                self._crossed[f"{where} of {tenant} has {drawn} of {owner}"] += 1

    def _on_display(self, envelope: Any, history: Any) -> None:
        found = owners(json.dumps(envelope.to_dict()) + _texts(history[-NEWEST:]))
        if len(found) > 1:
            self._crossed[f"on_display was given canaries of {' and '.join(found)}"] += 1

    def _on_error(self, _error: Any, history: Any) -> None:
        found = owners(_texts(history[-NEWEST:]))
        if len(found) > 1:
            self._crossed[f"on_error was given canaries of {' and '.join(found)}"] += 1

    def _on_usage(self, record: Any) -> None:
        tenant = str(record.get("tenant_id"))
        if tenant not in TENANTS or record.get("session_id") != f"{tenant}-session":
            self._crossed[f"a usage record of {tenant} and {record.get('session_id')}"] += 1


def _texts(messages: list[Any]) -> str:
    return " ".join(str(message.get("content")) for message in messages)


def _reason(exc: Exception) -> str:
    category = getattr(exc, "category", None)
    return f"{type(exc).__name__} {getattr(category, 'value', category) or ''}: {str(exc)[:120]}"


async def run(soak: Soak, log: Log) -> None:
    """Run commands until the standard input ends; then end the process at once, whatever is running."""
    loop, lines = asyncio.get_running_loop(), asyncio.Queue[str]()

    def failed(_: Any, context: dict[str, Any]) -> None:
        exc = context.get("exception")
        raised, task = _place(exc) if exc else "", repr(context.get("future", ""))[:200]
        log.faults[f"event loop: {context['message']} {raised} {task}"] += 1

    def read() -> None:
        for line in sys.stdin:
            loop.call_soon_threadsafe(lines.put_nowait, line)
        os._exit(0)

    loop.set_exception_handler(failed)
    threading.Thread(target=read, daemon=True).start()
    while True:
        do, arguments = json.loads(await lines.get())
        try:
            told = await getattr(soak, do)(**arguments)
        except Exception as exc:
            told = {"error": f"{type(exc).__name__}: {exc}"[:500] + _place(exc)}
        print(json.dumps(told), flush=True)


def main() -> None:
    """Read commands until the standard input ends."""
    log = Log()
    logging.basicConfig(level=logging.INFO, handlers=[log])
    for noisy in ("httpx2", "httpx", "openai", "httpcore2"):
        logging.getLogger(noisy).setLevel(logging.WARNING)
    asyncio.run(run(Soak(log), log))


if __name__ == "__main__":
    main()
