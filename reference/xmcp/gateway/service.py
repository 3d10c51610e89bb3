"""A gateway without HTTP: the client, the models that it offers, its runs. What a request asks for is decided here."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from xmcp.client.chat_stream import ChatStream
from xmcp.client.loop.fallback import Fallback
from xmcp.gateway.audit.reports import Reports
from xmcp.gateway.config import GatewayConfig
from xmcp.gateway.keys import Keys
from xmcp.gateway.runs.admission import AdmissionLimits
from xmcp.gateway.runs.kept import Keeping
from xmcp.gateway.runs.observer import RunObserver
from xmcp.gateway.runs.registry import Runs
from xmcp.gateway.runs.request import Caller, ChatRequest
from xmcp.gateway.runs.run import RunLimits

if TYPE_CHECKING:
    from xmcp.client.ai_client import AIClient
    from xmcp.client.servers.pool import ToolChanges
    from xmcp.gateway.audit.log import AuditLog
    from xmcp.gateway.tenant_cache import TenantCache

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
        keys: Who may call.
        audit: Records every run.
        observers: Are told of every run, too.
        cache: The cache of the client, if it has one.
        owned: What is closed with the gateway, the last first: the providers of the models, the audit log.

    Raises:
        ValueError: there is no model.
    """

    def __init__(
        self,
        ai: AIClient,
        models: Sequence[Offered],
        config: GatewayConfig,
        keys: Keys,
        audit: AuditLog | None = None,
        observers: Sequence[RunObserver] = (),
        cache: TenantCache | None = None,
        owned: Sequence[Any] = (),
    ) -> None:
        if not models:
            raise ValueError("A gateway needs at least one model.")
        self.ai = ai
        self.config = config
        self.keys = keys
        self.models = {offered.id: offered for offered in models}
        self.default_model = models[0].id
        self.audit = audit
        self.reports = None if audit is None else Reports(audit.address)
        self.cache = cache
        self.observers: list[RunObserver] = [*([audit] if audit is not None else []), *observers]
        own = config.runs
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
            self.observers,
        )
        self.stopping = False
        """Whether the gateway is about to stop, and load balancers should send no more."""
        self.loop: asyncio.AbstractEventLoop | None = None
        """The event loop in which it runs; `None` before."""
        self._owned = owned
        self._refreshing: asyncio.Task[ToolChanges] | None = None
        self._refreshed_at = 0.0

    @property
    def model_ids(self) -> list[str]:
        """The names of all models, each with tools and without."""
        return [name for offered in self.models for name in (offered, offered + PLAIN)]

    def offers(self, model: str) -> bool:
        """Return whether there is a model of this name."""
        return model.removesuffix(PLAIN) in self.models

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
            for one in (*self._owned, self.reports):
                if hasattr(one, "aclose"):
                    exits.push_async_callback(one.aclose)
            await exits.enter_async_context(self.ai)
            exits.push_async_callback(self.runs.drain, 0)
            yield

    def _open_chat(self, request: ChatRequest, caller: Caller) -> ChatStream:
        options = request.options
        if request.model.endswith(PLAIN):
            options = {**options, "tools": []}
        if (model := self.models[request.model.removesuffix(PLAIN)].model) is not None:
            options = {**options, "model": model}
        return self.ai.stream_chat(
            request.query, request.history, tenant_id=caller.tenant, session_id=request.session_id, **options
        )
