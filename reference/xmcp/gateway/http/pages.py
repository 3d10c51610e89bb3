"""Lists that come a page at a time: `?limit=` and `?cursor=`, and `next` in the answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from starlette.requests import Request

from xmcp.gateway.http.refusals import Refused

PAGE: Final = 50
MOST: Final = 200
"""How many entries a page has at most."""

MAX_CURSOR: Final = 400


@dataclass(frozen=True, slots=True)
class Page:
    """What a caller asks for: so many entries, after those of an earlier page."""

    limit: int
    cursor: str | None


def page_of(request: Request) -> Page:
    """Return which page a request asks for.

    Raises:
        Refused: the limit is none, or the cursor cannot be one.
    """
    limit = request.query_params.get("limit", str(PAGE))
    if not (limit.isdecimal() and limit.isascii() and len(limit) < 4 and 1 <= int(limit) <= MOST):
        raise Refused(400, f"limit must be a number from 1 to {MOST}.", "invalid_value", "limit")
    cursor = request.query_params.get("cursor") or None
    if cursor is not None and len(cursor) > MAX_CURSOR:
        raise wrong_cursor()
    return Page(int(limit), cursor)


def wrong_cursor() -> Refused:
    """Return the answer for a cursor that no answer had."""
    return Refused(400, "cursor must be the `next` of an answer before.", "invalid_cursor", "cursor")
