"""How a chat can fail: the model, a tool call, an open circuit breaker, a quota."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final

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
        meta = {"upstream_status": self.status} if self.status and 100 <= self.status <= 599 else None
        return ErrorInfo(CODES[self.category], self.message, meta=meta)


class CallFailed(Exception):
    """A call ended without a result. `error` is for the model and says nothing of our side's insides."""

    def __init__(self, error: ErrorInfo, *, transport: bool = False) -> None:
        """`transport`: the way to the server failed, which is what a circuit breaker counts."""
        super().__init__(error.message)
        self.error = error
        self.transport = transport


class CircuitOpenError(Exception):
    """Calls of a server are held back after too many failures (semantics 13). `retry_after`: seconds until a probe."""

    def __init__(self, server: str, retry_after: float) -> None:
        super().__init__(f"The server {server} failed too often; calls are held back for {retry_after:.1f} s.")
        self.server = server
        self.retry_after = retry_after


class QuotaExceeded(Exception):
    """A tenant's quota is used up; the chat ends before more is spent (semantics 27).

    `used` and `limit` count in the unit of `quota` (tokens, dollars, calls), what running calls have reserved included.
    `reset`: seconds until there is room again, `None` if time alone makes none. `chat()` and `stream_chat()` set
    `history`, which is valid as it stands and can be passed to `chat()` again later, and `usage`.
    """

    def __init__(
        self,
        message: str | None = None,
        *,
        tenant_id: str | None = None,
        quota: str | None = None,
        used: float | None = None,
        limit: float | None = None,
        reset: float | None = None,
    ) -> None:
        super().__init__(message or _quota_message(tenant_id, quota, used, limit, reset))
        self.tenant_id = tenant_id
        self.quota = quota
        self.used = used
        self.limit = limit
        self.reset = reset
        self.history: list[dict[str, Any]] | None = None
        self.usage: Mapping[str, Any] | None = None


def _quota_message(
    tenant_id: str | None, quota: str | None, used: float | None, limit: float | None, reset: float | None
) -> str:
    whose = "The quota" if tenant_id is None else f"The quota of tenant {tenant_id!r}"
    which = f" of {quota}" if quota else ""
    known = used is not None and limit is not None
    count = f": {_number(used or 0)} of {_number(limit or 0)} are used or reserved" if known else ""
    when = f". There is room again in {reset:.0f} s" if reset is not None else ""
    return f"{whose}{which} is used up{count}{when}."


def _number(value: float) -> str:
    return f"{value:,.4f}".rstrip("0").rstrip(".")
