"""How much a tool server may send: the size of one message, and how many messages nobody asked for. No I/O.

A message above the limit is never parsed. A server that sends more unasked messages than its allowance loses its
connection: reading them costs a core, which the chats with all other servers need.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from enum import StrEnum
from typing import Final

from xmcp_models.registry import PREFIX

MAX_MESSAGE_BYTES: Final = 32 * 1024 * 1024
"""Maximum size of one message: a body of JSON, a server-sent event, or a line of a program.

A document of 8 MiB, the most that a reader accepts (spec section 2.6), fits in, also with its data beside it."""

MAX_ERROR_BYTES: Final = 256 * 1024
"""Maximum size of the body of an HTTP answer that is an error, which the SDK decodes on the event loop."""

MAX_CONTAINERS: Final = 200_000
"""Maximum number of arrays and objects in one message: about a hundred thousand rows, as text and as data.

Reading one takes a microsecond or more on the event loop, in the SDK, however few bytes it has."""

MAX_ITEMS: Final = 5_000
"""Maximum number of members of a list or object whose form MCP defines, such as the tools of a page.
The SDK takes long for each (`result_checks`)."""

CONTAINERS_PER_SECOND: Final = 400.0
"""Arrays and objects by which the allowance of a stream grows: four in each unasked message."""

UNASKED_AT_ONCE: Final = 5_000
"""Messages that a connection may bring without an allowance left over from before."""

UNASKED_PER_SECOND: Final = 100.0
"""Messages by which the allowance grows. It must be fewer than a busy machine reads, or a flood would never end."""

UNASKED_BYTES_PER_SECOND: Final = 1024.0 * 1024
"""Bytes by which the allowance grows, which is two messages of the maximum size at first."""

REQUEST_COUNTS_AS: Final = 20
"""Messages as which a request of the server counts, since it has to be answered: 250 at once, 5 in a second."""

REPORTS_PER_MESSAGE: Final = 5
"""Reports of progress that count as one message: the client asks for them, and leaves most of many out. That is 25,000
at once and 500 in a second. All that comes with an answer over HTTP counts so."""

OPENING_COUNTS_AS: Final = 5
"""Messages as which a stream counts that the client opens to hear more: a server may end it and have it opened again.
That is 1,000 times at once and 20 times in a second."""

LINES_PER_EVENT: Final = 3
"""Lines of a server-sent event: its name, its data, and the empty one."""


ANSWER_REFUSED: Final = f"{PREFIX}answer_refused"
"""Member of the data of a protocol error made here: why the client did not read the answer (`Refusal`)."""


class Refusal(StrEnum):
    """Why the client did not read an answer that came."""

    TOO_LARGE = "too_large"
    COMPRESSED = "compressed"


class TooLarge(Exception):
    """A message is larger than `MAX_MESSAGE_BYTES`. The text is for people."""

    def __init__(self) -> None:
        super().__init__(
            f"it sent a message of more than {MAX_MESSAGE_BYTES // 2**20} MiB, or {MAX_CONTAINERS:,} arrays and "
            "objects; have its tools return less"
        )


class Flood(Exception):
    """A server sends more unasked messages than it may. The text is for people."""

    def __init__(self) -> None:
        super().__init__(
            "it floods its connection with messages that nobody asked for; have it send fewer notifications"
        )


class Allowance:
    """The messages that one connection or stream may bring unasked. It grows with time up to its first size.

    Args:
        lines: Lines per message.
        clock: Tells the time in seconds.
    """

    def __init__(self, *, lines: int = 1, clock: Callable[[], float] = time.monotonic) -> None:
        self._most = (float(UNASKED_AT_ONCE * lines), 2.0 * MAX_MESSAGE_BYTES, float(MAX_CONTAINERS))
        self._growth = (UNASKED_PER_SECOND * lines, UNASKED_BYTES_PER_SECOND, CONTAINERS_PER_SECOND)
        self._left = self._most
        self._clock = clock
        self._counted_at = clock()

    def renew(self) -> None:
        """Give it its first size again: the client has asked for something."""
        self._left = self._most

    def take(self, lines: float, size: int, containers: int = 0) -> None:
        """Count so many lines with `size` bytes and so many arrays and objects together.

        Raises:
            Flood: they are more lines or bytes than is left.
            TooLarge: they have more arrays and objects than is left.
        """
        now = self._clock()
        passed, self._counted_at = now - self._counted_at, now
        self._left = (
            min(self._most[0], self._left[0] + passed * self._growth[0]) - lines,
            min(self._most[1], self._left[1] + passed * self._growth[1]) - size,
            min(self._most[2], self._left[2] + passed * self._growth[2]) - containers,
        )
        if self._left[2] < 0:
            raise TooLarge
        if min(self._left) < 0:
            raise Flood
