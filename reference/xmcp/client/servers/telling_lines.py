"""Which lines of a program's standard error say why it failed. Pure.

Most programs say it last. A stack trace ends in frames or in the version of the runtime, with the error above them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

MOST: Final = 3
"""Maximum number of lines."""

_BELOW_AN_ERROR: Final = re.compile(
    r"\s+at |\t|goroutine \d|main\.|"  # frames
    r"\s+\w+: |\s*[\]})]|"  # members of an error object
    r"Node\.js v\d|Bun v\d|\(Use `node|exit status \d|npm (ERR!|error) A complete log|\s*\^"
)
_ERROR: Final = re.compile(
    r"(Uncaught )?[\w.]*(Error|Exception)\b|panic: |Exception in thread|npm (ERR!|error) (?!code |errno )"
)
_PLACE: Final = re.compile(r"(?:file://)?(?:/|[A-Za-z]:[\\/]).*:\d+$")
"""File and line, as Node writes them above an error."""


def telling_lines(lines: Sequence[str]) -> list[str]:
    """Return the last lines of a standard error; of a stack trace the error, and the place that stands above it."""
    said = [line for line in lines if line.strip()]
    errors = [index for index, line in enumerate(said) if _ERROR.match(line)]
    if not errors or not _BELOW_AN_ERROR.match(said[-1]):
        return said[-MOST:]
    # npm repeats itself below its first line; any other program says its last error last.
    error = errors[0] if said[errors[0]].startswith("npm ") else errors[-1]
    place = next((line for line in reversed(said[:error]) if _PLACE.match(line)), None)
    end = error + 2 if said[error].rstrip().endswith(":") else error + 1
    return [*([] if place is None else [place]), *said[error:end]]
