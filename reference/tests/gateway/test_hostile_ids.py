"""Ids that are forged, tricks, or another tenant's: no route that takes one tells, changes or ends anything by it."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest
from starlette.routing import Route
from support.bystanders import WORDS, bystander
from support.gateways import Served, events_in, served, until
from support.issued_keys import PEPPER, add_key, add_tenant, bearer, in_database, key_database
from support.raw_http import head, told
from support.recorded_gateways import TENANTS, recorded
from support.scripted_model import ScriptedModel, asks

from xmcp.gateway.access import key_store
from xmcp.gateway.audit import AuditLog
from xmcp.gateway.audit.archive import Archive
from xmcp.gateway.http.app import _routes

A, B = {"authorization": "Bearer a"}, {"authorization": "Bearer b"}
BODY_OF = {"/runs/{run_id}/input": {"call_id": "c0", "approve": True}, "/admin/keys/{key_id}": {"limits": {}}}
WITH_IDS = [
    (method, route.path)
    for route in _routes()
    if isinstance(route, Route) and "{" in route.path
    for method in sorted(route.methods - {"HEAD"})
]

TRICKS = {
    "NUL": "%00",
    "NUL inside": "run_%00x",
    "dots": "..",
    "encoded dots": "%2e%2e",
    "encoded slashes": "..%2f..%2fadmin%2fkeys",
    "double encoding": "%252e%252e%252fadmin",
    "backslashes": "..%5c..%5cadmin",
    "half of a pair": "%ed%a0%80",
    "no UTF-8": "%ff%fe",
    "quotes": quote("'; DROP TABLE runs; --", safe=""),
    "a wildcard": "%25",
    "a line": "a%0d%0ax-evil:%201",
    "a giant": "x" * 50_000,
    "a giant number": "9" * 5_000,
    "a picture": quote("💩" * 500, safe=""),
    "right to left": quote("\u202eevil\u2066", safe=""),
    "a blank": "%20",
    "null": "null",
}


@pytest.mark.parametrize("trick", TRICKS.values(), ids=TRICKS.keys())
async def test_an_id_that_is_a_trick_is_found_by_no_route(
    database: str, trick: str, caplog: pytest.LogCaptureFixture
) -> None:
    stored, log = key_database(database), await AuditLog.open(database)
    add_tenant(stored, "ops")
    root = add_key(stored, "ops", scopes=["chat", "read", "admin"])
    options: dict[str, Any] = {"database": stored, "observer": log, "archive": Archive(log)}
    async with bystander(headers=bearer(root), **options) as (up, _):
        for method, path in WITH_IDS:
            body = json.dumps(BODY_OF.get(path, {})).encode()
            lines = [f"authorization: Bearer {root}", "content-type: application/json", "connection: close"]
            target = re.sub(r"\{[^}]*\}", lambda _: trick, path)
            answer = await told(up.url, [head(method, target, *lines, f"content-length: {len(body)}") + body])
            # A path that ends with dots can be another route, which takes another method.
            assert {*answer.statuses} <= {400, 404, 405}, (method, path, answer.data[:300])
            assert answer.statuses
            assert b"x-evil: 1" not in answer.data.partition(b"\r\n\r\n")[0]
        assert up.gateway.runs.running
    await log.aclose()
    assert "Traceback" not in caplog.text


OPEN = {"/livez", "/readyz"}
PAST_THE_DOOR = [
    "/livez/../v1/models",
    "/livez/%2e%2e/v1/models",
    "/livez%2f..%2fv1%2fmodels",
    "/livez;/v1/models",
    "/livez%00/v1/models",
    "/livez%3f/../v1/models",
    "/readyz/../admin/keys",
    "/./livez/../admin/keys",
    "/LIVEZ",
    "/livez/",
    "//livez",
    "http://livez/v1/models",
    "/v1/models?/livez",
    "/v1/models#/livez",
    "/livez\\..\\v1\\models",
    "*",
]


@pytest.mark.parametrize("target", PAST_THE_DOOR)
async def test_no_path_leads_past_the_door(target: str) -> None:
    async with served(ScriptedModel(then="hi"), TENANTS) as up:
        answer = await told(up.url, [head("GET", target, "connection: close")])
    assert {*answer.statuses} <= {400, 401}, answer.data[:300]
    assert answer.statuses


KEYS = {
    "none": [],
    "of nobody": ["authorization: Bearer c"],
    "two": ["authorization: Bearer c", "authorization: Bearer a"],
    "two the other way": ["authorization: Bearer a", "authorization: Bearer c"],
    "a list": ["authorization: Bearer a, Bearer c"],
    "another scheme": ["authorization: Basic YTph"],
    "in another header": ["x-api-key: a"],
    "a cookie": ["cookie: authorization=Bearer a"],
    "a giant": [f"authorization: Bearer {'a' * 60_000}"],
    "no text": ["authorization: Bearer \xff\xfe"],
    "only the scheme": ["authorization: Bearer"],
    "a blank": ["authorization: Bearer  "],
}


@pytest.mark.parametrize("lines", KEYS.values(), ids=KEYS.keys())
async def test_what_is_no_key_opens_nothing(lines: list[str], caplog: pytest.LogCaptureFixture) -> None:
    async with served(ScriptedModel(then="hi"), TENANTS) as up:
        answer = await told(up.url, [head("GET", "/v1/models", *lines, "connection: close")])
    assert {*answer.statuses} <= {400, 401}, answer.data[:300]
    assert answer.statuses
    assert "Traceback" not in caplog.text


def routes_of_a_tenant(run: str, session: str, conversation: str) -> Iterator[tuple[str, str, str]]:
    """Yield method, route and path of each route that takes an id of what a tenant has."""
    ids = {"run_id": run, "session_id:path": session, "conversation_id": conversation}
    for method, path in WITH_IDS:
        name = path.partition("{")[2].partition("}")[0]
        if name in ids:
            yield method, path, path.replace(f"{{{name}}}", ids[name])


async def state_of(up: Served, run: str, conversation: str) -> list[Any]:
    """Return what its owner sees of a run, a session and a conversation."""
    async with up.http(headers=A) as http:
        paths = (f"/runs/{run}", "/sessions/s", f"/conversations/{conversation}", "/sessions", "/conversations")
        return [(await http.get(path)).json() for path in paths]


async def test_what_another_tenant_has_is_not_there_on_any_route(database: str) -> None:
    model = ScriptedModel(asks(("add", {"a": 1, "b": 2})), then="It is 3.")
    async with recorded(model, database, TENANTS) as up, up.http(headers=B) as http:
        async with up.http(headers=A) as owner:
            run = (await owner.post("/chat", json={"input": "1+2", "session_id": "s"})).json()["run_id"]
            ended = f"{run}:1:1"
        await up.gateway.observers[0].flush()  # type: ignore[attr-defined]
        conversation = up.gateway.archive.conversation_of("a", "s")  # type: ignore[union-attr]
        before = await state_of(up, run, conversation)
        seen = set()
        for method, route, path in routes_of_a_tenant(run, "s", conversation):
            answer = await http.request(method, path, json=BODY_OF.get(route, {}), headers={"last-event-id": ended})
            assert answer.status_code == 404, (method, path, answer.text)
            seen.add(route)
        assert len(seen) == 7  # runs, events, cancel, input, sessions, conversations, replay
        assert (await http.get("/sessions")).json()["sessions"] == []
        assert (await http.get("/conversations")).json()["conversations"] == []
        assert await state_of(up, run, conversation) == before


async def test_marks_events_and_calls_of_another_tenant_join_nothing() -> None:
    tool = {"type": "function", "function": {"name": "ask_page", "parameters": {"type": "object"}}}
    asked = {"input": "secret of a", "client_tools": [tool], "history": True}
    model = ScriptedModel(asks(("add", {"a": 1, "b": 2}), "ask_page"), then="of b")
    async with served(model, TENANTS) as up, up.http(headers=B) as http:
        async with up.http(headers=A) as owner:
            first = (await owner.post("/chat", json=asked, headers={"idempotency-key": "k"})).json()
        own = await http.post("/chat", json=asked, headers={"idempotency-key": "k", "x-stainless-retry-count": "1"})
        assert own.json()["answer"] == "of b"
        assert "xmcp-replayed" not in own.headers
        for named in (f"{first['run_id']}:1:1", f"{own.json()['run_id']}:2:1", "x", "\xff", ":" * 1_000, "9" * 5_000):
            path = f"/runs/{own.json()['run_id']}/events"
            answer = await http.get(path, headers={"last-event-id": named.encode("latin-1")})
            assert (answer.status_code, answer.json()["error"]["code"]) == (400, "invalid_event_id"), named
            assert (await http.get(path, params={"after": named})).status_code == 400
        # What ran before a call of a client's own tool comes back to its tenant alone.
        result = {"role": "tool", "tool_call_id": first["tool_calls"][0]["call_id"], "content": "blue"}
        (call,) = [message for message in first["history"] if message["role"] == "assistant"][:1]
        turn = [{"role": "user", "content": "?"}, {**call, "tool_calls": call["tool_calls"][-1:]}, result]
        await http.post("/chat", json={"messages": turn, "client_tools": [tool]})
        assert not any("add" in json.dumps(message) for message in model.requests[-1].messages)
        approval = {"id": "c0", "approved": True}
        part = {"type": "tool-add", "toolCallId": "c0", "state": "approval-responded", "approval": approval}
        message = {"role": "assistant", "id": first["run_id"], "metadata": {"run_id": first["run_id"]}, "parts": [part]}
        answer = await http.post("/ui/ai-sdk", json={"id": "x", "messages": [message]})
        assert answer.status_code in (400, 404)


async def test_who_cancels_and_answers_at_random_ends_no_chat_of_others() -> None:
    async with bystander(TENANTS, headers=A) as (up, _), up.http(headers=B) as http:
        (run,) = up.gateway.runs.running
        near = [f"{run.id[:-1]}{digit:x}" for digit in range(16)]
        for guessed in [run.id, *near, run.id.upper(), run.id.removeprefix("run_"), f" {run.id}", f"{run.id}:1:1"]:
            for path in (f"/runs/{quote(guessed)}/cancel", f"/runs/{quote(guessed)}/input"):
                answer = await http.post(path, json={"call_id": "c0", "approve": True})
                assert answer.status_code == 404
        joined = await http.post("/chat", json={"input": WORDS + "!"}, headers={"x-stainless-retry-count": "3"})
        assert joined.headers["xmcp-run-id"] != run.id


async def test_a_key_of_one_tenant_does_not_see_keys_of_others_and_the_admin_s_is_not_guessed(tmp_path: Any) -> None:
    stored = key_database(str(tmp_path / "keys.db"))
    for tenant in ("a", "ops"):
        add_tenant(stored, tenant)
    admin, plain = add_key(stored, "ops", scopes=["admin"]), add_key(stored, "a")
    forged = [PEPPER._tagged(admin.split("_")[1], "x" * 43), admin[:-1], admin + "=", plain.replace("_", "-")]
    async with served(ScriptedModel(then="hi"), database=stored) as up, up.http() as http:
        for method, path in [("GET", "/admin/keys"), ("GET", "/admin/tenants"), ("GET", "/admin/audit")] + [
            (method, path) for method, path in WITH_IDS if path.startswith("/admin")
        ]:
            target = re.sub(r"\{[^}]*\}", lambda _: admin.split("_")[1], path)
            answer = await http.request(method, target, json=BODY_OF.get(path, {}), headers=bearer(plain))
            assert answer.status_code == 403, (method, path)
            for key in forged:
                answer = await http.request(method, target, json=BODY_OF.get(path, {}), headers=bearer(key))
                assert answer.status_code == 401, (method, path)
    found = in_database(stored, lambda run: key_store.find_key(run, admin.split("_")[1]))
    assert found is not None
    assert found.revoked_at is None


async def test_a_reader_of_many_runs_sees_only_events_of_the_one_that_it_names() -> None:
    async with served(ScriptedModel("one", "two")) as up, up.http() as http:
        ids = [(await http.post("/chat", json={"input": str(n)})).json()["run_id"] for n in range(2)]
        texts = await asyncio.gather(*(http.get(f"/runs/{one}/events") for one in ids))
        for run, text in zip(ids, texts, strict=True):
            assert {name.partition(":")[0] for _, name, _ in events_in(text.text)} == {run}
        await until(lambda: not up.gateway.runs.running)
