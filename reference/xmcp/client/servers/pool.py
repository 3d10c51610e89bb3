"""All servers of one client: what is up, what they offer now, and what that came from (semantics 20 to 22).

Each server has a task that looks after it: it tries one that is away again and again, and lists the tools of one that
says they changed. The catalogue is an immutable snapshot; whoever took one keeps it, with the servers in it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Final

from xmcp.client.hooks.log import EventLog
from xmcp.client.servers.connection import CLOSE_SECONDS, Server, Sleep, waits
from xmcp.client.servers.errors import ConnectFailed
from xmcp.client.servers.interfaces import ToolClient
from xmcp.client.servers.targets import ServerTarget, Target, check, source
from xmcp.client.servers.tool_client_adapter import ObjectServer
from xmcp.client.tools.catalogue import Catalogue, Offer, build, depends_on
from xmcp.dependencies import DependencyError, circle, unknown

if TYPE_CHECKING:
    from mcp_types import Tool

QUIET: Final = 0.1
"""Seconds without a further word of changes after which a server is asked: a burst is one refresh."""
LONGEST_BURST: Final = 10
"""So many times `QUIET` after the first word a server is asked all the same."""


class ServersUnavailable(ConnectionError):
    """Servers that are required cannot be reached. `reasons`: each one's label and why; no credential is in it."""

    def __init__(self, reasons: Sequence[tuple[str, str]]) -> None:
        super().__init__("; ".join(f"the server {label} cannot be reached: {why}" for label, why in reasons))
        self.reasons = tuple(reasons)


@dataclass(frozen=True, slots=True)
class ToolChanges(Mapping[str, Any]):
    """What became of the tools, by the names that the model sees; a mapping of the same, too."""

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    total: int = 0
    """How many there are now."""

    @classmethod
    def between(cls, old: Catalogue, new: Catalogue) -> ToolChanges:
        """What changed from one catalogue to the other."""
        return cls(
            tuple(name for name in new.entries if name not in old.entries),
            tuple(name for name in old.entries if name not in new.entries),
            tuple(name for name, entry in new.entries.items() if old.entries.get(name, entry) != entry),
            len(new.entries),
        )

    def __getitem__(self, key: str) -> Any:
        if key not in tuple(self):
            raise KeyError(key)
        return getattr(self, key)

    def __iter__(self) -> Iterator[str]:
        return (field.name for field in fields(self))

    def __len__(self) -> int:
        return len(fields(self))


@dataclass(frozen=True, slots=True)
class ServerStatus:
    """How a server is now."""

    label: str
    """The given name and where it is; no credential is in it."""
    name: str
    """As in the names of its tools and in messages to the model."""
    connected: bool
    xmcp: bool
    """Whether its text is read as documents."""
    tools: int
    error: str | None
    """Why its tools are missing or may be old; `None` when all is well."""


class Servers:
    """The servers of one client.

    Args:
        targets: Name of the application's or `None`, and the target of each.
        connect_timeout: Seconds for connecting to a server, and for asking it for its tools again.
        refresh_interval: Every so many seconds all servers are asked again; 0: only when they say so.
        require: Whether `open` raises when a server cannot be reached.
        offer, extra: As `catalogue.build` takes them.
        on_change: Told of each new version of the catalogue after the first; must not block.
        sleep: Waits; for tests.

    Raises:
        TypeError, ValueError: a target that can be none.
    """

    def __init__(
        self,
        targets: Sequence[tuple[str | None, Target]],
        *,
        connect_timeout: float,
        log: EventLog,
        refresh_interval: float = 0,
        require: bool = False,
        offer: Offer | None = None,
        extra: Sequence[Mapping[str, Any]] = (),
        on_change: Callable[[ToolChanges], None] | None = None,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self._connect_timeout = connect_timeout
        self._log = log
        self._refresh_interval = refresh_interval
        self._require = require
        self._offer = offer
        self._extra = extra
        self._on_change = on_change
        self._sleep = sleep
        self._makers = [self._maker(name, target) for name, target in targets]
        self._members: list[_Member] = []
        self._tasks: list[asyncio.Task[None]] = []
        self._open = False
        self._catalogue = Catalogue()

    @property
    def catalogue(self) -> Catalogue:
        """The tools as they are known now. A new object whenever they change; what has not changed is shared."""
        return self._catalogue

    async def open(self) -> None:
        """Connect to all servers at once, and look after them from then on. Takes `connect_timeout` and a little.

        A server that cannot be reached is left out, with a warning in the catalogue, until it can.

        Raises:
            DependencyError: tools of a server depend on each other in a circle.
            ServersUnavailable: one cannot be reached and `require` is set.
        """
        if self._members:
            raise RuntimeError("These servers are open already.")
        self._members = [make() for make in self._makers]
        try:
            await asyncio.gather(*(member.ask() for member in self._members))
            self._check()
        except BaseException:
            await self.close()
            raise
        self._publish()
        self._open = True
        self._tasks = [self._task(self._keep(member), member.server.label) for member in self._members]
        if self._refresh_interval > 0:
            self._tasks.append(self._task(self._refresh_regularly(), "all"))

    async def refresh(self) -> ToolChanges:
        """Ask every server again at once, those that are away too; within `connect_timeout` each.

        One that does not answer keeps the tools it had, with a warning in the catalogue. Calls are not touched.
        """
        before = self._catalogue
        await asyncio.gather(*(member.ask() for member in self._members))
        self._publish()
        for member in self._members:
            member.stir()
        return ToolChanges.between(before, self._catalogue)

    def status(self) -> list[ServerStatus]:
        """How each server is, in the order given."""
        return [member.status() for member in self._members]

    async def close(self) -> None:
        """Leave every server, and end all that looks after them. Never raises; bounded as `Server.close` is."""
        tasks, self._tasks, self._open = self._tasks, [], False
        members, self._members = self._members, []
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=CLOSE_SECONDS)
        await asyncio.gather(*(member.server.close() for member in members))

    def _maker(self, name: str | None, target: Target) -> Callable[[], _Member]:
        timeout, log, sleep = self._connect_timeout, self._log, self._sleep
        given = target if isinstance(target, ServerTarget) else ServerTarget(target=target)
        tools = given.target
        if isinstance(tools, ToolClient):
            check(given)
            ObjectServer(tools, name, timeout, log, given.xmcp)  # raises now what is wrong with it
            return lambda: _Member(lambda _: ObjectServer(tools, name, timeout, log, given.xmcp), self._news)
        place = source(given, timeout)
        return lambda: _Member(lambda member: Server(place, name, timeout, log, member, sleep), self._news)

    def _check(self) -> None:
        for member in self._members:
            if member.circle:
                told = f"Tools of the server {member.server.label} depend on each other in a circle: {member.circle}."
                raise DependencyError(told)
        faults = [(member.server.label, member.fault) for member in self._members if member.fault is not None]
        if self._require and faults:
            raise ServersUnavailable(faults)

    def _publish(self) -> None:
        """Make what the servers offer now the catalogue, and tell what changed."""
        old = self._catalogue
        new = self._catalogue = build(
            [(member.server, member.tools) for member in self._members],
            old.version + 1,
            [warning for member in self._members for warning in member.warnings()],
            previous=old if old.version else None,
            offer=self._offer,
            extra=self._extra,
        )
        for warning in new.warnings:
            if not self._open or warning not in old.warnings:
                self._log.warning("catalogue", message=warning)
        if not self._open or new.version == old.version:
            return
        changes = ToolChanges.between(old, new)
        told = {part: list(changes[part]) for part in ("added", "removed", "changed")}
        self._log.info("tools_changed", version=new.version, **told)
        if self._on_change is not None:
            self._on_change(changes)

    def _news(self) -> None:
        """A server has made a connection by itself, and with it listed its tools."""
        if not self._open:
            return
        try:
            self._publish()
        except Exception:
            self._log.exception("refresh_failed")

    def _task(self, looking_after: Coroutine[Any, Any, None], what: str) -> asyncio.Task[None]:
        return asyncio.create_task(looking_after, name=f"xmcp look after {what}")

    async def _keep(self, member: _Member) -> None:
        """Have a server's tools up to date for as long as the client is open."""
        delays = waits()
        while True:
            try:
                if member.settled:
                    delays = waits()
                    await member.stirred()
                    if member.settled and member.says_changed:
                        await self._until_quiet(member)
                        await member.ask()
                else:
                    await self._sleep(next(delays))
                    if not member.settled:
                        await member.ask()
                self._publish()
            except Exception:
                self._log.exception("refresh_failed", server=member.server.label)
                await self._sleep(next(delays))

    async def _until_quiet(self, member: _Member) -> None:
        for _ in range(LONGEST_BURST):
            member.says_changed = False
            await self._sleep(QUIET)
            if not member.says_changed:
                return

    async def _refresh_regularly(self) -> None:
        while True:
            await self._sleep(self._refresh_interval)
            try:
                await self.refresh()
            except Exception:
                self._log.exception("refresh_failed")


class _Member:
    """A server and what it offered last; it is told by the server what becomes of it (`connection.Watcher`).

    `news` is called when the server has made a connection and listed its tools without being asked for that here.
    """

    def __init__(self, make: Callable[[_Member], Server | ObjectServer], news: Callable[[], None]) -> None:
        self._news = news
        self.tools: list[Tool] = []
        self.fault: str | None = None
        """Why it does not answer."""
        self.circle = ""
        """Tools that depend on each other, in a list that was refused for it."""
        self.says_changed = False
        self._unknown: dict[str, list[str]] = {}
        self._answered = False
        self._asked = self._taken = 0
        self._stirred = asyncio.Event()
        self.server = make(self)

    @property
    def settled(self) -> bool:
        """Whether it is there, and its tools are what it said last."""
        return self.server.connected and self.fault is None

    async def ask(self) -> None:
        """Ask for its tools, in bounded time; what goes wrong is in `fault`."""
        self._asked = number = self._asked + 1
        try:
            self._take(await self.server.discover_tools(), number)
        except ConnectFailed as exc:
            if number > self._taken:
                self.fault = str(exc)

    def _take(self, tools: list[Tool], number: int) -> None:
        if number < self._taken:
            return  # answers overtook each other
        self._taken, self._answered, self.fault = number, True, None
        graph = {tool.name: depends_on(tool) for tool in tools}
        self.circle = " -> ".join(circle(graph))
        if not self.circle:
            self.tools, self._unknown = tools, unknown(graph)

    def warnings(self) -> Iterator[str]:
        """What people should know of it."""
        label = self.server.label
        if self.fault is not None and self._answered:
            yield f"The server {label} does not answer, its tools are those it had before: {self.fault}."
        elif self.fault is not None:
            yield f"The server {label} cannot be reached, its tools are missing: {self.fault}."
        if self.circle:
            yield f"Tools of the server {label} depend on each other in a circle, {self.circle}: its list is refused."
        for tool, names in self._unknown.items():
            listed = ", ".join(map(repr, names))
            yield f"The tool {tool!r} of the server {label} depends on {listed}, which that server does not have."

    def status(self) -> ServerStatus:
        """How it is now."""
        server, error = self.server, self.fault
        if error is None and self.circle:
            error = f"its tools depend on each other in a circle: {self.circle}"
        return ServerStatus(server.label, server.name, server.connected, server.speaks_xmcp, len(self.tools), error)

    def stir(self) -> None:
        """Have whoever looks after it look at it."""
        self._stirred.set()

    async def stirred(self) -> None:
        """Wait until something has happened to it."""
        await self._stirred.wait()
        self._stirred.clear()

    # ---- what the server tells ----

    def connected(self, tools: list[Tool]) -> None:
        """Take the tools that were listed with a new connection."""
        self._asked += 1
        self._take(tools, self._asked)
        self._news()

    def lost(self, reason: str) -> None:
        """Have it tried again."""
        self.fault = reason
        self.stir()

    def tools_changed(self) -> None:
        """Have it asked."""
        self.says_changed = True
        self.stir()
