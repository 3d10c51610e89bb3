"""A command as a report shows it: without the values that are secret by their names."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable
from typing import Final

_SECRET: Final = re.compile(
    r"(?i)(?:^|[-_])(?:key|token|secret|password|passwd|pwd|auth|authorization|credentials?|dsn)$"
)
_CREDENTIALS: Final = re.compile(r"(?<=://)[^\s/@]+@")
_NAME: Final = re.compile(r"-{0,2}[A-Za-z_][\w-]*")


def shown_command(words: Iterable[str]) -> str:
    """Return the words of a command; `…` takes the place of a value after `--api-key`, `--token=` or `API_KEY=`.

    `NAME=value` in the place of the program was meant for the environment: its value can be a secret, too. So can what
    stands before the `@` of an address.
    """
    shown: list[str] = []
    after_a_secret = False
    for word in words:
        name, equals, _ = word.partition("=")
        is_name = _NAME.fullmatch(name) is not None and _SECRET.search(name) is not None
        if after_a_secret and not word.startswith("-"):
            shown.append("…")
        elif equals and (is_name or (not shown and _NAME.fullmatch(name))):
            shown.append(f"{name}=…")
        else:
            shown.append(shlex.quote(_CREDENTIALS.sub("…@", word)))
        after_a_secret = is_name and not equals and word.startswith("-")
    return " ".join(shown)
