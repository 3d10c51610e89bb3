"""The events of a chat, drawn in a terminal as they come.

The first column is the program's own: a mark there says who speaks (`●` the model, `✓` and `✗` a call, `?` and `!` the
program). The model's text stands two cells to the right of it, so that nothing it writes looks like a call or like the
frame of a display (XMCP-SEC-025). Everything in an event may come from a model or a server, so all of it is made safe
by `xmcp.render.view.untrusted`.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

from rich.console import Console, RenderableType
from rich.text import Text

from xmcp.chat.events import ChatChunk, ChatResult
from xmcp.cli.chat.background import interrupts_raised
from xmcp.cli.chat.calls import call_line, error_line, seconds, share
from xmcp.cli.chat.live_lines import LiveLines, drawn
from xmcp.cli.chat.money import used
from xmcp.cli.chat.streamed_markdown import StreamedMarkdown
from xmcp.client.tools.meta_tools import RESERVED
from xmcp.render import framed
from xmcp.render.terminal import Lines
from xmcp.render.terminal.markdown import SafeMarkdown
from xmcp.render.view.untrusted import label

FRAME: Final = 0.1
"""Seconds between two frames, at least; a slow one is waited for longer, so that most of the time is not drawing."""

_PATIENCE: Final = 0.3
"""Seconds after which it is said that the model is waited for."""
_MARGIN: Final = 2
_WHEEL: Final = "|/-\\"
ENDS: Final[Mapping[str, str]] = {
    "max_turns": "stopped: the model wanted to call tools for too long (--max-turns)",
    "timeout": "stopped: the time of the chat is over",
    "length": "",
    "content_filter": "",
    "empty": "",
}
"""The stop reasons of an answer that is none, and what is said of them where the client has not warned already."""


@dataclass(slots=True)
class _Call:
    """A call that runs."""

    line: str
    tool_name: str
    began: float
    told: str = ""
    """What its server says of its progress, or why it is tried again."""


class Screen:
    """Draws one conversation.

    Args:
        console: The terminal.
        lines: As for `xmcp.render.render`.
        clock: The time, in seconds.
    """

    def __init__(
        self,
        console: Console,
        *,
        lines: Lines | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.console = console
        self._lines = lines
        self._clock = clock
        self._live = LiveLines(console)
        self._text = StreamedMarkdown()
        self._marked = False
        """Whether the model's mark stands before the text of this turn."""
        self._open_drawn = ("", False, 0)
        """Of which text, mark and width `_open_lines` are."""
        self._open_lines: list[str] = []
        self._calls: dict[str, _Call] = {}
        self._servers: dict[str, str | None] = {}
        self._known: set[str] = set()
        """What was said about servers."""
        self._waiting_since: float | None = None
        self._thought = ""
        self._next_frame = 0.0
        self._paused = False
        self.failed = False
        """Whether the answer ended with a failure that is on the screen."""
        self._gap = False
        """Whether an empty line is due before the next lines that stay."""

    # ---- what the program says ----

    def say(self, words: str, style: str = "", mark: str = "", mark_style: str = "") -> None:
        """Print words of the program, which a mark in the first column can precede."""
        self._stay(self._beside(mark, mark_style, Text(words, style=style)))

    def warn(self, words: str) -> None:
        """Print a warning of the program."""
        self.say(words, "", "!", "bold yellow")  # yellow words could not be read on white

    def know(self, fault: str) -> None:
        """Say nothing of a server's fault that the person knows already."""
        self._known.add(fault)

    def show(self, shown: RenderableType) -> None:
        """Print a renderable that stays."""
        self._stay(drawn(self.console, shown, self.console.width))

    def apart(self) -> None:
        """Leave an empty line before what follows."""
        self._stay([""])

    def pause(self) -> None:
        """Have nothing on the screen that changes, because the person is asked something."""
        self._finish_text()
        self._live.clear()
        self._paused = True

    def resume(self) -> None:
        """Draw what changes again."""
        self._paused = False

    def person(self, words: str) -> None:
        """Print what the person said, where it was not typed here."""
        self._gap = True
        self._stay(self._beside(">", "bold green", Text(label(words, 2000), style="bold")))

    # ---- the events of a chat ----

    def begin(self) -> None:
        """Begin an answer: the person has asked."""
        self._waiting_since, self._thought, self._marked = self._clock(), "", False
        self._gap, self.failed = True, False
        self.tick()

    def event(self, chunk: ChatChunk) -> None:
        """Draw one event. One of a type that is not known here is left out."""
        draw = getattr(self, f"_{chunk.type}", None)
        if draw is not None:
            draw(chunk)

    def tick(self) -> None:
        """Draw what changes with the time, if the last frame is old enough."""
        now = self._clock()
        if now < self._next_frame:
            return
        self._commit(self._text.finished())
        self._live.show(self._changing(now))
        self._next_frame = now + max(FRAME, 5 * (self._clock() - now))

    def end(self, words: str = "") -> None:
        """End an answer, however it ended; `words` say how, if not by itself."""
        self._finish_text()
        self._calls.clear()
        self._waiting_since = None
        self._live.clear()
        if words:
            self.warn(words)

    def _llm_delta(self, chunk: Any) -> None:
        self._waiting_since, self._thought = None, ""
        self._text.feed(chunk.text)
        self.tick()

    def _llm_reasoning(self, chunk: Any) -> None:
        self._thought = f"{self._thought}{chunk.text}"[-400:]
        self.tick()

    def _retry(self, chunk: Any) -> None:
        wait = seconds(chunk.wait_ms)
        if (call := self._calls.get(getattr(chunk, "call_id", ""))) is not None:
            call.told = f"attempt {chunk.attempt} failed with {label(chunk.error.code, 64)}; again in {wait}"
            return
        self._text.close()
        again = ", and begins its answer anew" if self._marked else ""
        self._marked = False
        reason = label(getattr(chunk, "ui_message", "") or chunk.error.message, 400)
        self.warn(f"{reason} The model is asked again in {wait}{again}.")
        self._waiting_since, self._thought = self._clock(), ""

    def _tool_call(self, chunk: Any) -> None:
        self._finish_text()
        self._waiting_since = None
        if chunk.tool_name in RESERVED:  # the client's own: what it says is shown in another way
            return
        self._calls[chunk.call_id] = _Call(call_line(chunk.tool_name, chunk.arguments), chunk.tool_name, self._clock())
        self.tick()

    def _tool_started(self, chunk: Any) -> None:
        self._servers[chunk.call_id] = chunk.report.server
        if (call := self._calls.get(chunk.call_id)) is not None:
            call.began = self._clock()

    def _tool_progress(self, chunk: Any) -> None:
        if (call := self._calls.get(chunk.call_id)) is not None:
            words = [share(chunk.progress, chunk.total), label(chunk.text, 200)]
            call.told = " ".join(filter(None, words))
            self.tick()

    def _tool_result(self, chunk: Any) -> None:
        call = self._over(chunk)
        if call.tool_name in RESERVED:
            return
        self._called("✓", "green", call, chunk.report)
        if chunk.text.strip():
            room = max(self.console.width - _MARGIN, 20)
            self._stay(self._beside("", "", Text(label(f"tells the model: {chunk.text}", room), style="dim")))

    def _tool_error(self, chunk: Any) -> None:
        call = self._over(chunk)
        self._called("✗", "red", call, chunk.report)
        self._stay(self._beside("", "", Text(error_line(chunk.error), style="red")))

    def _tool_display(self, chunk: Any) -> None:
        self._finish_text()
        display = framed(chunk.envelope, chunk.tool_name, self._servers.get(chunk.call_id), lines=self._lines)
        try:
            with interrupts_raised():  # a large one takes seconds
                lines = drawn(self.console, display, self.console.width)
        except KeyboardInterrupt:
            self.say("The display was not drawn to its end.", "dim")
            signal.raise_signal(signal.SIGINT)  # to whom it belongs
        else:
            self._stay(lines)

    def _warning(self, chunk: Any) -> None:
        if chunk.turn == 0:  # about the servers: each chat repeats it
            if any(known in chunk.text for known in self._known):
                return
            self.know(chunk.text)
        self.warn(label(chunk.text, 600))

    def _done(self, chunk: Any) -> None:
        result: ChatResult = chunk.result
        self.end()
        if result["stop_reason"] == "clarify":
            self.say(label(result["answer"] or "", 2000), "bold", "?", "bold magenta")
        elif said := ENDS.get(result["stop_reason"]):
            self.warn(said)

    def _failed(self, chunk: Any) -> None:
        self.failed = True
        self.end()
        self.say(label(chunk.ui_message or error_line(chunk.error), 800), "red", "✗", "red")
        if chunk.ui_message and chunk.error.message not in chunk.ui_message:
            self._stay(self._beside("", "", Text(label(chunk.error.message, 800), style="dim")))

    def usage(self, result: ChatResult, took: float) -> None:
        """Print what an answer used: tokens, cost, time in seconds."""
        self._stay(self._beside("", "", Text(f"{used(result['usage'])} · {seconds(1000 * took)}", style="dim")))

    # ---- lines ----

    def _over(self, chunk: Any) -> _Call:
        self._servers[chunk.call_id] = chunk.report.server
        call = self._calls.pop(chunk.call_id, None)
        if not self._calls:
            self._waiting_since, self._marked = self._clock(), False
        return call or _Call(call_line(chunk.tool_name, {}), chunk.tool_name, self._clock())

    def _called(self, mark: str, style: str, call: _Call, report: Any) -> None:
        facts = [seconds(report.duration_ms)]
        if report.attempts > 1:
            facts.append(f"{report.attempts} attempts")
        if report.cached:
            facts.append("from the cache")
        self._stay(self._beside(mark, style, Text.assemble(call.line, (f"  {' · '.join(facts)}", "dim"))))

    def _finish_text(self) -> None:
        if self._text.open.strip():
            self._commit([*self._text.finished(), self._text.close()])
        self._text.close()

    def _commit(self, blocks: Sequence[str]) -> None:
        staying: list[str] = []
        for block in blocks:
            if lines := self._model_text(block):
                staying += ["", *lines]
                self._marked = True
        if staying:
            self._gap = True
            self._stay(staying[1:])  # at once: each time, what changes is written again
            self._gap = True

    def _model_text(self, source: str) -> list[str]:
        return self._beside("" if self._marked else "●", "magenta", SafeMarkdown(source))

    def _open_text(self) -> list[str]:
        """Return the lines of the block that the model is writing, drawn again only if it has changed."""
        now = (self._text.open, self._marked, self.console.width)
        if now != self._open_drawn:
            self._open_drawn, self._open_lines = now, self._model_text(self._text.open)
        return self._open_lines

    def _beside(self, mark: str, style: str, shown: RenderableType) -> list[str]:
        """Return lines of `shown`, two cells from the left; the mark stands before the first one."""
        lines = drawn(self.console, shown, max(self.console.width - _MARGIN, 20))
        begin = f"{drawn(self.console, Text(mark, style=style), 2)[0]} " if mark else "  "
        return [f"{begin if number == 0 else '  '}{line}".rstrip() for number, line in enumerate(lines)]

    def _stay(self, lines: Sequence[str]) -> None:
        if lines:
            staying = ["", *lines] if self._gap else lines
            self._gap = False
            self._live.print(staying, self._changing(self._clock()))

    def _changing(self, now: float) -> list[str]:
        """Return the lines that change: the block that the model is writing, the calls that run, what is waited for."""
        if self._paused or not self._live.possible:
            return []
        wheel = _WHEEL[int(now * 8) % len(_WHEEL)]
        most = max(self.console.height - 4, 1)
        calls = [self._running(wheel, call, now) for call in islice(self._calls.values(), most)]
        if (more := len(self._calls) - most) > 0:
            calls.append(f"  and {more} more call{'' if more == 1 else 's'}")
        if not calls and self._waiting_since is not None and now - self._waiting_since > _PATIENCE:
            about = f": {label(self._thought, 4000)[-(self.console.width - 24) :]}" if self._thought else ""
            calls = [self._one_line(wheel, f"thinking{about}", seconds(1000 * (now - self._waiting_since)))]
        room = max(self.console.height - len(calls) - 2, 3)
        text = self._open_text()
        cut = len(text) - room
        if cut > 0:
            text = ["  …", *text[cut + 1 :]]
        if text and (self._gap or not self._marked):
            text = ["", *text]
        lines = [*text, *(["", *calls] if calls and (text or self._gap) else calls)]
        return lines[-max(self.console.height - 1, 1) :]  # what is above the screen could not be taken back

    def _running(self, wheel: str, call: _Call, now: float) -> str:
        facts = [seconds(1000 * (now - call.began)), call.told]
        return self._one_line(wheel, call.line, " · ".join(filter(None, facts)))

    def _one_line(self, mark: str, words: str, facts: str) -> str:
        """Return one line; where it would be too wide, its facts get half of it or more, and its words the rest."""
        room = self.console.width - _MARGIN - 1
        facts = label(facts, max(room // 2, room - len(words) - 2, 10))
        words = label(words, max(room - len(facts) - 2, 10))
        return self._beside(mark, "cyan", Text.assemble(words, (f"  {facts}", "dim"), no_wrap=True, overflow="crop"))[0]
