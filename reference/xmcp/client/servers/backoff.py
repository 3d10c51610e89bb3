"""How long to wait before a server is tried again."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Final

FIRST_DELAY: Final = 1.0
MAX_DELAY: Final = 40.0  # with 25 % more, and the time to connect, within the 60 s of XMCP-CLI-095


def reconnect_delays() -> Iterator[float]:
    """Yield the seconds to wait before each further attempt: doubling up to 40, each 25 % more or less."""
    delay = FIRST_DELAY
    while True:
        yield delay * random.uniform(0.75, 1.25)  # noqa: S311 - spreads the attempts of many clients; no secret
        delay = min(2 * delay, MAX_DELAY)
