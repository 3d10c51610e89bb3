"""What the error answers of vendors mean: their category, and their text without secrets. No vendor's SDK, no I/O."""

from __future__ import annotations

import re
from typing import Final

from xmcp.chat.errors import ErrorCategory
from xmcp.chat.untrusted_text import without_secrets

_SIGNS: Final[tuple[tuple[ErrorCategory, re.Pattern[str]], ...]] = (
    (
        ErrorCategory.CONTEXT,
        re.compile(
            r"context_length|context.?window|context limit|maximum context|too many tokens|prompt is too long"
            r"|token count.{0,40} exceeds"
        ),
    ),
    (
        ErrorCategory.BALANCE,
        re.compile(r"insufficient.balance|balance is too low|payment required|credits are depleted"),
    ),
    (
        ErrorCategory.QUOTA,
        re.compile(
            r"insufficient_quota|exceeded your current quota|billing|quota.exceeded|usage limit (?:reached|exceeded)"
            r"|spend.limit|api usage limits"
        ),
    ),
    (
        ErrorCategory.CONTENT,
        re.compile(
            r"content_filter|content filtering|content_policy|content management policy|responsibleai|safety system"
            r"|guardrail|bio_policy|policy_violation|usage polic|content exists risk|new_sensitive"
        ),
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

_KEY_LIKE: Final = re.compile(
    r"(?i)\b(?:sk|gsk|xai)-[\w*.-]{6,}|(?<=bearer )\S+|\bAIza[\w-]{20,}|\bAQ\.[\w-]{20,}"
    r"|\bya29\.[\w.-]{20,}|(?<![\w-])eyJ[\w-]{10,}\.[\w.-]+"  # tokens of Google Cloud and of Azure
)

_SHORTEST_KEY: Final = 4
_LONG_KEY: Final = 8
"""Minimum number of characters of a secret that is also removed from the middle of a word."""


def classify(status: int | None, text: str) -> ErrorCategory:
    """Return the category of a vendor's error; `text` is its code, type and message. No status: there was no answer."""
    lowered = text.lower()
    for category, sign in _SIGNS:
        if sign.search(lowered):
            return category
    if status is None or status >= 500:
        return ErrorCategory.NETWORK
    return _STATUSES.get(status, ErrorCategory.UNKNOWN)


_NO_SUCH_MODEL: Final = re.compile(
    r"model_not_found|(?:invalid|unknown|no such) model|(?:\bmodels?\b|\bdeployment\b).{0,300}not (?:exist|found)"
)


def is_unknown_model(status: int | None, text: str, model: str) -> bool:
    """Return whether a vendor refuses a request because it has no such model; `text` is what it says."""
    if status not in (400, 404):
        return False
    return bool(_NO_SUCH_MODEL.search(text.lower())) or (status == 404 and model in text)


MAX_ADDRESS: Final = 300
"""Maximum number of characters of an address in a message; a server can redirect to a long one."""


def is_a_page(address: str, kind: str, api: str) -> str:
    """Return the message for a web page in the place of an answer of the API."""
    shown = without_secrets(address[:MAX_ADDRESS]).partition("#")[0]
    return f"{shown} answers {kind}, which is not {api}. Check the base URL."


def quotes_a_header(fault: BaseException | None) -> bool:
    """Return whether an exception, or one of its causes, quotes a header that cannot be sent: it may have the key."""
    while fault is not None:
        if type(fault).__name__ == "LocalProtocolError" and "header" in str(fault).lower():
            return True
        fault = fault.__cause__
    return False


def without_frames(fault: BaseException) -> BaseException | None:
    """Return an exception of a vendor's SDK without the frames of it and of its causes; `None` if it quotes a header.

    What they say stays; a hundred lines of frames in three libraries would hide it.
    """
    if quotes_a_header(fault):
        return None
    one: BaseException | None = fault
    while one is not None and one.__traceback__ is not None:
        one.__traceback__ = None
        one = one.__cause__ or one.__context__
    return fault


def redact(text: str, *secrets: str | None) -> str:
    """Return `text` without the given secrets and without what looks like a key: vendors quote the key they refuse.

    A short secret is removed only where it stands alone, and not if it is a mere word: the key of a local server is
    often `x`, `test` or `EMPTY`, and an error in which these are missing cannot be read.
    """
    for secret in secrets:
        if secret and len(secret) >= _LONG_KEY:
            text = text.replace(secret, "[redacted]")
        elif secret and len(secret) >= _SHORTEST_KEY and not secret.isalpha():
            text = re.sub(rf"(?<!\w){re.escape(secret)}(?!\w)", "[redacted]", text)
    return _KEY_LIKE.sub("[redacted]", text)
