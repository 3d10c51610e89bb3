"""What the error answers of vendors mean: their category, and their text without secrets. No vendor's SDK, no I/O."""

from __future__ import annotations

import re
from typing import Final

from xmcp.chat.errors import ErrorCategory

_SIGNS: Final[tuple[tuple[ErrorCategory, re.Pattern[str]], ...]] = (
    (
        ErrorCategory.CONTEXT,
        re.compile(r"context_length|context.?window|maximum context|too many tokens|prompt is too long"),
    ),
    (ErrorCategory.BALANCE, re.compile(r"insufficient.balance|balance is too low|payment required")),
    (ErrorCategory.QUOTA, re.compile(r"insufficient_quota|exceeded your current quota|billing|quota.exceeded")),
    (
        ErrorCategory.CONTENT,
        re.compile(r"content_filter|content_policy|content management policy|responsibleai|safety system"),
    ),
)
"""Vendors use several statuses for these, so the text is checked before the status. The first match counts."""

_STATUSES: Final[dict[int, ErrorCategory]] = {
    401: ErrorCategory.AUTH,
    402: ErrorCategory.BALANCE,
    403: ErrorCategory.AUTH,
    408: ErrorCategory.NETWORK,
    413: ErrorCategory.CONTEXT,
    429: ErrorCategory.RATE_LIMIT,
}

_KEY_LIKE: Final = re.compile(r"(?i)\b(?:sk|gsk|xai)-[\w*.-]{6,}|(?<=bearer )\S+|\bAIza[\w-]{20,}")


def classify(status: int | None, text: str) -> ErrorCategory:
    """Return the category of a vendor's error; `text` is its code, type and message. No status: there was no answer."""
    lowered = text.lower()
    for category, sign in _SIGNS:
        if sign.search(lowered):
            return category
    if status is None or status >= 500:
        return ErrorCategory.NETWORK
    return _STATUSES.get(status, ErrorCategory.UNKNOWN)


def redact(text: str, *secrets: str | None) -> str:
    """Return `text` without the given secrets and without what looks like a key: vendors quote the key they refuse."""
    for secret in secrets:
        if secret:
            text = text.replace(secret, "[redacted]")
    return _KEY_LIKE.sub("[redacted]", text)
