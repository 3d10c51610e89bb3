"""The words of a command that a person gave in quotes."""

from __future__ import annotations

import shlex

import click

from xmcp_conformance.core.untrusted_text import printable


def words_of(command: str, starts: str) -> list[str]:
    """Return the words of a command.

    Args:
        command: as it was given.
        starts: what the command starts, such as `codec`, for the error.

    Raises:
        click.BadParameter: it has none, or a quote without its end.
    """
    try:
        words = shlex.split(command)
    except ValueError as error:
        said = str(error).lower()
        raise click.BadParameter(f"`{printable(command)}`: {said}", param_hint="COMMAND") from error
    if not words:
        raise click.BadParameter(f"it is empty; name the command that starts the {starts}", param_hint="COMMAND")
    return words
