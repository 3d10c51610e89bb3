"""Five thousand chats of fifty tenants on one client: nothing of one reaches another, and nothing is left behind.

What belongs to a tenant bears its number (`tenant-07`, `secret-07`, `session-07-123`), so a pattern tells whose a thing
is. Whoever the client calls (server, model, cache, hook, sink, logger) runs in the context of the chat that the call is
for, so `TALK` tells whose it should be. Number 50 chats without a tenant, and some chats are without a session.
"""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import os
import random
import re
import secrets
import sys
import traceback
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Sequence
from contextlib import aclosing
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import mcp.shared._otel as mcp_spans
import pytest
import redis
from opentelemetry import trace
from support.scripted_model import ScriptedModel
from support.scripted_server import ScriptedServer

from xmcp import XMCP, DisplayEnvelope, ErrorInfo, ToolResponse
from xmcp.client import AIClient, Middleware, Quota, QuotaExceeded, TenantQuotas, ToolState
from xmcp.providers import Completion, ModelRequest, ProviderError, ToolCall, Usage
from xmcp.storage import MemoryCache, RedisCache

CHATS = 5_000
TENANTS = 50
AT_A_TIME = 100
LIMITED = {
    "tenant-03": Quota(tokens=90_000),
    "tenant-11": Quota(spend_usd=0.09),
    "tenant-19": Quota(parallel_calls=1),
}
"""Tenants that run into their quota on the way; nobody else has one."""

MARK = re.compile(r"(?:tenant|secret|session)-(\d\d)")
KEY = re.compile(r"[0-9a-f]{24}:[0-9a-f]{64}")


@dataclass
class Talk:
    """A chat that runs: whose it is, and whether something in it hangs until the chat is cancelled."""

    tenant: int
    session_id: str | None
    never: asyncio.Event
    """Kept alive by others: what waits for it ends only if it is cancelled."""
    hangs: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def secret(self) -> str:
        return f"secret-{self.tenant:02}"

    @property
    def tenant_id(self) -> str | None:
        return f"tenant-{self.tenant:02}" if self.tenant < TENANTS else None

    async def hang(self) -> None:
        self.hangs.set()
        await self.never.wait()


TALK: ContextVar[Talk | None] = ContextVar("TALK", default=None)


def talk() -> Talk:
    now = TALK.get()
    assert now is not None, "the product called outside of a chat"
    return now


def owners(things: Any) -> set[int]:
    return {int(number) for number in MARK.findall(things if isinstance(things, str) else repr(things))}


class Witness:
    """Counts by place what bore a mark, and notes what bore another tenant's, or none where it must bear one."""

    def __init__(self) -> None:
        self.marked: Counter[str] = Counter()
        self.amiss: list[str] = []

    def see(self, place: str, *things: Any, must: bool = False) -> None:
        now, found = TALK.get(), owners(things)
        expected = set() if now is None else {now.tenant}
        if found - expected or (must and found != expected):
            self.amiss.append(f"{place}: of {sorted(found)}, where {sorted(expected)} talks")
        self.marked[place] += bool(found)

    def know(self, place: str, tenant_id: str | None, session_id: str | None) -> None:
        """Somebody is told whose chat it is."""
        if (tenant_id, session_id) != (talk().tenant_id, talk().session_id):
            self.amiss.append(f"{place}: is told {tenant_id} and {session_id}, where {talk()} talks")
        self.marked[place] += 1


class Shop(ScriptedServer):
    """A server that knows who is calling, as one does that is asked with the caller's own credentials."""

    title = "shop"
    tools: Sequence[tuple[str, dict[str, Any], dict[str, Any]]] = (
        ("rates", {"day": {}}, {"cacheable": True}),
        ("report", {"day": {}, "tenant_secret": {}}, {"cacheable": True}),
        ("note", {"text": {}}, {"provides": "text"}),
        ("chart", {"text": {}}, {"depends_on": ["note"], "display": True}),
        ("refuses", {"text": {}}, {}),
        ("works_the_second_time", {"text": {}}, {}),
        ("hangs", {"text": {}}, {}),
        ("hangs_in_flight", {"text": {}}, {"cacheable": True}),
    )

    def __init__(self, witness: Witness) -> None:
        described = {
            name: {"inputSchema": {"type": "object", "properties": properties}, "metadata": ours}
            for name, properties, ours in self.tools
        }
        super().__init__({name: partial(self._act, name) for name in described}, self.title, **described)
        self._witness = witness
        self._once: set[str] = set()

    async def _act(self, name: str, arguments: dict[str, Any]) -> Any:
        self.calls.clear()  # nothing of a tenant's may be kept here
        self._witness.see("arguments", arguments)
        await asyncio.sleep(0)
        return await getattr(self, name)(**arguments)

    async def rates(self, day: int) -> str:
        for _ in range(5):
            await asyncio.sleep(0)  # equal calls meet
        return f"rates of {talk().secret} on {day}"

    async def report(self, day: int, tenant_secret: str) -> str:
        return f"report of {tenant_secret} on {day}"

    async def note(self, text: str) -> tuple[str, dict[str, Any]]:
        noted = f"{text}, noted by {talk().secret}"
        return noted, {"text": noted}

    async def chart(self, text: str) -> ToolResponse:
        return ToolResponse("chart", text, DisplayEnvelope(type="text", payload=text))

    async def refuses(self, text: str) -> ToolResponse:
        return ToolResponse("refuses", error=ErrorInfo("CONFLICT", text, retryable=False))

    async def works_the_second_time(self, text: str) -> ToolResponse:
        if text in self._once:
            self._once.remove(text)
            return ToolResponse("works_the_second_time", text)
        self._once.add(text)
        busy = ErrorInfo("RATE_LIMIT", text, retryable=True, meta={"side_effects": "none"})
        return ToolResponse("works_the_second_time", error=busy)

    async def hangs(self, text: str) -> str:
        await talk().hang()
        return text

    hangs_in_flight = hangs


class Ruin(Shop):
    """A server that is lost, or silent for longer than a call may take."""

    title = "ruin"
    tools = (("breaks", {"text": {}}, {}), ("stalls", {"text": {}}, {}))

    async def breaks(self, text: str) -> str:
        raise ConnectionResetError(text)

    async def stalls(self, text: str) -> str:
        await talk().never.wait()
        return text


def desk() -> XMCP:
    """A server with a session that all tenants share, and only the application's word for who is calling."""
    mcp = XMCP("desk")

    @mcp.display_tool
    async def ledger(day: int, tenant_secret: str, show_user: bool = False) -> Any:
        row = {"day": day, "owner": tenant_secret}
        return DisplayEnvelope(type="table", payload=[row]) if show_user else row

    return mcp


KINDS: dict[str, dict[str, Any]] = {
    "answers": {},
    "uses the cache": {"turns": [["rates", "report"], ["rates"]]},
    "hands on": {"turns": [["note", "chart"]]},
    "calls a session": {"turns": [["ledger"]]},
    "is refused": {"turns": [["refuses", "note"]]},
    "tries again": {"turns": [["works_the_second_time"]]},
    "loses a server": {"turns": [["breaks", "rates"]]},
    "waits in vain": {"turns": [["stalls", "note"]]},
    "hangs in a tool": {"turns": [["note"], ["note", "hangs", "rates"]]},
    "hangs in a flight": {"turns": [["hangs_in_flight", "rates"]]},
    "hangs in the model": {"turns": [["note"]], "hangs_at": 1},
    "falls back": {"turns": [["note"]], "fails": ["first"]},
    "has no model": {"turns": [["note"]], "fails": ["first", "second"]},
    "is left early": {"turns": [["note", "chart"]], "leaves": True},
}
"""What chats do: the calls of each turn, and what goes wrong in them."""
WEIGHTS = (6, 30, 10, 3, 8, 6, 4, 2, 4, 3, 5, 6, 4, 9)


class Model(ScriptedModel):
    """Does what the plan in the last query says, and says the secret wherever it can."""

    def __init__(self, witness: Witness) -> None:
        super().__init__(then=self._say)
        self._witness = witness
        self.answered: Counter[str | None] = Counter()
        """By tenant, how many answers were given to the end."""

    async def _say(self, request: ModelRequest) -> AsyncGenerator[str | Completion, None]:
        self.requests.clear()  # nothing of a tenant's may be kept here
        self._witness.see("prompt", request.messages, must=True)
        messages = list(request.messages)
        begins = max(place for place, message in enumerate(messages) if message["role"] == "user")
        query = json.loads(messages[begins]["content"])
        turn = sum(message["role"] == "assistant" for message in messages[begins:])
        plan, secret = KINDS[query["kind"]], query["secret"]
        await asyncio.sleep(0)
        yield f"{secret} says: "
        if plan.get("hangs_at") == turn:
            await talk().hang()
        if turn and request.model in plan.get("fails", ()):
            raise ProviderError(f"the line of {secret} broke", category="network", provider=self.name, began=True)
        turns = plan.get("turns", ())
        names = turns[turn] if turn < len(turns) else ()
        text = f"{messages[-1]['content']}"[:200]
        if not names:
            yield text
        self.answered[talk().tenant_id] += 1
        usage = Usage(1000 + talk().tenant, 10, 0)
        calls = tuple(ToolCall(f"{name}{turn}", name, self._arguments(name, query)) for name in names)
        yield Completion(
            f"{secret} says: {'' if names else text}",
            calls,
            "tool_calls" if calls else "stop",
            usage,
            f"model of {secret}",
        )

    @staticmethod
    def _arguments(name: str, query: dict[str, Any]) -> str:
        if name in ("rates", "report", "ledger"):
            return json.dumps({"day": query["day"], **({"show_user": True} if name == "ledger" else {})})
        return json.dumps({"text": f"{query['session']} of {query['secret']}"})


class WatchedCache:
    """A cache that knows whose each key is."""

    ttl = 300

    def __init__(self, inner: Any, witness: Witness) -> None:
        self._inner = inner
        self._witness = witness
        self._whose: dict[str, int] = {}
        self.clear = inner.clear

    async def get(self, key: str) -> str | None:
        self._check(key)
        value: str | None = await self._inner.get(key)
        if value is not None:
            self._witness.see("kept", value, must=True)
        return value

    async def set(self, key: str, value: str, ttl: int) -> None:
        self._check(key)
        self._witness.see("keeps", value, must=True)
        await self._inner.set(key, value, ttl)

    def _check(self, key: str) -> None:
        if self._whose.setdefault(key, talk().tenant) != talk().tenant:
            self._witness.amiss.append(f"key of {self._whose[key]} used by {talk().tenant}")
        if not KEY.fullmatch(key):
            self._witness.amiss.append(f"key that tells something: {key}")


class Watch(Middleware):
    """Sees what passes, and keeps something of the tenant's in the state of each chat."""

    def __init__(self, witness: Witness) -> None:
        self._see = witness.see
        self._know = witness.know

    async def before_llm(self, state: Any) -> None:
        self._know("middleware", state.tenant_id, state.session_id)
        self._see("middleware", state.messages, must=True)
        self._see("state", state.chat.state.setdefault("of", talk().secret), must=True)

    async def after_llm(self, state: Any) -> None:
        self._see("middleware", state.completion, state.usage, must=state.error is None)

    async def before_tool(self, state: Any) -> None:
        self._see("state", state.chat.state["of"], must=True)
        self._know("middleware", state.tenant_id, state.session_id)
        self._see("middleware", state.arguments)

    async def after_tool(self, state: Any) -> None:
        self._see("middleware", state.response)


class Log:
    """Like structlog's."""

    def __init__(self, witness: Witness) -> None:
        self._witness = witness

    def _write(self, event: str, **fields: Any) -> None:
        raised = traceback.format_exc() if sys.exc_info()[0] else ""
        self._witness.see(f"log {event}", event, fields, raised)
        if "chat_id" in fields:
            self._witness.know("log", fields.get("tenant_id"), fields.get("session_id"))

    debug = info = warning = exception = _write


class Crowd:
    """One client, and all who use it."""

    def __init__(self, cache: Any, valid: Any, seed: int) -> None:
        self.witness = witness = Witness()
        self.model = Model(witness)
        self.servers = [Shop(witness), Ruin(witness)]
        self.quotas = TenantQuotas(limits=LIMITED)
        self.billed: Counter[str | None] = Counter()
        self.cut_off: Counter[str | None] = Counter()
        """By tenant: how many answers of the model were cut off and billed as estimated."""
        self.ended: Counter[str] = Counter()
        """By kind and by end: how many chats."""
        self.refused: Counter[str | None] = Counter()
        self.served: Counter[str | None] = Counter()
        """By tenant: how many chats ended with a result."""
        self._valid = valid
        self._chance = random.Random(seed)
        self._serial = 0
        self._kept: dict[int, list[Any]] = {}
        self._never = asyncio.Event()
        self.ai = AIClient(
            [*self.servers, desk()],
            llm_provider=self.model,
            llm_model="first",
            fallback_models=["second"],
            max_concurrency=64,
            tool_timeout={"stalls": 0.01, "*": 30},
            retry_policy={"max_attempts": 3, "backoff_base": 0.001},
            breaker_reset_after=0.01,
            cache=WatchedCache(cache, witness),
            params={"tenant_secret": self._secret},
            middleware=[self.quotas, Watch(witness)],
            on_display=lambda envelope, history: witness.see("on_display", envelope, history, must=True),
            on_error=lambda error, history: witness.see("on_error", error, history, must=True),
            usage_sink=self._bill,
            price=lambda provider, model, usage: ((usage.input_tokens or 0) + (usage.output_tokens or 0)) / 1e6,
            logger=Log(witness),
        )

    async def chats(self, amount: int) -> None:
        """Have so many chats, `AT_A_TIME` at once, each with the next of the tenants in an order by chance."""
        tenants = [number % (TENANTS + 1) for number in range(amount)]
        self._chance.shuffle(tenants)
        waiting = iter(tenants)

        async def worker() -> None:
            for tenant in waiting:
                await self._chat(tenant)

        await asyncio.gather(*(worker() for _ in range(AT_A_TIME)))

    async def alive(self) -> tuple[int, int]:
        """How many objects and how many blocks of memory are alive, without what may be kept."""
        self._kept.clear()
        await self.ai.clear_cache(every_tenant=True)
        await asyncio.sleep(0.05)
        gc.collect()
        return len(gc.get_objects()), sys.getallocatedblocks()

    async def _chat(self, tenant: int) -> None:
        self._serial += 1
        session = f"session-{tenant:02}-{self._serial}"
        now = Talk(tenant, session if self._chance.random() < 0.9 else None, self._never)
        [kind] = self._chance.choices([*KINDS], WEIGHTS)
        day = self._chance.randrange(4)
        history = self._kept.pop(tenant, []) if self._chance.random() < 0.3 else []
        query = json.dumps({"kind": kind, "day": day, "session": session, "secret": now.secret})
        stream = self.ai.stream_chat(query, history, tenant_id=now.tenant_id, session_id=now.session_id)
        task = asyncio.create_task(self._talk(now, kind, stream))
        if "hangs" in kind:
            hanging = asyncio.create_task(now.hangs.wait())
            await asyncio.wait({task, hanging}, timeout=300, return_when=asyncio.FIRST_COMPLETED)
            task.cancel()
            hanging.cancel()
        await asyncio.wait({task}, timeout=300)
        end = "cancelled" if task.cancelled() else task.result()
        self.ended[f"{kind}: {end}"] += 1
        if len(stream.history) < 12:
            self._kept[tenant] = stream.history

    async def _talk(self, now: Talk, kind: str, stream: Any) -> str:
        TALK.set(now)
        see = self.witness.see
        try:
            async with aclosing(stream) as chunks:
                async for chunk in chunks:
                    see(f"chunk {chunk.type}", chunk)
                    if chunk.type == "tool_result" and KINDS[kind].get("leaves"):
                        return "left"
            self.served[now.tenant_id] += 1
            result = chunk.result
            see("answer", result["answer"], result["display"], must=True)
            return str(result["stop_reason"])
        except (QuotaExceeded, ProviderError) as exc:
            see("raised", repr(exc), must=True)
            see("history", exc.history, must=True)
            if isinstance(exc, QuotaExceeded):
                self.refused[exc.tenant_id] += 1
            return type(exc).__name__
        finally:
            see("history", stream.history, must=True)
            self._valid(stream.history)

    async def _secret(self, state: ToolState) -> str:
        self.witness.know("params", state.tenant_id, state.session_id)
        return f"secret-{(state.tenant_id or f'tenant-{TENANTS}')[-2:]}"

    async def _bill(self, record: Any) -> None:
        self.witness.know("usage", record["tenant_id"], record["session_id"])
        if record.get("estimated"):
            self.cut_off[record["tenant_id"]] += 1  # an answer that did not arrive whole, so the model has no count
            return
        self.witness.see("usage", record["model"], must=True)
        self.witness.amiss += [f"usage: {record}"] if record["input_tokens"] != 1000 + talk().tenant else []
        self.billed[record["tenant_id"]] += 1

    def check(self, chats: int) -> None:
        assert self.witness.amiss == []
        assert self.ended.total() == chats
        # Everybody was billed for what the model answered, and nobody for more.
        assert self.billed == self.model.answered
        assert {server.running for server in self.servers} == {0}
        for tenant_id in [f"tenant-{number:02}" for number in range(TENANTS)] + [None]:
            used = self.quotas.usage(tenant_id)
            assert used["tokens"]["reserved"] == used["llm_calls"] == 0
            assert used["parallel_calls"]["running"] == used["parallel_calls"]["waiting"] == 0

    def check_that_there_was_something_to_see(self, few: int) -> None:
        """Else the crowd would prove nothing."""
        ways = Counter(ended.partition(": ")[2] for ended in self.ended.elements())
        for way in ("stop", "display", "cancelled", "left", "ProviderError", "QuotaExceeded"):
            assert ways[way] >= few, way
        places = "arguments prompt kept keeps middleware state on_display on_error usage params answer history log"
        lines = "llm_call tool_call tool_retry llm_failed tool_client_failed chat_done"
        chunks = "llm_delta tool_call tool_result tool_error tool_display retry usage done"
        for place in places.split():
            assert self.witness.marked[place] >= few, place
        for place in [f"log {line}" for line in lines.split()] + [f"chunk {chunk}" for chunk in chunks.split()]:
            assert self.witness.marked[place] >= few, place


@pytest.fixture
def _nothing_kept(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Else pytest keeps what servers log, and the SDK of some other test the spans, and with them what calls held."""
    monkeypatch.setattr(mcp_spans, "_tracer", trace.NoOpTracer())
    logging.disable()
    yield
    logging.disable(logging.NOTSET)


@pytest.mark.slow
@pytest.mark.usefixtures("_nothing_kept", "nothing_left")
async def test_five_thousand_chats_of_fifty_tenants_share_a_client_and_nothing_else(valid: Any) -> None:
    crowd = Crowd(MemoryCache(), valid, seed=5)
    async with crowd.ai:
        tasks = asyncio.all_tasks()
        await crowd.chats(CHATS // 5)
        objects, blocks = await crowd.alive()
        await crowd.chats(CHATS * 4 // 5)
        more_objects, more_blocks = await crowd.alive()
        assert asyncio.all_tasks() == tasks
    crowd.check(CHATS)
    crowd.check_that_there_was_something_to_see(CHATS // 100)
    assert set(crowd.refused) == set(LIMITED)
    for tenant in LIMITED:
        assert min(crowd.served[tenant], crowd.refused[tenant]) >= 5, tenant
    assert more_objects - objects < 1_000, "objects stay alive: one chat in four leaves one"
    assert more_blocks - blocks < 2_000, "memory stays in use: one chat in two leaves a block"


@pytest.fixture
async def redis_cache() -> AsyncIterator[tuple[RedisCache, Any]]:
    """A cache under a prefix of its own, and what sees its keys; skipped without a Redis, but never in CI."""
    url = os.environ.get("REDIS_URL", "redis://127.0.0.1:6379/0")
    prefix = f"xmcp-test:{secrets.token_hex(8)}:"
    with redis.Redis.from_url(url, socket_timeout=2, socket_connect_timeout=2, retry=None) as seer:
        try:
            seer.ping()
        except (redis.RedisError, OSError) as exc:
            reason = f"no Redis at REDIS_URL ({type(exc).__name__}): start one, or set the variable"
            if os.environ.get("CI", "").lower() == "true":
                pytest.fail(reason)
            pytest.skip(reason)
        cache = RedisCache(url, prefix=prefix)

        def entries() -> dict[str, str]:
            keys = [*seer.scan_iter(match=prefix + "*", count=1000)]
            return {key.decode().removeprefix(prefix): (seer.get(key) or b"").decode() for key in keys}

        yield cache, entries
        await cache.aclose()
        if keys := [prefix + key for key in entries()]:
            seer.unlink(*keys)


@pytest.mark.usefixtures("_nothing_kept", "nothing_left")
async def test_tenants_that_share_a_redis_find_their_own_answers_only(valid: Any, redis_cache: Any) -> None:
    cache, entries = redis_cache
    crowd = Crowd(cache, valid, seed=6)
    async with crowd.ai:
        await crowd.chats(300)
        kept = entries()
        whose = {key: owners(value) for key, value in kept.items()}
        assert all(len(owner) == 1 for owner in whose.values())
        assert not [key for key in kept if not KEY.fullmatch(key)]
        await crowd.ai.clear_cache("tenant-07")
        gone = kept.keys() - entries().keys()
        assert gone == {key for key, owner in whose.items() if owner == {7}} != set()
    crowd.check(300)
    assert min(crowd.witness.marked["kept"], crowd.witness.marked["keeps"]) > 20
