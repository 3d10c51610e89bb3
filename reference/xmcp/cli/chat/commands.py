"""The commands of a chat: words that begin with `/` and are not for the model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from xmcp.cli.suggestions import did_you_mean


class Commanded(Protocol):
    """What the commands act on: the running chat."""

    def show_help(self) -> None:
        """List the commands."""

    def show_tools(self, word: str) -> None:
        """List the servers and their tools, or those with a word in them."""

    def change_model(self, name: str) -> None:
        """Say which model is asked, or ask another one from now on."""

    def change_system(self, text: str) -> None:
        """Say the instructions to the model, or change them."""

    def clear(self) -> None:
        """Begin a new conversation."""

    def save(self, file: str) -> None:
        """Write the conversation into a file."""

    def load(self, file: str) -> None:
        """Go on with the conversation in a file."""

    def show_usage(self) -> None:
        """Say what the conversation has used."""

    def leave(self) -> None:
        """End the chat."""


@dataclass(frozen=True, slots=True)
class Command:
    """A command: what it takes, its line in `/help`, and what it does."""

    takes: str
    summary: str
    run: Callable[[Commanded, str], None]


COMMANDS: Final[Mapping[str, Command]] = {
    "/help": Command("", "Show this list.", lambda session, _: session.show_help()),
    "/tools": Command(
        "[WORD]",
        "Show the servers and their tools, or those with a word in them.",
        lambda session, word: session.show_tools(word),
    ),
    "/model": Command(
        "[NAME]",
        "Show the model, or ask another one of this vendor from now on.",
        lambda session, name: session.change_model(name),
    ),
    "/system": Command(
        "[TEXT]",
        "Show the instructions to the model, or set them; `/system -` takes them back.",
        lambda session, text: session.change_system(text),
    ),
    "/clear": Command("", "Forget the conversation and begin a new one.", lambda session, _: session.clear()),
    "/save": Command("[FILE]", "Write the conversation into a file.", lambda session, file: session.save(file)),
    "/load": Command("FILE", "Go on with the conversation in a file.", lambda session, file: session.load(file)),
    "/usage": Command("", "Show what the conversation has used.", lambda session, _: session.show_usage()),
    "/quit": Command("", "Leave.", lambda session, _: session.leave()),
}


class NoSuchCommand(ValueError):
    """There is no such command; the message says which one may be meant."""


def command_in(line: str) -> tuple[Command, str] | None:
    """Return the command that a line gives, and what it is given; `None` if the line is for the model.

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
    return COMMANDS[name], rest.strip()


_ALIASES: Final = {"/exit": "/quit", "/q": "/quit", "/h": "/help"}


def completions(begun: str) -> Sequence[str]:
    """Return the commands that begin so."""
    return [name for name in COMMANDS if begun.startswith("/") and name.startswith(begun.lower())]
