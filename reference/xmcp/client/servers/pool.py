"""All servers of one client, and the catalogue of the tools that they offer now (spec/11-client.md, section 11.9).

Each server has a supervisor task: it reconnects a server that was lost, after growing delays, and lists the tools again
when a server announces changes. The catalogue is an immutable snapshot: a chat that holds one can go on using it.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary

from xmcp.client.hooks.log import EventLog
from xmcp.client.servers.backoff import reconnect_delays
from xmcp.client.servers.connection import CLOSE_SECONDS, Sleep
from xmcp.client.servers.credential_pool import CredentialPool
from xmcp.client.servers.credentials import depend_on_chat
from xmcp.client.servers.listing_limits import MAX_NAMES, MAX_TOOLS
from xmcp.client.servers.mcp_server import Server
from xmcp.client.servers.pool_member import PoolMember, ServerStatus
from xmcp.client.servers.sampling import Sampling, handler
from xmcp.client.servers.server_protocols import ToolClient
from xmcp.client.servers.targets import ServerTarget, Target, check, source
from xmcp.client.servers.tool_client_adapter import ToolClientAdapter
from xmcp.client.tools.catalogue import Catalogue, Offer, ServerPart, ToolServer, build
from xmcp.dependency_graph import DependencyError

if TYPE_CHECKING:
    from mcp_types import Tool

QUIET_SECONDS: Final = 0.1
"""Seconds without another announcement after which the tools are listed: a burst of announcements is one refresh."""
MAX_CATALOGUES: Final = 128
"""Maximum number of catalogues of single chats that are kept, so that the next chat does not make them again."""
MAX_QUIET_WAITS: Final = 10
"""Maximum number of `QUIET_SECONDS` to wait after the first announcement."""


class ServersUnavailable(ConnectionError):
    """Required servers cannot be reached. `reasons` has the label and the reason of each, without credentials."""

    def __init__(self, reasons: Sequence[tuple[str, str]]) -> None:
        super().__init__("; ".join(f"the server {label} cannot be reached: {why}" for label, why in reasons))
        self.reasons = tuple(reasons)


@dataclass(frozen=True, slots=True)
class ToolChanges(Mapping[str, Any]):
    """The difference between two catalogues, by the names that the model sees; also a mapping of its fields."""

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    total: int = 0
    """Number of tools now."""

    @classmethod
    def between(cls, old: Catalogue, new: Catalogue) -> ToolChanges:
        """Return what changed from `old` to `new`."""
        return cls(
            tuple(name for name in new.entries if name not in old.entries),
            tuple(name for name in old.entries if name not in new.entries),
            tuple(name for name, entry in new.entries.items() if old.entries.get(name, entry) != entry),
            len(new.entries),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the change as a JSON object."""
        return {key: list(value) if isinstance(value, tuple) else value for key, value in self.items()}

    def __getitem__(self, key: str) -> Any:
        if key not in tuple(self):
            raise KeyError(key)
        return getattr(self, key)

    def __iter__(self) -> Iterator[str]:
        return (field.name for field in fields(self))

    def __len__(self) -> int:
        return len(fields(self))


class Servers:
    """The servers of one client.

    Args:
        targets: For each server the application's name for it, or `None`, and the target.
        connect_timeout: Seconds for connecting to a server, and for listing its tools again.
        log: Of the client.
        refresh_interval: Seconds between refreshes of all connected servers; 0: only when a server announces changes,
            or answers that it does not have a tool.
        max_tools: How many tools of each server are offered.
        require: Whether `open` raises when a server cannot be used.
        offer: As for `catalogue.build`.
        extra: As for `catalogue.build`.
        on_change: Called with each change of the catalogue after `open`; must not block.
        sampling: The application's policy for servers that ask the client's model; `None`: they are refused.
        sleep: Replaces `asyncio.sleep` in tests.

    Raises:
        TypeError, ValueError: a target is not valid.
    """

    def __init__(
        self,
        targets: Sequence[tuple[str | None, Target]],
        *,
        connect_timeout: float,
        log: EventLog,
        refresh_interval: float = 0,
        max_tools: int = MAX_TOOLS,
        require: bool = False,
        offer: Offer | None = None,
        extra: Sequence[Mapping[str, Any]] = (),
        on_change: Callable[[ToolChanges], None] | None = None,
        sampling: Sampling | None = None,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self._sampling = None if sampling is None else lambda label: handler(sampling, label, log)
        self._connect_timeout = connect_timeout
        self._log = log
        self._refresh_interval = refresh_interval
        self._max_tools = max_tools
        self._require = require
        self._offer = offer
        self._extra = extra
        self._on_change = on_change
        self._sleep = sleep
        self._makers = [self._maker(name, target) for name, target in targets]
        self._members: list[PoolMember | CredentialPool] = []
        self._of_chats: OrderedDict[tuple[int, ...], tuple[list[Any], Catalogue]] = OrderedDict()
        """The catalogues of chats with servers of their own, the one used last at the end. The key has the ids of what
        a catalogue was made of; that is kept beside it, so that no other object can get one of these ids."""
        self._own_parts: WeakKeyDictionary[ToolServer, ServerPart] = WeakKeyDictionary()
        """What the servers of single chats contributed last to a catalogue."""
        self._tasks: list[asyncio.Task[None]] = []
        self._open = False
        self._catalogue = Catalogue()

    @property
    def catalogue(self) -> Catalogue:
        """The tools now. A new object whenever they change; parts that have not changed are shared.

        The tools of servers whose credentials depend on the chat are in `chat_servers.ChatServers` only.
        """
        return self._catalogue

    @property
    def shared(self) -> list[PoolMember]:
        """The servers that all chats use with the same credentials."""
        return [member for member in self._members if isinstance(member, PoolMember)]

    @property
    def credential_pools(self) -> dict[int, CredentialPool]:
        """By their places among all servers: those whose credentials depend on the chat."""
        return {place: one for place, one in enumerate(self._members) if isinstance(one, CredentialPool)}

    def catalogue_with(self, own: Mapping[int, tuple[ToolServer, list[Tool]]]) -> Catalogue:
        """Return the catalogue of a chat that has servers of its `own`, by their places among all servers."""
        parts: list[Any] = [self._catalogue, *(part for pair in own.values() for part in pair)]
        key = tuple(map(id, parts))
        if key in self._of_chats:
            self._of_chats.move_to_end(key)
            return self._of_chats[key][1]
        # A change of one server must not cost each chat the time of all others.
        known = list(self._catalogue.parts)
        for place, (server, _) in own.items():
            known[place] = self._own_parts.get(server, known[place])
        made = build(
            [
                own[place] if isinstance(member, CredentialPool) else (member.server, member.tools)
                for place, member in enumerate(self._members)
            ],
            self._catalogue.version,
            [warning for member in self.shared for warning in member.warnings()],
            previous=Catalogue(names=self._catalogue.names, parts=tuple(known)),
            offer=self._offer,
            extra=self._extra,
        )
        for place, (server, _) in own.items():
            self._own_parts[server] = made.parts[place]
        self._of_chats[key] = parts, made
        if len(self._of_chats) > MAX_CATALOGUES:
            self._of_chats.popitem(last=False)
        return made

    async def open(self) -> None:
        """Connect to all servers at the same time, and supervise them. This takes little more than `connect_timeout`.

        A server that cannot be reached is left out, with a warning in the catalogue, until it can be reached; so is one
        whose tools depend on each other in a circle (XMCP-CLI-094), until it lists others.

        Raises:
            DependencyError: tools of each server depend on each other in a circle, or of one, and `require` is set;
                or a server of this process does not start because of what its tools depend on.
            ServersUnavailable: `require` is set and a server cannot be reached.
            RuntimeError: the servers are open already.
        """
        if self._members:
            raise RuntimeError("These servers are open already.")
        self._members = [make() for make in self._makers]
        try:
            await asyncio.gather(*(member.refresh() for member in self.shared))
            self._check()
        except BaseException:
            await self.close()
            raise
        self._publish()
        self._open = True
        self._tasks = [self._task(self._supervise(member), member.server.label) for member in self.shared]
        if self._refresh_interval > 0:
            self._tasks.append(self._task(self._refresh_regularly(), "all"))

    async def refresh(self) -> ToolChanges:
        """List the tools of all servers again, lost servers included, in parallel and within `connect_timeout` each.

        A server that does not answer keeps the tools it had, with a warning in the catalogue. Calls go on undisturbed.
        """
        before = self._catalogue
        await self._refresh(self.shared)
        for pool in self.credential_pools.values():
            pool.outdate()
        return ToolChanges.between(before, self._catalogue)

    async def _refresh(self, members: Sequence[PoolMember]) -> None:
        await asyncio.gather(*(member.refresh() for member in members))
        self._publish()
        for member in members:
            member.wake()

    def status(self) -> list[ServerStatus]:
        """Return the state of each server, in the order given."""
        return [member.status() for member in self._members]

    def identities(self) -> list[tuple[str, list[str]]]:
        """Return the name of each server and its identity; of one with several credentials, one for each connection."""
        return [
            (member.name, [kept.server.identity for kept in member.members])
            if isinstance(member, CredentialPool)
            else (member.server.name, [member.server.identity])
            for member in self._members
        ]

    async def close(self) -> None:
        """End the supervisors and close every server. Never raises; takes as long as `Server.close` at most."""
        tasks, self._tasks, self._open = self._tasks, [], False
        members, self._members = self._members, []
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=CLOSE_SECONDS)
        await asyncio.gather(
            *(one.close() if isinstance(one, CredentialPool) else one.server.close() for one in members)
        )

    def _maker(self, name: str | None, target: Target) -> Callable[[], PoolMember | CredentialPool]:
        given = target if isinstance(target, ServerTarget) else ServerTarget(target=target)
        timeout = self._timeout_of(given)
        log, sleep, publish = self._log, self._sleep, self._publish_reconnected
        most = self._max_tools
        tools = given.target
        if isinstance(tools, ToolClient):
            check(given)
            ToolClientAdapter(tools, name, timeout, log, given.xmcp)  # raises now if it is not valid
            return lambda: PoolMember(
                lambda member: ToolClientAdapter(tools, name, timeout, log, given.xmcp, member.tool_missing),
                publish,
                most,
            )
        if depend_on_chat(given):
            check(given)
            return lambda: self._credential_pool(name, given)
        place = source(given, timeout, self._sampling)
        return lambda: PoolMember(lambda member: Server(place, name, timeout, log, member, sleep), publish, most)

    def _timeout_of(self, target: ServerTarget) -> float:
        return self._connect_timeout if target.connect_timeout is None else target.connect_timeout

    def _credential_pool(self, name: str | None, target: ServerTarget) -> CredentialPool:
        timeout, log, sleep, most = self._timeout_of(target), self._log, self._sleep, self._max_tools
        names: set[str] = set()

        def make(with_credentials: ServerTarget) -> PoolMember:
            place = source(with_credentials, timeout, self._sampling)
            return PoolMember(
                lambda member: Server(place, name, timeout, log, member, sleep), lambda: None, most, names, MAX_NAMES
            )

        label = source(replace(target, headers=None, auth=None), timeout).label
        return CredentialPool(
            target,
            make,
            name=name,
            label=f"{name} ({label})" if name else label,
            connect_timeout=timeout,
            refresh_interval=float(self._refresh_interval),
            log=log,
        )

    def _check(self) -> None:
        in_circles = [member for member in self.shared if member.circle]
        if in_circles and (self._require or len(in_circles) == len(self._members)):
            server, path = in_circles[0].server, in_circles[0].circle
            raise DependencyError(f"Tools of the server {server.label} depend on each other in a circle: {path}.")
        for member in self.shared:
            if member.refusal is not None:
                raise DependencyError(f"The server {member.server.label} does not start: {member.refusal}")
        faults = [(member.server.label, member.fault) for member in self.shared if member.fault is not None]
        if self._require and faults:
            raise ServersUnavailable(faults)

    def _publish(self) -> None:
        """Build the catalogue of what the servers offer now, and report what changed."""
        old = self._catalogue
        new = self._catalogue = build(
            [
                (member.server, member.tools) if isinstance(member, PoolMember) else (member.without_credentials, [])
                for member in self._members
            ],
            old.version + 1,
            [warning for member in self.shared for warning in member.warnings()],
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
        changed = {part: list(changes[part]) for part in ("added", "removed", "changed")}
        self._log.info("tools_changed", version=new.version, **changed)
        if self._on_change is not None:
            self._on_change(changes)

    def _publish_reconnected(self) -> None:
        """Publish the tools of a server that reconnected without a refresh."""
        if not self._open:
            return
        try:
            self._publish()
        except Exception:
            self._log.exception("refresh_failed")

    def _task(self, supervising: Coroutine[Any, Any, None], what: str) -> asyncio.Task[None]:
        return asyncio.create_task(supervising, name=f"xmcp supervise {what}")

    async def _supervise(self, member: PoolMember) -> None:
        """Keep a server's tools up to date as long as the client is open."""
        delays = reconnect_delays()
        while True:
            try:
                if member.settled:
                    delays = reconnect_delays()
                    await member.woken()
                    if member.settled and member.tools_may_have_changed:
                        await self._until_quiet(member)
                        await member.refresh()
                else:
                    await self._sleep(next(delays))
                    if not member.settled:
                        await member.refresh()
                self._publish()
            except Exception:
                self._log.exception("refresh_failed", server=member.server.label)
                await self._sleep(next(delays))

    async def _until_quiet(self, member: PoolMember) -> None:
        for _ in range(MAX_QUIET_WAITS):
            member.tools_may_have_changed = False
            await self._sleep(QUIET_SECONDS)
            if not member.tools_may_have_changed:
                return

    async def _refresh_regularly(self) -> None:
        while True:
            await self._sleep(float(self._refresh_interval))
            try:
                # A lost server is its supervisor's, which tries it after growing delays.
                await self._refresh([member for member in self.shared if member.settled])
            except Exception:
                self._log.exception("refresh_failed")
