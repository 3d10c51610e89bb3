"""Web pages of other origins: none may call, unless the configuration names its origin; streams are as they were."""

from __future__ import annotations

import pytest
from support.gateways import served, types_in
from support.scripted_model import ScriptedModel

from xmcp.gateway.config_file import BadConfig, config_of

ORIGIN = "https://app.example"
LISTEN = {"listen": {"allow_origins": [ORIGIN]}, "keys": [{"name": "b", "tenant": "t", "env": "FRONT_END_KEY"}]}
ASKS = {"access-control-request-method": "POST", "access-control-request-headers": "authorization,content-type"}
KEY = {"authorization": "Bearer xmcp_front"}


async def test_a_page_of_a_named_origin_may_call_and_reads_streams_and_refusals() -> None:
    async with served(ScriptedModel(then="hello"), LISTEN) as up, up.http() as http:
        asked = await http.options("/chat", headers={"origin": ORIGIN, **ASKS})
        assert (asked.status_code, asked.headers["access-control-allow-origin"]) == (200, ORIGIN)
        headers = {"origin": ORIGIN, "accept": "text/event-stream", **KEY}
        streamed = await http.post("/chat", json={"input": "hi"}, headers=headers)
        assert streamed.headers["access-control-allow-origin"] == ORIGIN
        assert types_in(streamed.text)[-1] == "run.finished"
        readable = set(streamed.headers["access-control-expose-headers"].split(", "))
        own = {name for name in streamed.headers if name.startswith("xmcp-")}
        assert own | {"xmcp-history", "xmcp-replayed", "retry-after"} <= readable
        refused = await http.post("/chat", json={"input": "hi"}, headers={"origin": ORIGIN})
        assert (refused.status_code, refused.headers["access-control-allow-origin"]) == (401, ORIGIN)


async def test_no_other_page_may_call() -> None:
    for config in (LISTEN, {"keys": LISTEN["keys"]}):
        async with served(ScriptedModel(then="hello"), config) as up, up.http() as http:
            for origin in ("https://evil.example", "https://app.example.evil.example", "null", "http://app.example"):
                asked = await http.options("/chat", headers={"origin": origin, **ASKS})
                assert asked.status_code >= 400
                assert "access-control-allow-origin" not in asked.headers
                answer = await http.get("/v1/models", headers={"origin": origin, **KEY})
                assert "access-control-allow-origin" not in answer.headers


@pytest.mark.parametrize("origin", ["*", "app.example", "https://app.example/", "https://*.example", "null", ""])
def test_what_is_no_origin_is_refused(origin: str) -> None:
    with pytest.raises(BadConfig, match=r"allow_origins must have origins"):
        config_of({"listen": {"allow_origins": [origin]}}, "g.toml")
