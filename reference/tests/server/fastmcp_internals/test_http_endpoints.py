"""The endpoint of FastMCP's HTTP application: what is relied on in it. Red means: it has changed."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest
from fastmcp import FastMCP

from xmcp.server.fastmcp_internals.http_endpoints import guard_bodies


def test_an_application_without_an_endpoint_of_fastmcps_cannot_be_limited() -> None:
    app = FastMCP("plain").http_app()
    app.router.routes.clear()
    with pytest.raises(RuntimeError, match="no endpoint whose request bodies could be limited"):
        guard_bodies(app, lambda inner: inner)


async def test_the_sdk_still_refuses_4_megabytes(over_http: Any) -> None:
    """When this fails, `guard_bodies` may no longer be needed."""
    async with over_http(FastMCP("plain").http_app()) as url, httpx2.AsyncClient() as http:
        assert (await http.post(f"{url}/mcp", content=b"x" * (4 * 1024 * 1024 + 1))).status_code == 413
