"""What a person types: a line with editing, history and completion, by the `readline` of the standard library.

It works over any connection and heeds the person's own `.inputrc`. Where Python has no `readline` (Windows), the
console has its own editing, and there is no completion.
"""

from __future__ import annotations

import select
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from types import ModuleType
from typing import Any, Final

PASTE_SECONDS: Final = 0.03
"""How long the rest of a pasted text is waited for. A person does not press Enter and go on within that time."""
MAX_PASTED: Final = 1_000_000
"""Maximum number of characters that are taken as one question."""


def _module(name: str) -> ModuleType | None:
    try:
        return __import__(name)
    except ImportError:
        return None


_readline: Final = _module("readline")
_termios: Final[Any] = _module("termios")


class Keyboard:
    """Reads lines. Ctrl-C raises `KeyboardInterrupt`, Ctrl-D `EOFError`.

    Args:
        complete: Returns what can stand in place of the beginning of a line.
        colours: Whether a prompt has any.
    """

    def __init__(self, complete: Callable[[str], Sequence[str]], *, colours: bool = True) -> None:
        self._complete = complete
        self._colours = colours
        if _readline is not None:
            _readline.set_auto_history(False)
            _readline.set_completer_delims("")
            _readline.set_completer(self._completion)
            libedit = "libedit" in (_readline.__doc__ or "")
            _readline.parse_and_bind("bind ^I rl_complete" if libedit else "tab: complete")
            if not libedit:
                _readline.parse_and_bind("set enable-bracketed-paste on")  # else Python turns it off

    def question(self, prompt: str) -> str:
        """Read a question, which can be pasted and have several lines; it goes into the history of this session."""
        lines = [input(self._drawn(prompt, "1;32"))]
        while sum(map(len, lines)) < MAX_PASTED and _more_is_there():
            try:
                lines.append(input())
            except EOFError:
                break
        text = "\n".join(lines).strip()
        if text and _readline is not None:
            _readline.add_history(" ".join(text.split("\n")))
        return text

    def answer(self, prompt: str) -> str:
        """Read an answer to a question of the program. What was typed before the question counts for nothing."""
        forget_typed()
        with echo(on=True):
            return input(self._drawn(prompt, "1")).strip()

    def _drawn(self, prompt: str, style: str) -> str:
        if not self._colours:
            return prompt
        # Between these two, readline counts no cells.
        begin, end = ("\001", "\002") if _readline is not None else ("", "")
        return f"{begin}\x1b[{style}m{end}{prompt}{begin}\x1b[0m{end}"

    def _completion(self, begun: str, number: int) -> str | None:
        found = self._complete(begun)
        return found[number] if number < len(found) else None


def _more_is_there() -> bool:
    if _termios is None:
        return False
    with suppress(OSError, ValueError):
        return bool(select.select([sys.stdin], [], [], PASTE_SECONDS)[0])
    return False


def forget_typed() -> None:
    """Forget what was typed and not read: it cannot be the answer to a question that nobody had seen."""
    if _termios is not None:
        with suppress(OSError, ValueError, _termios.error):
            _termios.tcflush(sys.stdin.fileno(), _termios.TCIFLUSH)
        return
    msvcrt: Any = _module("msvcrt")
    until = time.monotonic() + 1
    while msvcrt is not None and msvcrt.kbhit() and time.monotonic() < until:
        msvcrt.getwch()


@contextmanager
def echo(on: bool) -> Iterator[None]:
    """Show what is typed, or do not, while an answer is drawn: then the next question begins with it."""
    if _termios is None or not sys.stdin.isatty():
        yield
        return
    number = sys.stdin.fileno()
    before = _termios.tcgetattr(number)
    local = before[3] | _termios.ECHO if on else before[3] & ~_termios.ECHO
    _termios.tcsetattr(number, _termios.TCSADRAIN, [*before[:3], local, *before[4:]])
    try:
        yield
    finally:
        _termios.tcsetattr(number, _termios.TCSADRAIN, before)
