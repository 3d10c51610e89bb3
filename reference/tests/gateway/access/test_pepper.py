"""The pepper of a database of keys: whoever has another one is told so, before all keys are refused one by one."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from support.issued_keys import in_database

from xmcp.cli import run
from xmcp.gateway.access.access import KeyDatabase
from xmcp.gateway.access.issued_keys import PEPPER_VARIABLE
from xmcp.gateway.access.opening import NoKeyDatabase, check_pepper, key_database

RIGHT, WRONG = {PEPPER_VARIABLE: "the pepper of the first start, 32 or more"}, {PEPPER_VARIABLE: "x" * 32}
TOLD = f"{PEPPER_VARIABLE} is not the pepper with which the keys in "


def test_the_first_pepper_is_noted_and_another_one_is_refused(database: str) -> None:
    check_pepper(database, WRONG)  # there is nothing yet
    opened = key_database(database, RIGHT)
    key_database(database, RIGHT)
    check_pepper(database, RIGHT)
    for open_ in (key_database, check_pepper):
        with pytest.raises(NoKeyDatabase, match=TOLD):
            open_(database, WRONG)
    rows = in_database(opened, lambda execute: execute("SELECT name, value FROM access_settings", []))
    assert [name for name, _ in rows] == ["pepper"]
    assert RIGHT[PEPPER_VARIABLE] not in rows[0][1]
    in_database(opened, lambda execute: execute("DELETE FROM access_settings WHERE name = ?", ["pepper"]))
    key_database(database, WRONG)  # as the guide says to begin anew


def test_of_gateways_that_start_at_once_with_two_peppers_one_is_refused(database: str) -> None:
    key_database(database, RIGHT)
    in_database(key_database(database, RIGHT), lambda execute: execute("DELETE FROM access_settings", []))
    opened: list[KeyDatabase] = []
    refused: list[NoKeyDatabase] = []
    at_once = threading.Barrier(2)

    def start(environment: dict[str, str]) -> None:
        at_once.wait(30)
        try:
            opened.append(key_database(database, environment))
        except NoKeyDatabase as error:
            refused.append(error)

    threads = [threading.Thread(target=start, args=(one,)) for one in (RIGHT, WRONG)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(opened), len(refused)) == (1, 1)


@pytest.fixture
def configured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[dict[str, str]], str]:
    """A file with a database of keys; the function sets the pepper, and returns its path."""
    monkeypatch.setattr("logging.config.dictConfig", lambda _: None)  # which would hold for all later tests, too
    file = tmp_path / "gateway.toml"
    file.write_text(f'[[models]]\nid = "a"\nprovider = "demo"\n[access]\ndatabase = "{tmp_path / "keys.db"}"\n')

    def with_pepper(environment: dict[str, str]) -> str:
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        return str(file)

    return with_pepper


def test_every_command_says_so(configured: Callable[[dict[str, str]], str], capsys: pytest.CaptureFixture[str]) -> None:
    file = configured(RIGHT)
    keys = ["gateway", "keys", "--config", file]
    assert run(["gateway", "check", file]) == 0
    assert "is fine: 1 model, 0 servers, keys in a database; it listens" in capsys.readouterr().out
    assert not Path(file).with_name("keys.db").exists()
    assert run([*keys, "add", "k", "--tenant", "t", "--events", "xmcp"]) == 0
    assert run([*keys, "list"]) == 0
    configured(WRONG)
    for command in (["gateway", "check", file], ["gateway", "--port", "0", file], [*keys, "list"]):
        capsys.readouterr()
        assert run(command) == 1
        assert TOLD in " ".join(capsys.readouterr().err.split())


def test_the_events_of_a_key_can_be_set(
    configured: Callable[[dict[str, str]], str], capsys: pytest.CaptureFixture[str]
) -> None:
    from xmcp.gateway.access import key_store

    file = configured(RIGHT)
    assert run(["gateway", "keys", "--config", file, "add", "k", "--tenant", "t", "--events", "openwebui"]) == 0
    capsys.readouterr()
    stored = key_database(str(Path(file).with_name("keys.db")), RIGHT)
    (key,) = in_database(stored, lambda execute: key_store.list_keys(execute, "t", "", 10))
    assert key.terms.events == "openwebui"
