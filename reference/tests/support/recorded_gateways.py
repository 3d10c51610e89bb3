"""A gateway that records its chats, for two tenants if it is asked to."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from support.gateways import Served, served
from xmcp.gateway.audit import AuditLog, AuditMiddleware
from xmcp.gateway.audit.archive import Archive


def hashed(key: str) -> str:
    return f"sha256:{hashlib.sha256(key.encode()).hexdigest()}"


TENANTS = {"keys": [{"name": name, "tenant": name, "hash": hashed(name)} for name in ("a", "b")]}


@asynccontextmanager
async def recorded(
    model: Any, database: str | Path, config: Mapping[str, Any] | None = None, **options: Any
) -> AsyncIterator[Served]:
    """Serve a gateway that records its chats; at the end everything is recorded."""
    log = await AuditLog.open(database)
    try:
        hooks = [AuditMiddleware(log)]
        async with served(model, config, observer=log, archive=Archive(log), middleware=hooks, **options) as up:
            yield up
    finally:
        await log.aclose()


async def ask(up: Served, words: str, session: str = "s", **headers: str) -> Any:
    async with up.http() as http:
        return await http.post("/chat", json={"input": words, "session_id": session}, headers=headers)
