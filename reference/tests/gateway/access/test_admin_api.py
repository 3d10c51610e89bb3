"""The admin API: tenants and keys, who may change them, what is recorded of it, and what nobody is shown."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from click.testing import CliRunner
from starlette.routing import Route
from support.gateways import served
from support.issued_keys import PEPPER, add_key, add_tenant, bearer, in_database, key_database
from support.postgres_server import PostgresServer
from support.scripted_model import ScriptedModel

from xmcp.cli.gateway import gateway
from xmcp.gateway.access import key_store
from xmcp.gateway.access.issued_keys import PEPPER_VARIABLE
from xmcp.gateway.http.app import _routes
from xmcp.gateway.http.doorkeeper import OPEN_PATHS
from xmcp.gateway.http.scopes import SCOPE_OF

HI = {"input": "hi"}


async def test_a_tenant_and_its_key_are_made_used_limited_and_taken_away(database: str) -> None:
    stored = key_database(database)
    add_tenant(stored, "ops")
    admin = bearer(add_key(stored, "ops", "root", scopes=["admin"]))
    async with served(ScriptedModel(then="hello"), database=stored) as up, up.http(headers=admin) as http:
        made = await http.post("/admin/tenants", json={"name": "acme", "limits": {"tokens_per_month": 10**6}})
        assert made.status_code == 201
        body = {"tenant": "acme", "name": "front-end", "expires_in_days": 30, "limits": {"requests_per_minute": 10}}
        made = await http.post("/admin/keys", json=body)
        assert (made.status_code, made.headers["cache-control"]) == (201, "no-store")
        key, key_id = made.json()["key"], made.json()["id"]
        assert made.json()["scopes"] == ["chat", "read"]
        assert (await http.post("/chat", json=HI, headers=bearer(key))).status_code == 200
        assert (await http.get("/admin/keys", headers=bearer(key))).status_code == 403

        listed = (await http.get("/admin/keys", params={"tenant": "acme"})).json()
        (one,) = listed["keys"]
        assert (one["id"], one["revoked_at"]) == (key_id, None)
        valid = datetime.fromisoformat(one["expires_at"]) - datetime.fromisoformat(one["created_at"])
        assert timedelta(days=29) < valid <= timedelta(days=30)
        assert "hmac" not in listed["keys"][0]
        assert key.split("_", 2)[2] not in json.dumps(listed)
        tenants = (await http.get("/admin/tenants")).json()["tenants"]
        assert [(one["name"], one["keys"]) for one in tenants] == [("acme", 1), ("ops", 1)]

        # What is changed here counts here at once.
        limited = await http.patch(f"/admin/keys/{key_id}", json={"limits": {"tokens_per_day": 1}})
        assert limited.json()["limits"] == {"tokens_per_day": 1}
        refused = await http.post("/chat", json={"input": "2"}, headers=bearer(key))
        assert refused.json()["error"]["code"] == "insufficient_quota"
        assert (await http.patch(f"/admin/keys/{key_id}", json={"limits": {}})).status_code == 200
        again = await http.post("/admin/tenants", json={"name": "acme", "limits": {"tokens_per_day": 1}})
        assert again.status_code == 200
        refused = await http.post("/chat", json={"input": "3"}, headers=bearer(key))
        assert "the tenant 'acme'" in refused.json()["error"]["message"]

        assert (await http.delete(f"/admin/keys/{key_id}")).status_code == 204
        assert (await http.delete(f"/admin/keys/{key_id}")).status_code == 404
        assert (await http.post("/chat", json=HI, headers=bearer(key))).status_code == 401
        assert (await http.delete("/admin/tenants/acme")).status_code == 204
        assert (await http.delete("/admin/tenants/acme")).status_code == 404

        told = (await http.get("/admin/audit")).json()["changes"]
    assert [(one["action"], one["subject"]) for one in told[2:]] == [
        ("tenant.add", "acme"),
        ("key.add", key_id),
        ("key.limits", key_id),
        ("key.limits", key_id),
        ("tenant.limits", "acme"),
        ("key.revoke", key_id),
        ("tenant.delete", "acme"),
    ]
    times = [datetime.fromisoformat(one["at"]) for one in told]
    assert times == sorted(times)
    assert {time.tzinfo for time in times} == {UTC}
    actors = {one["actor"] for one in told[2:]}
    assert len(actors) == 1
    assert actors.pop().startswith("root:")
    assert told[6]["details"] == {"from": {"tokens_per_month": 10**6}, "to": {"tokens_per_day": 1}}
    assert key.split("_", 2)[2] not in json.dumps(told)


@pytest.mark.parametrize("name", ["a%00b", "no-key", "%F0%9F%94%91"])
async def test_what_cannot_be_the_id_of_a_key_is_not_found_in_any_database(database: str, name: str) -> None:
    stored = key_database(database)
    add_tenant(stored, "ops")
    admin = bearer(add_key(stored, "ops", "root", scopes=["admin"]))
    async with served(ScriptedModel(), database=stored) as up, up.http(headers=admin) as http:
        answers = [
            await http.delete(f"/admin/keys/{name}"),
            await http.patch(f"/admin/keys/{name}", json={"limits": {}}),
            await http.delete(f"/admin/tenants/{name}"),
        ]
    assert [answer.status_code for answer in answers] == [404, 404, 404]


async def test_lists_come_in_pages_with_an_end(tmp_path: Any) -> None:
    stored = key_database(str(tmp_path / "keys.db"))
    for number in range(7):
        add_tenant(stored, f"t{number}")
    admin = bearer(add_key(stored, "t0", scopes=["admin"]))
    async with served(ScriptedModel(), database=stored) as up, up.http(headers=admin) as http:
        names, after = [], ""
        for _ in range(10):
            page = (await http.get("/admin/tenants", params={"limit": 3, "after": after})).json()
            names += [one["name"] for one in page["tenants"]]
            if page["next"] is None:
                break
            after = page["next"]
        assert names == [f"t{number}" for number in range(7)]
        for path in ("/admin/tenants", "/admin/keys", "/admin/audit"):
            for wrong in ("0", "101", "-1", "x", "9" * 5_000, "1.5", "\u0663"):
                assert (await http.get(path, params={"limit": wrong})).status_code == 400, wrong
            for wrong in ("x" * 1_000, "a\0b"):
                assert (await http.get(path, params={"after": wrong})).status_code == 400
            assert (await http.get(path, params={"after": "'; DROP TABLE tenants; --"})).status_code == 200
        assert (await http.get("/admin/keys", params={"tenant": "a b"})).status_code == 400


@pytest.mark.parametrize(
    ("path", "body", "place"),
    [
        ("/admin/tenants", {}, "name"),
        ("/admin/tenants", {"name": "a b"}, "name"),
        ("/admin/tenants", {"name": "x" * 129}, "name"),
        ("/admin/tenants", {"name": "a\0"}, "name"),
        ("/admin/tenants", {"name": "a", "limits": {"tokens_per_day": -1}}, "limits.tokens_per_day"),
        ("/admin/tenants", {"name": "a", "limits": {"tokens_per_day": "9"}}, "limits.tokens_per_day"),
        ("/admin/tenants", {"name": "a", "limits": {"tokens": 9}}, "limits.tokens"),
        ("/admin/keys", {"tenant": "ops"}, "name"),
        ("/admin/keys", {"tenant": "ops", "name": "k", "scopes": []}, "scopes"),
        ("/admin/keys", {"tenant": "ops", "name": "k", "scopes": ["root"]}, "scopes.0"),
        ("/admin/keys", {"tenant": "ops", "name": "k", "expires_in_days": 0}, "expires_in_days"),
        ("/admin/keys", {"tenant": "ops", "name": "k", "hmac": "0"}, "hmac"),
    ],
)
async def test_a_wrong_body_is_refused_with_the_place(tmp_path: Any, path: str, body: Any, place: str) -> None:
    stored = key_database(str(tmp_path / "keys.db"))
    add_tenant(stored, "ops")
    admin = bearer(add_key(stored, "ops", scopes=["admin"]))
    async with served(ScriptedModel(), database=stored) as up, up.http(headers=admin) as http:
        answer = await http.post(path, json=body)
        assert (answer.status_code, answer.json()["error"]["param"]) == (400, place)
        none = await http.post("/admin/keys", json={"tenant": "nobody", "name": "k"})
        assert (none.status_code, none.json()["error"]["code"]) == (404, "tenant_not_found")
        assert (await http.patch("/admin/keys/none", json={"limits": {}})).status_code == 404
        assert (await http.delete("/admin/tenants/a%00b")).status_code == 404
    assert len(in_database(stored, lambda run: key_store.list_changes(run, "", 100))) == 2


async def test_keys_of_a_tenant_have_an_end(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(key_store, "KEYS_OF_A_TENANT", 2)
    stored = key_database(str(tmp_path / "keys.db"))
    add_tenant(stored, "ops")
    admin = bearer(add_key(stored, "ops", scopes=["admin"]))
    async with served(ScriptedModel(), database=stored) as up, up.http(headers=admin) as http:
        answers = [await http.post("/admin/keys", json={"tenant": "ops", "name": "k"}) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [201, 409]


async def test_without_a_database_there_is_nothing_to_administer() -> None:
    async with served(ScriptedModel()) as up, up.http() as http:
        answer = await http.get("/admin/keys")
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "no_key_database")


async def test_while_the_database_is_down_an_administrator_is_told_so(postgres_server: PostgresServer) -> None:
    stored = key_database(postgres_server.url)
    add_tenant(stored, "ops")
    admin = bearer(add_key(stored, "ops", scopes=["admin"]))
    async with served(ScriptedModel(), database=stored) as up, up.http(headers=admin) as http:
        assert (await http.get("/admin/keys")).status_code == 200
        postgres_server.stop()
        answer = await http.post("/admin/tenants", json={"name": "acme"})
        assert (answer.status_code, answer.json()["error"]["code"]) == (503, "database_unavailable")
        assert int(answer.headers["retry-after"]) >= 1


def test_every_route_has_a_scope_on_purpose() -> None:
    paths = {route.path for route in _routes() if isinstance(route, Route)}
    assert paths == {*(name.rpartition(" ")[2] for name in SCOPE_OF), *OPEN_PATHS}


def run(database: str, *words: str, pepper: str = "a pepper of the tests, 32 characters and more") -> Any:
    return CliRunner().invoke(gateway, ["keys", "--database", database, *words], env={PEPPER_VARIABLE: pepper})


def test_the_command_line_adds_lists_and_revokes_without_http(database: str) -> None:
    made = run(database, "add", "front-end", "--tenant", "acme", "--tokens-per-day", "100", "--days", "1")
    assert made.exit_code == 0, made.output
    (key,) = [line for line in made.output.splitlines() if line.startswith("xmcp_")]
    issued = PEPPER.issued(key)
    assert issued is not None
    listed = run(database, "list").output
    assert f"{issued.id}  acme  front-end  chat,read  valid until" in listed
    assert "tokens_per_day=100" in listed
    assert key not in listed
    assert run(database, "revoke", issued.id).exit_code == 0
    assert "revoked" in run(database, "list", "--tenant", "acme").output
    assert run(database, "revoke", issued.id).exit_code == 1
    changes = in_database(key_database(database), lambda run: key_store.list_changes(run, "", 100))
    assert [one["action"] for one in changes] == ["tenant.add", "key.add", "key.revoke"]
    assert changes[0]["actor"].startswith("command line")
    in_database(key_database(database), lambda run: key_store.delete_tenant(run, key_store.Actor("root"), "acme"))
    gone = run(database, "add", "front-end", "--tenant", "acme")
    assert gone.exit_code == 1
    assert "was deleted" in gone.output


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["add", "a b", "--tenant", "t"], "NAME and --tenant must have 1 to 128 letters"),
        (["add", "k", "--tenant", "t", "--tokens-per-day", "-1"], "limits.tokens_per_day"),
        (["add", "k", "--tenant", "t", "--scope", "root"], "'root' is not one of"),
        (["revoke", "none"], "No such key is valid"),
    ],
)
def test_the_command_line_says_what_is_wrong(tmp_path: Any, words: list[str], told: str) -> None:
    done = run(str(tmp_path / "keys.db"), *words)
    assert done.exit_code != 0
    assert told in done.output
    assert "Traceback" not in done.output


def test_without_a_pepper_or_a_database_the_command_line_says_what_to_set(tmp_path: Any) -> None:
    assert "openssl rand" in run(str(tmp_path / "keys.db"), "list", pepper="").output
    assert "needs 32 or more" in run(str(tmp_path / "keys.db"), "list", pepper="short").output
    (tmp_path / "gateway.toml").write_text("[audit]\n")
    done = CliRunner().invoke(gateway, ["keys", "--config", str(tmp_path / "gateway.toml"), "list"])
    assert "has no database in [access]" in done.output
