"""What a server needs before it answers: headers, variables, a folder; and where what it writes to its log is kept."""

from __future__ import annotations

import functools
import re
import socket
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit

import click

from xmcp.cli.numbers import Number
from xmcp_conformance.core.command_environment import OURS, CommandEnvironment
from xmcp_conformance.profiles.server.peers import HttpPeer, Peer, StdioPeer

_Command = TypeVar("_Command", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Access:
    """What the command line gives the servers that it names."""

    headers: tuple[tuple[str, str], ...] = ()
    environment: CommandEnvironment = OURS
    wait: float = 0.0
    """Seconds in which the port of a server can still be closed, because the server is starting."""

    def of(self, peers: Sequence[Peer]) -> list[Peer]:
        """Return the servers with it.

        Raises:
            click.UsageError: none of them has a use for an option.
        """
        if self.headers and not any(isinstance(peer, HttpPeer) for peer in peers):
            raise click.UsageError("--header is for a server over HTTP, and none is named.")
        if self.environment != OURS and not any(isinstance(peer, StdioPeer) for peer in peers):
            raise click.UsageError("--env, --cwd and --log are for a command, and none is named.")
        if self.headers and len({urlsplit(peer.url)[:2] for peer in peers if isinstance(peer, HttpPeer)}) > 1:
            raise click.UsageError("--header would go to several servers; check or see them one by one.")
        if self.wait and not any(isinstance(peer, HttpPeer) for peer in peers):
            raise click.UsageError("--wait is for a server over HTTP, and none is named.")
        _empty(self.environment.log)
        until = time.monotonic() + self.wait
        for peer in peers:
            if isinstance(peer, HttpPeer) and self.wait:
                wait_for_port(peer.url, until)
        return [self._with(peer) for peer in peers]

    def _with(self, peer: Peer) -> Peer:
        if isinstance(peer, HttpPeer):
            return replace(peer, headers=self.headers)
        if isinstance(peer, StdioPeer):
            return replace(peer, environment=self.environment)
        return peer


def wait_for_port(url: str, until: float) -> None:
    """Return when connections are accepted at the address, or `until` is over: then the check says what is wrong."""
    try:
        parts = urlsplit(url)
        address = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError:
        return
    told = False
    while True:
        with suppress(OSError), socket.create_connection(address, timeout=_CONNECT_SECONDS):
            return
        if time.monotonic() + _BETWEEN_SECONDS > until:
            return
        if not told:
            click.echo(
                f"Waiting for port {address[1]} of {address[0]}, at most {until - time.monotonic():.0f} s …", err=True
            )
            told = True
        time.sleep(_BETWEEN_SECONDS)


_CONNECT_SECONDS: Final = 2.0
_BETWEEN_SECONDS: Final = 0.2
_HEADER_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
"""RFC 9110, section 5.6.2."""


def _headers(
    _context: click.Context, _parameter: click.Parameter, given: tuple[str, ...]
) -> tuple[tuple[str, str], ...]:
    """Return names and values; no message has a value, which can be a secret."""
    pairs = [(name.strip(), value.strip()) for name, _, value in (one.partition(":") for one in given)]
    for name, value in pairs:
        if not _HEADER_NAME.fullmatch(name) or not value:
            raise click.BadParameter("write the name, a colon and the value, such as 'Authorization: Bearer …'")
        if not (value.isascii() and value.isprintable()):
            raise click.BadParameter(f"the value of `{name}` has characters that no header can have")
    return tuple(pairs)


def _variables(
    _context: click.Context, _parameter: click.Parameter, given: tuple[str, ...]
) -> tuple[tuple[str, str], ...]:
    """Return names and values; no message has a value, which can be a secret."""
    pairs = [(name, value) for name, _, value in (one.partition("=") for one in given)]
    if not all(name and "=" in one and "\0" not in one for (name, _), one in zip(pairs, given, strict=True)):
        raise click.BadParameter("write the name, an equals sign and the value, such as DATABASE_URL=…")
    return tuple(pairs)


def _log(_context: click.Context, _parameter: click.Parameter, path: str | None) -> str | None:
    """Return the path of a file that can be written; it is emptied when the command begins."""
    if path is not None:
        try:
            Path(path).open("ab").close()
        except OSError as error:
            raise click.BadParameter(f"`{path}` cannot be written: {error.strerror}") from error
    return path


def _empty(log: str | None) -> None:
    if log is not None:
        Path(log).write_bytes(b"")


def _of_commands(what: str) -> tuple[Callable[[Any], Any], ...]:
    """Return the options that say what a command runs in; `what` is the command in their help."""
    return (
        click.option(
            "--env",
            multiple=True,
            metavar="NAME=VALUE",
            callback=_variables,
            help=f"Variable in the environment of {what}. Repeatable.",
        ),
        click.option(
            "--cwd",
            type=click.Path(exists=True, file_okay=False),
            help=f"Folder in which {what} runs; default: this one.",
        ),
        click.option(
            "--log",
            type=click.Path(dir_okay=False),
            metavar="FILE",
            callback=_log,
            help=f"Keep in FILE what {what} writes to its standard error.",
        ),
    )


def environment_options(what: str) -> Callable[[_Command], _Command]:
    """Return the decorator of the options of `CommandEnvironment`, the parameter `environment`; `what` has them."""

    def decorated(command: _Command) -> _Command:
        @functools.wraps(command)
        def with_environment(
            *arguments: Any, env: tuple[tuple[str, str], ...], cwd: str | None, log: str | None, **others: Any
        ) -> Any:
            _empty(log)
            return command(*arguments, environment=CommandEnvironment(env, cwd, log), **others)

        wrapped: Any = with_environment
        for option in reversed(_of_commands(what)):
            wrapped = option(wrapped)
        return wrapped  # type: ignore[no-any-return]

    return decorated


header_option = click.option(
    "--header",
    "headers",
    multiple=True,
    metavar="NAME:VALUE",
    callback=_headers,
    help="Header of each HTTP request, such as 'Authorization: Bearer …'. Repeatable.",
)
wait_option = click.option(
    "--wait",
    type=Number(0, 600),
    default=0.0,
    metavar="SECONDS",
    help="Wait so long for the port of a server over HTTP that was just started.",
)


def access_options(command: _Command) -> _Command:
    """Add the options of `Access` to a command, which gets it as the parameter `access`."""

    @functools.wraps(command)
    def with_access(
        *arguments: Any,
        headers: tuple[tuple[str, str], ...],
        env: tuple[tuple[str, str], ...],
        cwd: str | None,
        log: str | None,
        wait: float,
        **others: Any,
    ) -> Any:
        return command(*arguments, access=Access(headers, CommandEnvironment(env, cwd, log), wait), **others)

    options = (header_option, wait_option, *_of_commands("a command"))
    wrapped: Any = with_access
    for option in reversed(options):
        wrapped = option(wrapped)
    return wrapped  # type: ignore[no-any-return]
