"""Servers that know tenants by credentials of their own: each call has those of its chat's tenant, and no other's."""

from __future__ import annotations

import asyncio
from typing import Any

import fastmcp
import pytest
from fastmcp.server.dependencies import get_http_headers
from support.http_host import HttpHost

from xmcp.cli.gateway_parts import CannotServe, gateway_of, problems
from xmcp.cli.gateway_servers import configured_servers
from xmcp.gateway.config_file import config_of
from xmcp.gateway.runs.request import Caller, ChatRequest

ENVIRONMENT = {"OF_ACME": "token-of-acme", "OF_OTHER": "token-of-other", "OF_ALL": "token-of-all"}


def servers(url: str) -> dict[str, Any]:
    return {
        "shop": {
            "url": url,
            "headers": {"Authorization": "Bearer ${OF_ALL}"},
            "tenants": {
                "acme": {"headers": {"Authorization": "Bearer ${OF_ACME}"}},
                "other": {"headers": {"Authorization": "Bearer ${OF_OTHER}"}},
            },
        }
    }


async def test_each_call_has_the_credential_of_its_tenant_and_of_no_other() -> None:
    mcp: Any = fastmcp.FastMCP("shop")
    calls: list[tuple[str, str]] = []

    @mcp.tool
    async def whoami(expected: str) -> str:
        seen = get_http_headers(include={"authorization"}).get("authorization", "nobody").removeprefix("Bearer ")
        calls.append((expected, seen))
        await asyncio.sleep(0)
        return seen

    host = HttpHost()
    await host.serve(mcp.http_app())
    # The URL of the server has no path: that of MCP is the default.
    gateway = gateway_of(config_of({"servers": servers(host.url)}, "g.toml"), ENVIRONMENT, provider="demo")
    tenants = {"acme": "token-of-acme", "other": "token-of-other", "third": "token-of-all", None: "token-of-all"}

    async def chat(tenant: str | None) -> None:
        request = ChatRequest(surface="chat", model="demo", query=f"shop__whoami expected={tenants[tenant]}")
        async for _ in gateway._open_chat(request, Caller(f"key of {tenant}", tenant)):
            pass

    try:
        async with gateway.running():
            await asyncio.gather(*(chat(tenant) for tenant in tenants for _ in range(5)))
    finally:
        await host.close()
    assert len(calls) == 20
    assert all(expected == seen for expected, seen in calls)
    assert {seen for _, seen in calls} == {*ENVIRONMENT.values()}


def test_the_credentials_of_tenants_are_secrets_and_are_shown_nowhere(tmp_path: Any) -> None:
    config = {"servers": servers("http://127.0.0.1:1/mcp"), "audit": {"database": str(tmp_path / "a.db")}}
    gateway = gateway_of(config_of(config, "g.toml"), ENVIRONMENT, provider="demo")
    assert gateway.audit is not None
    assert {*ENVIRONMENT.values()} <= {*gateway.audit._secrets}
    shown = repr(configured_servers(servers("http://127.0.0.1:1/mcp"), ENVIRONMENT))
    assert not any(token in shown for token in ENVIRONMENT.values())


@pytest.mark.parametrize(
    ("shop", "told"),
    [
        ({"command": "own", "tenants": {"a": {"headers": {}}}}, "only a server with a url"),
        ({"url": "http://h/", "tenants": {"a": {"env": {}}}}, "a table with headers, and nothing else"),
        ({"url": "http://h/", "tenants": [1]}, "a table with headers, and nothing else"),
        ({"url": "http://h/", "tenants": {"a": {"headers": {"A": "${NOT_SET}"}}}}, "shop.tenants.a.headers.A needs"),
        ({"url": "http://h/", "tenants": {"a": {"headers": {"A": 1.5}}}}, "shop.tenants.a.headers.A is no text"),
    ],
)
def test_what_is_wrong_in_the_credentials_of_a_tenant_is_said(shop: dict[str, Any], told: str) -> None:
    config = config_of({"servers": {"shop": shop}}, "g.toml")
    with pytest.raises(CannotServe, match=told):
        gateway_of(config, {}, provider="demo")
    assert any(told in problem for problem in problems(config, {}))
