"""Keys in a database: whose they are, what they open, how soon a revocation is seen, and what forged ones cost."""

from __future__ import annotations

import asyncio
import secrets
import threading
from typing import Any

import pytest
from support.clock import Clock
from support.gateways import served, types_in, until
from support.issued_keys import PEPPER, TESTER, add_key, add_tenant, bearer, in_database, key_database
from support.postgres_server import PostgresServer
from support.scripted_model import ScriptedModel, asks

from xmcp.gateway.access import key_store, stored_keys
from xmcp.gateway.access.access import KeyDatabase
from xmcp.gateway.access.database_thread import DatabaseDown, DatabaseThread
from xmcp.gateway.access.stored_keys import KeyRefused, StoredKeys
from xmcp.gateway.audit.drivers import driver_for
from xmcp.gateway.ids import now_ms
from xmcp.gateway.service import Offered
from xmcp.providers import Completion

HI = {"input": "hi"}


class Lookups:
    """The stored keys of a database without a gateway; `queries` counts the questions to it."""

    def __init__(self, database: KeyDatabase) -> None:
        self.clock = Clock(1_000.0)
        self.thread = DatabaseThread(lambda: driver_for(database.address), "test keys")
        self.keys = StoredKeys(PEPPER, self.thread, "none", clock=self.clock)
        self.queries = 0
        run = self.thread.run

        async def counted(work):
            self.queries += 1
            return await run(work)

        self.thread.run = counted  # type: ignore[method-assign]

    async def __aenter__(self) -> Lookups:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.thread.aclose()


async def refused(lookups: Lookups, key: str) -> str:
    with pytest.raises(KeyRefused) as caught:
        await lookups.keys.caller(key)
    return str(caught.value)


async def test_a_key_of_the_database_chats_for_its_tenant_and_sees_no_run_of_another(database: str) -> None:
    stored = key_database(database)
    for tenant in ("acme", "other"):
        add_tenant(stored, tenant)
    keys = [bearer(add_key(stored, tenant, "front-end")) for tenant in ("acme", "other")]
    async with served(ScriptedModel(then="hello"), database=stored) as up, up.http() as http:
        assert (await http.post("/chat", json=HI)).status_code == 401
        # The same name, the same words, the same mark: still two keys.
        marked = [{**headers, "idempotency-key": "one"} for headers in keys]
        answers = [await http.post("/chat", json=HI, headers=headers) for headers in marked]
        assert [answer.status_code for answer in answers] == [200, 200]
        ids = [answer.json()["run_id"] for answer in answers]
        assert ids[0] != ids[1]
        assert (await http.get(f"/runs/{ids[0]}", headers=keys[1])).status_code == 404
        assert (await http.get(f"/runs/{ids[0]}", headers=keys[0])).status_code == 200


async def test_keys_of_the_file_go_on_beside_those_of_the_database(tmp_path) -> None:
    stored = key_database(str(tmp_path / "keys.db"))
    add_tenant(stored, "acme")
    key = add_key(stored, "acme")
    config = {"keys": [{"name": "b", "tenant": "other", "env": "FRONT_END_KEY"}]}
    async with served(ScriptedModel(then="hello"), config, database=stored) as up, up.http() as http:
        for headers in (bearer(key), bearer("xmcp_front")):
            assert (await http.post("/chat", json=HI, headers=headers)).status_code == 200


async def test_the_limits_of_a_tenant_in_the_file_hold_for_its_keys_in_the_database(tmp_path) -> None:
    stored = key_database(str(tmp_path / "keys.db"))
    for tenant in ("acme", "other"):
        add_tenant(stored, tenant)
    limited, free = (bearer(add_key(stored, tenant)) for tenant in ("acme", "other"))
    config = {"tenants": [{"name": "acme", "tokens_per_day": 1}]}
    async with served(ScriptedModel(then="hello"), config, database=stored) as up, up.http() as http:
        answers = [await http.post("/chat", json={"input": "hi"}, headers=key) for key in (limited, free)]
    assert [answer.status_code for answer in answers] == [429, 200]
    assert answers[0].json()["error"]["code"] == "insufficient_quota"


async def test_a_route_says_which_scope_a_key_lacks(tmp_path) -> None:
    stored = key_database(str(tmp_path / "keys.db"))
    add_tenant(stored, "acme")
    only_chat, only_read = (bearer(add_key(stored, "acme", scopes=[scope])) for scope in ("chat", "read"))
    async with served(ScriptedModel(then="hello"), database=stored) as up, up.http() as http:
        for path, headers, scope in (
            ("/tools", only_chat, "read"),
            ("/health", only_chat, "read"),
            ("/v1/models", only_read, "chat"),
            ("/admin/keys", only_chat, "admin"),
            ("/admin/audit", only_read, "admin"),
        ):
            answer = await http.get(path, headers=headers)
            assert answer.status_code == 403, path
            error = answer.json()["error"]
            assert (error["type"], error["code"], error["param"]) == ("permission_error", "missing_scope", scope)
        assert (await http.post("/chat", json=HI, headers=only_read)).status_code == 403
        assert (await http.get("/tools", headers=only_read)).status_code == 200


async def test_a_key_has_only_its_models_and_tools(tmp_path) -> None:
    stored = key_database(str(tmp_path / "keys.db"))
    add_tenant(stored, "acme")
    key = bearer(add_key(stored, "acme", models=["second"], tools=["add"]))
    model = ScriptedModel(asks("sales"), then="hello")
    async with served(model, database=stored, more_models=[Offered("second")]) as up, up.http(headers=key) as http:
        listed = (await http.get("/v1/models")).json()["data"]
        assert [one["id"] for one in listed] == ["second", "second:plain"]
        assert (await http.get("/v1/models/assistant")).status_code == 404
        assert [tool["name"] for tool in (await http.get("/tools")).json()["tools"]] == ["add"]
        refused = await http.post("/chat", json={**HI, "model": "assistant"})
        assert (refused.status_code, refused.json()["error"]["code"]) == (404, "model_not_found")
        refused = await http.post("/chat", json={**HI, "tools": ["sales"]})
        assert (refused.status_code, refused.json()["error"]["code"]) == (400, "unknown_tool")
        answer = (await http.post("/chat", json=HI)).json()  # the model calls what it was not offered
        assert answer["model"] == "second"
        assert [tool["function"]["name"] for tool in model.requests[0].tools.tools] == ["add"]
        assert up.shop.calls == []


async def test_revoked_expired_and_of_a_deleted_tenant(database: str) -> None:
    stored = key_database(database)
    for tenant in ("acme", "gone"):
        add_tenant(stored, tenant)
    key, expired, of_gone = add_key(stored, "acme"), add_key(stored, "acme", expires_at=1), add_key(stored, "gone")
    in_database(stored, lambda run: key_store.delete_tenant(run, TESTER, "gone"))
    async with Lookups(stored) as lookups:
        assert await refused(lookups, expired) == "This key has expired."
        assert await refused(lookups, of_gone) == "There is no such key."
        assert (await lookups.keys.caller(key)).tenant == "acme"
        key_id = key.split("_")[1]
        assert in_database(stored, lambda run: key_store.revoke_key(run, TESTER, key_id))
        lookups.clock.now += stored_keys.KNOWN_SECONDS - 1
        assert (await lookups.keys.caller(key)).tenant == "acme"
        lookups.clock.now += 1
        assert await refused(lookups, key) == "This key was revoked."
        with pytest.raises(key_store.TenantDeleted):
            add_tenant(stored, "gone")
        lookups.clock.now += stored_keys.UNKNOWN_SECONDS
        assert await refused(lookups, of_gone) == "There is no such key."


async def test_a_key_that_expires_while_it_is_cached_is_refused_at_once(tmp_path) -> None:
    stored = key_database(str(tmp_path / "keys.db"))
    add_tenant(stored, "acme")
    key = add_key(stored, "acme", expires_at=now_ms() + 300)
    async with Lookups(stored) as lookups:
        await lookups.keys.caller(key)

        async def is_refused() -> bool:
            try:
                await lookups.keys.caller(key)
            except KeyRefused:
                return True
            return False

        async with asyncio.timeout(20):
            while not await is_refused():  # noqa: ASYNC110
                await asyncio.sleep(0.02)
        assert lookups.queries == 1


async def test_a_key_that_is_revoked_while_it_is_looked_up_is_refused_from_then_on(tmp_path) -> None:
    stored = key_database(str(tmp_path / "keys.db"))
    add_tenant(stored, "acme")
    key = add_key(stored, "acme")
    async with Lookups(stored) as lookups:
        run, read, go_on = lookups.thread.run, asyncio.Event(), asyncio.Event()

        async def slow(work):
            found = await run(work)
            read.set()
            await go_on.wait()
            return found

        lookups.thread.run = slow  # type: ignore[method-assign]
        early = asyncio.create_task(lookups.keys.caller(key))
        await read.wait()
        key_id = key.split("_")[1]
        assert in_database(stored, lambda run: key_store.revoke_key(run, TESTER, key_id))
        lookups.keys.forget(lambda one: one.id == key_id)
        late = asyncio.create_task(refused(lookups, key))
        await until(lambda: lookups.queries == 2)
        go_on.set()
        assert (await early).tenant == "acme"
        assert await late == "This key was revoked."
        assert await refused(lookups, key) == "This key was revoked."
        assert lookups.queries == 2


async def test_a_key_that_was_changed_before_the_database_failed_does_not_go_on(tmp_path) -> None:
    stored = key_database(str(tmp_path / "keys.db"))
    add_tenant(stored, "acme")
    key = add_key(stored, "acme")
    async with Lookups(stored) as lookups:
        await lookups.keys.caller(key)
        lookups.clock.now += stored_keys.KNOWN_SECONDS

        async def fails(_: object) -> None:
            lookups.keys.forget(lambda one: one.tenant == "acme")
            raise DatabaseDown

        lookups.thread.run = fails  # type: ignore[assignment, method-assign]
        with pytest.raises(DatabaseDown):
            await lookups.keys.caller(key)


async def test_a_thousand_requests_of_a_key_ask_once_and_waiting_ones_share_the_question(tmp_path) -> None:
    stored = key_database(str(tmp_path / "keys.db"))
    add_tenant(stored, "acme")
    key = add_key(stored, "acme")
    async with Lookups(stored) as lookups:
        callers = await asyncio.gather(*(lookups.keys.caller(key) for _ in range(1_000)))
        assert {caller.tenant for caller in callers} == {"acme"}
        assert lookups.queries == 1
        first = asyncio.create_task(lookups.keys.caller(key))
        await first
        lookups.clock.now += stored_keys.KNOWN_SECONDS
        leaving = asyncio.create_task(lookups.keys.caller(key))
        staying = asyncio.create_task(lookups.keys.caller(key))
        await asyncio.sleep(0)
        leaving.cancel()
        assert (await staying).tenant == "acme"
        assert lookups.queries == 2


async def test_ten_thousand_forged_keys_ask_nothing_and_leave_nothing(tmp_path) -> None:
    stored = key_database(str(tmp_path / "keys.db"))
    add_tenant(stored, "acme")
    key = add_key(stored, "acme")
    key_id = key.split("_")[1]
    async with Lookups(stored) as lookups:
        for _ in range(5_000):
            for forged_id in (secrets.token_hex(8), key_id):
                forged = f"xmcp_{forged_id}_{secrets.token_urlsafe(32)}{secrets.token_urlsafe(12)}"
                assert len(forged) == len(key)
                assert await refused(lookups, forged) == "There is no such key."
        assert lookups.queries == 0
        assert len(lookups.keys._cache) == 0


async def test_the_cache_has_an_end_even_for_keys_with_the_right_tag(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(stored_keys, "CACHED", 20)
    async with Lookups(key_database(str(tmp_path / "keys.db"))) as lookups:
        for _ in range(100):
            await refused(lookups, PEPPER.new_key())
        assert len(lookups.keys._cache) == 20
        one = PEPPER.new_key()
        before = lookups.queries
        for _ in range(100):
            await refused(lookups, one)
        assert lookups.queries == before + 1
        lookups.clock.now += stored_keys.UNKNOWN_SECONDS
        await refused(lookups, one)
        assert lookups.queries == before + 2


@pytest.mark.parametrize(
    "wrong",
    [
        "",
        " ",
        "x" * 10_000,
        "xmcp_",
        "xmcp_\x00",
        "xmcp_é",
        "xmcp_" + "０" * 16,
        "'; DROP TABLE api_keys; --",
        "\ud800",
    ],
)
async def test_what_is_no_key_is_refused_without_a_question(tmp_path, wrong: str) -> None:
    stored = key_database(str(tmp_path / "keys.db"))
    add_tenant(stored, "acme")
    key = add_key(stored, "acme")
    async with Lookups(stored) as lookups:
        for forged in (wrong, key[:-1], key + "x", key.upper(), key.replace("_", " "), f"{key[:30]}{wrong}{key[30:]}x"):
            assert await refused(lookups, forged) == "There is no such key."
        assert lookups.queries == 0


async def test_bytes_that_are_no_text_in_the_header_are_401(tmp_path) -> None:
    stored = key_database(str(tmp_path / "keys.db"))
    async with served(ScriptedModel(then="hello"), database=stored) as up, up.http() as http:
        for value in (b"Bearer \xff\xfe", "Bearer xmcp_é".encode(), b"Bearer " + b"x" * 8_000):
            answer = await http.get("/v1/models", headers={"authorization": value})
            assert answer.status_code == 401, value


async def test_no_part_of_a_key_is_in_the_database_beyond_its_id(tmp_path) -> None:
    stored = key_database(str(tmp_path / "keys.db"))
    add_tenant(stored, "acme")
    key = add_key(stored, "acme")
    async with Lookups(stored) as lookups:
        caller = await lookups.keys.caller(key)
    assert key not in repr(caller)
    written = b"".join(path.read_bytes() for path in tmp_path.glob("keys.db*"))
    secret = key.split("_", 2)[2]
    assert not any(secret[place : place + 12].encode() in written for place in range(len(secret) - 12))
    assert key.split("_")[1].encode() in written


async def test_the_tag_alone_does_not_open_the_door_of_another_key(tmp_path) -> None:
    stored = key_database(str(tmp_path / "keys.db"))
    add_tenant(stored, "acme")
    key_id = add_key(stored, "acme").split("_")[1]
    async with Lookups(stored) as lookups:
        forged = PEPPER._tagged(key_id, secrets.token_urlsafe(32))
        assert PEPPER.issued(forged) is not None
        assert await refused(lookups, forged) == "There is no such key."


async def test_a_key_with_another_pepper_does_not_open(tmp_path) -> None:
    from xmcp.gateway.access.issued_keys import Pepper

    other = Pepper("another pepper, of which nobody knows a thing")
    assert PEPPER.issued(other.new_key()) is None
    with pytest.raises(ValueError, match="needs 32 or more"):
        Pepper("short")


async def test_a_chat_of_a_key_that_is_revoked_goes_on_and_a_new_one_is_refused(tmp_path) -> None:
    stored = key_database(str(tmp_path / "keys.db"))
    add_tenant(stored, "acme")
    key, admin = add_key(stored, "acme"), add_key(stored, "acme", scopes=["admin"])
    finish = asyncio.Event()
    model = ScriptedModel(["a", finish.wait, Completion("ab")], then="c")
    async with served(model, database=stored) as up, up.http(headers=bearer(key)) as http:
        streaming = asyncio.create_task(http.post("/chat", json=HI, headers={"accept": "text/event-stream"}))
        await until(lambda: up.gateway.runs.running)
        gone = await http.delete(f"/admin/keys/{key.split('_')[1]}", headers=bearer(admin))
        assert gone.status_code == 204
        answer = await http.post("/chat", json=HI)
        assert (answer.status_code, answer.json()["error"]["message"]) == (401, "This key was revoked.")
        finish.set()
        assert types_in((await streaming).text)[-1] == "run.finished"


async def test_while_the_database_is_down_known_keys_go_on_and_unknown_ones_get_503(
    postgres_server: PostgresServer,
) -> None:
    stored = key_database(postgres_server.url)
    add_tenant(stored, "acme", tokens_per_day=100_000)
    known, unknown = add_key(stored, "acme"), add_key(stored, "acme")
    async with served(ScriptedModel(then="hello"), database=stored) as up, up.http() as http:
        clock = Clock(1_000.0)
        assert up.gateway.access._stored is not None
        up.gateway.access._stored._clock = clock
        assert (await http.post("/chat", json=HI, headers=bearer(known))).status_code == 200
        postgres_server.stop()
        clock.now += stored_keys.KNOWN_SECONDS
        assert (await http.post("/chat", json={"input": "2"}, headers=bearer(known))).status_code == 200
        answer = await http.post("/chat", json=HI, headers=bearer(unknown))
        assert (answer.status_code, answer.json()["error"]["code"]) == (503, "auth_unavailable")
        assert int(answer.headers["retry-after"]) >= 1
        assert (await http.post("/chat", json=HI, headers=bearer("xmcp_forged"))).status_code == 401
        clock.now += stored_keys.OUTAGE_SECONDS
        assert (await http.post("/chat", json={"input": "3"}, headers=bearer(known))).status_code == 503
        postgres_server.start()

        async def answered(key: str) -> bool:
            return (await http.post("/chat", json=HI, headers=bearer(key))).status_code == 200

        async with asyncio.timeout(30):
            while not (await answered(known) and await answered(unknown)):  # noqa: ASYNC110
                await asyncio.sleep(0.1)


async def test_a_database_that_is_stuck_costs_a_bounded_time_and_then_none(postgres_server: PostgresServer) -> None:
    stored = key_database(postgres_server.url)
    add_tenant(stored, "acme")
    keys = [add_key(stored, "acme") for _ in range(2)]
    async with Lookups(stored) as lookups:
        await lookups.keys.caller(keys[0])
        postgres_server.freeze()
        try:
            put, jobs = lookups.thread._jobs.put_nowait, []

            def counted(job: Any) -> None:
                jobs.append(job)
                put(job)

            lookups.thread._jobs.put_nowait = counted  # type: ignore[method-assign]
            async with asyncio.timeout(30):
                for _ in range(50):
                    with pytest.raises(DatabaseDown):
                        await lookups.keys.caller(keys[1])
            assert len(jobs) <= 2  # the others did not wait behind them
        finally:
            postgres_server.resume()
        async with asyncio.timeout(30):
            while True:
                try:
                    await lookups.keys.caller(keys[1])
                    break
                except DatabaseDown:
                    await asyncio.sleep(0.1)


async def test_lookups_that_wait_have_an_end(tmp_path) -> None:
    stored = key_database(str(tmp_path / "keys.db"))
    thread = DatabaseThread(lambda: driver_for(stored.address), "test", waiting=5)
    release = asyncio.Event()
    loop = asyncio.get_running_loop()

    def holds(_: object) -> None:
        asyncio.run_coroutine_threadsafe(release.wait(), loop).result(10)

    waiting = [asyncio.create_task(thread.run(holds)) for _ in range(6)]
    await asyncio.sleep(0)
    await until(lambda: thread._jobs.qsize() == 5)
    with pytest.raises(DatabaseDown):
        await thread.run(holds)
    release.set()
    await asyncio.gather(*waiting, return_exceptions=True)
    await thread.aclose()


async def test_a_database_that_hangs_is_down_while_it_does_and_the_log_says_so(
    caplog: pytest.LogCaptureFixture,
) -> None:
    goes_on = threading.Event()

    class Hangs:
        def connect(self) -> None:
            goes_on.wait(60)
            raise OSError("it did not answer")

        def refuses(self, _: Exception) -> bool:
            return False

        def close(self) -> None:
            pass

    thread = DatabaseThread(Hangs, "test hangs", seconds=0.1)  # type: ignore[arg-type]
    assert thread.up
    with pytest.raises(DatabaseDown):
        await thread.run(lambda _: None)
    await until(lambda: not thread.up)
    goes_on.set()
    await until(lambda: caplog.records)
    assert not thread.up
    assert "the database of keys and quotas does not answer: it did not answer" in caplog.text
    await thread.aclose()
