"""Files with servers: the forms of the hosts, variables, and errors that have the place and never a value."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from support.growth import is_linear

from xmcp.cli.chat.server_files import LARGEST, BadServerFile, read_server_file, servers_in
from xmcp.client import ServerTarget

SECRET = "sk-very-secret"
ENVIRONMENT = {"TOKEN": SECRET, "EMPTY": "", "PORT": "8080"}


def read(entry: Any, member: str = "mcpServers") -> ServerTarget:
    return servers_in(json.dumps({member: {"shop": entry}}), ENVIRONMENT).servers["shop"]


def wrong(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    with pytest.raises(BadServerFile) as raised:
        servers_in(text, ENVIRONMENT)
    assert SECRET not in str(raised.value)
    return str(raised.value)


@pytest.mark.parametrize("member", ["mcpServers", "servers", "context_servers"])
def test_a_command_with_its_arguments_variables_and_folder(member: str) -> None:
    entry = {"command": "npx", "args": ["-y", "shop"], "env": {"KEY": "v", "PORT": 8080, "ON": True}, "cwd": "/srv"}
    target = read({"type": "stdio", **entry}, member)
    assert target.target == ["npx", "-y", "shop"]
    assert target.env == {"KEY": "v", "PORT": "8080", "ON": "true"}
    assert target.cwd == "/srv"


def test_a_command_can_be_a_list() -> None:
    assert read({"command": ["npx", "-y", "shop"]}).target == ["npx", "-y", "shop"]


@pytest.mark.parametrize("beginning", ['"\\', '"\n', "/*", "/*/", ",\n", "//"])
def test_reading_a_file_costs_no_more_than_its_size(beginning: str) -> None:
    assert is_linear(lambda times: lambda: wrong(beginning * 4_000 * times))


def test_what_has_no_end_is_said_where_it_begins() -> None:
    assert wrong('{"mcpServers": {}, /* no end').startswith(", line 1, column 20:")
    assert wrong('{"mcpServers').startswith(", line 1, column 2:")


def test_a_number_that_nobody_can_read_is_said() -> None:
    assert "cannot be read" in wrong('{"mcpServers": ' + "1" * 5_000 + "}")


@pytest.mark.parametrize("member", ["url", "httpUrl", "serverUrl"])
def test_an_address_with_headers(member: str) -> None:
    target = read({member: "https://a.example/mcp", "headers": {"Authorization": "Bearer x"}})
    assert target.target == "https://a.example/mcp"
    assert target.headers == {"Authorization": "Bearer x"}


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("${TOKEN}", SECRET),
        ("${env:TOKEN}", SECRET),
        ("$TOKEN", SECRET),
        ("Bearer $TOKEN!", f"Bearer {SECRET}!"),
        ("${NONE:-other}", "other"),
        ("${EMPTY:-other}", "other"),
        ("${EMPTY}", ""),
        ("${NONE:-}", ""),
        ("costs $$5 and 10$", "costs $5 and 10$"),
        ("${workspaceFolder}/x", f"{os.getcwd()}/x"),
    ],
)
def test_values_name_variables_as_in_the_hosts(written: str, value: str) -> None:
    assert read({"command": "x", "env": {"A": written}}).env == {"A": value}
    assert read({"url": "https://a.example", "headers": {"A": written}}).headers == {"A": value}


def test_in_a_command_and_an_address_only_braces_name_variables() -> None:
    assert read({"command": "sh", "args": ["-c", "echo $TOKEN ${PORT}"]}).target == ["sh", "-c", "echo $TOKEN 8080"]
    assert read({"url": "http://localhost:${PORT}/mcp"}).target == "http://localhost:8080/mcp"


def test_comments_last_commas_and_a_mark_at_the_beginning_are_read(tmp_path: Path) -> None:
    text = """\ufeff{
      // where "things" are
      "servers": {
        "a": {"url": "http://a.example/mcp", /* not "http://b.example" */ "headers": {"X": "a,}"},},
      },
    }"""
    path = tmp_path / "mcp.json"
    path.write_text(text, encoding="utf-8")
    target = read_server_file(path, ENVIRONMENT).servers["a"]
    assert (target.target, target.headers) == ("http://a.example/mcp", {"X": "a,}"})


def test_servers_that_are_turned_off_are_left_out_and_need_no_variables() -> None:
    entries = {"a": {"command": "${NONE}", "disabled": True}, "b": {"url": "http://b.example", "enabled": False}}
    found = servers_in(json.dumps({"mcpServers": {**entries, "c": {"command": "c"}}}), ENVIRONMENT)
    assert list(found.servers) == ["c"]
    assert found.turned_off == ("a", "b")


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ('{"mcpServers": {\n  "a": {"command": "x" "args": []}}}', ", line 2, column 24: Expecting ',' delimiter."),
        ('{// one\n"mcpServers": }', ", line 2, column 15: Expecting value."),
        ("[" * 100_000, " is nested too deep."),
        ([], ' has no object `mcpServers`: write {"mcpServers"'),
        ({"mcpServers": {"a": "npx"}}, ": mcpServers.a is no object."),
        ({"mcpServers": {"a": {}}}, ": mcpServers.a has neither a `command` nor a `url`"),
        ({"mcpServers": {"a": {"command": "x", "url": "http://a"}}}, "has both a `command` and a `url`"),
        ({"mcpServers": {"a": {"command": ""}}}, ": mcpServers.a.command is empty."),
        ({"mcpServers": {"a": {"command": 5}}}, ": mcpServers.a.command is no text."),
        ({"mcpServers": {"a": {"command": "x", "args": "y"}}}, ": mcpServers.a.args is no list of texts."),
        ({"mcpServers": {"a": {"command": "x", "args": ["y", None]}}}, ": mcpServers.a.args[1] is no text."),
        ({"mcpServers": {"a": {"command": "x", "env": {"K": None}}}}, ": mcpServers.a.env.K is no text."),
        ({"mcpServers": {"a": {"command": "x", "env": []}}}, ": mcpServers.a.env is no object of names and texts."),
        ({"mcpServers": {"a": {"url": f"ftp://{SECRET}"}}}, ": mcpServers.a.url is not an http or https address."),
        ({"mcpServers": {"a": {"command": "x", "env": {"K": "a$NONE"}}}}, ".env.K needs the environment variable NONE"),
        ({"mcpServers": {"a": {"url": "${NONE}"}}}, ": mcpServers.a.url needs the environment variable NONE"),
        ({"servers": {"a": {"url": "http://a", "headers": {"K": "${input:key}"}}}}, "has `${input:key}`, which only"),
        ({"mcpServers": {"a\x1b": {}}}, ": mcpServers.a"),
    ],
)
def test_a_broken_file_says_where_and_nothing_secret(value: Any, words: str) -> None:
    said = wrong(value)
    assert words in said
    assert "\x1b" not in said


@pytest.mark.parametrize("data", [b"\xff{}", b" " * (LARGEST + 1)])
def test_a_file_that_cannot_be_read_is_named(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "mcp.json"
    path.write_bytes(data)
    with pytest.raises(BadServerFile, match=r"mcp\.json "):
        read_server_file(path)
    with pytest.raises(BadServerFile, match="cannot be read: No such file"):
        read_server_file(tmp_path / "none.json")
