"""Find in a text what a server did not mean to tell: stack traces, paths of its machine, secrets. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

SEARCHED: Final = 200_000
"""Maximum number of characters of a text that are searched."""

_EXCERPT: Final = 80

# Each expression takes time that grows with the length of the text only: no repetition stands inside another.
_PATTERNS: Final[tuple[tuple[str, re.Pattern[str]], ...]] = (
    ("stack trace", re.compile(r'Traceback \(most recent call last\)|File "[^"\n]{1,300}", line \d+')),
    ("stack trace", re.compile(r"^[ \t]{1,8}at [^\n]{1,300}:\d+:\d+\)?[ \t]*$", re.MULTILINE)),
    ("stack trace", re.compile(r"^[ \t]{1,8}at [\w.$<>]{1,200}\([\w.]{1,100}\.(?:java|kt|scala):\d+\)", re.MULTILINE)),
    ("stack trace", re.compile(r"^goroutine \d+ \[|^thread '[^'\n]{1,100}' panicked at ", re.MULTILINE)),
    (
        "path",
        re.compile(
            r"(?:(?<![\w./:-])|(?<=file://))/(?:home|root|Users|usr|var|opt|srv|etc|tmp|app|mnt|workspace)/[\w.@+-]{1,100}[\w./@+-]{0,200}"
        ),
    ),
    ("path", re.compile(r"(?<![\w])[A-Z]:\\[\w.$-]{1,100}\\[\w\\.$ -]{0,200}")),
    (
        "secret",
        re.compile(r"-----BEGIN [A-Z ]{0,20}PRIVATE KEY-----|\bAKIA[0-9A-Z]{16}\b|\bgh[pousr]_[A-Za-z0-9]{30,}"),
    ),
    ("secret", re.compile(r"\bsk-[A-Za-z0-9_-]{20,}|\beyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{5,}")),
    ("secret", re.compile(r"\b[a-z][a-z0-9+]{1,20}://[^\s:/@]{1,60}:[^\s:/@]{1,60}@[\w.-]{1,100}")),
    ("library internals", re.compile(r"errors\.pydantic\.dev|validation errors? for call\[")),
)


@dataclass(frozen=True, slots=True)
class Leak:
    """What leaks (`stack trace`, `path`, `secret`, `library internals`), and the text around it."""

    kind: str
    excerpt: str


def leaks(text: str) -> list[Leak]:
    """Return what a text leaks, each kind once, with the first place of it."""
    found: dict[str, Leak] = {}
    for kind, pattern in _PATTERNS:
        match = pattern.search(text, 0, SEARCHED) if kind not in found else None
        if match is not None:
            found[kind] = Leak(kind, match[0].strip()[:_EXCERPT])
    return list(found.values())
