"""How a command line names a server: a URL, a command, or a file or module that `xmcp serve` can serve.

The one reader of such names for the commands that talk to a server. target.py loads the file or module itself.
"""

from __future__ import annotations

import importlib.util
import re
import shlex
import shutil
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import click

from xmcp_conformance.profiles.server.peers import HttpPeer, StdioPeer, without_secrets

from .suggestions import likely

_ADDRESS = re.compile(r"\w+://\S*")
_WITHOUT_SCHEME = re.compile(r"(?:[\w.-]+|\[[0-9a-fA-F:]+\]):\d{1,5}(?:/\S*)?")
_FILE = re.compile(r"[^:]+\.py(?::[A-Za-z_][\w.]*)?")
_MODULE = re.compile(r"[A-Za-z_]\w*(?:\.\w+)*(?P<attribute>:[A-Za-z_][\w.]*)?")


_FORMS = """\b
SERVER is a server in any language:
  http://127.0.0.1:3333/mcp        a URL
  "node server.js --stdio"         a command in quotes
  -- node server.js --stdio        the same, as the last words
  server.py, package.module:mcp    a file or module, as for `xmcp serve`
"""


class ServerCommand(click.Command):
    """A command that takes a server: its help says how to name one."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **{"epilog": _FORMS, **settings})

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the words; an unknown option may belong to the server's command."""
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            meant = likely(error.option_name, error.possibilities or ())
            error = click.NoSuchOption(error.option_name, possibilities=meant, ctx=ctx)
            hint = "If it is an option of the server's command, put the command in quotes, or write -- before it."
            raise click.UsageError(f"{error.format_message()} {hint}", ctx) from None


def server_named(*words: str, option: str = "SERVER") -> HttpPeer | StdioPeer:
    """Return the server that words of a command line name. Several words are a command.

    Args:
        words: One word with a URL, a command, a file or a module; or the words of a command.
        option: What the words were given as, for messages.

    Raises:
        click.BadParameter: They name no server; the message says why.
    """
    text = words[0] if len(words) == 1 else ""
    if len(words) > 1:
        _refuse_words_after_a_server(words, option)
    if _ADDRESS.fullmatch(text):
        if not _is_http(text):
            raise click.BadParameter(f"`{without_secrets(text)}` is not an http or https address", param_hint=option)
        return HttpPeer(text)
    if _WITHOUT_SCHEME.fullmatch(text) and shutil.which(text) is None:
        raise click.BadParameter(f"for a URL, write `http://{without_secrets(text)}`", param_hint=option)
    if text and _is_served(text):
        place = text.partition(":")[0]
        if place.endswith(".py") and not Path(place).is_file():
            raise click.BadParameter(f"there is no file `{place}`", param_hint=option)
        return StdioPeer((sys.executable, "-m", "xmcp", "serve", text, "--transport", "stdio"))
    try:
        command = words if len(words) > 1 else tuple(shlex.split(text))
    except ValueError as error:
        raise click.BadParameter(f"{error} in `{text}`", param_hint=option) from error
    if not command:
        raise click.BadParameter("the command is empty", param_hint=option)
    return StdioPeer(command)


def servers_named(words: tuple[str, ...]) -> list[HttpPeer | StdioPeer]:
    """Return the servers that words of a command line name: one by one if the first is a server, else one command.

    Raises:
        click.BadParameter: They name no server; the message says why.
    """
    if len(words) > 1 and (_ADDRESS.fullmatch(words[0]) or _is_served(words[0]) or " " in words[0].strip()):
        return [server_named(word) for word in words]
    return [server_named(*words)] if words else []


def _refuse_words_after_a_server(words: tuple[str, ...], option: str) -> None:
    """Refuse several words of which the first is a server by itself, and no command that the others could belong to.

    Raises:
        click.BadParameter: It is one; the message says how to name two transports, or a command.
    """
    first, *others = (without_secrets(word) if "://" in word else word for word in words)
    if not (_ADDRESS.fullmatch(words[0]) or _is_served(words[0])):
        return
    if any(_ADDRESS.fullmatch(word) or _is_served(word) for word in words[1:]):
        raise click.BadParameter(
            f"`{first}` and `{others[0]}` are two servers. For one server over both transports, name each with its "
            "option, --stdio COMMAND --url URL; two servers take two runs",
            param_hint=option,
        )
    raise click.BadParameter(
        f"`{first}` is a server by itself, so `{' '.join(others)}` belongs to nothing. If the words are a command, "
        "begin with its program, as in `python server.py`",
        param_hint=option,
    )


def _is_http(url: str) -> bool:
    """Return whether `url` is an http or https address with a host and, if any, a possible port."""
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # an invalid port
        return False


def _is_served(text: str) -> bool:
    """Return whether a word is a file or module for `xmcp serve`, and not a command."""
    if " " in text and not Path(text.partition(":")[0]).is_file():  # a command that ends in the name of a file
        return False
    if shutil.which(text) is not None:
        return False
    if _FILE.fullmatch(text):
        return True
    module = None if Path(text).is_file() else _MODULE.fullmatch(text)  # server.js has the form of a module
    return module is not None and (bool(module["attribute"]) or _is_found(text))


def _is_found(module: str) -> bool:
    """Return whether the package of a module without an attribute exists: it could as well be a mistyped command."""
    top = module.partition(".")[0]
    return Path(f"{top}.py").is_file() or Path(top).is_dir() or importlib.util.find_spec(top) is not None
