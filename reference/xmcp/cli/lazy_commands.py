"""Groups of commands that are loaded only when they are used, so that help and completion load no SDK."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import click

from xmcp.cli.suggestions import did_you_mean


@dataclass(frozen=True, slots=True)
class LazyCommand:
    """The module of a command, and its line in the help. The click object in the module has the command's name."""

    module: str
    summary: str


class LazyGroup(click.Group):
    """A group whose commands are loaded when they are used."""

    def __init__(self, *arguments: Any, lazy: Mapping[str, LazyCommand], **named: Any) -> None:
        """Create the group: `lazy` has its commands by name, in the order of the help."""
        super().__init__(*arguments, **named)
        self.lazy = lazy

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Return the names of the commands."""
        return list(self.lazy)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Load a command."""
        if cmd_name not in self.lazy:
            return None
        command = getattr(import_module(self.lazy[cmd_name].module), cmd_name)
        if not isinstance(command, click.Command):
            raise TypeError(f"{self.lazy[cmd_name].module}.{cmd_name} is not a click command")
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that the first word names.

        Raises:
            click.UsageError: there is none; the message says which one may be meant.
        """
        word = args[0]
        if word not in self.lazy and not word.startswith("-") and not ctx.resilient_parsing:
            self.fail_unknown(ctx, word)
        return super().resolve_command(ctx, args)

    def fail_unknown(self, ctx: click.Context, word: str) -> None:
        """Say that there is no such command.

        Raises:
            click.UsageError: always.
        """
        ctx.fail(f"No such command {word!r}.{did_you_mean(word, self.lazy)}")

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """Write the table of the commands."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, command.summary) for name, command in self.lazy.items()])
