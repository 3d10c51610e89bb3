"""How a chat can fail: the model, a tool call, an open circuit breaker, a quota; and an error in its JSON form."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from xmcp.chat import client_made_errors
from xmcp.chat.json_schemas import validator
from xmcp.chat.json_values import as_text, object_as_json
from xmcp.wire import ErrorInfo


class ErrorCategory(StrEnum):
    """What went wrong with a request to a model; it decides whether the next model is tried."""

    QUOTA = "quota"
    RATE_LIMIT = "rate_limit"
    AUTH = "auth"
    MODEL = "model"
    BALANCE = "balance"
    NETWORK = "network"
    CONTEXT = "context"
    CONTENT = "content"
    TOO_LARGE = "too_large"
    UNKNOWN = "unknown"


class Consequences(NamedTuple):
    """What follows from a failure of one category, when the retries of the SDK are over."""

    code: str
    """The registered error code (schemas/registry/error_codes.json), whose category the error has in the error channel
    (spec chapter 4): `auth` of a provider is `unauthenticated` there."""
    then: Literal["next", "stop"]
    """Whether the next model is asked, or the chat stops."""
    ui_message: str
    """What it means for the person who chats, and what to do."""
    repeats: bool = False
    """Whether the same model is first asked once more, if its answer broke off after it had begun."""


CONSEQUENCES: Final[Mapping[ErrorCategory, Consequences]] = {
    ErrorCategory.QUOTA: Consequences(
        "QUOTA_EXCEEDED",
        "next",
        "The allowance for the AI model is used up. Try again later, or ask whoever runs this application to raise it.",
    ),
    ErrorCategory.RATE_LIMIT: Consequences(
        "RATE_LIMIT", "next", "The AI model is getting too many requests. Wait a minute, then try again."
    ),
    ErrorCategory.AUTH: Consequences(
        "AUTH_REQUIRED",
        "next",
        "The AI model refuses access to this application. Ask whoever runs it to check its key for the model.",
    ),
    ErrorCategory.MODEL: Consequences(
        "INTERNAL",
        "next",
        "This application asks for an AI model that does not exist. Ask whoever runs it to choose another one.",
    ),
    ErrorCategory.BALANCE: Consequences(
        "QUOTA_EXCEEDED",
        "next",
        "The account that pays for the AI model has no money left. Ask whoever runs this application to top it up.",
    ),
    ErrorCategory.NETWORK: Consequences(
        "UPSTREAM_UNAVAILABLE",
        "next",
        "The AI model cannot be reached, or its answer broke off. Check your connection, then try again.",
        repeats=True,
    ),
    ErrorCategory.CONTEXT: Consequences(
        "CONTEXT_TOO_LARGE",
        "next",
        "This conversation is too long for the AI model. Start a new one, or send less text.",
    ),
    ErrorCategory.CONTENT: Consequences(
        "CONTENT_POLICY",
        "stop",
        "The request was refused because of what it contains. Put it in other words, or leave something out.",
    ),
    ErrorCategory.TOO_LARGE: Consequences(
        "RESULT_TOO_LARGE", "next", "The answer of the AI model was too long to be read. Ask for less at a time."
    ),
    ErrorCategory.UNKNOWN: Consequences(
        "INTERNAL",
        "next",
        "The AI model could not answer. Try again; if that does not help, tell whoever runs this application.",
    ),
}
"""The one table of what follows from a failure of a model.

Another model answers what one cannot, whatever the reason. Only content that was refused is asked of nobody else: other
models would refuse it too, or answer what they should not.
"""


class ProviderError(Exception):
    """A request to a model failed, after the retries of the SDK.

    Attributes:
        category: What went wrong (`ErrorCategory`).
        status: The vendor's HTTP status, if it answered.
        began: Whether the answer broke off after it had begun. SDKs do not retry such a request, so asking again can
            help.
        unanswered: Whether the request was given up because nothing of an answer came. The vendor may bill it.
        history: Set by `chat()` and `stream_chat()`: the conversation with every turn that was completed; it can be
            passed to `chat()` again.
        usage: Set likewise: the usage of the chat until then.
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
        unanswered: bool = False,
    ) -> None:
        """`message` is shown to people: it must hold no credential and no body of an error page."""
        super().__init__(message)
        self.message = message
        self.category = ErrorCategory(category)
        self.provider = provider
        self.model = model
        self.status = status
        self.began = began
        self.unanswered = unanswered
        self.history: list[dict[str, Any]] | None = None
        self.usage: Mapping[str, Any] | None = None

    def ui_message(self) -> str:
        """Return what happened and what to do, for the person who chats: no words of the vendor, no names, no numbers.

        `message` is for whoever runs the application.
        """
        return CONSEQUENCES[self.category].ui_message

    def to_error_info(self) -> ErrorInfo:
        """Return this failure as an `ErrorInfo`; code and retryability come from the registry."""
        meta = {"upstream_status": self.status} if self.status and 100 <= self.status <= 599 else None
        return ErrorInfo(CONSEQUENCES[self.category].code, self.message, meta=meta)


Cause: TypeAlias = Literal["answer", "connection", "time_out", "client"]
"""Why a call ended without a result, which decides what a circuit breaker counts (XMCP-CLI-042, XMCP-CLI-100 to 102).

`answer`: the server answered, with an error or with something that cannot be read. `connection`: there was no
connection, or it was lost. `time_out`: no answer came in time. `client`: the client itself ended the call, or could
not make it.
"""


class CallFailed(Exception):
    """A tool call ended without a result. The model gets `error`, so it must not reveal internals."""

    def __init__(self, error: ErrorInfo, *, transport: bool = False, cause: Cause | None = None) -> None:
        """`transport=True` is short for `cause="connection"`; without both, the cause is `answer`."""
        super().__init__(error.message)
        self.error = error
        self.cause: Cause = cause or ("connection" if transport else "answer")

    @property
    def transport(self) -> bool:
        """Whether the server was not reached, or not in time: what a circuit breaker counts."""
        return self.cause in ("connection", "time_out")


class CircuitOpenError(Exception):
    """The circuit breaker of a server is open after too many failures. `retry_after`: seconds until the next probe.

    `AIClient.call_tool` raises it. In a chat, the model gets the error `CIRCUIT_OPEN` instead, and so does `on_error`.
    """

    def __init__(self, server: str, retry_after: float) -> None:
        super().__init__(f"The server {server} failed too often; calls are held back for {retry_after:.1f} s.")
        self.server = server
        self.retry_after = retry_after


class QuotaExceeded(Exception):
    """A tenant's quota is used up; the chat ends before more is spent.

    Attributes:
        used, limit: In the unit of `quota` (tokens, dollars, calls); what running calls have reserved is included.
        reset: Seconds until the quota allows calls again; `None` if waiting does not help.
        history: Set by `chat()` and `stream_chat()`: the conversation so far; it can be passed to `chat()` again later.
        usage: Set likewise: the usage of the chat until then.
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


def error_to_json(info: ErrorInfo) -> dict[str, Any]:
    """Return an error as the JSON object of the schemas, without members of `meta` that spec chapter 4 forbids."""
    written: dict[str, Any] = {
        "code": info.code,
        "message": as_text(info.message) or info.code,
        "retryable": info.retryable,
        "category": info.category,
    }
    if info.retry_after_ms is not None:
        written["retry_after_ms"] = info.retry_after_ms
    if info.meta:
        allowed = validator("error_meta").is_valid
        meta = {name: value for name, value in object_as_json(info.meta).items() if allowed({name: value})}
        if meta:
            written["meta"] = meta
    return written


def error_of_chat(failure: BaseException | None) -> ErrorInfo:
    """Return why a chat ended without a result. Of an exception that nobody foresaw only the class is named."""
    match failure:
        case ProviderError():
            return failure.to_error_info()
        case QuotaExceeded():
            return client_made_errors.chat_quota_used_up(str(failure), failure.reset)
        case Exception():
            return client_made_errors.chat_crashed(type(failure).__name__)
        case _:
            return client_made_errors.chat_cancelled()
