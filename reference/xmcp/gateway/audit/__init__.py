"""The memory of the gateway: what happened in every chat, and what each model call received, in a database.

SQLAlchemy, Alembic and psycopg are loaded when a store is opened, not when this package is imported (PEP 562).
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from xmcp.gateway.audit.errors import AuditError
    from xmcp.gateway.audit.log import AuditLog
    from xmcp.gateway.audit.middleware import AuditMiddleware
    from xmcp.gateway.audit.recording import RunOutcome, RunStart
    from xmcp.gateway.audit.writer import WriterLimits, WriterStatistics
    from xmcp.gateway.ids import uuid7

_HOME: Final[dict[str, str]] = {
    "AuditError": "xmcp.gateway.audit.errors",
    "AuditLog": "xmcp.gateway.audit.log",
    "AuditMiddleware": "xmcp.gateway.audit.middleware",
    "RunOutcome": "xmcp.gateway.audit.recording",
    "RunStart": "xmcp.gateway.audit.recording",
    "WriterLimits": "xmcp.gateway.audit.writer",
    "WriterStatistics": "xmcp.gateway.audit.writer",
    "uuid7": "xmcp.gateway.ids",
}

__all__ = [
    "AuditError",
    "AuditLog",
    "AuditMiddleware",
    "RunOutcome",
    "RunStart",
    "WriterLimits",
    "WriterStatistics",
    "uuid7",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'xmcp.gateway.audit' has no attribute {name!r}")
    try:
        value = globals()[name] = getattr(import_module(_HOME[name]), name)
    except ModuleNotFoundError as missing:
        if missing.name not in ("sqlalchemy", "alembic"):
            raise
        told = 'The audit store needs SQLAlchemy and Alembic: pip install "xmcp[gateway]".'
        raise ModuleNotFoundError(told, name=missing.name) from missing
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
