"""All pages of a list of a server: its tools, its resources. A list may have no end, so it is bounded."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final

from xmcp.client.servers.peer_limits import MAX_MESSAGE_BYTES

MAX_LISTED: Final = 20_000
"""After how many tools no further page of their list is read."""

MAX_PAGES: Final = 250
"""Maximum number of pages of a list."""

MAX_LISTED_BYTES: Final = 2 * MAX_MESSAGE_BYTES
"""Maximum size of all pages of a list as JSON: each may be as large as a message."""


class ListTooLong(Exception):
    """A list has more pages or bytes than the client reads. The text is for people."""


async def all_pages(ask: Callable[[str | None], Awaitable[Any]], items: str, *, enough: int | None = None) -> list[Any]:
    """Return what stands in all pages of a list. A cursor that was there before ends it.

    Args:
        ask: Asks for the page at a cursor; `None`: for the first one.
        items: What is listed: the member of a page that has it.
        enough: After how many of them no further page is asked for; `None`: all are returned.

    Raises:
        ListTooLong: there are more than `MAX_PAGES` pages, or they are larger than `MAX_LISTED_BYTES` together.
    """
    listed: list[Any] = []
    cursors: set[str | None] = {None}
    cursor: str | None = None
    size = 0
    for _ in range(MAX_PAGES):
        page = await ask(cursor)
        if page.next_cursor is not None:
            size += len(page.model_dump_json())
        if size > MAX_LISTED_BYTES:
            raise ListTooLong(f"its list of {items} is larger than {MAX_LISTED_BYTES} bytes")
        listed += getattr(page, items)
        cursor = page.next_cursor
        if cursor in cursors or (enough is not None and len(listed) > enough):
            return listed
        cursors.add(cursor)
    raise ListTooLong(f"its list of {items} has more than {MAX_PAGES} pages")
