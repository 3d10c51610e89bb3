"""Checks of tenants: quotas, and that nothing of one tenant's chats gets into another's (section 11.7)."""

from __future__ import annotations

from collections.abc import Iterator

from xmcp_conformance.core.checks import Observations, check
from xmcp_conformance.core.observation import either, obeyed
from xmcp_conformance.core.untrusted_text import quoted
from xmcp_conformance.profiles.client.messages import strings_of
from xmcp_conformance.profiles.client.trace_index import TraceIndex
from xmcp_conformance.profiles.client.trace_model import Chat

_SHORTEST = 8
"""Number of characters below which a text can occur in two chats by chance."""


@check("XMCP-CLI-074", profile="client")
def _quota_kept(trace: TraceIndex) -> Observations:
    for chat in trace.chats.values():
        tenant = chat.began.tenant
        quota = trace.setup.quota_tokens.get(tenant) if tenant is not None else None
        if quota is None:
            continue
        for at, _ in chat.asks:
            spent = [
                said.tokens or 0
                for other in trace.chats.values()
                if other.began.tenant == tenant
                for said_at, said in [*((t.said_at, t.said) for t in other.turns), *other.failed]
                if said_at < at
            ]
            seen = f"the model is asked with {sum(spent)} tokens used"
            yield either("XMCP-CLI-074", sum(spent) < quota, seen, f"no request at {quota}", where=at)
        if chat.ended is not None and chat.ended.failure == "quota":
            yield obeyed("XMCP-CLI-074", where=chat.ended_at)


@check("XMCP-CLI-076", profile="client")
def _tenants_separated(trace: TraceIndex) -> Observations:
    tenants = {chat.began.tenant for chat in trace.chats.values()}
    if len(tenants) < 2:
        return
    for chat in trace.chats.values():
        own = [text for other in _of(trace, chat.began.tenant) for text in _texts_of(other)]
        # The checks of the cache judge what came from a cache.
        cached = {call.content for turn in chat.turns for call in turn.calls if call.source is not None}
        foreign = [
            text
            for tenant in tenants - {chat.began.tenant}
            for other in _of(trace, tenant)
            for text in _texts_of(other)
            if len(text) >= _SHORTEST and not any(text in mine for mine in own)
        ]
        for at, to, messages in chat.histories:
            shown = [text for text in strings_of(messages) if text not in cached]
            found = next((text for text in foreign if any(text in one for one in shown)), None)
            seen = f"`{quoted(found or '')}`, of another tenant, in the history for {to}"
            yield either("XMCP-CLI-076", found is None, seen, "the tenant's own chats", where=at)
        for at, received in chat.received:
            usage = received.event.get("usage")
            if received.event.get("type") == "usage" and isinstance(usage, dict) and "tenant_id" in usage:
                seen = f"a usage record of tenant `{quoted(str(usage['tenant_id']))}`"
                yield either(
                    "XMCP-CLI-076", usage["tenant_id"] == chat.began.tenant, seen, "the chat's tenant", where=at
                )


def _of(trace: TraceIndex, tenant: str | None) -> list[Chat]:
    return [chat for chat in trace.chats.values() if chat.began.tenant == tenant]


def _texts_of(chat: Chat) -> Iterator[str]:
    """Yield the texts of a chat: those of the application, the model and the servers."""
    yield chat.began.query
    yield from (text for text in strings_of(chat.began.history) if text)
    for turn in chat.turns:
        yield turn.said.text
        for call in turn.calls:
            yield call.written
            yield from (a.answered.text for a in call.attempts if a.answered is not None and a.answered.text)
