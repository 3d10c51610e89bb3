"""Compare the texts of equal calls in different forms (XMCP-RSP-020, XMCP-MCP-020, XMCP-DSP-024).

A tool may answer equal calls differently: then nothing follows from two texts that differ. Where a tool answered equal
calls of equal clients with equal texts, as often as that was tried, it is steady, and what differs between a document
and a plain result, or between `show_user` as `null` and no `show_user`, was done by the server.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple
from xml.sax.saxutils import escape

from xmcp_conformance.core.checks import Observations, check
from xmcp_conformance.core.observation import broken, either
from xmcp_conformance.core.untrusted_text import quoted
from xmcp_conformance.profiles.server.exchange import Exchange, Intent, ToolCall
from xmcp_conformance.profiles.server.text_changes import LONG, legal, says_cut
from xmcp_conformance.reader.strict_json import strings

from .echoes import Repeat
from .plain_results import begins_a_document

_FEWEST_PAIRS: Final = 3
"""Number of equal calls with equal answers from which a tool counts as steady, if some were in each form."""
_RECOGNIZED: Final = 3
"""Number of characters of an argument that does not stand in a text by chance."""


class Form(NamedTuple):
    """How a call was made and answered."""

    declared: bool
    """Whether the client declared the extension."""
    is_document: bool
    is_null: bool
    """Whether its `show_user` was `null`."""


class Told(NamedTuple):
    """The text of an answer, by the call without its `show_user`, and its form."""

    call_key: str
    form: Form
    text: str
    repeat: Repeat


def told(exchange: Exchange, run: str, *, declared: bool) -> Iterator[Told]:
    """Yield the text of a call that succeeded, where it is short and no display was asked for."""
    call, document = exchange.call, exchange.reading.document
    if document is None or document.error is not None or call.intent is not Intent.VALID:
        return
    if call.shows or document.has_display:  # beside a display, the two can say different things (XMCP-DSP-025)
        return
    text, is_document = document.llm_output or "", begins_a_document(exchange.text)
    if len(text) > LONG or (is_document and says_cut(exchange.text or "")):
        return
    named = {name: value for name, value in call.arguments.items() if name != "show_user"}
    form = Form(declared, is_document, "show_user" in call.arguments and call.arguments["show_user"] is None)
    yield Told(ToolCall(None, call.name, named).key, form, text, Repeat("", is_document, call, run))


def judged(kept: Iterable[Told]) -> Iterator[tuple[Repeat, Observations]]:
    """Yield the answers of steady tools that were given in two forms, with what they show.

    Args:
        kept: the texts of all runs of a peer, in their order.
    """
    compared = _Compared()
    for one in kept:
        compared.add(one)
    yield from compared.judged()


@dataclass(slots=True)
class _Compared:
    """The texts by the tool, the call and the form."""

    _texts: dict[str, dict[str, dict[Form, dict[str, Repeat]]]] = field(default_factory=dict)
    _pairs: dict[tuple[str, bool], int] = field(default_factory=dict)
    """How often an equal call got an equal text, by the tool and whether that was in a document."""
    _varies: set[str] = field(default_factory=set)
    """The tools of which equal calls got different texts."""

    def add(self, one: Told) -> None:
        tool, text, form = one.repeat.call.name, one.text, one.form
        texts = self._texts.setdefault(tool, {}).setdefault(one.call_key, {}).setdefault(form, {})
        if text in texts:
            self._pairs[tool, form.is_document] = self._pairs.get((tool, form.is_document), 0) + 1
        elif texts:
            self._varies.add(tool)
        texts.setdefault(text, one.repeat)

    def judged(self) -> Iterator[tuple[Repeat, Observations]]:
        for tool, calls in self._texts.items():
            for texts in (texts for forms in calls.values() for form, texts in forms.items() if form.is_document):
                yield from _escaped_again(texts)
            for forms in calls.values() if self._is_steady(tool) else ():
                told = {form: next(iter(texts.items())) for form, texts in forms.items()}
                yield from _forms(told) if all((tool, one) in self._pairs for one in (True, False)) else ()
                yield from _nulls(told)

    def _is_steady(self, tool: str) -> bool:
        pairs = sum(self._pairs.get((tool, in_document), 0) for in_document in (True, False))
        return tool not in self._varies and pairs >= _FEWEST_PAIRS


def _escaped_again(texts: Mapping[str, Repeat]) -> Iterator[tuple[Repeat, Observations]]:
    """Yield the answers to one call whose text is that of another answer to it, escaped once more."""
    for text in texts:
        if (again := escape(text)) != text and again in texts:
            yield texts[again], text_of_an_equal_call(again, text)


@check("XMCP-RSP-020", profile="server")
def text_of_an_equal_call(again: str, text: str) -> Observations:
    """Judge a text that differs from that of an equal call by nothing but a second escaping: no tool does that."""
    expected = f"`{quoted(text)}`, as in another answer to this call"
    yield broken("XMCP-RSP-020", f"the text `{quoted(again)}` with its markup escaped twice", expected)


def _forms(told: dict[Form, tuple[str, Repeat]]) -> Iterator[tuple[Repeat, Observations]]:
    written, plain = told.get(Form(True, True, False)), told.get(Form(False, False, False))
    if written is not None and plain is not None:
        yield plain[1], text_in_both_forms(plain[1].call, written[0], plain[0])


def _nulls(told: dict[Form, tuple[str, Repeat]]) -> Iterator[tuple[Repeat, Observations]]:
    for form, (text, answer) in told.items():
        if form.is_null and (none := told.get(form._replace(is_null=False))) is not None:
            yield answer, null_as_none(text, none[0])


@check("XMCP-MCP-020", "XMCP-RSP-020", profile="server")
def text_in_both_forms(call: ToolCall, written: str, plain: str) -> Observations:
    """Judge whether a plain result and a document have one text, as for a steady tool they have.

    Which of the two was changed, a text of the caller's shows that the other one repeats.
    """
    sent = [legal(one) for one in strings(call.arguments) if len(one) >= _RECOGNIZED]
    same = legal(written) == legal(plain)
    if same or any(one in legal(plain) and one not in legal(written) for one in sent):
        yield either("XMCP-RSP-020", same, f"`{quoted(written)}` in the document", f"`{quoted(plain)}`, as plain")
    if same or any(one in legal(written) and one not in legal(plain) for one in sent):
        yield either("XMCP-MCP-020", same, f"the text `{quoted(plain)}`", f"`{quoted(written)}`, as in the document")


@check("XMCP-DSP-024", profile="server")
def null_as_none(null: str, none: str) -> Observations:
    """Judge whether a call whose `show_user` is `null` was answered as the call without it."""
    yield either(
        "XMCP-DSP-024", null == none, f"the text `{quoted(null)}`", f"`{quoted(none)}`, as without `show_user`"
    )
