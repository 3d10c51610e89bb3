"""The check of code points that XML 1.0 does not allow (section 2.3)."""

from __future__ import annotations

import re

from xmcp_conformance.core.checks import OF_DOCUMENTS, Observations, check
from xmcp_conformance.core.observation import broken, obeyed
from xmcp_conformance.core.untrusted_text import quoted
from xmcp_conformance.reader.source import Source
from xmcp_conformance.reader.xml_tokens import NUMBERED, Kind, code_point

_ILLEGAL = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@check("XMCP-RSP-025", profile=OF_DOCUMENTS)
def code_points(source: Source) -> Observations:
    """Judge code points that XML 1.0 does not allow, raw or as references."""
    expected = 'U+FFFD in its place and lossy="true"'
    if match := _ILLEGAL.search(source.text):
        seen = f"U+{ord(match.group()):04X} raw, in `{quoted(source.text, match.start())}`"
        yield broken("XMCP-RSP-025", seen, expected, where=source.place(match.start()))
    legal: dict[str, bool] = {}  # a long text repeats few references many times
    for token in source.tokens:
        if token.kind in (Kind.TEXT, Kind.START, Kind.EMPTY):
            for match in NUMBERED.finditer(token.text):
                reference = match.group()
                if reference not in legal:
                    legal[reference] = _is_legal(match)
                if not legal[reference]:
                    place = source.place(token.offset + match.start())
                    yield broken("XMCP-RSP-025", f"the reference `{quoted(reference)}`", expected, where=place)
    yield obeyed("XMCP-RSP-025")


def _is_legal(reference: re.Match[str]) -> bool:
    """Return false for a character reference to a code point that XML does not allow."""
    number = code_point(reference)
    return number <= 0x10FFFF and not _ILLEGAL.match(chr(number))
