"""The servers in a file that other hosts read, too: `mcpServers` of Claude, Cursor and others, `servers` of VS Code.

Values can name variables of the environment. An error has the file and the place, and never a value: it can be a key.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from xmcp.chat.untrusted_text import printable
from xmcp.cli.named_files import reason_of
from xmcp.client import ServerTarget

MEMBERS: Final = ("mcpServers", "servers", "context_servers")
"""Where hosts have their servers: most of them, VS Code, Zed."""
LARGEST: Final = 1_000_000
"""Maximum size of a file, in bytes."""

_URLS: Final = ("url", "httpUrl", "serverUrl")
"""The address, as Claude, Cursor and VS Code write it; as Gemini CLI; as Windsurf."""


class BadServerFile(ValueError):
    """A file that does not say how to reach its servers; the message says where, and what to do."""


@dataclass(frozen=True, slots=True)
class ServerFile:
    """The servers of a file by their names in it, and the names of those that it turns off."""

    servers: dict[str, ServerTarget]
    turned_off: tuple[str, ...] = ()


def read_server_file(path: Path, environment: Mapping[str, str] = os.environ) -> ServerFile:
    """Return the servers of a file.

    Raises:
        BadServerFile: it cannot be read, or not understood.
    """
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST + 1)
        if len(data) > LARGEST:
            raise BadServerFile(f"{_shown(path)} has more than {LARGEST:,} bytes.")
        text = data.decode("utf-8-sig")
    except OSError as error:
        raise BadServerFile(f"{_shown(path)} cannot be read: {reason_of(error)}.") from error
    except UnicodeDecodeError as error:
        raise BadServerFile(f"{_shown(path)} is not UTF-8: byte {error.start} is none of it.") from error
    try:
        return servers_in(text, environment)
    except BadServerFile as error:
        raise BadServerFile(f"{_shown(path)}{error}") from error.__cause__


def servers_in(text: str, environment: Mapping[str, str]) -> ServerFile:
    """Return the servers in the text of a file: JSON, which can have comments and commas after the last member.

    Raises:
        BadServerFile: it is not understood; the message begins with the place, to follow the name of the file.
    """
    try:
        value = json.loads(_plain_json(text))
    except json.JSONDecodeError as error:
        raise BadServerFile(f", line {error.lineno}, column {error.colno}: {error.msg}.") from error
    except RecursionError as error:
        raise BadServerFile(" is nested too deep.") from error
    except ValueError as error:
        raise BadServerFile(f" cannot be read: {printable(str(error))}.") from error
    member = next((name for name in MEMBERS if isinstance(value, dict) and isinstance(value.get(name), dict)), None)
    if member is None:
        raise BadServerFile(' has no object `mcpServers`: write {"mcpServers": {"NAME": {"command": "…"}}}.')
    entries = value[member]
    for name, entry in entries.items():
        if not isinstance(entry, dict):
            raise BadServerFile(f": {_place(member, name)} is no object.")
    on = {name: entry for name, entry in entries.items() if not _is_off(entry)}
    targets = {name: _Reader(_place(member, name), environment).target(entry) for name, entry in on.items()}
    return ServerFile(targets, tuple(name for name in entries if name not in on))


def with_variables(text: str, place: str, environment: Mapping[str, str]) -> str:
    """Return a text with the values of the variables that it names, as a server's `url` can have them.

    Raises:
        BadServerFile: one is not set; the message has `place`, and no value.
    """
    return _Reader(place, environment).expanded(text)


def _is_off(entry: Mapping[str, Any]) -> bool:
    return entry.get("disabled") is True or entry.get("enabled") is False


def _shown(path: Path) -> str:
    return printable(str(path))


def _place(*members: str) -> str:
    return ".".join(printable(member) for member in members)


# Strings and comments without an end are found, too: else each beginning would be followed to the end of the text.
_STRING: Final = r'("(?:[^"\\\n]|\\.)*"?)'
_NO_JSON: Final = re.compile(_STRING + r"|(/\*(?:(?!\*/).)*\Z)|//[^\n]*|/\*.*?\*/", re.DOTALL)
_LAST_COMMA: Final = re.compile(_STRING + r"|,(?=\s*+[}\]])")


def _plain_json(text: str) -> str:
    """Return JSON without comments and last commas; what is left stands where it stood, for messages."""

    def blank(found: re.Match[str]) -> str:
        return found[0] if found.lastindex else re.sub(r"[^\n]", " ", found[0])

    return _LAST_COMMA.sub(blank, _NO_JSON.sub(blank, text))


class _Reader:
    """Reads one entry. `place` is where it stands."""

    def __init__(self, place: str, environment: Mapping[str, str]) -> None:
        self._place = place
        self._environment = environment

    def target(self, entry: Mapping[str, Any]) -> ServerTarget:
        """Return the server."""
        address = next((name for name in _URLS if name in entry), None)
        if (address is None) is ("command" not in entry):
            have = "neither a `command` nor a `url`" if address is None else "both a `command` and a `url`"
            raise self._wrong("", f"has {have}; a server has one of the two")
        try:
            return self._by_command(entry) if address is None else self._by_url(entry, address)
        except (TypeError, ValueError) as error:
            if isinstance(error, BadServerFile):
                raise
            raise self._wrong("", f"is no server: {error}") from error

    def expanded(self, text: str) -> str:
        """Return a text with the variables that it names."""
        return self._text(text, "")

    def _by_command(self, entry: Mapping[str, Any]) -> ServerTarget:
        command = entry["command"]
        begin = self._texts(command, "command") if isinstance(command, list) else [self._text(command, "command")]
        args = self._texts(entry.get("args", []), "args")
        if not begin or not begin[0]:
            raise self._wrong("command", "is empty")
        cwd = self._text(entry["cwd"], "cwd") if entry.get("cwd") is not None else None
        return ServerTarget([*begin, *args], env=self._mapping(entry, "env"), cwd=cwd)

    def _by_url(self, entry: Mapping[str, Any], address: str) -> ServerTarget:
        url = self._text(entry[address], address)
        if not re.match(r"https?://[^\s/]", url, re.IGNORECASE):
            raise self._wrong(address, "is not an http or https address")
        return ServerTarget(url, headers=self._mapping(entry, "headers"))

    def _mapping(self, entry: Mapping[str, Any], member: str) -> dict[str, str] | None:
        given = entry.get(member)
        if given is None:
            return None
        if not isinstance(given, dict):
            raise self._wrong(member, "is no object of names and texts")
        # People write ports and flags as JSON values.
        texts = {n: str(v).lower() if isinstance(v, bool | int) else v for n, v in given.items()}
        return {name: self._text(value, f"{member}.{name}", bare=True) for name, value in texts.items()}

    def _texts(self, given: Any, member: str) -> list[str]:
        if not isinstance(given, list):
            raise self._wrong(member, "is no list of texts")
        return [self._text(value, f"{member}[{index}]") for index, value in enumerate(given)]

    def _text(self, given: Any, member: str, *, bare: bool = False) -> str:
        """Return a text with the variables that it names; `bare` ones (`$NAME`) only where a text is no command."""
        if not isinstance(given, str):
            raise self._wrong(member, "is no text")
        return (_ANY_VARIABLE if bare else _VARIABLE).sub(lambda found: self._value(found, member), given)

    def _value(self, found: re.Match[str], member: str) -> str:
        groups = found.groupdict()
        if found[0] == "$$":
            return "$"
        kind, name, default = groups["kind"], groups["name"] or groups.get("bare") or "", groups["default"]
        if kind not in (None, "env"):
            raise self._wrong(
                member, f"has `{printable(found[0])}`, which only the host can fill in that asks for it; use ${{NAME}}"
            )
        if kind is None and name in _PLACES:
            return _PLACES[name]()
        if (value := self._environment.get(name)) is not None and (value or default is None):
            return value
        if default is None:
            raise self._wrong(member, f"needs the environment variable {name}, which is not set")
        return default

    def _wrong(self, member: str, what: str) -> BadServerFile:
        return BadServerFile(f": {self._place}{'.' if member else ''}{printable(member)} {what}.")


_VARIABLE: Final = re.compile(r"\$\{(?:(?P<kind>\w+):)?(?P<name>[A-Za-z_][\w.-]*)(?::-(?P<default>[^}]*))?\}")
"""`${NAME}`, `${NAME:-default}` (Claude Code), `${env:NAME}` (Cursor, VS Code)."""
_ANY_VARIABLE: Final = re.compile(rf"\$\$|{_VARIABLE.pattern}|\$(?P<bare>[A-Za-z_]\w*)")
"""The same, and `$NAME` (Gemini CLI); `$$` is a dollar sign."""
_PLACES: Final[Mapping[str, Callable[[], str]]] = {
    "workspaceFolder": os.getcwd,
    "userHome": lambda: os.path.expanduser("~"),
}
"""What VS Code and Cursor fill in by themselves."""
