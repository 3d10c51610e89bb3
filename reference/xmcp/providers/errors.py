"""How a model call can fail, whatever the vendor: `ProviderError` and the table behind it.

Here live the categories, what tells them apart in an HTTP answer, and their place in the error registry. Nothing here
knows a vendor's SDK.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from xmcp.wire import ErrorInfo


class ErrorCategory(StrEnum):
    """What went wrong between us and a model (requirement C13)."""

    QUOTA = "quota"
    RATE_LIMIT = "rate_limit"
    AUTH = "auth"
    BALANCE = "balance"
    NETWORK = "network"
    CONTEXT = "context"
    CONTENT = "content"
    UNKNOWN = "unknown"


CODES: Final[dict[ErrorCategory, str]] = {
    ErrorCategory.QUOTA: "QUOTA_EXCEEDED",
    ErrorCategory.RATE_LIMIT: "RATE_LIMIT",
    ErrorCategory.AUTH: "AUTH_REQUIRED",
    ErrorCategory.BALANCE: "QUOTA_EXCEEDED",
    ErrorCategory.NETWORK: "UPSTREAM_UNAVAILABLE",
    ErrorCategory.CONTEXT: "CONTEXT_TOO_LARGE",
    ErrorCategory.CONTENT: "CONTENT_POLICY",
    ErrorCategory.UNKNOWN: "INTERNAL",
}
"""Category to registered error code (schemas/registry/error_codes.json)."""

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
"""Vendors say these things under several statuses, so the words come before the number. First match wins."""

_STATUSES: Final[dict[int, ErrorCategory]] = {
    401: ErrorCategory.AUTH,
    402: ErrorCategory.BALANCE,
    403: ErrorCategory.AUTH,
    408: ErrorCategory.NETWORK,
    413: ErrorCategory.CONTEXT,
    429: ErrorCategory.RATE_LIMIT,
}

_KEY_LIKE: Final = re.compile(r"(?i)\b(?:sk|gsk|xai)-[\w*.-]{6,}|(?<=bearer )\S+|\bAIza[\w-]{20,}")


class ProviderError(Exception):
    """A model call that failed for good, after the SDK's own retries.

    `category` says what to do about it, `status` is the vendor's HTTP status where there was one, `began` whether the
    answer had begun and broke off, so that asking again can help although the SDK did not. `chat()` and
    `stream_chat()` set `history`, which is valid as it stands and has every turn that was completed, so that a caller
    can go on from it, and `usage`, what the chat had used until then.
    """

    def __init__(
        self,
        message: str,
        *,
        category: ErrorCategory | str = ErrorCategory.UNKNOWN,
        provider: str = "",
        model: str | None = None,
        status: int | None = None,
        began: bool = False,
    ) -> None:
        """`message` is shown to people: no credential, no body of a foreign error page."""
        super().__init__(message)
        self.message = message
        self.category = ErrorCategory(category)
        self.provider = provider
        self.model = model
        self.status = status
        self.began = began
        self.history: list[dict[str, Any]] | None = None
        self.usage: Mapping[str, Any] | None = None

    def to_error_info(self) -> ErrorInfo:
        """The same failure in the shape every error has (`ErrorInfo`); code and retryability come from the registry."""
        from xmcp.wire import ErrorInfo

        meta = {"upstream_status": self.status} if self.status and 100 <= self.status <= 599 else None
        return ErrorInfo(CODES[self.category], self.message, meta=meta)


def classify(status: int | None, text: str) -> ErrorCategory:
    """The category of a vendor's answer; `text` is its code, type and message. No status: there was no answer."""
    lowered = text.lower()
    for category, sign in _SIGNS:
        if sign.search(lowered):
            return category
    if status is None or status >= 500:
        return ErrorCategory.NETWORK
    return _STATUSES.get(status, ErrorCategory.UNKNOWN)


def redact(text: str, *secrets: str | None) -> str:
    """`text` without the given secrets and without what looks like a key (vendors quote the key they refuse)."""
    for secret in secrets:
        if secret:
            text = text.replace(secret, "[redacted]")
    return _KEY_LIKE.sub("[redacted]", text)
