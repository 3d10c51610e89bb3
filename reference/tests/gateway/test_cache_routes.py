"""The cache of tool results over HTTP: its counts, and clearing it; a tenant sees and clears its own."""

from __future__ import annotations

import hashlib
from typing import Any

from support.gateways import served
from support.scripted_model import ScriptedModel, asks

from xmcp.cli.gateway_parts import gateway_of
from xmcp.gateway.config_file import config_of
from xmcp.gateway.tenant_cache import TenantCache
from xmcp.storage import MemoryCache


def key(name: str, tenant: str) -> dict[str, str]:
    """Return the configuration of a key, which is `xmcp_` and its name."""
    return {"name": name, "tenant": tenant, "hash": f"sha256:{hashlib.sha256(f'xmcp_{name}'.encode()).hexdigest()}"}


KEYS: dict[str, Any] = {"keys": [key("a", "acme"), key("b", "other")]}
A, B = {"authorization": "Bearer xmcp_a"}, {"authorization": "Bearer xmcp_b"}


def adds(request: Any) -> Any:
    """Call the tool that can be cached, then answer."""
    called = request.messages[-1]["role"] == "tool"
    return "3" if called else asks(("price", {"of": "tea"}))


async def test_each_tenant_sees_and_clears_its_own_answers() -> None:
    cache = TenantCache(MemoryCache())
    made: list[str] = []
    async with served(ScriptedModel(then=adds), KEYS, cache=cache, cache_read_only=True) as gateway:

        @gateway.shop.mcp.tool(annotations={"readOnlyHint": True})
        def price(of: str) -> int:
            """Price of something."""
            made.append(of)
            return 7

        await gateway.gateway.refresh_tools()
        async with gateway.http() as http:

            async def chat(headers: dict[str, str]) -> None:
                assert (await http.post("/chat", json={"input": "tea?"}, headers=headers)).status_code == 200

            async def counts(headers: dict[str, str]) -> Any:
                return (await http.get("/cache/stats", headers=headers)).json()

            for headers in (A, A, B):
                await chat(headers)
            assert len(made) == 2
            assert await counts(A) == {"hits": 1, "misses": 1, "writes": 1, "hit_rate": 0.5}
            assert await counts(B) == {"hits": 0, "misses": 1, "writes": 1, "hit_rate": 0.0}
            assert (await http.delete("/cache", headers=B)).json() == {"status": "cleared"}
            await chat(A)
            assert len(made) == 2, "the answers of the other tenant are still there"
            await chat(B)
            assert len(made) == 3


async def test_without_keys_everybody_here_sees_and_clears_all() -> None:
    cache = TenantCache(MemoryCache())
    await cache.set("of-a-tenant:x", "value", 60)
    async with served(ScriptedModel("hi"), cache=cache, metrics=True) as gateway, gateway.http() as http:
        assert (await http.get("/cache/stats")).json()["writes"] == 1
        await http.delete("/cache")
    assert await cache.get("of-a-tenant:x") is None


async def test_a_gateway_without_a_cache_says_what_to_set() -> None:
    async with served(ScriptedModel("hi")) as gateway, gateway.http() as http:
        for answer in (await http.get("/cache/stats"), await http.delete("/cache")):
            assert (answer.status_code, answer.json()["error"]["code"]) == (409, "no_cache")


def test_the_configuration_says_how_much_is_kept() -> None:
    kept = gateway_of(config_of({"cache": {"max_bytes": 1000, "seconds": 7.0}}, "g.toml"), {}, provider="demo")
    assert kept.cache is not None
    assert kept.cache.ttl == 7
    assert gateway_of(config_of({"cache": {"max_bytes": 0}}, "g.toml"), {}, provider="demo").cache is None
