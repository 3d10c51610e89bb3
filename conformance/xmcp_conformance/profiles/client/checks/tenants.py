"""Checks of tenants: quotas, and that nothing of one tenant's chats gets into another's (section 11.7)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from xmcp_conformance.core.checks import Observations, check
from xmcp_conformance.core.observation import either, obeyed
from xmcp_conformance.core.untrusted_text import quoted
from xmcp_conformance.profiles.client.messages import strings_of
from xmcp_conformance.profiles.client.trace import Said
from xmcp_conformance.profiles.client.trace_index import TraceIndex
from xmcp_conformance.profiles.client.trace_model import Attempt, Chat, ModelCall

_BYTES_PER_TOKEN = 16
"""No vendor's tokens are longer than this on average."""

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


@check("XMCP-CLI-115", profile="client")
def _received_text_counted(trace: TraceIndex) -> Observations:
    """Judge requests after answers without a count of the vendor, by the fewest tokens that their text can have.

    What a running request has received need not be counted yet (XMCP-CLI-074 has it reserved).
    """
    for chat in trace.chats.values():
        tenant = chat.began.tenant
        quota = trace.setup.quota_tokens.get(tenant) if tenant is not None else None
        if quota is None:
            continue
        same = [other for other in trace.chats.values() if other.began.tenant == tenant]
        failed = [
            (_request_ended(one, at), len((said.text + said.begun).encode()) // _BYTES_PER_TOKEN)
            for one in same
            for at, said in one.failed
        ]
        uncounted = [turn for one in same for turn in one.turns if turn.said.tokens is None]
        failed += [(turn.next_at, len(_written(turn.said)) // _BYTES_PER_TOKEN) for turn in uncounted]
        said = [(turn.said_at, turn.said.tokens or 0) for one in same for turn in one.turns]
        ends = [*(at for at, _ in chat.asks), chat.ended_at]
        for at in ends:
            counted = sum(tokens for said_at, tokens in said if said_at < at)
            received = sum(tokens for ended_at, tokens in failed if ended_at <= at)
            if counted < quota <= counted + received:
                asked = at != chat.ended_at
                if asked or chat.ended is None or chat.ended.failure != "quota":
                    seen = f"{received} tokens or more were received of answers that were not complete"
                    yield either("XMCP-CLI-115", not asked, seen, f"no request at {quota}", where=at)
                else:
                    yield obeyed("XMCP-CLI-115", where=at)


def _written(said: Said) -> bytes:
    """Return all that the model wrote in an answer, its calls among it."""
    parts = [said.text, *(str(call.get(name) or "") for call in said.calls for name in ("name", "arguments"))]
    return "".join(parts).encode("utf-8", "replace")


def _request_ended(chat: Chat, said_at: int) -> int:
    """Return the index of the record that shows that a request to the model has ended which failed at `said_at`."""
    return min((at for at, _ in chat.asks if at > said_at), default=chat.ended_at)


@check("XMCP-CLI-117", profile="client")
def _slots_in_turn(trace: TraceIndex) -> Observations:
    """Judge whether a tenant's call waited while another tenant got two slots."""
    limit, setup = trace.setup.max_concurrency, trace.setup
    if setup.approval or setup.cache or setup.breaker_threshold is not None:
        return  # a call can wait for something else than a slot
    begun = [(attempt, attempt.call) for attempt in trace.attempts if attempt.called is not None]
    if any(call is not None and call.unclear for _, call in begun):
        return
    first = [(a, call) for a, call in begun if call is not None and call.sent[0] is a]
    granted = sorted(
        ((a, call, call.turn.chat.began.tenant) for a, call in first), key=lambda one: _begun(trace, one[1], one[0])
    )
    for place, (waiting, call, tenant) in enumerate(granted):
        if call.tool is None or call.tool.depends_on:
            continue
        since = max(call.turn.said.time, _other_ended(call, waiting)) + trace.instant
        meanwhile = [one for one in granted[:place] if _begun(trace, one[1], one[0]) > since]
        own = sum(other == tenant for _, _, other in meanwhile) + sum(
            since < attempt.begun < waiting.begun
            for attempt, other in begun
            if other is not None and other.sent[0] is not attempt and other.turn.chat.began.tenant == tenant
        )  # a later attempt can have taken the turn of its tenant
        others = Counter(other for _, _, other in meanwhile if other != tenant)
        if others and trace.running(waiting.at) + 1 >= limit:
            whose, most = others.most_common(1)[0]
            of = "chats without a tenant" if whose is None else f"`{quoted(whose)}`"
            seen = f"{call} waited while {most} calls of {of} began"
            yield either("XMCP-CLI-117", most <= own + 1, seen, "the tenants in turn", where=waiting.at)


def _other_ended(call: ModelCall, waiting: Attempt) -> float:
    """Return when the call before it in its turn ended, if that was before it began: it can have waited for that."""
    before = call.turn.calls[call.place - 1].attempts if call.place else []
    return max((attempt.ended for attempt in before if attempt.ended <= waiting.begun), default=0.0)


def _begun(trace: TraceIndex, call: ModelCall, attempt: Attempt) -> float:
    """Return when a call began: with its event, where the application got one, since it can reach the server later."""
    told = [trace.time(at) for at, event in call.turn.chat.events(call) if event.get("type") == "tool_started"]
    return min([*told, attempt.begun])


@check("XMCP-CLI-076", profile="client")
def _tenants_separated(trace: TraceIndex) -> Observations:
    tenants = {chat.began.tenant for chat in trace.chats.values()}
    if len(tenants) < 2:
        return
    unclear = [text for call in trace.all_calls if call.unclear for text in _answers_to(call)]
    for chat in trace.chats.values():
        own = [*unclear, *(text for other in _of(trace, chat.began.tenant) for text in _texts_of(other))]
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
            yield from _answers_to(call)


def _answers_to(call: ModelCall) -> list[str]:
    return [a.answered.text for a in call.attempts if a.answered is not None and a.answered.text]
