"""The OpenAPI document: it has every route, is one, and what the running gateway does is what it says.

schemathesis makes requests that the document allows, and requests that it does not.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from typing import Any

import httpx2
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, settings
from schemathesis.checks import load_all_checks
from schemathesis.specs.openapi import checks
from support.gateways import Served, served
from support.issued_keys import add_key, add_tenant, bearer, key_database
from support.scripted_model import ScriptedModel, asks

from xmcp.gateway.audit import AuditLog, AuditMiddleware
from xmcp.gateway.audit.archive import Archive
from xmcp.gateway.http.app import _routes
from xmcp.gateway.http.openapi import document
from xmcp.gateway.tenant_cache import TenantCache
from xmcp.storage import MemoryCache


def no_crash(_context: Any, response: Any, _case: Any) -> None:
    """Fail for 500; the statuses of a chat that failed are in the document, and others are not."""
    assert response.status_code != 500, response.text


CHECKS = [
    no_crash,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_schema_conformance,
    checks.negative_data_rejection,
    checks.unsupported_method,
]
EXAMPLES = 15
"""For each operation and gateway, which makes about 40 s on a small machine."""

WITH_A_DATABASE = "^/(analytics|cache|conversations|sessions|admin)"
"""The routes that say something else where the gateway has no databases."""


@contextmanager
def in_a_thread(serve: Callable[[], AbstractAsyncContextManager[Served]]) -> Iterator[str]:
    """Serve a gateway on a loop of its own; give its address."""
    ready, stop = threading.Event(), threading.Event()
    found: list[str] = []

    async def serving() -> None:
        async with serve() as gateway:
            found.append(gateway.url)
            ready.set()
            await asyncio.to_thread(stop.wait)

    thread = threading.Thread(target=asyncio.run, args=(serving(),))
    thread.start()
    try:
        assert ready.wait(30)
        yield found[0]
    finally:
        stop.set()
        thread.join(30)


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, dict[str, str]]]:
    """The address of a gateway with everything there is, whose model sometimes calls a tool, and headers with a key."""
    folder = tmp_path_factory.mktemp("databases")
    keys = key_database(f"sqlite:///{folder}/keys.db")
    add_tenant(keys, "ops")
    key = bearer(add_key(keys, "ops", scopes=["chat", "read", "admin"]))

    @asynccontextmanager
    async def serve() -> AsyncIterator[Served]:
        log = await AuditLog.open(folder / "audit.db")
        audit: Any = {"audit": log, "observer": log, "archive": Archive(log), "middleware": [AuditMiddleware(log)]}
        cache = TenantCache(MemoryCache())
        try:
            async with served(ScriptedModel(then=answer), ASKING, cache=cache, database=keys, **audit) as gateway:
                yield gateway
        finally:
            await log.aclose()

    with in_a_thread(serve) as url:
        yield url, key


@pytest.fixture(scope="module")
def bare() -> Iterator[str]:
    """The address of a gateway without databases, cache and keys."""
    with in_a_thread(lambda: served(ScriptedModel(then=answer))) as url:
        yield url


ASKING = {"chat": {"approve": ["sales"]}}
"""The gateway asks a person before it calls this tool."""

CALLS: Mapping[str, Any] = {"sales": {"region": "north"}, "open_page": {}}
"""What the model calls if the user says its name."""


def answer(request: Any) -> Any:
    """Call a tool once, then say something."""
    called = any(message["role"] == "tool" for message in request.messages)
    if called or not request.tools:
        return "Done."
    name = request.messages[-1]["content"]
    return asks((name, CALLS[name]) if isinstance(name, str) and name in CALLS else ("add", {"a": 1, "b": 2}))


def test_the_document_has_every_route_that_there_is() -> None:
    routes = {
        (route.path.replace(":path", ""), method.lower())
        for route in _routes()
        for method in (route.methods or set()) - {"HEAD"}
    }
    described = {(path, method) for path, methods in document()["paths"].items() for method in methods}
    assert described == routes


schema = schemathesis.openapi.from_dict(document())
schema.config.generation.update(max_examples=EXAMPLES)
load_all_checks()


bounded = settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[*HealthCheck],
)


@schema.parametrize()
@bounded
def test_what_the_gateway_does_is_what_its_document_says(case: Any, gateway: tuple[str, dict[str, str]]) -> None:
    url, key = gateway
    case.call_and_validate(base_url=url, headers=key, checks=CHECKS, timeout=30)


@schema.include(path_regex=WITH_A_DATABASE).parametrize()
@bounded
def test_so_it_is_without_databases(case: Any, bare: str) -> None:
    case.call_and_validate(base_url=bare, checks=CHECKS, timeout=30)


class Caller:
    """Makes requests that are in the document, and holds the answers against it."""

    def __init__(self, url: str, headers: dict[str, str]) -> None:
        self._url = url
        self._headers = headers

    def __call__(self, method: str, path: str, expected: int = 200, body: Any = None, **others: Any) -> Any:
        """Return the JSON value of the answer. `others`: values for the path; `headers`; `query`."""
        headers, query = {**self._headers, **others.pop("headers", {})}, others.pop("query", {})
        sent = {} if body is None else {"body": body, "media_type": "application/json"}
        case = schema[path][method].Case(path_parameters=others, headers=headers, query=query, **sent)
        answer = case.call_and_validate(base_url=self._url, checks=CHECKS, timeout=30)
        assert answer.status_code == expected, answer.text
        return answer.json() if "json" in answer.headers.get("content-type", [""])[0] else None


@pytest.fixture
def call(gateway: tuple[str, dict[str, str]]) -> Caller:
    return Caller(*gateway)


def test_so_it_is_for_a_run_which_nobody_guesses(call: Caller) -> None:
    run = call("POST", "/chat", body={"input": "hi", "history": True})["run_id"]
    place = call("GET", "/runs/{run_id}", run_id=run)["last_event_id"]
    call("GET", "/runs/{run_id}/events", run_id=run)
    call("GET", "/runs/{run_id}/events", 204, run_id=run, headers={"Last-Event-ID": place})
    call("POST", "/runs/{run_id}/cancel", run_id=run)
    call("POST", "/runs/{run_id}/input", 409, {"call_id": "c0", "approve": True}, run_id=run)
    call("GET", "/v1/models/{model}", model="assistant")


def test_so_it_is_for_a_run_that_asks_and_its_session_is_busy(
    call: Caller, gateway: tuple[str, dict[str, str]]
) -> None:
    url, key = gateway
    body, headers = {"input": "sales", "session_id": "asks"}, {**key, "accept": "text/event-stream"}
    with httpx2.stream("POST", f"{url}/chat", json=body, headers=headers, timeout=30) as stream:
        lines = stream.iter_lines()
        assert any(line == "event: approval.required" for line in lines)
        run = stream.headers["xmcp-run-id"]
        assert call("GET", "/runs/{run_id}", run_id=run)["approvals"]
        call("POST", "/chat", 409, {"input": "hi", "session_id": "asks"})
        call("DELETE", "/sessions/{session_id}", 409, session_id="asks")
        call("POST", "/runs/{run_id}/input", 200, {"call_id": "c0", "approve": True}, run_id=run)
        assert any(line == "event: run.finished" for line in lines)


def test_so_it_is_for_calls_that_are_left_to_the_client(call: Caller) -> None:
    tool = {"type": "function", "function": {"name": "open_page"}}
    asked = {"messages": [{"role": "user", "content": "open_page"}], "model": "assistant", "tools": [tool]}
    left = call("POST", "/v1/chat/completions", body=asked)["choices"][0]["message"]["tool_calls"]
    assert [one["function"]["name"] for one in left] == ["open_page"]
    run = call("POST", "/chat", body={"input": "open_page", "client_tools": [tool]})
    assert [one["tool"] for one in run["tool_calls"]] == ["open_page"]
    assert call("GET", "/runs/{run_id}", run_id=run["run_id"])["tool_calls"] == run["tool_calls"]


def test_so_it_is_for_a_session_and_its_conversation(call: Caller) -> None:
    for words in ("one", "two"):
        call("POST", "/chat", body={"input": words, "session_id": "kept"})
    call("GET", "/sessions/{session_id}", session_id="kept")
    # To delete anything, what waits to be recorded is written first.
    call("DELETE", "/conversations/{conversation_id}", 404, conversation_id="none")
    found: list[Any] = []
    for _ in range(200):  # records are written behind the chat
        listed = call("GET", "/conversations", query={"limit": 200})["conversations"]
        if found := [one["id"] for one in listed if one["session"] == "kept" and one["run_count"] == 2]:
            break
        time.sleep(0.05)
    (name,) = found
    call("GET", "/conversations/{conversation_id}", conversation_id=name, query={"limit": 1})
    call("GET", "/conversations/{conversation_id}/replay", conversation_id=name, query={"limit": 1})
    call("DELETE", "/conversations/{conversation_id}", 204, conversation_id=name)
    call("POST", "/chat", body={"input": "three", "session_id": "kept"})
    call("DELETE", "/sessions/{session_id}", 204, session_id="kept")


def test_so_it_is_for_a_tenant_and_its_key(call: Caller, gateway: tuple[str, dict[str, str]]) -> None:
    call("POST", "/admin/tenants", 201, {"name": "house"})
    call("POST", "/admin/tenants", 200, {"name": "house", "limits": {"usd_per_month": 1}})
    made = call("POST", "/admin/keys", 201, {"tenant": "house", "name": "door", "scopes": ["chat"]})
    one_a_minute = {"limits": {"requests_per_minute": 1}}
    call("PATCH", "/admin/keys/{key_id}", 200, one_a_minute, key_id=made["id"])
    assert call("GET", "/admin/keys", query={"tenant": "house"})["keys"][0]["limits"] == one_a_minute["limits"]
    limited = Caller(gateway[0], bearer(made["key"]))
    limited("GET", "/tools", 403)
    limited("GET", "/v1/models", 429)
    call("DELETE", "/admin/keys/{key_id}", 204, key_id=made["id"])
    limited("GET", "/v1/models", 401)
    call("DELETE", "/admin/tenants/{name}", 204, name="house")
    call("POST", "/admin/tenants", 409, {"name": "house"})
    call("GET", "/admin/tenants")
    call("GET", "/admin/audit")
