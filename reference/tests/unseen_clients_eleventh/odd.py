"""Changes after which a client does unusual things that the specification leaves open."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Any, Final

from xmcp.chat.completions import ToolCall
from xmcp.chat.events import LLMDelta
from xmcp.client.loop.chat import Chat
from xmcp.client.loop.turn import ToolTurn
from xmcp.client.tools import schemas
from xmcp.client.tools.meta_tools import SUMMARIZE

LONG_PIECE: Final = 200
"""Characters from which on a piece of text stays whole: an answer of megabytes would be as many events."""


def text_letter_by_letter() -> None:
    """The model's text is told in events of one character, however it came."""
    attempt = Chat._attempt

    async def in_letters(self: Any, model: Any, catalogue: Any) -> AsyncGenerator[Any, None]:
        async with aclosing(attempt(self, model, catalogue)) as events:
            async for event in events:
                if isinstance(event, LLMDelta) and len(event.text) < LONG_PIECE:
                    for letter in event.text:
                        yield LLMDelta(turn=event.turn, text=letter)
                else:
                    yield event

    Chat._attempt = in_letters  # type: ignore[method-assign]


def nothing_sent_changed_nothing() -> None:
    """A call without an attempt when the time of its chat is over has `side_effects` that are `none`."""
    emit, failed = ToolTurn._emit, ToolTurn._failed

    def note_the_begun(self: Any, event: Any) -> None:
        if isinstance(event, ToolCall):
            self.__dict__.setdefault("begun", set()).add(event.id)
        emit(self, event)

    def with_what_is_known(self: Any, call: Any, error: Any) -> Any:
        begun = call.id in self.__dict__.get("begun", ())
        if error.code == "TIMEOUT" and not begun and self._pipeline.cache is None:
            error = replace(error, meta={**(error.meta or {}), "side_effects": "none"})
        return failed(self, call, error)

    ToolTurn._emit = note_the_begun  # type: ignore[method-assign]
    ToolTurn._failed = with_what_is_known  # type: ignore[method-assign]


def only_named_tools_make_optional() -> None:
    """For the list under `required`, only the tools in `depends_on` are looked at, not those on which they depend."""

    def direct(start: str, before: Callable[[str], Sequence[str]], limit: int | None = None) -> dict[str, str]:
        return {name: start for name in reversed(before(start)) if name != start}

    schemas.nearest_first = direct  # type: ignore[assignment, attr-defined]


def no_summary_of_a_cut_turn() -> None:
    """A summary in a turn that the end of the chat cut off takes no effect: the older messages stay."""
    take = Chat._take

    def unless_cut(self: Any, turn: Any) -> None:
        if not turn.timed_out and None not in turn.outcomes:
            take(self, turn)
            return
        text_of = turn.meta_tool_text
        turn.meta_tool_text = lambda tool: "" if tool == SUMMARIZE else text_of(tool)
        take(self, turn)

    Chat._take = unless_cut  # type: ignore[method-assign]
