"""The schema: what the migrations make is what the tables say, on every database, and no other version is touched."""

from __future__ import annotations

import sqlite3
import threading
from pathlib import Path
from typing import Any

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import inspect, text
from support.audited_runs import one

from xmcp.gateway.audit import AuditError, schema
from xmcp.gateway.audit.database import address_of, engine_of
from xmcp.gateway.audit.schema import NEWEST, migrate, opened, require_newest
from xmcp.gateway.audit.tables import METADATA


def test_the_migrations_make_exactly_the_tables_of_the_metadata(database: str) -> None:
    address = address_of(database)
    migrate(address)
    with engine_of(address).connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True, "compare_server_default": True})
        assert compare_metadata(context, METADATA) == []
        found = inspect(connection)
        assert {*found.get_table_names()} == {*METADATA.tables, "alembic_version"}
        # Alembic does not compare primary keys, comments aside.
        for name, table in METADATA.tables.items():
            key = found.get_pk_constraint(name)
            assert key["constrained_columns"] == [column.name for column in table.primary_key]
            columns = {column["name"]: column for column in found.get_columns(name)}
            for column in table.columns:
                assert columns[column.name]["nullable"] == column.nullable, f"{name}.{column.name}"
                if address.kind == "postgresql":
                    assert columns[column.name].get("comment") == column.comment, f"{name}.{column.name}"


def test_the_newest_version_is_the_head_of_the_migrations() -> None:
    assert ScriptDirectory.from_config(schema._config()).get_heads() == [NEWEST]


def test_migrating_again_changes_nothing_and_processes_may_do_it_at_once(database: str) -> None:
    address, failures = address_of(database), []

    def at_once() -> None:
        try:
            migrate(address)
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=at_once) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    migrate(address)
    assert one(database, "SELECT version_num FROM alembic_version") == NEWEST


def test_a_version_that_is_not_known_is_refused_and_left_as_it_is(database: str) -> None:
    address = address_of(database)
    migrate(address)
    with engine_of(address).begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(AuditError, match=r"version 9999 .* does not know"):
        migrate(address)
    with pytest.raises(AuditError, match=r"version 9999 .* does not know"), opened(address) as connection:
        require_newest(address, connection)
    assert one(database, "SELECT version_num FROM alembic_version") == "9999"


def test_an_old_version_is_not_read_but_says_how_it_becomes_new(tmp_path: Path) -> None:
    address = address_of(tmp_path / "audit.db")
    migrate(address)
    with engine_of(address).begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '0001'"))
    old = pytest.raises(AuditError, match=rf"has version 0001 .* reads version {NEWEST}: start the gateway")
    with old, opened(address, read_only=True) as connection:
        require_newest(address, connection)


def test_a_store_of_the_first_version_keeps_its_rows_and_gets_the_tables_of_the_second(database: str) -> None:
    address = address_of(database)
    with engine_of(address).begin() as connection:
        command.upgrade(schema._config(connection), "0001")
        connection.execute(text("INSERT INTO conversations VALUES ('c', 't', 's', 1, 2)"))
    migrate(address)
    assert one(database, "SELECT tenant FROM conversations") == "t"
    assert one(database, "SELECT count(*) FROM api_keys") == 0


def test_a_new_file_is_for_nobody_else_to_read(tmp_path: Path) -> None:
    migrate(address_of(tmp_path / "audit.db"))
    assert (tmp_path / "audit.db").stat().st_mode & 0o777 == 0o600


def test_a_migration_that_fails_leaves_nothing_behind(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from xmcp.gateway.audit.migrations.versions import v0001_first_tables as first

    address = address_of(database)
    whole = first.upgrade

    def fails(*_: Any) -> None:
        whole()
        raise RuntimeError("in the middle")

    script = ScriptDirectory.from_config(schema._config())
    monkeypatch.setattr(script.get_revision("0001").module, "upgrade", fails)
    monkeypatch.setattr(ScriptDirectory, "from_config", lambda _: script)
    with pytest.raises(RuntimeError, match="in the middle"):
        migrate(address)
    with engine_of(address).connect() as connection:
        assert inspect(connection).get_table_names() == []


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("", "names no file"),
        (":memory:", "names no file"),
        ("sqlite://", "four slashes"),
        ("sqlite:///:memory:", "four slashes"),
        ("mysql://u:secret@host/db", "'mysql' is no database"),
        ("postgresql://u:sec/ret@host:port:5/db", "cannot be parsed"),
    ],
)
def test_what_names_no_database_is_refused_without_its_password(given: str, said: str) -> None:
    with pytest.raises(AuditError, match=said) as caught:
        address_of(given)
    assert "secret" not in str(caught.value)
    assert "sec/ret" not in str(caught.value)


def test_an_address_has_no_credentials_in_its_name() -> None:
    address = address_of("postgres://ann:s3cret@db.example:6000/chats?sslmode=require&password=other")
    assert address.name == "postgresql://db.example:6000/chats"
    assert address.target.startswith("postgresql://ann:s3cret@")


def test_what_cannot_be_opened_is_told_in_a_sentence(tmp_path: Path) -> None:
    text_file = tmp_path / "notes.txt"
    text_file.write_text("no database at all, but long enough for a header " * 40)
    folder = tmp_path / "folder"
    folder.mkdir()
    for path, said in (
        (text_file, "cannot be used as a SQLite database: file is not a database"),
        (folder, "cannot be used as a SQLite database: unable to open"),
        (tmp_path / "none" / "audit.db", "none/audit.db cannot be created: unable to open"),
    ):
        with pytest.raises(AuditError, match=said):
            migrate(address_of(path))
    with pytest.raises(AuditError, match=r"postgresql://127.0.0.1:1/x cannot be used: .* Check that it runs") as caught:
        migrate(address_of("postgresql://ann:s3cret@127.0.0.1:1/x"))
    assert "s3cret" not in str(caught.value)
    empty = tmp_path / "other.db"
    with sqlite3.connect(empty) as connection:
        connection.execute("CREATE TABLE t (x)")
    other = address_of(empty)
    with pytest.raises(AuditError, match="has no audit tables"), opened(other, read_only=True) as reader:
        require_newest(other, reader)
    with pytest.raises(AuditError, match="There is no file"), opened(address_of(tmp_path / "not"), read_only=True):
        pass
    assert not (tmp_path / "not").exists()
