"""A gateway without HTTP: the client, the models that it offers, its runs. What a request asks for is decided here."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from xmcp.client.chat_stream import ChatStream
from xmcp.client.loop.fallback import Fallback
from xmcp.gateway.access.access import Access
from xmcp.gateway.access.quota_hook import spends_for
from xmcp.gateway.approval import matches
from xmcp.gateway.audit.reports import Reports
from xmcp.gateway.config import GatewayConfig
from xmcp.gateway.grants import is_within
from xmcp.gateway.memory import Memory
from xmcp.gateway.runs.admission import AdmissionLimits
from xmcp.gateway.runs.events import new_run_id_at
from xmcp.gateway.runs.kept import Keeping
from xmcp.gateway.runs.observer import RunObserver
from xmcp.gateway.runs.patience import RunLimits
from xmcp.gateway.runs.registry import Runs
from xmcp.gateway.runs.request import PLAIN, Caller, ChatRequest
from xmcp.gateway.runs.retries import RequestMark
from xmcp.gateway.runs.run import Run
from xmcp.gateway.workers.place import MAX_WORKERS

if TYPE_CHECKING:
    from xmcp.client.ai_client import AIClient
    from xmcp.client.servers.pool import ToolChanges
    from xmcp.gateway.audit.archive import Archive
    from xmcp.gateway.audit.log import AuditLog
    from xmcp.gateway.tenant_cache import TenantCache
    from xmcp.gateway.workers.place import WorkerPlace

_log: Final = logging.getLogger("xmcp.gateway")

REFRESH_SECONDS: Final = 5.0
"""Least number of seconds between two listings of all tools that callers ask for."""


@dataclass(frozen=True, slots=True)
class Offered:
    """A model by the name that callers see, and how the client is asked for it; `None`: it is the client's own."""

    id: str
    model: Fallback | None = None


class Gateway:
    """An `AIClient` for many callers, which is entered and closed with it.

    Args:
        ai: The client.
        models: The models that callers can name, at least one; the first is the default.
        config: The configuration.
        access: Who may call, and how much.
        audit: Records every run.
        observers: Are told of every run, too.
        cache: The cache of the client, if it has one.
        owned: What is closed with the gateway, the last first: the providers of the models, the audit log.
        archive: What the audit log has recorded; it is closed with the gateway, too.

    Raises:
        ValueError: there is no model.
    """

    def __init__(
        self,
        ai: AIClient,
        models: Sequence[Offered],
        config: GatewayConfig,
        access: Access,
        audit: AuditLog | None = None,
        observers: Sequence[RunObserver] = (),
        cache: TenantCache | None = None,
        owned: Sequence[Any] = (),
        archive: Archive | None = None,
    ) -> None:
        if not models:
            raise ValueError("A gateway needs at least one model.")
        self.ai = ai
        self.config = config
        self.access = access
        self.models = {offered.id: offered for offered in models}
        self.default_model = models[0].id
        self.audit = audit
        self.reports = None if audit is None else Reports(audit.address)
        self.cache = cache
        self.observers: list[RunObserver] = [*([audit] if audit is not None else []), *observers]
        self.archive = archive
        own = config.runs
        self.memory = Memory(config.sessions, own, archive)
        self.runs = Runs(
            self._open_chat,
            RunLimits(
                own.deadline_seconds,
                own.first_event_seconds,
                own.idle_seconds,
                own.client_gone_seconds,
                own.join_text_seconds,
            ),
            AdmissionLimits(own.max_running, own.max_running_per_tenant, own.max_waiting, own.wait_seconds),
            Keeping(own.keep_seconds, own.keep_bytes),
            Keeping(own.client_tool_seconds, own.client_tool_bytes),
            self.observers,
            self.memory.ended,
        )
        self.stopping = False
        """Whether the gateway is about to stop, and load balancers should send no more."""
        self.loop: asyncio.AbstractEventLoop | None = None
        """The event loop in which it runs; `None` before."""
        self._owned = [*owned, archive]
        self._refreshing: asyncio.Task[ToolChanges] | None = None
        self._refreshed_at = 0.0

    @property
    def backends(self) -> dict[str, bool]:
        """Whether each store outside of this process can be used; chats go on without it."""
        audit = {} if self.audit is None else {"audit": self.audit.statistics.database_up}
        return {**audit, **self.access.backends, **({} if self.cache is None else self.cache.backends)}

    @property
    def model_ids(self) -> list[str]:
        """The names of all models, each with tools and without."""
        return [name for offered in self.models for name in (offered, offered + PLAIN)]

    def models_for(self, caller: Caller) -> list[str]:
        """Return the names of the models that a caller can ask, each with tools and without."""
        return [name for name in self.model_ids if is_within(name.removesuffix(PLAIN), caller.grant.models)]

    def default_for(self, caller: Caller) -> str:
        """Return the model of a caller that names none."""
        return next(iter(self.models_for(caller)), self.default_model)

    def offers(self, model: str, caller: Caller) -> bool:
        """Return whether there is a model of this name for a caller."""
        name = model.removesuffix(PLAIN)
        return name in self.models and is_within(name, caller.grant.models)

    @property
    def tools_depend_on_tenant(self) -> bool:
        """Whether a server has credentials of tenants, and so perhaps tools that are known only in their chats."""
        return any("tenants" in server for server in self.config.servers.values())

    def tools_for(self, caller: Caller) -> list[dict[str, Any]]:
        """Return the functions that the model of a caller can be offered."""
        listed = [tool["function"] for tool in self.ai.tools]
        return [tool for tool in listed if is_within(tool["name"], caller.grant.tools)]

    def offered_in(self, chat: ChatRequest, caller: Caller) -> set[str]:
        """Return the names of the tools of servers that the model is offered in a chat; none if it wants no such."""
        if chat.is_plain:
            return set()
        wanted = chat.options.get("tools")
        names = {tool["name"] for tool in self.tools_for(caller)}
        return names if wanted is None or callable(wanted) else names.intersection(wanted)

    def answers_alone(self, chat: ChatRequest) -> bool:
        """Return whether OpenAI's clients are to get the answer of a chat and nothing that is said or shown before it.

        Where it has a format they parse it, and could not if what the model says before it calls tools were there.
        """
        sampler = chat.options.get("sampler")
        formatted = sampler is not None and sampler.response_format is not None
        # Also those of servers that are not connected yet.
        may_call = not chat.is_plain and chat.options.get("tools") != [] and bool(self.ai.servers)
        return formatted and may_call

    def take_place(self, place: WorkerPlace) -> None:
        """Be one of several processes, from now on: what begins here belongs here.

        Raises:
            ValueError: they are too many.
        """
        if place.count > MAX_WORKERS:
            raise ValueError(f"A gateway has at most {MAX_WORKERS} processes, not {place.count}.")
        self.runs.new_id = partial(new_run_id_at, place)
        self.memory.sessions.worker = place.number

    async def start(self, request: ChatRequest, caller: Caller, mark: RequestMark) -> tuple[Run, bool]:
        """Return a run for a request, and whether it was begun before. One of a session knows what was said in it.

        Raises:
            SessionBusy: a chat runs already of the session that it is to continue.
            Draining, KeyReused, Overloaded: as `Runs.start`.
        """
        if request.session_id is None or self.runs.joined(mark) is not None:
            return await self.runs.start(request, caller, mark)
        name = caller.tenant, request.session_id
        if request.continues:
            self.memory.sessions.claim(name)
        begun = False
        try:
            run, joined = await self.runs.start(await self.memory.recalled(request, name), caller, mark)
            begun = not joined
            return run, joined
        finally:
            if request.continues and not begun:
                self.memory.sessions.release(name)

    async def refresh_tools(self) -> ToolChanges:
        """List the tools of all servers again. Whoever asks while they are listed, or just after, gets the same answer:
        any caller can ask, and each listing costs every server."""
        now = asyncio.get_running_loop().time()
        if self._refreshing is None or (self._refreshing.done() and now >= self._refreshed_at + REFRESH_SECONDS):
            self._refreshing = asyncio.create_task(self.ai.refresh_tools(), name="xmcp refresh of tools")
            self._refreshed_at = now
        return await asyncio.shield(self._refreshing)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Connect to the tool servers; at the end, end what runs, disconnect, and close what the gateway owns."""
        self.loop = asyncio.get_running_loop()
        async with AsyncExitStack() as exits:
            exits.push_async_callback(self.access.aclose)
            for one in (*self._owned, self.reports):
                if hasattr(one, "aclose"):
                    exits.push_async_callback(one.aclose)
            await exits.enter_async_context(self.ai)
            self._warn_of_names()
            exits.push_async_callback(self.runs.drain, 0)
            yield

    def _warn_of_names(self) -> None:
        """Say which names of tools are none: a wrong one lets calls through unasked, or leaves a key without tools."""
        names = [tool["function"]["name"] for tool in self.ai.tools]
        for pattern in self.config.chat.approve:
            if not any(matches(pattern, name) for name in names):
                _log.warning("[chat] approve: %r names no tool of the servers that are connected", pattern)
        if self.tools_depend_on_tenant:
            return  # tools that only chats know
        for key in self.config.keys:
            for name in key.tools or ():
                if name not in names:
                    told = "[[keys]] %r, tools: %r names no tool of the servers that are connected: GET /tools has them"
                    _log.warning(told, key.name, name)

    def _open_chat(self, request: ChatRequest, caller: Caller) -> ChatStream:
        spends_for(caller, request)
        options = request.options
        if (turns := options.get("max_turns")) is not None:
            options = {**options, "max_turns": min(turns, self.config.chat.max_turns)}
        allowed = caller.grant.tools
        if allowed is not None:
            wanted = options.get("tools")
            chosen = allowed.intersection(wanted) if isinstance(wanted, Collection) else allowed
            options = {**options, "tools": chosen.__contains__}
        if request.is_plain:
            options = {**options, "tools": []}
        if self.answers_alone(request):
            options = {**options, "display": "continue"}  # a display is no answer that a client could parse
        if (model := self.models[request.model.removesuffix(PLAIN)].model) is not None:
            options = {**options, "model": model}
        return self.ai.stream_chat(
            request.query, request.history, tenant_id=caller.tenant, session_id=request.session_id, **options
        )
