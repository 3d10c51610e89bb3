"""Databases for the tests of the gateway: a SQLite file, a PostgreSQL database, a server of the test's own."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest
from support.postgres_server import PostgresServer, programs
from support.redis_server import RedisServer
from support.redis_server import program as redis_program


def _missing(reason: str) -> None:
    if os.environ.get("CI", "").lower() == "true":
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture
def postgres_url() -> Iterator[str]:
    """The URL of an empty database; the test is skipped where no server answers, and fails where CI says so."""
    url = os.environ.get("POSTGRES_URL", "postgresql://postgres@127.0.0.1:5432/postgres")
    name = f"xmcp_test_{secrets.token_hex(8)}"
    try:
        with psycopg.connect(url, connect_timeout=2, autocommit=True) as server:
            server.execute(f"CREATE DATABASE \"{name}\" ENCODING 'UTF8' TEMPLATE template0")
    except (psycopg.Error, OSError) as exc:
        _missing(f"no PostgreSQL at POSTGRES_URL ({type(exc).__name__}): start one, or set the variable")
    yield urlsplit(url)._replace(path=f"/{name}").geturl()
    with psycopg.connect(url, autocommit=True) as server:
        server.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty database of each kind."""
    if request.param == "sqlite":
        return str(tmp_path / "audit.db")
    url: str = request.getfixturevalue("postgres_url")
    return url


@pytest.fixture
def redis_server() -> Iterator[RedisServer]:
    """A Redis that belongs to the test."""
    found = redis_program()
    if found is None:
        _missing("no redis-server: install it")
    assert found is not None
    with RedisServer(found) as server:
        yield server


@pytest.fixture
def postgres_server() -> Iterator[PostgresServer]:
    """A PostgreSQL server that belongs to the test."""
    folder = programs()
    if folder is None:
        _missing("no initdb of PostgreSQL: install the server's programs")
    assert folder is not None
    with PostgresServer(folder) as server:
        yield server
