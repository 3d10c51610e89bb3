"""The repair of an error that a tool's author wrote and that the wire would refuse: as little as possible is changed.

An error is made where something has failed already, in lines that are seldom tested. A mistake in it must not turn it
into another error, so the server repairs it, and says in its log what the author should write.
"""

from __future__ import annotations

import logging
import math
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from xmcp.server.result_data import UnsendableResultError, as_json
from xmcp.wire import ErrorInfo, check_error, in_json_types
from xmcp_models.registry import ERROR_CODES

logger = logging.getLogger("xmcp.server")

UNNAMED: Final = "TOOL_ERROR"
_NOT_IN_A_CODE: Final = re.compile(r"[^A-Z0-9]+")
_LONGEST_WAIT: Final = 2**53 - 1  # milliseconds


def error_of(
    code: object,
    detail: object = "",
    *,
    retryable: object = None,
    retry_after_ms: object = None,
    category: object = None,
    meta: object = None,
) -> ErrorInfo:
    """Return the error of these members, and log a warning for each one that is not as `ErrorInfo` wants it.

    `not found` becomes the registered code `NOT_FOUND`, any other that is not a code `TOOL_ERROR`. A wait in fractions
    of a millisecond is rounded up; a wait makes the error retryable unless the author says otherwise. A category that
    cannot be is left out, for the registry's. `meta` is treated as by `sendable_error`.
    """
    name = _code(code)
    after = _wait(retry_after_ms)
    kept = category if category is None or _is_allowed(category=category) else None
    members = meta if meta is None or isinstance(meta, Mapping) else {"params": {"meta": meta}}
    _warn_unless(name == getattr(code, "value", code), name, "the code that was given is not an upper-case name")
    _warn_unless(after == retry_after_ms, name, "retry_after_ms must be whole milliseconds, from 0")
    _warn_unless(kept is category, name, "the category that was given is not a lower-case name")
    _warn_unless(members is meta, name, "meta must be a mapping; it is sent as meta.params.meta")
    if retryable is not None and not isinstance(retryable, bool):
        _warn_unless(False, name, "retryable must be a bool")
        retryable = bool(retryable)
    if retryable is None and after is not None:
        retryable = True
    return sendable_error(ErrorInfo(name, _text(detail).strip() or name, retryable, after, kept, members))  # type: ignore[arg-type]


def sendable_error(error: ErrorInfo) -> ErrorInfo:
    """Return `error` as the wire allows it (`check_error`), and log a warning for each change.

    Members of `meta` that the specification does not know, or whose value is not as the schema says, go under
    `params`. What has no JSON form is sent as its text; what has no text either is left out.
    """
    try:
        check_error(error)
    except (TypeError, ValueError) as fault:
        _warn_unless(False, error.code, str(fault))
    else:
        return error
    meta = None if error.meta is None else _meta(error)
    error = replace(error, message=error.message or error.code, meta=meta or None)
    if error.retry_after_ms is not None and not error.retryable:
        error = replace(error, retry_after_ms=None)
    registered = ErrorInfo(error.code, error.message).category
    return error if _is_sendable(error) else replace(error, category=registered)


def _meta(error: ErrorInfo) -> dict[str, Any]:
    kept: dict[str, Any] = {}
    params: dict[str, Any] = {}
    given: dict[str, Any] = {}
    for key, member in (error.meta or {}).items():
        name = _text(key)
        if name == "params" and isinstance(member, Mapping):
            for inner, value in member.items():
                _put(given, _text(inner), value, error.code)
        elif _is_sendable(ErrorInfo(UNNAMED, UNNAMED, meta={name: member})):
            kept[name] = member
        elif member is not None:
            _put(params, name, member, error.code)
    return {**kept, **({"params": {**params, **given}} if params or given else {})}


def _put(params: dict[str, Any], name: str, value: Any, code: str) -> None:
    """Put the JSON of `value` under `name`, if it has any."""
    for as_text in (False, True):
        try:
            # Two levels more: it will be a member of `params` in `meta`.
            ((params[name],),) = in_json_types([[as_json(value) if as_text else value]], name)
        except (TypeError, ValueError, UnsendableResultError):
            continue
        return
    _warn_unless(False, code, f"{name!r} is left out, because it has no JSON form")


def _code(code: object) -> str:
    written = getattr(code, "value", code)  # of an enum
    if isinstance(written, str) and _is_allowed(code=str.__str__(written)):
        return str.__str__(written)
    # Only a registered one: a name made of any text could disclose what `Secrets` does not find in this form.
    name = _NOT_IN_A_CODE.sub("_", _text(written).upper()).strip("_")
    return name if name in ERROR_CODES else UNNAMED


def _wait(milliseconds: Any) -> int | None:
    try:
        whole = math.ceil(milliseconds)
    except (TypeError, ValueError, OverflowError):
        return None
    return whole if 0 <= whole <= _LONGEST_WAIT and not isinstance(milliseconds, bool) else None


def _text(value: object) -> str:
    if value is None:
        return ""
    try:
        return str.__str__(value) if isinstance(value, str) else str(value)
    except Exception:
        return type(value).__qualname__


def _is_allowed(**member: Any) -> bool:
    try:
        ErrorInfo(**{"code": UNNAMED, "message": UNNAMED, **member})
    except (TypeError, ValueError):
        return False
    return True


def _is_sendable(error: ErrorInfo) -> bool:
    try:
        check_error(error)
    except (TypeError, ValueError):
        return False
    return True


def _warn_unless(fine: bool, code: str, fault: str) -> None:
    if not fine:
        logger.warning("An error %s of a tool was repaired: %s.", code, fault.removesuffix("."))
