"""Quotas: what is reserved and settled, in one process and in several, and what callers are told."""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest
from support.clock import Clock, never
from support.gateways import chunks_in, served, types_in, until
from support.issued_keys import add_key, add_tenant, bearer, in_database, key_database
from support.postgres_server import PostgresServer
from support.scripted_model import ScriptedModel, asks

from xmcp.chat.errors import QuotaExceeded
from xmcp.client.hooks.quota_accounts import NOTHING, Amount
from xmcp.gateway.access import ledger_rows
from xmcp.gateway.access.access import KeyDatabase
from xmcp.gateway.access.database_thread import DatabaseThread
from xmcp.gateway.access.ledger import Ledger, QuotaUnknown
from xmcp.gateway.access.memory_driver import MemoryDriver
from xmcp.gateway.access.quota_check import Account, Used, Windows, exceeded
from xmcp.gateway.access.rates import MINUTE, Rate, Rates
from xmcp.gateway.audit.drivers import Execute, SqliteDriver, driver_for
from xmcp.gateway.grants import Limits
from xmcp.gateway.ids import now_ms
from xmcp.providers import Completion, Usage

HI = {"input": "hi"}
NOON = int(datetime(2026, 11, 29, 12, tzinfo=UTC).timestamp() * 1000)
DAY_MS = 86_400_000


def account(name: str = "tenant:acme", **limits: float) -> Account:
    return Account(name, name, Limits(**limits))


@asynccontextmanager
async def ledger_of(database: KeyDatabase | None, clock: Clock | None = None) -> AsyncIterator[Ledger]:
    """A ledger; without a database it is in memory."""
    make = MemoryDriver if database is None else partial(driver_for, database.address)
    thread = DatabaseThread(make, "test ledger")
    times = {} if clock is None else {"clock": clock}
    locks = database is not None and database.address.kind == "postgresql"
    ledger = Ledger(thread, locks=locks, ttl=60, **times)  # type: ignore[arg-type]
    yield ledger
    await ledger.aclose()
    await thread.aclose()


@pytest.fixture(params=["memory", "sqlite", "postgresql"])
def counting(request: pytest.FixtureRequest, tmp_path: Path) -> KeyDatabase | None:
    """Where it is counted."""
    if request.param == "memory":
        return None
    url = str(tmp_path / "q.db") if request.param == "sqlite" else request.getfixturevalue("postgres_url")
    return key_database(url)


async def test_what_is_reserved_counts_until_it_is_settled_by_what_was_used(counting: KeyDatabase | None) -> None:
    whose = [account(tokens_per_day=1_000)]
    async with ledger_of(counting) as ledger:
        first = await ledger.reserve(whose, Amount(600))
        with pytest.raises(QuotaExceeded) as caught:
            await ledger.reserve(whose, Amount(600))
        assert (caught.value.quota, caught.value.used, caught.value.limit) == ("tokens_per_day", 600, 1_000)
        ledger.settle(first, Amount(100))
        await ledger.flush()
        await ledger.reserve(whose, Amount(900))
        with pytest.raises(QuotaExceeded):
            await ledger.reserve(whose, Amount(1))


async def test_who_leaves_while_it_is_reserved_gets_it_back() -> None:
    asked, answered = threading.Event(), threading.Event()

    class Slow(MemoryDriver):
        @contextmanager
        def transaction(self) -> Iterator[Execute]:
            with super().transaction() as run:
                asked.set()
                answered.wait(20)
                yield run

    thread = DatabaseThread(Slow, "test ledger")
    ledger = Ledger(thread, locks=False, ttl=60)
    reserving = asyncio.create_task(ledger.reserve([account(tokens_per_day=1_000)], Amount(600)))
    await asyncio.to_thread(asked.wait, 20)
    reserving.cancel()
    await asyncio.wait({reserving})
    answered.set()
    await ledger.flush()
    await ledger.reserve([account(tokens_per_day=1_000)], Amount(1_000))
    await ledger.aclose()
    await thread.aclose()


@pytest.mark.parametrize("limit", [1_000, 700], ids=["not known before", "used up as far as is known"])
async def test_what_is_reserved_after_nobody_waits_any_more_is_given_back(limit: int) -> None:
    answered = threading.Event()
    answered.set()

    class Slow(MemoryDriver):
        @contextmanager
        def transaction(self) -> Iterator[Execute]:
            with super().transaction() as run:
                answered.wait(20)
                yield run

    thread = DatabaseThread(Slow, "test ledger")
    ledger, whose = Ledger(thread, locks=False, ttl=60), [account(tokens_per_day=limit)]
    if limit < 1_000:
        ledger.settle(await ledger.reserve(whose, Amount(500)), NOTHING)  # another process gives all of it back
        await ledger.flush()
    answered.clear()
    thread._seconds = 0.2
    with pytest.raises((QuotaUnknown, QuotaExceeded)):
        await ledger.reserve(whose, Amount(600))
    thread._seconds = 20
    answered.set()
    await ledger.flush()
    await ledger.reserve(whose, Amount(limit))
    await ledger.aclose()
    await thread.aclose()


async def test_a_request_counts_for_all_of_its_accounts_or_for_none(counting: KeyDatabase | None) -> None:
    key, tenant = account("key:k", tokens_per_month=100), account("tenant:t", tokens_per_month=1_000)
    async with ledger_of(counting) as ledger:
        with pytest.raises(QuotaExceeded, match="a whole month"):
            await ledger.reserve([tenant, key], Amount(200))
        await ledger.reserve([key, tenant], Amount(100))
        with pytest.raises(QuotaExceeded, match="key:k"):
            await ledger.reserve([key, tenant], Amount(1))
        await ledger.reserve([tenant], Amount(900))


async def test_days_and_months_begin_anew_and_a_reservation_that_nobody_settles_ends(
    counting: KeyDatabase | None,
) -> None:
    clock = Clock(NOON)
    day, month, money = (account(one, **{one: 100}) for one in ("tokens_per_day", "tokens_per_month", "usd_per_month"))
    async with ledger_of(counting, clock) as ledger:  # type: ignore[arg-type]
        for whose in (day, month, money):
            ledger.settle(await ledger.reserve([whose], Amount(100, 100)), Amount(100, 100))
        await ledger.flush()
        clock.now = NOON + DAY_MS
        await ledger.reserve([day], Amount(100))  # and never settles it
        for whose in (day, month, money):
            with pytest.raises(QuotaExceeded):
                await ledger.reserve([whose], Amount(1, 1))
        clock.now += 60_001
        await ledger.reserve([day], Amount(100))
        clock.now = NOON + 2 * DAY_MS  # the first of December
        for whose in (day, month, money):
            await ledger.reserve([whose], Amount(100, 100))


async def test_rows_are_summed_by_hours_and_nothing_is_lost_or_counted_twice(counting: KeyDatabase | None) -> None:
    clock = Clock(NOON)
    whose = [account(tokens_per_month=10_000)]
    async with ledger_of(counting, clock) as ledger:  # type: ignore[arg-type]
        total = 0
        for number in range(60):
            used = number % 7
            ledger.settle(await ledger.reserve(whose, Amount(10)), Amount(used))
            total += used
            clock.now += 600_000
            await ledger.flush()
        rows = await ledger._database.run(lambda run: run("SELECT state, tokens FROM quota_ledger", []))
        assert len([state for state, _ in rows if state == ledger_rows.SUMMED]) == 10
        assert len(rows) <= 13
        assert sum(tokens for _, tokens in rows) == total
        late = await ledger.reserve(whose, Amount(10))
        clock.now += 3 * 3_600_000  # its reservation is over, and deleted
        await ledger.reserve(whose, Amount(0))
        ledger.settle(late, Amount(5))
        await ledger.flush()
        rows = await ledger._database.run(lambda run: run("SELECT tokens FROM quota_ledger", []))
        assert sum(tokens for (tokens,) in rows) == total + 5


def test_the_quota_that_is_used_up_is_named_with_its_end() -> None:
    windows = Windows.at(NOON)
    used = Used(windows.day, windows.month, 900, 900, 2_000_000)
    found = exceeded(account(tokens_per_day=1_000), used, Amount(200), windows, NOON)
    assert found is not None
    assert found.reset == 12 * 3600
    assert str(found) == (
        "The quota of tenant:acme is used up: 900 tokens of 1,000 tokens in this day are spent or reserved, and this "
        "request may use 200 tokens. The next day begins in 12 hours."
    )
    found = exceeded(account(usd_per_month=2.0), used, Amount(1, 0.5), windows, NOON)
    assert found is not None
    assert "$2.0000 of $2.0000 in this month" in str(found)
    too_large = exceeded(account(tokens_per_day=100), used, Amount(200), windows, NOON)
    assert too_large is not None
    assert "Shorten the history" in str(too_large)
    assert exceeded(account(), used, Amount(10**9, 10**6), windows, NOON) is None


async def test_a_reservation_whose_commit_lost_its_answer_counts_once(tmp_path: Path) -> None:
    class Losing(SqliteDriver):
        """Commits, and loses the connection before it says so."""

        loses = False

        @contextmanager
        def transaction(self) -> Iterator[Execute]:
            with super().transaction() as execute:
                yield execute
            if self.loses:
                self.loses = False
                raise sqlite3.OperationalError("disk I/O error")

    driver = Losing(key_database(str(tmp_path / "keys.db")).address)
    thread = DatabaseThread(lambda: driver, "test ledger")
    ledger = Ledger(thread, locks=False, ttl=60)
    mine = [account(tokens_per_day=100)]
    ledger.settle(await ledger.reserve(mine, Amount(10)), NOTHING)
    await ledger.flush()
    driver.loses = True
    reserved = await ledger.reserve(mine, Amount(60))
    assert not driver.loses
    with pytest.raises(QuotaExceeded, match="60 tokens of 100 tokens"):
        await ledger.reserve(mine, Amount(60))
    ledger.settle(reserved, NOTHING)
    await ledger.flush()
    await ledger.reserve(mine, Amount(100))
    await ledger.aclose()
    await thread.aclose()


def test_a_minutes_worth_of_requests_may_come_at_once_and_then_each_in_its_time() -> None:
    rates, rate = Rates(), [Rate("key:k", "the key", 6), Rate("tenant:t", "the tenant", 100)]
    assert [rates.take(rate, 0.0) for _ in range(6)] == [None] * 6
    late = rates.take(rate, 0.0)
    assert late is not None
    assert (late.rate.account, late.wait) == ("key:k", pytest.approx(10.0))
    assert rates.take(rate, late.wait + 0.001) is None
    assert rates.take(rate, late.wait + 0.001) is not None
    # What was refused for the key did not count for the tenant.
    left = 100 - 7
    assert [rates.take(rate[1:], late.wait + 0.001) for _ in range(left)] == [None] * left
    assert [rates.take(rate, 10 * MINUTE) for _ in range(6)] == [None] * 6


def test_rates_of_many_accounts_have_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    from xmcp.gateway.access import rates as module

    monkeypatch.setattr(module, "ACCOUNTS", 10)
    rates = Rates()
    for number in range(100):
        assert rates.take([Rate(f"key:{number}", "", 1)], 0.0) is None
    assert len(rates._paid_until) == 10


async def test_too_many_requests_in_a_minute_get_429_with_when_and_which_limit() -> None:
    keys = [{"name": "b", "tenant": "other", "env": "FRONT_END_KEY", "requests_per_minute": 3}]
    async with served(ScriptedModel(then="hello"), {"keys": keys}) as up, up.http(headers=bearer("xmcp_front")) as http:
        answers = [await http.get("/v1/models") for _ in range(4)]
    assert [answer.status_code for answer in answers] == [200, 200, 200, 429]
    error = answers[-1].json()["error"]
    assert (error["type"], error["code"]) == ("rate_limit_error", "rate_limit_exceeded")
    assert error["message"] == "More than 3 requests in a minute, which is the limit of the key 'b'."
    assert 1 <= int(answers[-1].headers["retry-after"]) <= 20


def answer(tokens: int, text: str = "hello") -> Completion:
    return Completion(text, usage=Usage(input_tokens=tokens, output_tokens=0))


async def test_a_chat_over_the_quota_gets_insufficient_quota_in_the_shape_of_its_surface() -> None:
    config = {
        "access": {"reserve_output_tokens": 10},
        "tenants": [{"name": "other", "tokens_per_day": 3_000}],
        "keys": [{"name": "b", "tenant": "other", "env": "FRONT_END_KEY"}],
    }
    async with served(ScriptedModel(then=answer(3_000)), config) as up, up.http(headers=bearer("xmcp_front")) as http:
        assert (await http.post("/chat", json=HI)).status_code == 200
        messages = {"model": "assistant", "messages": [{"role": "user", "content": "hi"}]}
        asked = [("/chat", {"input": "2"}), ("/v1/chat/completions", messages)]
        asked += [(path, {**body, "stream": True}) for path, body in asked[1:]]
        for path, body in asked:
            refused = await http.post(path, json=body)
            assert refused.status_code == 429, path
            error = refused.json()["error"]
            assert error["code"] == "insufficient_quota"
            assert "'other' is used up: 3,000 tokens of 3,000 tokens in this day" in error["message"]
            assert refused.headers["x-should-retry"] == "false"
            assert 0 < int(refused.headers["retry-after"]) <= 86_400


async def test_openais_client_sees_the_quota_and_does_not_try_again() -> None:
    import openai

    config = {"keys": [{"name": "b", "tenant": "t", "env": "FRONT_END_KEY", "tokens_per_month": 10}]}
    model = ScriptedModel(then="hello")
    async with served(model, config) as up:
        client = up.openai(api_key="xmcp_front", max_retries=2)
        with pytest.raises(openai.RateLimitError) as caught:
            await client.chat.completions.create(model="assistant", messages=[{"role": "user", "content": "hi"}])
        await client.close()
        assert up.gateway.runs._runs
        assert len(up.gateway.runs._runs) == 1
    assert caught.value.code == "insufficient_quota"
    assert model.requests == []


async def test_a_quota_that_ends_in_the_middle_of_a_chat_ends_every_stream_with_an_error() -> None:
    config = {
        "access": {"reserve_output_tokens": 10},
        "keys": [{"name": "b", "tenant": "t", "env": "FRONT_END_KEY", "tokens_per_day": 3_000}],
    }
    for path in ("/chat", "/v1/chat/completions"):
        calls = asks(("add", {"a": 1, "b": 2}), text="Adding.")
        model = ScriptedModel(["Adding.", Completion("Adding.", calls.tool_calls, usage=answer(3_000).usage)])
        async with served(model, config) as up, up.http(headers=bearer("xmcp_front")) as http:
            body = HI if path == "/chat" else {"messages": [{"role": "user", "content": "hi"}], "stream": True}
            accept = {"accept": "text/event-stream"}
            told = await http.post(path, json={"model": "assistant", **body}, headers=accept)
        assert told.status_code == 200
        if path == "/chat":
            assert types_in(told.text)[-1] == "run.error"
            assert "is used up" in told.text
        else:
            *_, error, done = chunks_in(told.text)
            assert (error["error"]["code"], done) == ("insufficient_quota", "[DONE]")


async def test_who_leaves_in_mid_answer_pays_for_it(tmp_path: Path) -> None:
    stored = key_database(str(tmp_path / "keys.db"))
    add_tenant(stored, "acme", tokens_per_day=100_000)
    key = add_key(stored, "acme")
    config = {"access": {"reserve_output_tokens": 500}, "runs": {"client_gone_seconds": 0}}
    model = ScriptedModel(["x" * 400, never])
    async with served(model, config, database=stored) as up, up.http(headers=bearer(key)) as http:
        leaving = asyncio.create_task(http.post("/chat", json=HI))
        await until(lambda: up.gateway.runs.running and up.gateway.runs.running[0].state.text)
        leaving.cancel()
        await until(lambda: not up.gateway.runs.running)
        await up.gateway.access.ledger.flush()
    ((state, tokens),) = in_database(stored, lambda run: run("SELECT state, tokens FROM quota_ledger", []))
    assert state == ledger_rows.SETTLED
    assert tokens >= 500


async def test_a_request_that_says_how_much_it_takes_reserves_no_more() -> None:
    config = {"keys": [{"name": "b", "tenant": "t", "env": "FRONT_END_KEY", "tokens_per_day": 600}]}
    messages = [{"role": "user", "content": "hi"}]
    async with served(ScriptedModel(then="hello"), config) as up, up.http(headers=bearer("xmcp_front")) as http:
        body = {"model": "assistant:plain", "messages": messages}
        assert (await http.post("/v1/chat/completions", json=body)).status_code == 429  # 1,000 by default
        small = await http.post("/v1/chat/completions", json={**body, "max_tokens": 50})
        assert small.status_code == 200


async def test_money_is_reserved_before_the_price_of_a_model_is_known() -> None:
    config = {"keys": [{"name": "b", "tenant": "t", "env": "FRONT_END_KEY", "usd_per_month": 0.02}]}
    model = ScriptedModel([never], then="hello")
    async with served(model, config) as up, up.http(headers=bearer("xmcp_front")) as http:
        running = asyncio.create_task(http.post("/chat", json=HI))
        await model.asked.wait()
        refused = await http.post("/chat", json={"input": "2"})
        assert refused.status_code == 429
        assert "of $0.0200 in this month" in refused.json()["error"]["message"]
        up.gateway.runs.running[0].cancel("caller")
        await running
        await up.gateway.access.ledger.flush()
        assert (await http.post("/chat", json={"input": "3"})).status_code == 200  # the model costs nothing


async def test_while_the_database_is_down_a_process_uses_what_it_knew_to_be_left(
    postgres_server: PostgresServer,
) -> None:
    stored = key_database(postgres_server.url)
    whose, stranger = [account(tokens_per_day=1_000)], [account("key:new", tokens_per_day=1_000)]
    async with ledger_of(stored) as ledger:
        ledger.settle(await ledger.reserve(whose, Amount(400)), Amount(300))
        await ledger.flush()
        before = await ledger.reserve(whose, Amount(100))
        postgres_server.stop()
        during = await ledger.reserve(whose, Amount(500))
        with pytest.raises(QuotaExceeded):
            await ledger.reserve(whose, Amount(101))
        with pytest.raises(QuotaUnknown):
            await ledger.reserve(stranger, Amount(1))
        ledger.settle(before, Amount(90))
        ledger.settle(during, Amount(510))
        postgres_server.start()
        async with asyncio.timeout(30):
            await ledger.flush()
        with pytest.raises(QuotaExceeded) as caught:
            await ledger.reserve(whose, Amount(101))
        assert caught.value.used == 900
        await ledger.reserve(stranger, Amount(1))


async def test_what_another_process_is_about_to_reserve_is_waited_for(postgres_url: str) -> None:
    stored = key_database(postgres_url)
    whose = account(tokens_per_day=1_000)
    other = driver_for(stored.address)
    other.connect()

    def waits() -> bool:
        asked = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
        ((number,),) = in_database(stored, lambda run: run(asked, []))
        return bool(number)

    async with ledger_of(stored) as ledger:
        with other.transaction() as run:
            ledger_rows.lock(run, whose.name)
            row = ledger_rows.row_of("elsewhere", whose.name, Amount(600))
            ledger_rows.reserve(run, row, Windows.at(now_ms()).hour, now_ms() + 60_000)
            asking = asyncio.create_task(ledger.reserve([whose], Amount(600)))
            await until(waits)
        with pytest.raises(QuotaExceeded) as caught:
            await asking
    other.close()
    assert caught.value.used == 600


TENANTS, CHATS, LIMIT = 20, 200, 3_000

_PROCESS = """
import asyncio, json, random, sys
from support.issued_keys import key_database
from test_quotas import account, CHATS, LIMIT, TENANTS, ledger_of
from xmcp.chat.errors import QuotaExceeded
from xmcp.client.hooks.quota_accounts import Amount

async def main(url, seed):
    rng, refused, spent = random.Random(seed), 0, {}
    async with ledger_of(key_database(url)) as ledger:
        async def chat(number):
            nonlocal refused
            name = f"tenant:{number % TENANTS}"
            try:
                reservation = await ledger.reserve([account(name, tokens_per_day=LIMIT)], Amount(100))
            except QuotaExceeded:
                refused += 1
                return
            await asyncio.sleep(0)
            used = rng.randint(20, 100)
            ledger.settle(reservation, Amount(used))
            spent[name] = spent.get(name, 0) + used
        for first in range(0, TENANTS * CHATS // 2, 100):
            await asyncio.gather(*(chat(first + number) for number in range(100)))
        await ledger.flush()
    print(json.dumps([refused, spent]))

asyncio.run(main(sys.argv[1], int(sys.argv[2])))
"""


async def test_two_processes_that_share_a_database_exceed_no_quota(database: str) -> None:
    stored = key_database(database)
    here = Path(__file__).parent
    paths = os.pathsep.join([str(here), str(here.parents[1]), *filter(None, sys.path)])
    environment = {**os.environ, "PYTHONPATH": paths}
    running = [
        await asyncio.create_subprocess_exec(
            sys.executable, "-c", _PROCESS, database, str(seed), stdout=asyncio.subprocess.PIPE, env=environment
        )
        for seed in (1, 2)
    ]
    async with asyncio.timeout(120):
        told = [json.loads((await process.communicate())[0]) for process in running]
    refused = sum(one[0] for one in told)
    sums = in_database(stored, lambda run: run("SELECT account, SUM(tokens) FROM quota_ledger GROUP BY account", []))
    spent = {name: sum(one[1].get(name, 0) for one in told) for name, _ in sums}
    assert {name: int(tokens) for name, tokens in sums} == spent
    assert len(spent) == TENANTS
    # What was used never exceeds the quota, and what is left is less than one request may use.
    assert all(LIMIT - 100 < tokens <= LIMIT for tokens in spent.values())
    assert refused > 0
