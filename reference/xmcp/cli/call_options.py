"""The options of `xmcp check server` that say which calls are made, how fast, and for how long."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from xmcp.cli.numbers import Number
from xmcp_conformance.core.untrusted_text import printable
from xmcp_conformance.profiles.server.options import ERAS, Options

_DEFAULTS: Final = Options()
_LARGEST: Final = 5_000_000
"""Maximum size of a file of arguments, in bytes."""


_SECONDS: Final = Number(0.1, 300)
_Command = TypeVar("_Command", bound=Callable[..., Any])


def call_options(command: _Command) -> _Command:
    """Add the options of `Options` to a command, which gets them as the parameter `settings`."""

    @functools.wraps(command)
    def with_settings(
        *arguments: Any, era: str, timeouts: tuple[float, tuple[tuple[str, float], ...]], **options: Any
    ) -> Any:
        own = {name: options.pop(name) for name in _NAMES}
        eras = ERAS if era == "both" else (era,)
        settings = Options(eras=eras, call_timeout=timeouts[0], tool_timeouts=timeouts[1], **own)
        return command(*arguments, settings=settings, **options)

    wrapped: Any = with_settings
    for option in reversed(_OPTIONS):
        wrapped = option(wrapped)
    return wrapped  # type: ignore[no-any-return]


def _timeouts(
    _context: click.Context, _parameter: click.Parameter, given: tuple[str, ...]
) -> tuple[float, tuple[tuple[str, float], ...]]:
    """Return the seconds for each call, and those for tools of a name or a pattern."""
    usual, of_tools = _DEFAULTS.call_timeout, []
    for text in given:
        name, equals, number = text.rpartition("=")
        seconds: float = _SECONDS(number, _parameter, _context)
        if equals and not name:
            raise click.BadParameter(f"`{printable(text)}` names no tool; write SECONDS or TOOL=SECONDS")
        if equals:
            of_tools.append((name, seconds))
        else:
            usual = seconds
    return usual, tuple(of_tools)


def _known(
    _context: click.Context, _parameter: click.Parameter, path: Path | None
) -> Mapping[str, tuple[dict[str, Any], ...]]:
    """Return the arguments that a file has for each tool."""
    if path is None:
        return {}
    shown = printable(str(path))
    try:
        if path.stat().st_size > _LARGEST:
            raise click.BadParameter(f"`{shown}` has more than {_LARGEST:,} bytes")
        raw = json.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise click.BadParameter(f"`{shown}` cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise click.BadParameter(f"`{shown}` is not JSON: {printable(str(error))}") from error
    form = 'write {"TOOL": {"NAME": VALUE}}, or a list of such arguments for a tool'
    if not isinstance(raw, dict):
        raise click.BadParameter(f"`{shown}` is no object; {form}")
    known = {name: tuple(one) if isinstance(one, list) else (one,) for name, one in raw.items()}
    for name, several in known.items():
        if not several or not all(isinstance(one, dict) for one in several):
            raise click.BadParameter(f"`{shown}` has something else than arguments for `{printable(name)}`; {form}")
    return known


_OPTIONS: Final = (
    click.option("--allow-writes", is_flag=True, help="Also call tools that are not marked read-only."),
    click.option("--strict", is_flag=True, help="Count a broken SHOULD like a broken MUST."),
    click.option(
        "--era",
        type=click.Choice(["both", *ERAS]),
        default="both",
        show_default=True,
        help="Versions of MCP: the newest the server has, 2025-11-25 (handshake), or both.",
    ),
    click.option(
        "--include", multiple=True, metavar="TOOL", help="Call only tools of this name, or pattern such as 'read_*'."
    ),
    click.option("--exclude", multiple=True, metavar="TOOL", help="Do not call tools of this name or pattern."),
    click.option(
        "--arguments",
        "known",
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        metavar="FILE",
        callback=_known,
        help='Arguments with which tools succeed, as JSON: {"TOOL": {"NAME": VALUE}}. Others are made from them.',
    ),
    click.option(
        "--examples",
        type=click.IntRange(1, 1000),
        default=_DEFAULTS.examples,
        show_default=True,
        help="Argument sets for each tool.",
    ),
    click.option(
        "--calls",
        type=click.IntRange(min=1),
        help="Calls of each tool in a run, at most; fewer by default the more tools there are.",
    ),
    click.option(
        "--seed", type=int, default=_DEFAULTS.seed, show_default=True, help="The same seed makes the same calls."
    ),
    click.option(
        "--connect-timeout", type=_SECONDS, default=_DEFAULTS.connect_timeout, show_default=True, help="Seconds."
    ),
    click.option(
        "--call-timeout",
        "timeouts",
        multiple=True,
        metavar="[TOOL=]SECONDS",
        callback=_timeouts,
        help=f"Time for a call, or for those of a tool or pattern. Repeatable.  [default: {_DEFAULTS.call_timeout}]",
    ),
    click.option("--rate", type=Number(0.1, 10_000), metavar="NUMBER", help="Calls in a second, at most."),
    click.option(
        "--max-time",
        type=Number(1, 86_400),
        metavar="SECONDS",
        help="Time after which no other call is made; the check then fails, unless all were made.",
    ),
    click.option(
        "--one-process",
        is_flag=True,
        help="Start a command again only after it has ended: slower, for a server that cannot run twice.",
    ),
)
_NAMES: Final = (
    *("allow_writes", "strict", "include", "exclude", "known", "examples", "calls", "seed", "connect_timeout"),
    *("rate", "max_time", "one_process"),
)
