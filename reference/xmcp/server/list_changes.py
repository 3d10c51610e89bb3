"""Notifications that a list has changed: tools, resources and prompts that come and go while a server runs.

A change becomes an event on the server's subscription bus. Clients of protocol version 2026-07-28 get the events
through a `subscriptions/listen` request; each session of an older version is subscribed when it is initialized. An
event names the list, not the change: a client that needs to know lists again.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
import threading
import weakref
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Final, Self

from fastmcp import FastMCP
from fastmcp.prompts.base import Prompt
from fastmcp.server.providers import LocalProvider, Provider
from fastmcp.server.transforms import Transform
from fastmcp.tools import Tool
from fastmcp.utilities.components import FastMCPComponent
from mcp.server.connection import Connection
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel.server import LifespanResultT
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    PromptsListChanged,
    ResourcesListChanged,
    ResourceUpdated,
    ServerEvent,
    SubscriptionBus,
    ToolsListChanged,
)
from mcp.shared.subscriptions import event_to_notification

from xmcp.server.fastmcp_internals.components import unwrapped, watch_components
from xmcp.server.fastmcp_internals.dispatch import join_dispatch
from xmcp.server.fastmcp_internals.outgoing_messages import connection_of
from xmcp_models.registry import PREFIX

QUIET: Final = 0.05
"""Seconds without a further change before a change is announced, so that a burst is one announcement."""
LONGEST: Final = 1.0
"""Maximum seconds before a change is announced, even if changes do not stop."""

EVERY_LIST: Final = (ToolsListChanged(), ResourcesListChanged(), PromptsListChanged())

Lifespan = Callable[[FastMCP[Any]], AbstractAsyncContextManager[Any]]

logger = logging.getLogger("xmcp.server")


class Announcements:
    """The pending announcements of one server to its clients. `changed` may be called from any thread."""

    def __init__(self, bus: SubscriptionBus) -> None:
        self.bus = bus
        self.streams = ListenHandler(bus)
        self._above: weakref.WeakSet[Announcements] = weakref.WeakSet()
        self._lock = threading.Lock()
        self._pending: dict[ServerEvent, None] = {}
        self._changes = 0
        self._scheduled = False
        self._loop: Callable[[], asyncio.AbstractEventLoop | None] = lambda: None
        self._task: asyncio.Task[None] | None = None

    def run_on(self, loop: asyncio.AbstractEventLoop) -> None:
        """Announce changes from now on; earlier changes are dropped, because no client was connected."""
        with self._lock:  # what was pending on an earlier, closed loop was for clients that are gone
            self._loop = weakref.ref(loop)
            self._pending, self._scheduled = {}, False

    def relay_to(self, mounting: Announcements) -> None:
        """Also announce to the clients of `mounting`, a server that mounts this one. It is held weakly."""
        self._above.add(mounting)

    def changed(self, *events: ServerEvent) -> None:
        """Announce `events` soon, here and on every server that mounts this one."""
        for announcements in self._with_all_above():
            announcements._schedule(events)

    def component_changed(self, component: FastMCPComponent | None) -> None:
        """Announce that `component` was added or removed; None means any component."""
        match component:
            case None:
                self.changed(*EVERY_LIST)
            case Tool():
                self.changed(ToolsListChanged())
            case Prompt():
                self.changed(PromptsListChanged())
            case _:
                self.changed(ResourcesListChanged())

    def _with_all_above(self) -> set[Announcements]:
        found, new = {self}, [self]
        while new:
            further = {above for announcements in new for above in list(announcements._above)} - found
            found |= further
            new = list(further)
        return found

    def _schedule(self, events: tuple[ServerEvent, ...]) -> None:
        loop = self._loop()
        if loop is None or loop.is_closed():
            return
        with self._lock:
            self._pending.update(dict.fromkeys(events))
            self._changes += 1
            first, self._scheduled = not self._scheduled, True
        if first:
            # In an empty context: the change may have been made inside a request.
            loop.call_soon_threadsafe(self._start, context=contextvars.Context())

    def _start(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._announce())

    async def _announce(self) -> None:
        try:
            await self._until_quiet()
        finally:
            with self._lock:
                events, self._pending, self._scheduled = self._pending, {}, False
        for event in events:
            try:
                await self.bus.publish(event)
            except Exception:
                logger.exception("The subscription bus refused %s; its subscribers do not get it.", event)

    async def _until_quiet(self) -> None:
        give_up = asyncio.get_running_loop().time() + LONGEST
        seen = -1
        while seen != self._changes and asyncio.get_running_loop().time() < give_up:
            seen = self._changes
            await asyncio.sleep(QUIET)

    # ---- sessions of protocol versions before 2026-07-28 ----

    async def dispatch(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        """Subscribe each session once it is initialized; announce no `listChanged` to one that cannot be notified."""
        result = await call_next(ctx)
        if ctx.method == "notifications/initialized":
            connection = connection_of(ctx.session)
            if connection.has_standalone_channel and _SUBSCRIBED not in connection.state:
                connection.state[_SUBSCRIBED] = True
                subscription = _Session(connection)
                connection.exit_stack.callback(subscription.end)
                connection.exit_stack.callback(self.bus.subscribe(subscription.deliver))
        elif (
            ctx.method == "initialize"
            and isinstance(result, dict)
            and not connection_of(ctx.session).has_standalone_channel
        ):
            for kind in ("tools", "resources", "prompts"):
                if kind in result["capabilities"]:
                    result["capabilities"][kind]["listChanged"] = False
        return result


_SUBSCRIBED: Final = f"{PREFIX}subscribed"


class _Session:
    """The subscription of one session. At most one message waits for a session that does not read."""

    def __init__(self, connection: Connection) -> None:
        self._connection = weakref.ref(connection)
        self._due: dict[ServerEvent, None] = {}
        self._sending: asyncio.Task[None] | None = None

    def deliver(self, event: ServerEvent) -> None:
        if isinstance(event, ResourceUpdated):  # these clients get it only after resources/subscribe
            return
        self._due[event] = None
        if self._sending is None:
            loop = asyncio.get_running_loop()
            self._sending = loop.create_task(self._send(), context=contextvars.Context())

    def end(self) -> None:
        if self._sending is not None:
            self._sending.cancel()

    async def _send(self) -> None:
        try:
            while self._due and (connection := self._connection()) is not None:
                event = next(iter(self._due))
                del self._due[event]
                await connection.notify(event_to_notification(event, {}).method, None)
        except Exception:
            logger.debug("A session could not be notified that a list has changed.", exc_info=True)
        finally:
            self._sending = None


class LiveLists(FastMCP[LifespanResultT]):
    """A FastMCP server that notifies its clients, of every protocol version, when its lists change.

    `subscription_bus` carries the events; by default within the process. With several workers, give each of them a
    bus over the same broker (the SDK's `SubscriptionBus` protocol).
    """

    _announcements: Announcements | None = None

    def __init__(
        self,
        *args: Any,
        subscription_bus: SubscriptionBus | None = None,
        lifespan: Lifespan | None = None,
        **options: Any,
    ) -> None:
        announcements = Announcements(subscription_bus or InMemorySubscriptionBus())
        super().__init__(*args, lifespan=_announcing(announcements, lifespan), **options)
        self._announcements = announcements
        join_dispatch(self, announcements.dispatch, announcements.streams)
        for provider in self.providers:
            self._watch(provider)

    @property
    def subscription_bus(self) -> SubscriptionBus:
        """The bus of this server; an event published on it reaches every client that subscribed."""
        assert self._announcements is not None  # noqa: S101 - since __init__
        return self._announcements.bus

    def end_subscriptions(self) -> None:
        """End every open `subscriptions/listen` stream regularly, as a server does that stops."""
        if self._announcements is not None:
            self._announcements.streams.close()

    def remove_tool(self, name: str, version: str | None = None) -> None:
        """Remove the tool `name`, in all its versions or in one. Tools of mounted servers are removed there.

        Raises:
            KeyError: This server has no such tool.
        """
        self.local_provider.remove_tool(name, version)

    def add_provider(self, provider: Provider, *, namespace: str = "") -> None:
        """Add a source of tools (mounting does), as FastMCP does."""
        super().add_provider(provider, namespace=namespace)
        self._watch(provider)
        self._changed()

    def add_transform(self, transform: Transform) -> None:
        """Add a transform of tools, resources and prompts, as FastMCP does."""
        super().add_transform(transform)
        self._changed()

    def enable(self, **selection: Any) -> Self:
        """Show components again, as FastMCP does."""
        super().enable(**selection)
        self._changed()
        return self

    def disable(self, **selection: Any) -> Self:
        """Hide components, as FastMCP does."""
        super().disable(**selection)
        self._changed()
        return self

    def _changed(self) -> None:
        if self._announcements is not None:  # FastMCP's own __init__ calls this too
            self._announcements.changed(*EVERY_LIST)

    def _watch(self, provider: Provider) -> None:
        """Announce changes in `provider`; of a plain FastMCP server, those in its own providers."""
        if self._announcements is None:
            return
        match unwrapped(provider):
            case LiveLists(_announcements=Announcements() as mounted):
                mounted.relay_to(self._announcements)
            case FastMCP(providers=providers):
                for inner in providers:
                    self._watch(inner)
            case LocalProvider() as local:
                watch_components(local, self._announcements)


def _announcing(announcements: Announcements, lifespan: Lifespan | None) -> Lifespan:
    @asynccontextmanager
    async def running(server: FastMCP[Any]) -> AsyncIterator[Any]:
        if lifespan is None:
            announcements.run_on(asyncio.get_running_loop())
            yield {}
            return
        async with lifespan(server) as state:
            # Only now: what a lifespan registers is there before the first client connects.
            announcements.run_on(asyncio.get_running_loop())
            yield state

    return running
