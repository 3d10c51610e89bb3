"""What the failures need: databases of each kind, tool servers, and a gateway that is told what its model says."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest
from support.chat_script import ToldModel
from support.gateway_process import GatewayProcess, gateway_process
from support.mcp_servers import Program
from support.outages import Outage, cut, hung, locked, stopped
from support.postgres_server import PostgresServer, programs
from support.scripted_model import ChatServer

PEPPER = "a pepper of the tests, 32 characters and more"

Start = Callable[..., AbstractAsyncContextManager[GatewayProcess]]


@pytest.fixture(scope="session")
def tools() -> Iterator[Program]:
    """Tool servers over HTTP that no test stops."""
    program = Program()
    program.listen()
    yield program
    program.kill()


@pytest.fixture(scope="session")
def own_postgres() -> Iterator[PostgresServer | None]:
    """A PostgreSQL server of these tests; `None` where there are no programs of one."""
    folder = programs()
    if folder is None:
        yield None
        return
    with PostgresServer(folder) as server:
        yield server


@pytest.fixture
def own_database(own_postgres: PostgresServer | None, request: pytest.FixtureRequest) -> str:
    """The URL of an empty database in that server, or in the one at POSTGRES_URL."""
    url: str = request.getfixturevalue("postgres_url") if own_postgres is None else own_postgres.new_database()
    return url


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty database of each kind; that of PostgreSQL is in a server of the tests' own, if there can be one."""
    if request.param == "sqlite":
        return str(tmp_path / "audit.db")
    url: str = request.getfixturevalue("own_database")
    return url


@pytest.fixture(params=["sqlite locked", "postgresql stopped", "postgresql cut", "postgresql hung"])
async def outage(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Outage]:
    """A database that can be taken away. The way to POSTGRES_URL can be cut where no server can be started, too."""
    if request.param == "sqlite locked":
        making = locked(str(tmp_path / "audit.db"))
    elif request.param == "postgresql stopped":
        server = request.getfixturevalue("own_postgres")
        if server is None:
            pytest.skip("no initdb: that PostgreSQL is gone is tested by cutting the way to it")
        making = stopped(server, server.new_database())
    else:
        url = request.getfixturevalue("postgres_url")
        making = cut(url) if request.param == "postgresql cut" else hung(url)
    async with making as made:
        yield made


@pytest.fixture
def model(chat_server: ChatServer) -> ToldModel:
    """The model of the gateways."""
    return ToldModel(chat_server)


@pytest.fixture
def start(tmp_path: Path, model: ToldModel, tools: Program) -> Start:
    """Start a gateway with a database, and further tables of its configuration."""

    def gateway(database: str, *, before: Any = (), state: Path | None = None, **tables: Any) -> Any:
        folder = tmp_path / f"gateway-{len(list(tmp_path.glob('gateway-*')))}"
        folder.mkdir()
        config = {
            "audit": {"database": database, **tables.pop("audit", {})},
            "models": [{"id": "m", "provider": "openai", "model": "m", "base_url": model.server.url}],
            "servers": {"fragile": {"url": tools.url("fragile")}},
            **tables,
        }
        environment = {"XMCP_GATEWAY_PEPPER": PEPPER, "XDG_STATE_HOME": str(state or tmp_path / "state")}
        return gateway_process(folder, config, environment=environment, before=before)

    return gateway
