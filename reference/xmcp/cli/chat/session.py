"""A conversation at the terminal: questions, answers, approvals, commands, and how each of them can be stopped."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, Final

from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from xmcp.cli.chat.approvals import Approvals, asked, named
from xmcp.cli.chat.background import Ask, Background, Interrupt, Over, interrupts_raised
from xmcp.cli.chat.commands import COMMANDS, NoSuchCommand, command_in
from xmcp.cli.chat.keyboard import Keyboard, echo
from xmcp.cli.chat.money import used
from xmcp.cli.chat.saved import NotSaved, read_snapshot, write_snapshot
from xmcp.cli.chat.screen import Screen
from xmcp.client import AIClient, Conversation, Done, SnapshotError
from xmcp.client.chat_options import ChatOptions
from xmcp.client.tools.meta_tools import RESERVED
from xmcp.render.view.untrusted import label, visible

_AGAIN: Final = "Ctrl-C again leaves; so do Ctrl-D and /quit."
_INSTRUCTIONS: Final = ("system", "developer")


class Leave(Exception):
    """The person wants to leave."""

    def __init__(self, *, interrupted: bool = False) -> None:
        super().__init__()
        self.interrupted = interrupted


class Session:
    """One person at one terminal.

    Args:
        background: Where the chats run.
        ai: The client, which asks `background.approve`.
        screen: Where all is drawn.
        keyboard: Where the person types.
        approvals: What may be called without a question.
        conversation: The conversation to begin with.
        model: The model that is asked, for the person.
        vendor: Whose model it is.
        file: The file that `/save` writes without a name.
    """

    def __init__(
        self,
        background: Background,
        ai: AIClient,
        screen: Screen,
        keyboard: Keyboard,
        approvals: Approvals,
        conversation: Conversation,
        *,
        model: str,
        vendor: str,
        file: Path | None = None,
    ) -> None:
        self._background = background
        self._ai = ai
        self._screen = screen
        self._keyboard = keyboard
        self._approvals = approvals
        self._conversation = conversation
        self._model = model
        self._vendor = vendor
        self._changed_model: str | None = None
        self._file = file
        self._actions: Mapping[str, Callable[[str], None]] = {
            "/help": self.show_help,
            "/tools": self.show_tools,
            "/model": self.change_model,
            "/system": self.change_system,
            "/clear": self.clear,
            "/save": self.save,
            "/load": self.load,
            "/usage": self.show_usage,
            "/quit": self.leave,
        }
        self._interrupted = False

    def welcome(self) -> None:
        """Print who is there: the model, the servers, what does not answer; and where a conversation goes on."""
        servers = [server for server in self._ai.servers if server.connected]
        names = ", ".join(label(server.name, 40) for server in servers)
        count = len(self._ai.tools) - len(RESERVED.intersection(tool["function"]["name"] for tool in self._ai.tools))
        model = self._vendor if self._vendor == self._model else f"{label(self._model, 60)} ({self._vendor})"
        self._screen.say(f"{model} · {count} tool{'' if count == 1 else 's'} of {names}", "bold")
        self._screen.say("/help has the commands, Ctrl-C stops an answer, Ctrl-D leaves.", "dim")
        for server in self._ai.servers:
            if server.error is not None:
                self._screen.warn(f"{label(server.label, 100)}: {label(server.error, 400)}")
                self._screen.know(server.error)
        if self._file is not None:
            self.recall()

    def talk(self) -> bool:
        """Read questions and answer them until the person leaves; return whether they did so with Ctrl-C."""
        try:
            while True:
                self._turn()
        except Leave as leaving:
            return leaving.interrupted

    def _turn(self) -> None:
        self._screen.apart()
        try:
            line = self._keyboard.question("> ")
        except EOFError:
            self._screen.say("")
            raise Leave from None
        except KeyboardInterrupt:
            self._screen.say("")
            self._interrupt()
            return
        if not line:
            return
        self._interrupted = False
        try:
            if (found := command_in(line)) is None:
                self.answer(line)
            else:
                name, given = found
                self._actions[name](given)
        except (NoSuchCommand, NotSaved) as error:
            self._screen.warn(str(error))
        except KeyboardInterrupt:  # of a command: an answer takes its own
            self._screen.say("")
            self._interrupt()

    def _interrupt(self) -> None:
        """Take Ctrl-C: the second one in a row leaves.

        Raises:
            Leave: it is.
        """
        if self._interrupted:
            raise Leave(interrupted=True)
        self._interrupted = True
        self._screen.say(_AGAIN, "dim")

    @property
    def interrupted(self) -> bool:
        """Whether the last thing that the person did was Ctrl-C."""
        return self._interrupted

    def answer(self, query: str, *, once: bool = False) -> Done | None:
        """Have a question answered, and draw it; return the last event, or `None` if the answer was not finished.

        Args:
            query: The question.
            once: Whether there is no prompt after it.

        Raises:
            Leave: the person pressed Ctrl-C twice.
        """
        began, done, cancelled = time.monotonic(), None, False
        options: ChatOptions = {} if self._changed_model is None else {"model": self._changed_model}
        chat = self._background.ask(self._conversation, query, options)
        self._screen.begin()
        with echo(on=False), closing(chat.messages()) as messages:
            for message in messages:
                match message:
                    case None:
                        self._screen.tick()
                    case Ask():
                        cancelled = cancelled or not self._approve(message)
                        if cancelled:
                            chat.cancel()
                    case Interrupt():
                        chat.cancel()
                        if cancelled:
                            self._screen.end()
                            raise Leave(interrupted=True)
                        cancelled = self._interrupted = True
                    case Over(error=error):
                        self._ended(error, done, cancelled=cancelled, once=once)
                    case _ if not cancelled:
                        self._screen.event(message)
                        done = message if isinstance(message, Done) else done
                    case _:
                        pass  # nobody wants to know any more
        if done is not None:
            self._screen.usage(done.result, time.monotonic() - began)
        return done

    def _ended(self, error: BaseException | None, done: Done | None, *, cancelled: bool, once: bool) -> None:
        if cancelled and done is None:
            self._screen.end("stopped" if once else f"stopped; what there is of the answer is kept. {_AGAIN}")
        elif error is not None and not self._screen.failed:
            self._screen.end(f"{type(error).__name__}: {label(str(error), 400)}")

    def _approve(self, ask: Ask) -> bool:
        """Ask about a call, if need be; Ctrl-D means no. Return whether the chat goes on: after Ctrl-C it does not."""
        if not self._approvals.needed(ask.call):
            _tell(ask, True)
            return True
        self._screen.pause()
        question, *arguments = asked(ask.call)
        self._screen.say(question, "bold", "?", "bold magenta")
        for line in arguments:
            self._screen.say(line)
        try:
            with interrupts_raised():
                said = self._keyboard.answer(f"  {named(ask.call)}: [y]es, [n]o, [a]lways this tool, or why not: ")
        except EOFError:
            self._screen.say("")
            said = "no"
        except KeyboardInterrupt:
            self._screen.say("")
            self._interrupted = True
            _tell(ask, False)
            return False
        finally:
            self._screen.resume()
        _tell(ask, self._approvals.take(ask.call, said))
        return True

    # ---- the commands ----

    def show_help(self, _: str) -> None:
        """Print what can be done."""
        table = Table.grid(padding=(0, 2))
        for name, command in COMMANDS.items():
            table.add_row(Text(f"{name} {command.takes}".strip(), style="bold"), command.summary)
        table.add_row(Text("Ctrl-C", style="bold"), "Stop the answer; twice: leave.")
        table.add_row(Text("Ctrl-D", style="bold"), "Leave.")
        self._screen.show(table)

    def show_tools(self, word: str) -> None:
        """Print the servers, and the tools with `word` in them."""
        for server in self._ai.servers:
            state = f"{server.tools} tools" if server.error is None else label(server.error, 400)
            self._screen.say(f"{label(server.name, 60)}: {state}", "dim" if server.error is None else "yellow")
        table = Table.grid(padding=(0, 2))
        table.add_column(max_width=40, overflow="fold")
        functions: list[Mapping[str, Any]] = [tool["function"] for tool in self._ai.tools]
        functions = [one for one in functions if one["name"] not in RESERVED]  # as the line above counts them
        shown = [one for one in functions if word.lower() in f"{one['name']} {one.get('description')}".lower()]
        for function in shown:
            lines = str(function.get("description") or "").strip().splitlines()
            table.add_row(
                Text(label(str(function["name"]), 100), style="bold"), Text(label(lines[0] if lines else "", 400))
            )
        if shown:
            self._screen.show(Padding(table, (0, 0, 0, 2)))
        else:
            self._screen.say("There are no tools." if not word else f"No tool has `{visible(word)}` in it.", "dim")

    def change_model(self, name: str) -> None:
        """Print the model, or change it."""
        if name:
            self._changed_model = self._model = name
        self._screen.say(f"The model is {label(self._model, 100)}.", "dim")

    def change_system(self, text: str) -> None:
        """Print the instructions, or change them: `-` takes them back."""
        if text:
            self._conversation = instructed(self._ai, self._conversation, "" if text == "-" else text)
            self._screen.say("The model has no instructions now." if text == "-" else "The model has them now.", "dim")
            return
        said = [message["content"] for message in self._conversation.history if message["role"] in _INSTRUCTIONS]
        self._screen.say(visible("\n".join(map(str, said))) if said else "The model has no instructions.", "dim")

    def clear(self, _: str) -> None:
        """Begin a new conversation, which is not to be written over the one before."""
        self._conversation.clear()
        self._file = None
        self._screen.say("A new conversation; the instructions to the model stay.", "dim")

    def save(self, file: str) -> None:
        """Write the conversation.

        Raises:
            NotSaved: it cannot be written.
        """
        path = _path(file) if file else self._file
        if path is None:
            raise NotSaved("Name the file: /save FILE.")
        write_snapshot(path, self._conversation.snapshot())
        self._file = path
        self._screen.say(f"Saved in {visible(str(path))}; `xmcp chat … --resume` goes on with it.", "dim")

    def load(self, file: str) -> None:
        """Go on with a saved conversation.

        Raises:
            NotSaved: it cannot be read.
        """
        if not file:
            raise NotSaved("Name the file: /load FILE.")
        path = _path(file)
        self._conversation = resumed(self._ai, path)
        self._file = path
        self.recall()

    def recall(self) -> None:
        """Print where the conversation is."""
        asked_before = [message for message in self._conversation.history if message["role"] == "user"]
        last = asked_before[-1]["content"] if asked_before else ""
        count = len(asked_before)
        self._screen.say(f"Going on after {count} question{'' if count == 1 else 's'}.", "dim")
        if isinstance(last, str) and last:
            self._screen.say(f"The last one: {label(last, 200)}", "dim")

    def show_usage(self, _: str) -> None:
        """Print what the whole conversation used."""
        self._screen.say(used(self._conversation.usage), "dim")

    def leave(self, _: str) -> None:
        """Leave.

        Raises:
            Leave: always.
        """
        raise Leave


def _tell(ask: Ask, decision: bool | str) -> None:
    if not ask.answer.cancelled():  # the chat can have ended meanwhile
        ask.answer.set_result(decision)


def _path(file: str) -> Path:
    """Return the file that a person names.

    Raises:
        NotSaved: no file can have that name.
    """
    try:
        path = Path(file).expanduser()
        with suppress(OSError):
            path.stat()
    except (RuntimeError, ValueError) as error:  # no such user; a NUL, or what has no bytes
        raise NotSaved(f"{label(file, 200)} is no name of a file: {label(str(error), 200)}") from error
    return path


def instructed(ai: AIClient, conversation: Conversation, text: str) -> Conversation:
    """Return a conversation with these instructions to the model in place of its own; `""` for none."""
    snapshot = conversation.snapshot()
    own = [message for message in snapshot["history"] if message["role"] not in _INSTRUCTIONS]
    snapshot["history"] = [{"role": "system", "content": text}, *own] if text else own
    return Conversation.resume(ai, snapshot)


def resumed(ai: AIClient, path: Path) -> Conversation:
    """Return the conversation in a file.

    Raises:
        NotSaved: it cannot be read, or is none.
    """
    try:
        return Conversation.resume(ai, read_snapshot(path))
    except SnapshotError as error:
        raise NotSaved(f"{label(str(path), 200)}: {error}") from error
