"""The commands of a chat: words that begin with `/` and are not for the model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from xmcp.cli.suggestions import did_you_mean


@dataclass(frozen=True, slots=True)
class Command:
    """A command: what it takes, and its line in `/help`. What it does is the session's."""

    takes: str
    summary: str


COMMANDS: Final[Mapping[str, Command]] = {
    "/help": Command("", "Show this list."),
    "/tools": Command("[WORD]", "Show the servers and their tools, or those with a word in them."),
    "/model": Command("[NAME]", "Show the model, or ask another one of this vendor from now on."),
    "/system": Command("[TEXT]", "Show the instructions to the model, or set them; /system - takes them back."),
    "/clear": Command("", "Forget the conversation and begin a new one."),
    "/save": Command("[FILE]", "Write the conversation into a file."),
    "/load": Command("FILE", "Go on with the conversation in a file."),
    "/usage": Command("", "Show what the conversation has used."),
    "/quit": Command("", "Leave."),
}


class NoSuchCommand(ValueError):
    """There is no such command; the message says which one may be meant."""


def command_in(line: str) -> tuple[str, str] | None:
    """Return the name of the command that a line gives, and what it is given; `None` if the line is for the model.

    A path (`/etc/hosts is …`) is for the model: a command is one word of letters.

    Raises:
        NoSuchCommand: it is none of them.
    """
    word, _, rest = line.strip().partition(" ")
    if not (word.startswith("/") and word[1:].isalpha()):
        return None
    name = _ALIASES.get(word.lower(), word.lower())
    if name not in COMMANDS:
        raise NoSuchCommand(f"There is no command {word}.{did_you_mean(word, COMMANDS)} /help shows all of them.")
    return name, rest.strip()


_ALIASES: Final = {"/exit": "/quit", "/q": "/quit", "/h": "/help"}


def completions(begun: str) -> Sequence[str]:
    """Return the commands that begin so."""
    return [name for name in COMMANDS if begun.startswith("/") and name.startswith(begun.lower())]
