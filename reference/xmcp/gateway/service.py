"""A gateway without HTTP: the client, the models that it offers, its runs. What a request asks for is decided here."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from xmcp.client.calls.worker_threads import in_worker_if_large
from xmcp.client.chat_stream import ChatStream
from xmcp.client.loop.fallback import Fallback
from xmcp.gateway.access.access import Access
from xmcp.gateway.access.quota_hook import spends_for
from xmcp.gateway.approval import matches
from xmcp.gateway.audit.errors import AuditError, ConversationRunning
from xmcp.gateway.audit.reports import Reports
from xmcp.gateway.config import GatewayConfig
from xmcp.gateway.grants import is_within
from xmcp.gateway.runs.admission import AdmissionLimits
from xmcp.gateway.runs.events import new_run_id_at
from xmcp.gateway.runs.kept import Keeping
from xmcp.gateway.runs.observer import RunObserver
from xmcp.gateway.runs.patience import RunLimits
from xmcp.gateway.runs.registry import Runs
from xmcp.gateway.runs.request import Caller, ChatRequest
from xmcp.gateway.runs.retries import RequestMark
from xmcp.gateway.runs.run import Run
from xmcp.gateway.sessions.answered import Answered
from xmcp.gateway.sessions.rehydration import rehydrated
from xmcp.gateway.sessions.sessions import MAX_WORKERS, Name, Session, SessionBusy, Sessions
from xmcp.gateway.sessions.window import Window, settled, size_of, within

if TYPE_CHECKING:
    from xmcp.chat.messages import Message
    from xmcp.client.ai_client import AIClient
    from xmcp.client.servers.pool import ToolChanges
    from xmcp.gateway.audit.archive import Archive
    from xmcp.gateway.audit.log import AuditLog
    from xmcp.gateway.tenant_cache import TenantCache
    from xmcp.gateway.workers.place import WorkerPlace

_log: Final = logging.getLogger("xmcp.gateway")

REFRESH_SECONDS: Final = 5.0
"""Least number of seconds between two listings of all tools that callers ask for."""

PLAIN: Final = ":plain"
"""What a caller writes behind the name of a model to have it without tools, for titles and other chores."""


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
        own, kept = config.runs, config.sessions
        self.sessions = Sessions(
            Window(kept.max_messages, kept.max_bytes),
            Keeping(kept.keep_seconds, kept.keep_bytes, kept.max_per_tenant),
        )
        self.answered = Answered(self.sessions.window, Keeping(own.response_seconds, own.response_bytes))
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
            self._ended,
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
        if chat.model.endswith(PLAIN):
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
        may_call = not chat.model.endswith(PLAIN) and chat.options.get("tools") != [] and bool(self.ai.servers)
        return formatted and may_call

    def take_place(self, place: WorkerPlace) -> None:
        """Be one of several processes, from now on: what begins here belongs here.

        Raises:
            ValueError: they are too many.
        """
        if place.count > MAX_WORKERS:
            raise ValueError(f"A gateway has at most {MAX_WORKERS} processes, not {place.count}.")
        self.runs.new_id = partial(new_run_id_at, place)
        self.sessions.worker = place.number

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
            self.sessions.claim(name)
        begun = False
        try:
            run, joined = await self.runs.start(await self._recalled(request, name), caller, mark)
            begun = not joined
            return run, joined
        finally:
            if request.continues and not begun:
                self.sessions.release(name)

    async def session(self, name: Name) -> Session | None:
        """Return what is remembered of a session, in memory or in the audit store; `None` if nothing is.

        Raises:
            AuditError, Overloaded: the store cannot be read.
        """
        found = self.sessions.get(name)
        if found is None and (messages := await self._restored(name)):
            return self.sessions.described(name, messages)
        return found

    async def earlier(self, run_ids: Collection[str], tenant: str | None) -> dict[str, Sequence[Message]]:
        """Return the conversations after runs of a tenant that `/v1/responses` began, as far as they are known.

        Raises:
            AuditError, Overloaded: one is not in memory, and the store cannot be read.
        """
        known = {run_id: self.answered.get(run_id, tenant) for run_id in run_ids}
        missing = [run_id for run_id, history in known.items() if history is None]
        stored = await self.archive.run_histories(tenant, missing) if missing and self.archive is not None else {}
        within_window = {run_id: within(history, self.sessions.window) for run_id, history in stored.items()}
        return {run_id: history for run_id, history in known.items() if history is not None} | within_window

    async def forget_session(self, name: Name) -> bool:
        """Forget a session with its ended runs, in memory and in the audit store; return whether there was any.

        Raises:
            SessionBusy: a chat of it runs.
            AuditError, Overloaded: the store cannot be read or written; the session is as it was.
        """
        if self.runs.has_running(*name):
            raise SessionBusy  # it would be remembered again when that chat ends
        self.sessions.claim(name)
        try:
            archive = self.archive
            stored = archive is not None and await archive.delete(name[0], archive.conversation_of(*name))
            kept = self._forget_runs(name[0], lambda _, session: session == name[1])
            return self.sessions.drop(name) or stored or kept
        except ConversationRunning:
            raise SessionBusy from None
        finally:
            self.sessions.release(name)

    async def forget_conversation(self, archive: Archive, tenant: str | None, conversation_id: str) -> bool:
        """Delete a conversation from the audit store, and forget its session; return whether there was one.

        Raises:
            SessionBusy, ConversationRunning: a chat of it runs.
            AuditError, Overloaded: the store cannot be read or written; all is as it was.
        """
        for session in self.sessions.of(tenant):
            if archive.conversation_of(tenant, session.id) == conversation_id:
                return await self.forget_session((tenant, session.id))
        deleted = await archive.delete(tenant, conversation_id)

        def is_of(run_id: str, session: str | None) -> bool:
            return conversation_id == (run_id if session is None else archive.conversation_of(tenant, session))

        return self._forget_runs(tenant, is_of) or deleted

    def _forget_runs(self, tenant: str | None, is_meant: Callable[[str, str | None], bool]) -> bool:
        self.answered.forget(tenant, is_meant)
        return self.runs.forget(tenant, is_meant)

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

    async def _recalled(self, request: ChatRequest, name: Name) -> ChatRequest:
        """Return the request with the history of its session, or with that which its own one shows a part of."""
        sent, session = request.history, self.sessions.get(name)
        chore = request.model.endswith(PLAIN) or (not sent and session is not None)
        if not request.continues and chore:
            return request  # such as a front end's for a title: nothing of it belongs to the conversation
        if not request.continues and not sent:
            return replace(request, recall="new")
        try:
            known = session.messages if session is not None else await self._restored(name)
        except AuditError as error:
            _log.warning("a chat goes on without what was said before in its session: %s", error)
            return replace(request, recall="unavailable")
        if not known:
            return replace(request, recall="as-sent" if sent and not request.continues else "new")
        size = request.size + sum(map(size_of, known))
        recalling = partial(rehydrated, sent, known, goes_on=request.query is None)
        history = [*known, *sent] if request.continues else await in_worker_if_large(size, recalling)
        if history is None:
            return replace(request, recall="as-sent")
        size = request.size + sum(map(size_of, history))
        return replace(request, history=history, recall="remembered", size=size)

    async def _restored(self, name: Name) -> Sequence[Message]:
        """Return what the audit store has of a session that is not in memory.

        Raises:
            AuditError: it cannot be read.
        """
        found = None if self.archive is None else await self.archive.session_history(*name)
        return within(settled(found or ()), self.sessions.window)

    def _ended(self, run: Run) -> None:
        self.sessions.ended(run)
        self.answered.ended(run)

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
        if request.model.endswith(PLAIN):
            options = {**options, "tools": []}
        if (model := self.models[request.model.removesuffix(PLAIN)].model) is not None:
            options = {**options, "model": model}
        return self.ai.stream_chat(
            request.query, request.history, tenant_id=caller.tenant, session_id=request.session_id, **options
        )
