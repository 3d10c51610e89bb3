"""Find in a text what a model or a person should not read: what leaks, and the internals of a library. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from xmcp_conformance.core import leaks as core

LONGEST_EXCERPT: Final = 80
"""Maximum number of characters of an excerpt."""
_INTERNALS: Final = re.compile(r"errors\.pydantic\.dev|validation errors? for call\[")


@dataclass(frozen=True, slots=True)
class Leak:
    """What leaks (`stack trace`, `path`, `secret`, `library internals`), and the text around it."""

    kind: str
    excerpt: str


def leaks(text: str) -> list[Leak]:
    """Return what a text leaks, each kind once, with the first place of it."""
    found: dict[str, Leak] = {}
    for leak in core.leaks(text):
        found.setdefault(leak.kind, Leak(leak.kind, leak.text.strip()[:LONGEST_EXCERPT]))
    if match := _INTERNALS.search(text, 0, core.SEARCHED):
        found["library internals"] = Leak("library internals", match[0])
    return list(found.values())
