"""Check what becomes of hostile texts that a tool repeats (XMCP-RSP-020, XMCP-RSP-022, XMCP-RSP-024, XMCP-RSP-082).

A tool can change what it is given: it trims a name, or escapes HTML, and that is its business. What no tool does is to
change the same text in one answer and not in another answer to the same arguments, or to change long texts alone in a
way that has nothing to do with their length. Only that is judged, and it shows nowhere but in the comparison of
answers; the first answer alone proves nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from xmcp_conformance.core.checks import Observations, check
from xmcp_conformance.core.observation import broken, obeyed
from xmcp_conformance.core.untrusted_text import quoted
from xmcp_conformance.profiles.server.exchange import Exchange, ToolCall
from xmcp_conformance.profiles.server.text_changes import (
    CUT,
    LONG,
    SENTENCES,
    WHOLE,
    change_of,
    says_cut,
    would_show,
)

from .plain_results import begins_a_document


class Repeat(NamedTuple):
    """An answer that repeats a trap: the change, whether it is a document, the call, and the name of the run."""

    change: str
    in_document: bool
    call: ToolCall
    run: str


class Echo(NamedTuple):
    """What an answer made of one trap; `text` is the text for the model where it has no more than its beginning."""

    trap: str
    repeat: Repeat
    says_cut: bool
    text: str = ""


def echoes(exchange: Exchange, run: str) -> Iterator[Echo]:
    """Yield what became of each trap of a call that succeeded."""
    document = exchange.reading.document
    if document is None or document.error is not None:
        return
    call, text = exchange.call, document.llm_output or ""
    is_document, cut = begins_a_document(exchange.text), says_cut(exchange.text or "")
    for trap in call.traps:
        if (change := change_of(trap, text)) is not None:
            repeat = Repeat(change, is_document, call, run)
            yield Echo(trap, repeat, cut, text if change == CUT and is_document else "")


def judged(kept: Iterable[Echo]) -> Iterator[tuple[Repeat, Observations]]:
    """Yield the repeats in documents of texts that were repeated whole at least once, with what they show.

    Args:
        kept: the echoes of all runs of a peer, in their order.
    """
    compared = _Compared()
    for echo in kept:
        compared.add(echo)
    yield from compared.judged()


@dataclass(slots=True)
class _Compared:
    """The echoes of each trap, by the call and the trap."""

    _repeats: dict[tuple[str, str], list[Repeat]] = field(default_factory=dict)
    _whole: dict[tuple[str, str], set[str]] = field(default_factory=dict)
    """The short traps that were repeated whole, by the tool and the mark with which they begin."""
    _changed: dict[tuple[str, str], set[str]] = field(default_factory=dict)
    """How short traps were changed, in the same way: two places of a tool can have equal marks."""
    _cut: dict[tuple[str, str], dict[bool, Repeat]] = field(default_factory=dict)
    """The texts in documents of which a trap has only its beginning, by the tool: an answer that says that its text was
    cut, and one that does not."""

    def add(self, echo: Echo) -> None:
        change, is_document, call, _ = echo.repeat
        cut_in_document = change == CUT and is_document
        if cut_in_document:
            self._cut.setdefault((call.name, echo.text), {}).setdefault(echo.says_cut, echo.repeat)
        if not (cut_in_document and echo.says_cut):
            self._repeats.setdefault((call.key, echo.trap), []).append(echo.repeat)
        if len(echo.trap) <= LONG:
            kept, one = (self._whole, echo.trap) if change == WHOLE else (self._changed, change)
            kept.setdefault((call.name, _mark(echo.trap)), set()).add(one)

    def judged(self) -> Iterator[tuple[Repeat, Observations]]:
        for (_, trap), repeats in self._repeats.items():
            whole_elsewhere = any(repeat.change == WHOLE for repeat in repeats)
            for repeat in repeats:
                if repeat.in_document and (whole_elsewhere or self._changes_long_texts_alone(trap, repeat)):
                    yield repeat, repeated_text(trap, repeat.change)
        for (_, text), answers in self._cut.items():
            if len(answers) > 1:
                yield answers[False], equal_text(text)

    def _changes_long_texts_alone(self, trap: str, repeat: Repeat) -> bool:
        place = repeat.call.name, _mark(trap)
        if len(trap) <= LONG or repeat.change in self._changed.get(place, ()):
            return False
        return any(would_show(one, repeat.change) for one in self._whole.get(place, ()))


@check("XMCP-RSP-082", profile="server")
def equal_text(text: str) -> Observations:
    """Judge a text that another answer of the tool marks as cut, where this one does not."""
    yield broken(
        "XMCP-RSP-082",
        f"the text `{quoted(text)}` without `truncated`, which another answer of this tool marks as cut",
        'truncated="true" on `llm_output`',
    )


def _mark(trap: str) -> str:
    """Return the mark with which a trap begins: it names the place of the text in the arguments."""
    return trap.partition("[")[0].strip()


@check("XMCP-RSP-020", "XMCP-RSP-022", "XMCP-RSP-024", "XMCP-RSP-082", profile="server")
def repeated_text(trap: str, change: str) -> Observations:
    """Judge a text that was repeated with a change; another answer repeated it as it was sent."""
    if change == WHOLE:
        yield obeyed("XMCP-RSP-020")
        if len(trap) > LONG:
            yield obeyed("XMCP-RSP-082")
        return
    requirement = SENTENCES.get(change, "XMCP-RSP-020")
    yield broken(
        requirement, f"the text `{quoted(trap)}` {change}", "the text as it was sent, as in another answer of this tool"
    )
