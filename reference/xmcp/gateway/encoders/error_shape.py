"""The one shape of an error in every answer of the gateway: that of OpenAI, which all its clients read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

_TYPES: Final[Mapping[int, str]] = {
    401: "authentication_error",
    403: "permission_error",
    429: "rate_limit_error",
}

_STATUS: Final[Mapping[str, int]] = {
    "RATE_LIMIT": 429,
    "QUOTA_EXCEEDED": 429,
    "CONTENT_POLICY": 400,
    "CONTEXT_TOO_LARGE": 400,
    "TIMEOUT": 504,
    "UPSTREAM_UNAVAILABLE": 503,
    "CANCELLED": 499,
    "AUTH_REQUIRED": 502,
}
"""A refused key of the gateway for the model is 502: the caller's own key is not the reason."""

_CODES: Final[Mapping[str, str]] = {
    "CONTEXT_TOO_LARGE": "context_length_exceeded",
    "CONTENT_POLICY": "content_filter",
    "QUOTA_EXCEEDED": "insufficient_quota",
    "RATE_LIMIT": "rate_limit_exceeded",
}
"""Codes that clients of OpenAI look for."""


def error_body(status: int, message: str, code: str | None = None, param: str | None = None) -> dict[str, Any]:
    """Return the body of an answer with an error status."""
    kind = _TYPES.get(status, "invalid_request_error" if status < 500 else "server_error")
    return {"error": {"message": message, "type": kind, "param": param, "code": code}}


def status_of_failure(error: Mapping[str, Any]) -> int:
    """Return the HTTP status for a run that ended without a result; `error` is the data of its last event."""
    return _STATUS.get(error["code"], 500)


def failure_body(error: Mapping[str, Any]) -> dict[str, Any]:
    """Return the body of an answer, or the chunk of a stream, for a run that ended without a result."""
    code = error["code"]
    return error_body(status_of_failure(error), error["message"], _CODES.get(code, code.lower()))
