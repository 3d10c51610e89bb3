"""Check what becomes of hostile texts that a tool repeats (XMCP-RSP-020, XMCP-RSP-024, XMCP-RSP-082).

A tool can change what it is given: it trims a name, or escapes HTML, and that is its business. What no tool does is to
change the same text in one answer and not in another answer to the same arguments. Only that is judged, and it shows
nowhere but in the comparison of answers; the first answer alone proves nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple
from xml.sax.saxutils import escape, unescape

from xmcp_conformance.core.checks import Observations, check
from xmcp_conformance.core.observation import broken, obeyed
from xmcp_conformance.core.untrusted_text import quoted
from xmcp_conformance.profiles.server.exchange import Exchange, ToolCall

from .plain_results import begins_a_document

_BEYOND_ASCII: Final = re.compile("[\u0080-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that a document can carry: what stands for the others is the subject of XMCP-RSP-026."""
_ILLEGAL: Final = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_QUOTES: Final = {'"': "&quot;", "'": "&#39;"}
_CHANGES: Final[dict[str, Callable[[str], str]]] = {
    "with its markup escaped twice": escape,
    "with its markup and quotation marks escaped twice": lambda text: escape(text, _QUOTES),
    "with references in it resolved": unescape,
    "with other line ends": lambda text: text.replace("\r\n", "\n").replace("\r", "\n"),
    "without its carriage returns": lambda text: text.replace("\r", ""),
    "without the white space around it": str.strip,
    "with its white space collapsed": lambda text: " ".join(text.split()),
    "with its lines trimmed": lambda text: "\n".join(line.strip() for line in text.split("\n")),
    "with question marks for characters": lambda text: _BEYOND_ASCII.sub("?", text),
    "with UTF-8 read as Latin-1": lambda text: text.encode().decode("latin-1"),
    "with the halves of characters replaced": lambda text: re.sub("[\U00010000-\U0010ffff]", "\ufffd\ufffd", text),
    "without characters beyond U+FFFF": lambda text: re.sub("[\U00010000-\U0010ffff]", "", text),
}
"""What writers of documents do to a text, in words that follow the text."""
_LONG: Final = 4_000
_CUT: Final = "cut off"
_SENTENCES: Final = {
    "with other line ends": "XMCP-RSP-024",
    "without its carriage returns": "XMCP-RSP-024",
    _CUT: "XMCP-RSP-082",
}
"""The sentences that some changes break; all others break XMCP-RSP-020."""
_WHOLE: Final = ""
_SAYS_CUT: Final = re.compile(r"<llm_output[^>]{0,999}\btruncated\s{0,9}=\s{0,9}[\"'](?:true|1)[\"']")


def change_of(trap: str, text: str) -> str | None:
    """Return what became of a trap in a text: empty where it is there as it was sent, `None` where it is not known."""
    if trap in text or _ILLEGAL.sub("\ufffd", trap) in text:
        return _WHOLE
    for words, change in _CHANGES.items():
        if (changed := change(trap)) != trap and changed in text:
            return words
    return _CUT if len(trap) > _LONG and trap[: _LONG // 2] in text else None


class Repeat(NamedTuple):
    """An answer that repeats a trap: the change, whether it is a document, the call, and the name of the run."""

    change: str
    in_document: bool
    call: ToolCall
    run: str


@dataclass(slots=True)
class Echoes:
    """What became of each trap, by the call and the trap, over all runs of a peer."""

    _repeats: dict[tuple[str, str], list[Repeat]] = field(default_factory=dict)

    def keep(self, exchange: Exchange, run: str) -> None:
        """Keep what became of the traps of a call that succeeded."""
        document = exchange.reading.document
        if document is None or document.error is not None:
            return
        call, text = exchange.call, document.llm_output or ""
        is_document = begins_a_document(exchange.text)
        says_cut = is_document and _SAYS_CUT.search((exchange.text or "").partition(">")[2][:_LONG]) is not None
        for trap in call.traps:
            change = change_of(trap, text)
            if change is not None and not (change == _CUT and says_cut):
                self._repeats.setdefault((call.key, trap), []).append(Repeat(change, is_document, call, run))

    def judged(self) -> Iterator[tuple[Repeat, Observations]]:
        """Yield the repeats in documents of texts that were repeated whole at least once, with what they show."""
        for (_, trap), repeats in self._repeats.items():
            if any(repeat.change == _WHOLE for repeat in repeats):
                for repeat in repeats:
                    if repeat.in_document:
                        yield repeat, repeated_text(trap, repeat.change)


@check("XMCP-RSP-020", "XMCP-RSP-024", "XMCP-RSP-082", profile="server")
def repeated_text(trap: str, change: str) -> Observations:
    """Judge a text that was repeated with a change; another answer repeated it as it was sent."""
    if change == _WHOLE:
        yield obeyed("XMCP-RSP-020")
        if len(trap) > _LONG:
            yield obeyed("XMCP-RSP-082")
        return
    requirement = _SENTENCES.get(change, "XMCP-RSP-020")
    yield broken(requirement, f"the text `{quoted(trap)}` {change}", "the text as in another answer of this tool")
