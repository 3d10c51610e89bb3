"""What importing costs: nothing of the database packages is loaded before a store is opened."""

from __future__ import annotations

import subprocess
import sys

import pytest

import xmcp.gateway.audit

HEAVY = {"sqlalchemy", "alembic", "psycopg", "sqlite3", "mako"}


def _run(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=True)
    return done.stdout


@pytest.mark.parametrize(
    "code",
    [
        "import xmcp",
        "import xmcp.gateway.audit",
        "from xmcp.cli import run; assert run(['--help']) == 0",
        "from xmcp.cli import run; assert run(['audit', '--help']) == 0",
        "from xmcp.cli import run; assert run(['gateway', 'keys', '--help']) == 0",
    ],
)
def test_the_database_packages_are_not_loaded(code: str) -> None:
    loaded = {*_run(f"import sys; {code}; print(*sys.modules)").splitlines()[-1].split()}
    assert loaded & HEAVY == set()


def test_a_gateway_without_a_database_loads_no_database_package() -> None:
    code = (
        "import sys; from xmcp.cli.gateway_parts import gateway_of; from xmcp.gateway.config import GatewayConfig\n"
        "from xmcp.gateway.http.app import application\n"
        "application(gateway_of(GatewayConfig(), {}, provider='demo')); print(*sys.modules)"
    )
    assert {*_run(code).splitlines()[-1].split()} & (HEAVY - {"sqlite3"}) == set()


def test_without_the_packages_a_store_says_what_to_install() -> None:
    hidden = "import sys, asyncio; sys.modules['{0}'] = None\ntry:\n from xmcp.gateway.audit import AuditLog\n"
    opened = " asyncio.run(AuditLog.open('{1}'))\nexcept Exception as exc: print(type(exc).__name__, exc)"
    for package, database, extra in (
        ("sqlalchemy", "/tmp/never.db", "xmcp[gateway]"),
        ("alembic", "/tmp/never.db", "xmcp[gateway]"),
        ("psycopg", "postgresql://127.0.0.1:1/x", "xmcp[gateway,postgres]"),
    ):
        told = _run((hidden + opened).format(package, database))
        assert f'pip install "{extra}"' in told, package
        assert told.startswith(("AuditError", "ModuleNotFoundError"))


def test_every_public_name_is_there_and_no_other() -> None:
    for name in xmcp.gateway.audit.__all__:
        assert name in dir(xmcp.gateway.audit)
        getattr(xmcp.gateway.audit, name)
    with pytest.raises(AttributeError, match="AuditLogs'"):
        _ = xmcp.gateway.audit.AuditLogs
