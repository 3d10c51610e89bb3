"""What a gateway knows of earlier chats: in memory, and of those that are not there any more, in the audit store."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final

from xmcp.client.calls.worker_threads import in_worker_if_large
from xmcp.gateway.audit.errors import AuditError, ConversationRunning
from xmcp.gateway.config import RunSettings, SessionSettings
from xmcp.gateway.ids import conversation_of
from xmcp.gateway.runs.kept import Keeping
from xmcp.gateway.runs.record import RunRecord
from xmcp.gateway.runs.registry import Runs
from xmcp.gateway.runs.request import ChatRequest
from xmcp.gateway.sessions.answered import Answered
from xmcp.gateway.sessions.rehydration import rehydrated
from xmcp.gateway.sessions.sessions import Name, Session, SessionBusy, Sessions
from xmcp.gateway.sessions.window import Window, settled, size_of, within

if TYPE_CHECKING:
    from xmcp.chat.messages import Message
    from xmcp.gateway.audit.archive import Archive

_log: Final = logging.getLogger("xmcp.gateway")


class Memory:
    """Sessions, and the conversations after responses.

    Args:
        kept: How much is kept of sessions.
        own: How much is kept of responses.
        archive: What the audit log has recorded; `None`: only what is in memory is known.
    """

    def __init__(self, kept: SessionSettings, own: RunSettings, archive: Archive | None) -> None:
        self.sessions = Sessions(
            Window(kept.max_messages, kept.max_bytes),
            Keeping(kept.keep_seconds, kept.keep_bytes, kept.max_per_tenant),
        )
        self._answered = Answered(self.sessions.window, Keeping(own.response_seconds, own.response_bytes))
        self._archive = archive

    async def recalled(self, request: ChatRequest, name: Name) -> ChatRequest:
        """Return the request with the history of its session, or with that which its own one shows a part of."""
        sent, session = request.history, self.sessions.get(name)
        chore = request.is_plain or (not sent and session is not None)
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
        known = {run_id: self._answered.get(run_id, tenant) for run_id in run_ids}
        missing = [run_id for run_id, history in known.items() if history is None]
        stored = await self._archive.run_histories(tenant, missing) if missing and self._archive is not None else {}
        within_window = {run_id: within(history, self.sessions.window) for run_id, history in stored.items()}
        return {run_id: history for run_id, history in known.items() if history is not None} | within_window

    async def forget_session(self, name: Name, runs: Runs) -> bool:
        """Forget a session with its ended `runs`, in memory and in the audit store; return whether there was any.

        Raises:
            SessionBusy: a chat of it runs.
            AuditError, Overloaded: the store cannot be read or written; the session is as it was.
        """
        if runs.has_running(*name):
            raise SessionBusy  # it would be remembered again when that chat ends
        self.sessions.claim(name)
        try:
            stored = await self._deleted(name[0], conversation_of(*name))
            kept = self._forget_runs(runs, name[0], lambda _, session: session == name[1])
            return self.sessions.drop(name) or stored or kept
        except ConversationRunning:
            raise SessionBusy from None
        finally:
            self.sessions.release(name)

    async def forget_conversation(self, tenant: str | None, conversation_id: str, runs: Runs) -> bool:
        """Delete a conversation from the audit store, forget its session and ended `runs`; return if there was one.

        Raises:
            SessionBusy, ConversationRunning: a chat of it runs.
            AuditError, Overloaded: the store cannot be read or written; all is as it was.
        """
        for session in self.sessions.of(tenant):
            if conversation_of(tenant, session.id) == conversation_id:
                return await self.forget_session((tenant, session.id), runs)
        deleted = await self._deleted(tenant, conversation_id)

        def is_of(run_id: str, session: str | None) -> bool:
            return conversation_id == (run_id if session is None else conversation_of(tenant, session))

        return self._forget_runs(runs, tenant, is_of) or deleted

    async def _deleted(self, tenant: str | None, conversation_id: str) -> bool:
        return self._archive is not None and await self._archive.delete(tenant, conversation_id)

    def _forget_runs(self, runs: Runs, tenant: str | None, is_meant: Callable[[str, str | None], bool]) -> bool:
        self._answered.forget(tenant, is_meant)
        return runs.forget(tenant, is_meant)

    def ended(self, run: RunRecord) -> None:
        """Take note that a run has ended."""
        self.sessions.ended(run)
        self._answered.ended(run)

    async def _restored(self, name: Name) -> Sequence[Message]:
        """Return what the audit store has of a session that is not in memory.

        Raises:
            AuditError: it cannot be read.
        """
        found = None if self._archive is None else await self._archive.session_history(*name)
        return within(settled(found or ()), self.sessions.window)
