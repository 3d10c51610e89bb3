"""Answers with an error status, all in one shape. A handler raises `Refused`; nothing else of it reaches the caller."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from xmcp.chat.json_values import encode_json
from xmcp.gateway.encoders.error_shape import error_body, failure_body, status_of_failure


class Refused(Exception):
    """A request that is answered with an error status; `body` is the JSON object of the answer."""

    def __init__(
        self,
        status: int,
        message: str,
        code: str | None = None,
        param: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.body = error_body(status, message, code, param)
        self.headers = dict(headers or {})

    @classmethod
    def failure(cls, error: Mapping[str, Any], headers: Mapping[str, str]) -> Refused:
        """Return the answer for a run that ended without a result; `error` is the data of its last event."""
        refused = cls(status_of_failure(error), error["message"], headers=headers)
        refused.body = failure_body(error)
        wait = error.get("retry_after_ms")
        if refused.status == 429 and wait is not None:
            refused.headers |= {"retry-after": str(-(-wait // 1000)), "retry-after-ms": str(wait)}
        if error["code"] == "QUOTA_EXCEEDED":
            refused.headers |= {"x-should-retry": "false"}  # it is hours until then
        return refused

    def response(self) -> Response:
        """Return the answer."""
        return json_response(self.body, self.status, self.headers)


def wait_headers(seconds: float) -> dict[str, str]:
    """Return the headers that say after how many seconds to try again."""
    return {"retry-after": str(max(1, math.ceil(seconds))), "retry-after-ms": str(max(1, math.ceil(seconds * 1000)))}


def overloaded(told: str, retry_after: float) -> Refused:
    """Return the answer for a request that has no place now. `told` says why, as a sentence."""
    wait = max(1, round(retry_after))
    return Refused(429, f"{told} Try again in {wait} s.", "rate_limit_exceeded", headers=wait_headers(wait))


def json_response(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Return an answer with a JSON value; `bytes` are JSON already."""
    body = value if isinstance(value, bytes) else encode_json(value)
    return Response(body, status, dict(headers or {}), media_type="application/json")


_MESSAGES: Final[Mapping[int, tuple[str, str]]] = {
    404: ("There is nothing at {path}.", "not_found"),
    405: ("{path} does not take {method}.", "method_not_allowed"),
}


async def refused(_: Request, error: Exception) -> Response:
    """Answer what a handler refused."""
    if not isinstance(error, Refused):
        raise TypeError(f"{error!r} is not a Refused")
    return error.response()


async def no_such_route(request: Request, error: Exception) -> Response:
    """Answer what the routes refused: a path or a method that there is not."""
    if not isinstance(error, HTTPException):
        raise TypeError(f"{error!r} is not an HTTPException")
    message, code = _MESSAGES.get(error.status_code, ("The request was refused.", "refused"))
    path = request.url.path[:200]
    told = message.format(path=path, method=request.method[:20])
    return Refused(error.status_code, told, code, headers=error.headers).response()


async def crashed(_: Request, error: Exception) -> Response:  # noqa: ARG001 - the log has it, the caller does not
    """Answer what nobody foresaw, without a word of it."""
    return Refused(500, "The gateway failed. Its log says why.", "internal").response()
