"""The loop of a program that `xmcp check client` drives: copy it, and write the four functions of `Adapter`.

It needs Python 3.11 and nothing else. The guide "Have a client judged" says what the messages are.
"""

import asyncio
import itertools
import json
import os
import sys
import threading
import traceback
from collections.abc import Sequence
from typing import Any, Protocol

Json = dict[str, Any]


class Refused(Exception):
    """The client does not start with these tools, or does not begin a chat; the text says why."""


class CallbackFailed(Exception):
    """The callback of the application failed: raise this where your client calls it."""


class Application:
    """The application around the client, which the suite plays."""

    def __init__(self) -> None:
        # What libraries print goes to standard error: standard output belongs to the messages.
        self._lines = os.fdopen(os.dup(1), "w", encoding="utf-8")
        os.dup2(2, 1)
        self._numbers, self._waiting = itertools.count(1), dict[int, asyncio.Future[Json]]()

    def write(self, message: Json) -> None:
        """Write a message at once: what a client tells has to arrive before what it does next."""
        print(json.dumps(message), file=self._lines, flush=True)

    def tell(self, chat: str, event: Json) -> None:
        """Give the application an event of a chat (section 10.2)."""
        self.write({"chat": chat, "event": event})

    async def approves(self, chat: str, call_id: str) -> bool:
        """Return whether the application approves a call."""
        return bool((await self._asked(approve={"chat": chat, "call_id": call_id}))["approved"])

    async def call_back(self, name: str, history: list[Json]) -> None:
        """Call `on_display` or `on_error` of the application."""
        if (await self._asked(callback=name, history=history))["fails"]:
            raise CallbackFailed(f"{name} of the application failed")

    async def _asked(self, **question: Any) -> Json:
        number = next(self._numbers)
        self._waiting[number] = asyncio.get_running_loop().create_future()
        self.write({"ask": number, **question})
        return await self._waiting[number]

    def answered(self, answer: Json) -> None:
        """Hand an answer to who waits for it, if anybody still does."""
        waiting = self._waiting.pop(answer["ask"])
        if not waiting.done():
            waiting.set_result(answer)


class Adapter(Protocol):
    """What you write. `start` and `chat` may raise `Refused`; any other exception of `chat` is told as its crash."""

    async def start(self, setup: Json, models: list[Json], servers: list[Json], application: Application) -> None:
        """Start the client with these options and addresses."""

    async def chat(self, request: Json) -> Json:
        """Run a chat; return `{"history": …, "result": …}`, or the history so far and a `"failure"`."""

    async def refresh(self) -> None:
        """List the tools of all servers again; called only with the feature `tool_refresh`."""

    async def stop(self) -> None:
        """Stop the client."""


def serve(adapter: Adapter, name: str, features: Sequence[str] = (), **fixed: Any) -> None:
    """Do what the suite says, until its end.

    Args:
        adapter: what is around your client.
        name: that of your client, with its version.
        features: what it has, of those in the guide.
        fixed: the options that it cannot set, with the values that they have.
    """
    hello = {"protocol": 1, "name": name, "features": [*features], "fixed": fixed}
    asyncio.run(_serve(adapter, Application(), hello))


async def _serve(adapter: Adapter, application: Application, hello: Json) -> None:
    chats: dict[str, asyncio.Task[None]] = {}

    async def answer_chat(number: int, chat: Json) -> None:
        application.write({"id": number, **await _chat(adapter, chat)})

    requests = _requests()
    while line := await requests.get():
        request = json.loads(line)
        command, number = request.pop("command"), request.pop("id", None)
        told: Json = {}
        match command:
            case "hello":
                told = hello
            case "start":
                try:
                    await adapter.start(request["setup"], request["models"], request["servers"], application)
                except Refused as fault:
                    told = {"refused": str(fault)}
            case "chat":
                chats[request["chat"]] = asyncio.create_task(answer_chat(number, request))
                await asyncio.sleep(0)  # so that it has begun when it is cancelled
            case "cancel":
                chats[request["chat"]].cancel()
            case "answer":
                application.answered(request)
            case "refresh":
                try:
                    await adapter.refresh()
                except Exception:
                    traceback.print_exc()
                    os._exit(1)  # at once: chats that end with the program would tell that they were cancelled
            case "stop":
                chats.clear()
                try:
                    await adapter.stop()
                except Exception as fault:
                    print(f"stop: {fault!r}", file=sys.stderr)
        if command not in ("chat", "cancel", "answer"):
            application.write({"id": number, **told})


async def _chat(adapter: Adapter, request: Json) -> Json:
    try:
        return await adapter.chat(request)
    except asyncio.CancelledError:
        return {"history": [], "failure": "cancelled"}
    except Refused as fault:
        return {"history": [], "failure": "refused", "why": str(fault)}
    except Exception as fault:
        return {"history": [], "failure": "crashed", "why": repr(fault)}


def _requests() -> asyncio.Queue[bytes]:
    """Return the lines as they come, and an empty one at the end. A thread reads them, which works on any system."""
    requests, loop = asyncio.Queue[bytes](), asyncio.get_running_loop()

    def read() -> None:
        # Not `sys.stdin`: Python takes its lock when the program ends, and aborts if this thread still has it.
        with open(0, "rb", closefd=False) as lines:
            for line in lines:
                loop.call_soon_threadsafe(requests.put_nowait, line)
        loop.call_soon_threadsafe(requests.put_nowait, b"")

    threading.Thread(target=read, daemon=True).start()
    return requests
