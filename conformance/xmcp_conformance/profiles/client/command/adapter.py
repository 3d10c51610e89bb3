"""Starts the client that a program has, with a model and servers over HTTP."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass
from functools import partial
from types import TracebackType
from typing import Any, Final, Literal, TypeAlias

from xmcp_conformance.core.leaks import redacted
from xmcp_conformance.core.untrusted_text import quoted
from xmcp_conformance.profiles.client.adapter import (
    Application,
    ChatOutcome,
    ChatRequest,
    Json,
    Model,
    NoSuchChat,
    RunningClient,
    StartRefused,
    ToolServer,
)
from xmcp_conformance.profiles.client.trace import Setup

from .hosting import Host
from .model_host import models_app
from .program import Program, ProgramFault
from .server_host import server_app

_MOST_REFUSED: Final = 3
"""Number of refused requests of a scenario that are told."""
Era: TypeAlias = Literal["both", "newest", "handshake"]


@dataclass(frozen=True, slots=True)
class Limits:
    """The time, in seconds, that a program has for its answers."""

    start: float = 30.0
    """For the first answer, and to start or stop a client."""
    chat: float = 150.0
    """For a chat: more than the 120 s that a client may wait for another attempt."""


class CommandAdapter:
    """Starts the client of a program once. Use it in an `async with` block: the hosts live as long as that."""

    def __init__(
        self,
        program: Program,
        limits: Limits,
        era: Era,
        first: int,
        refused: list[str],
        started: Callable[[], Awaitable[None]],
    ) -> None:
        """Use a program.

        Args:
            program: a program that was started.
            limits: the time that it has.
            era: that of the servers; see `Driving.era`.
            first: of `both`, odd where the first server knows the handshake alone.
            refused: gets what a person should know of each chat that the program refused, and of the first few
                requests that the suite's servers refused.
            started: runs when the program has answered to `start`.
        """
        self._program, self._limits, self._era, self._first = program, limits, era, first
        self._hosts = AsyncExitStack()
        self._rising: list[asyncio.Task[None]] = []
        self._chats: set[str] = set()
        self.crashes: list[str] = []
        """What a person should know of each chat that ended with an exception."""
        self._told = refused
        self._started = started

    async def __aenter__(self) -> CommandAdapter:
        return self

    async def __aexit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self._program.listen(None)
        for task in self._rising:
            task.cancel()
        await asyncio.gather(*self._rising, return_exceptions=True)
        await self._hosts.aclose()

    async def start(
        self, setup: Setup, models: Sequence[Model], servers: Sequence[ToolServer], application: Application
    ) -> RunningClient:
        """Start the client; see `ClientAdapter.start`.

        Raises:
            StartRefused: the client does not start with these servers.
            ProgramFault: the program did not do as the protocol says.
        """
        host = self._host()
        await host.serve(models_app(models, host.cut))
        addresses: list[Json] = []
        for number, (server, known) in enumerate(zip(servers, setup.servers, strict=True)):
            own = self._host()
            handshake = self._era == "handshake" or (self._era == "both" and (self._first + number) % 2 == 1)
            wire = None if not known.xmcp else "plain" if known.plain else "" if number % 2 else "negotiated"
            app = server_app(
                f"server{number}", server, own.cut, partial(self._refused, number), wire=wire, handshake=handshake
            )
            if known.reachable:
                await own.serve(app)
            else:
                self._rising.append(asyncio.create_task(_serve_once_up(own, server, app)))
            addresses.append({"name": known.given_name, "url": f"{own.url}/mcp"})
        self._program.listen(_Heard(application, self._chats))
        options = {name: value for name, value in asdict(setup).items() if name not in ("servers", "tools", "level")}
        answer = await self._program.ask(
            "start",
            self._limits.start,
            form="started",
            setup=options,
            models=[
                {"base_url": f"{host.url}/{number}/v1", "model": f"scripted-{number}", "api_key": "none"}
                for number in range(len(models))
            ],
            servers=addresses,
        )
        await self._started()
        if "refused" in answer:
            why = redacted(answer["refused"])
            self._told.append(f"the client refused to start: {quoted(why)}")
            raise StartRefused(why)
        return _Client(self._program, self._limits, self._chats, self.crashes, self._told)

    def _refused(self, server: int, what: str) -> None:
        told = f"server {server} refused {what}"
        if len(self._told) < _MOST_REFUSED and told not in self._told:
            self._told.append(told)

    def _host(self) -> Host:
        host = Host()
        self._hosts.push_async_callback(host.close)
        return host


async def _serve_once_up(host: Host, server: ToolServer, app: Any) -> None:
    await server.up()
    await host.serve(app)


@dataclass(frozen=True, slots=True)
class _Client:
    """The client that runs in the program."""

    program: Program
    limits: Limits
    chats: set[str]
    crashes: list[str]
    refusals: list[str]

    async def chat(self, request: ChatRequest) -> ChatOutcome:
        self.chats.add(request.chat)
        ending = asyncio.create_task(
            self.program.ask(
                "chat",
                self.limits.chat,
                form="ended",
                chat=request.chat,
                query=request.query,
                history=request.history,
                tenant=request.tenant,
                events=request.events,
                **({"params": request.params} if request.params else {}),
            )
        )
        try:
            ended = await asyncio.shield(ending)
        except asyncio.CancelledError:
            self.program.tell({"command": "cancel", "chat": request.chat})
            ended = await ending
        said = redacted(ended["why"]) if "why" in ended else None
        why = ", and the adapter does not say why (`why`)" if said is None else f": {quoted(said)}"
        if ended.get("failure") == "crashed":
            self.crashes.append(f"chat {request.chat} ended with an exception{why}")
        elif ended.get("failure") == "refused":
            self.refusals.append(f"chat {request.chat} was refused{why}")
        if "given" in ended:
            request.history[:] = ended["given"]
        return ChatOutcome(
            history=ended["history"],
            result=ended.get("result"),
            failure=ended.get("failure"),
            why=said,
            sees_given="given" in ended,
        )

    async def refresh_tools(self) -> None:
        await self.program.ask("refresh", self.limits.start)

    async def close(self) -> None:
        if self.program.fault is None:
            await self.program.ask("stop", self.limits.start)


@dataclass(frozen=True, slots=True)
class _Heard:
    """Hands on to the application what the program says unasked."""

    application: Application
    chats: Collection[str]
    """The chats that have begun."""

    def heard(self, message: Json) -> Json | None:
        try:
            match message:
                case {"event": event, "chat": chat} if chat in self.chats:
                    self.application.receive(chat, event)
                    return None
                case {"approve": {"chat": chat, "call_id": call_id}} if chat in self.chats:
                    approved = self.application.approve(chat, call_id)
                    return None if approved is None else {"approved": approved}
                case {"callback": name, "history": history}:
                    return {"fails": _fails(self.application, name, history)}
        except NoSuchChat:
            raise ProgramFault("a history in which no query of a chat of the scenario stands") from None
        raise ProgramFault(f"a message about a chat that has not begun: `{quoted(json.dumps(message))}`")


def _fails(application: Application, name: str, history: list[Json]) -> bool:
    call_back = application.on_display if name == "on_display" else application.on_error
    try:
        call_back(history)
    except NoSuchChat:
        raise
    except Exception:  # what a scenario has the application raise
        return True
    return False
