"""Text and code written as CommonMark with GFM tables, so that a reader of it gets the same characters back.

Every string goes through `view/untrusted.py`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from xmcp.render.view.languages import language_of
from xmcp.render.view.links import link
from xmcp.render.view.untrusted import visible
from xmcp.render.view.wording import NO_LINK

# `$` begins a formula on some platforms. `://`, `www.` and `@` make a link of the text around them in GFM; GitHub makes
# one of an address for mail whatever stands before its `@`.
_SPECIAL: Final = re.compile(r"[\\`*_\[\]<>&|~$@]|:(?=//)|(?<=[Ww]{3})\.")
# What begins a heading, a list or a line below a heading, at the start of a line.
_AT_START: Final = re.compile(r"^([^\S\n]*)([#+=-](?=[\s#=-]|$)|\d{1,9}(?=[.)](?:\s|$)))", re.MULTILINE)
_END_OF_HEADING: Final = re.compile(r"#(?=\s*$)")
_ESCAPED_HASH: Final = r"\\#"
_EMPTY_LINES: Final = re.compile(r"\n(?: *\n)+")


def escaped(words: str) -> str:
    """Return untrusted `words` of one or more lines as Markdown that shows them."""
    marked = _SPECIAL.sub(r"\\\g<0>", visible(words))
    return _AT_START.sub(_escape_start, marked)


def _escape_start(found: re.Match[str]) -> str:
    space, sign = found[1], found[2]
    return f"{space}{sign}\\" if sign.isdigit() else f"{space}\\{sign}"


def one_line(words: str) -> str:
    """Return untrusted `words` as Markdown on one line."""
    return escaped(" ".join(visible(words).split()))


def heading(level: int, words: str) -> str:
    """Return a heading of `words`, which are Markdown of one line; there is no level below 6."""
    return f"{'#' * min(level, 6)} {_END_OF_HEADING.sub(_ESCAPED_HASH, words)}"


def paragraphs(words: str) -> str:
    """Return untrusted `words` with their line breaks and indentation."""
    blocks = _EMPTY_LINES.split(visible(words).strip("\n"))
    return "\n\n".join("\\\n".join(map(_indented, block.split("\n"))) for block in blocks)


def _indented(line: str) -> str:
    rest = line.lstrip(" ")
    return "\u00a0" * (len(line) - len(rest)) + escaped(rest.rstrip())


def fenced(source: str, language: str | None = None) -> str:
    """Return untrusted `source` as a block of code; the language is named only if it is a known one."""
    code = visible(source).rstrip("\n")
    fence = _longer_than_any("`", code, 3)
    return f"{fence}{language_of(language) or '' if language else ''}\n{code}\n{fence}"


def code_span(source: str) -> str:
    """Return untrusted `source` of one line as code within a text."""
    code = visible(source).replace("\n", " ")
    fence = _longer_than_any("`", code, 1)
    space = " " if code.startswith("`") or code.endswith("`") or not code.strip() or code != code.strip() else ""
    return f"{fence}{space}{code}{space}{fence}"


def _longer_than_any(sign: str, text: str, least: int) -> str:
    runs = re.findall(f"{sign}+", text)
    return sign * max(least, *(len(run) + 1 for run in runs), least)


def linked(uri: str, words: str) -> str:
    """Return `words`, which are Markdown, and the address that they link to, unless they are the address."""
    address = link(uri)
    if address is None:
        return f"{words} {NO_LINK}".strip()
    target = f"<{address}>"
    is_address = words in {escaped(one) for one in (address, address.removeprefix("mailto:"))}
    return target if is_address or not words else f"{words} ({target})"


def grid(heads: Sequence[str], aligns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a GFM table; the cells are Markdown of one line."""
    rule = {"right": "--:", "center": ":-:"}
    lines = [heads, [rule.get(align, "---") for align in aligns], *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def below(marker: str, block: str) -> str:
    """Return a block of lines behind a list marker, each further line indented to stand below the first."""
    space = " " * len(marker)
    return marker + "\n".join(f"{space}{line}" if line else "" for line in block.split("\n"))[len(marker) :]


def quoted(block: str) -> str:
    """Return a block of lines as a quotation."""
    return "\n".join(f"> {line}".rstrip() for line in block.split("\n"))
