"""Which run a repeated request joins. Tools run inside a run, so that running it again would call them again."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from xmcp.gateway.runs.run import Run

REPEAT_SECONDS: Final = 30.0
"""How long after the end of a run an equal request without any mark can still be a repetition of it."""

MAX_KEY_CHARACTERS: Final = 255


class BadIdempotencyKey(ValueError):
    """An `Idempotency-Key` that no caller may use; the message says why."""


@dataclass(frozen=True, slots=True)
class RequestMark:
    """By what a repeated request is known.

    Attributes:
        digest: Of caller, surface, session and body: equal requests have equal ones.
        key: The `Idempotency-Key` of the caller, with the name of its key; `None` if it sent none.
        is_retry: Whether the caller says that it repeats a request.
    """

    digest: bytes
    key: tuple[str, str] | None = None
    is_retry: bool = False


def mark_of(
    headers: Mapping[str, str], key_name: str, surface: str, session_id: str | None, body: bytes
) -> RequestMark:
    """Return the mark of a request; `headers` have lower-case names. The session can stand in a header.

    Raises:
        BadIdempotencyKey: it is empty, or too long.
    """
    # A digest, since the caller's own id can have any characters.
    session = b"" if session_id is None else hashlib.sha256(session_id.encode()).digest()
    digest = hashlib.sha256(b"\0".join((key_name.encode(), surface.encode(), session, body))).digest()
    given = headers.get("idempotency-key")
    if given is not None and not 0 < len(given) <= MAX_KEY_CHARACTERS:
        raise BadIdempotencyKey(f"Idempotency-Key must have 1 to {MAX_KEY_CHARACTERS} characters.")
    retried = headers.get("x-stainless-retry-count", "0")
    return RequestMark(
        digest, None if given is None else (key_name, given), retried.isdecimal() and retried.strip("0") != ""
    )


def same_digest(one: bytes, other: bytes) -> bool:
    """Return whether two digests are equal."""
    return hmac.compare_digest(one, other)


def joins(mark: RequestMark, run: Run, ended_ago: float | None) -> bool:
    """Return whether a request joins the last run of an equal request.

    `ended_ago` is the number of seconds since the run ended; `None` while it runs. A run that failed or was cancelled
    before it called a tool is worth another attempt. Without a mark, two people may have asked the same, or one asks
    anew what was cancelled: then only a run that its reader has left, or that failed, is joined. Of a failure that was
    read in a stream it is the person who asks again: no client does by itself, as after an error status.
    """
    failed = run.state.status in ("error", "interrupted")
    if (failed or run.state.status == "cancelled") and not run.state.tools:
        return False
    if mark.key is not None or mark.is_retry:
        return True
    if ended_ago is None:
        return run.is_alone
    return failed and not run.was_shown and ended_ago < REPEAT_SECONDS
