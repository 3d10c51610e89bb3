"""The OpenAPI document: it has every route, is one, and what the running gateway does is what it says.

schemathesis makes requests that the document allows, and requests that it does not.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, settings
from schemathesis.checks import load_all_checks
from schemathesis.specs.openapi import checks
from support.gateways import served
from support.scripted_model import ScriptedModel, asks

from xmcp.gateway.audit import AuditLog
from xmcp.gateway.http.app import application
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
EXAMPLES = 20
"""For each operation, which makes about 15 s on a small machine."""


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a gateway in a thread of its own, whose model sometimes calls a tool."""
    database = tmp_path_factory.mktemp("audit") / "audit.db"
    ready, stop = threading.Event(), threading.Event()
    found: list[str] = []

    async def serve() -> None:
        log = await AuditLog.open(database)
        cache = TenantCache(MemoryCache())
        async with served(ScriptedModel(then=answer), audit=log, cache=cache) as gateway:
            found.append(gateway.url)
            ready.set()
            await asyncio.to_thread(stop.wait)
        await log.aclose()

    thread = threading.Thread(target=asyncio.run, args=(serve(),))
    thread.start()
    assert ready.wait(30)
    yield found[0]
    stop.set()
    thread.join(30)


def answer(request: Any) -> Any:
    """Call a tool once, then say something."""
    called = any(message["role"] == "tool" for message in request.messages)
    return "Done." if called or not request.tools else asks(("add", {"a": 1, "b": 2}))


def test_the_document_has_every_route_that_there_is() -> None:
    class NoGateway:
        keys = None

    routes = {
        (str(route.path).replace(":path", ""), method.lower())  # type: ignore[attr-defined]
        for route in application(NoGateway()).routes  # type: ignore[arg-type]
        for method in route.methods - {"HEAD"}  # type: ignore[attr-defined]
    }
    described = {(path, method) for path, methods in document()["paths"].items() for method in methods}
    assert described == routes


schema = schemathesis.openapi.from_dict(document())
schema.config.generation.update(max_examples=EXAMPLES)
load_all_checks()


@schema.parametrize()
@settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[*HealthCheck],
)
def test_what_the_gateway_does_is_what_its_document_says(case: Any, url: str) -> None:
    case.call_and_validate(base_url=url, checks=CHECKS, timeout=30)


@pytest.mark.parametrize(
    ("path", "method", "headers"),
    [
        ("/runs/{run_id}", "GET", {}),
        ("/runs/{run_id}/events", "GET", {}),
        ("/runs/{run_id}/events", "GET", {"Last-Event-ID": "{last_event_id}"}),
        ("/runs/{run_id}/cancel", "POST", {}),
        ("/v1/models/{model}", "GET", {}),
    ],
)
def test_so_it_is_for_what_exists_which_nobody_guesses(
    url: str, path: str, method: str, headers: dict[str, str]
) -> None:
    run = httpx2.post(f"{url}/chat", json={"input": "hi", "history": True}, timeout=30).json()
    state = httpx2.get(f"{url}/runs/{run['run_id']}", timeout=30).json()
    names = {"run_id": run["run_id"], "model": "assistant"}
    case = schema[path][method].Case(
        path_parameters={name: value for name, value in names.items() if f"{{{name}}}" in path},
        headers={name: value.format(**state) for name, value in headers.items()},
    )
    answer = case.call_and_validate(base_url=url, checks=CHECKS, timeout=30)
    assert answer.status_code == (204 if headers else 200)
