"""Checks of the error element (chapter 4) that need only its content, not the call that failed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from xmcp_conformance.core.checks import OF_DOCUMENTS, Observations, check
from xmcp_conformance.core.leaks import SEARCHED, Leak, leaks
from xmcp_conformance.core.observation import Path, broken, either, obeyed
from xmcp_conformance.core.untrusted_text import quoted
from xmcp_conformance.reader.schemas import faults
from xmcp_conformance.reader.strict_json import strings
from xmcp_models.registry import ERROR_CODES

NEVER_BUILT_BY_AN_AUTHOR: Final = frozenset({"INTERNAL", "UNKNOWN_TOOL", "VALIDATION_FAIL"})
"""Codes of failures that no author of a tool foresaw, or before which no tool was run."""
_CODE = re.compile(r"[A-Z][A-Z0-9_]{0,62}")
_INTEGER = re.compile(r"\+?[0-9]+|-0+")
_BOOLEANS = {"true": True, "1": True, "false": False, "0": False}
_CATEGORY_OF = {name: row["category"] for code, row in ERROR_CODES.items() for name in (code, *row.get("aliases", ()))}


@dataclass(frozen=True, slots=True)
class ErrorElement:
    """An `<error>` as it was read. Attributes with a value of the wrong type are `None`.

    `meta_reads` is true if `meta` could be read.
    """

    code: str
    retryable: bool | None
    retry_after_ms: int | None
    category: str | None
    message: str
    meta: Any
    has_meta: bool
    meta_reads: bool

    @classmethod
    def of(
        cls, attributes: Mapping[str, str], message: str, meta: Any, *, has_meta: bool, meta_reads: bool
    ) -> ErrorElement:
        """Create the error from its attributes as they are written in the document."""
        return cls(
            code=attributes.get("code", ""),
            retryable=_BOOLEANS.get(attributes.get("retryable", "false").strip()),
            retry_after_ms=_milliseconds(attributes.get("retry_after_ms", "")),
            category=attributes.get("category"),
            message=message.strip(" \t\r\n"),
            meta=meta,
            has_meta=has_meta,
            meta_reads=meta_reads,
        )

    @property
    def model_text(self) -> str:
        """The message and the strings in `meta`, which a model could read; at most `SEARCHED` characters."""
        return "\n".join([self.message, *strings(_without_pointers(self.meta))])[:SEARCHED]

    def path_of(self, leak: Leak) -> Path:
        """Return the path of a leak in `model_text`."""
        return ("message", leak.at) if leak.at < len(self.message) else ("meta",)


def _milliseconds(attribute: str) -> int | None:
    """Return `retry_after_ms` as a number; `None` if section 4.1 does not allow the value."""
    digits = attribute.strip(" \t\r\n")
    number = int(digits.lstrip("+-0")[:17] or "0") if _INTEGER.fullmatch(digits) else -1
    return number if 0 <= number <= 2**53 - 1 else None


def _without_pointers(meta: Any) -> Any:
    """Return `meta` without the JSON pointers in `fields`: they name arguments, but look like file paths."""
    fields = meta.get("fields") if isinstance(meta, dict) else None
    if not isinstance(fields, list):
        return meta
    bare = [{**item, "pointer": ""} if isinstance(item, dict) else item for item in fields]
    return {**meta, "fields": bare}


@check("XMCP-ERR-002", "XMCP-ERR-003", "XMCP-ERR-004", profile=OF_DOCUMENTS)
def attributes(values: Mapping[str, str]) -> Observations:
    """Judge the attributes of `<error>` (section 4.1); `where` of an observation is the name of the attribute."""
    code = values.get("code", "")
    legal = bool(_CODE.fullmatch(code))
    yield either("XMCP-ERR-002", legal, f"the code `{quoted(code)}`", "such as `DB_TIMEOUT`", where=("code",))
    if "retryable" in values:
        retryable = values["retryable"].strip(" \t\r\n")
        yield either(
            "XMCP-ERR-003",
            retryable in _BOOLEANS,
            f"retryable=`{quoted(retryable)}`",
            "`true` or `false`",
            where=("retryable",),
        )
    if "retry_after_ms" in values:
        wait = values["retry_after_ms"]
        yield either(
            "XMCP-ERR-004",
            _milliseconds(wait) is not None,
            f"retry_after_ms=`{quoted(wait)}`",
            "a whole number of milliseconds, from 0 to 2^53-1",
            where=("retry_after_ms",),
        )


def observations(error: ErrorElement) -> Observations:
    """Check one error (sections 4.1, 4.2 and 4.4).

    `where` of an observation is a path. It begins with the name of an attribute, with `meta`, or with `message` and an
    index into the text.
    """
    yield from _retry(error)
    yield from _message(error)
    if error.has_meta:
        yield from _meta(error.meta)
    yield from _category(error)
    yield from _private_details(error)


@check("XMCP-ERR-005", profile=OF_DOCUMENTS)
def _retry(error: ErrorElement) -> Observations:
    if error.retry_after_ms is not None and error.retryable is not None:
        yield either(
            "XMCP-ERR-005",
            error.retryable,
            f"retry_after_ms={error.retry_after_ms} on an error that is not retryable",
            'retryable="true", or no retry_after_ms',
            where=("retry_after_ms",),
        )


@check("XMCP-ERR-006", profile=OF_DOCUMENTS)
def _message(error: ErrorElement) -> Observations:
    yield either("XMCP-ERR-006", bool(error.message), "an empty message", "a message that says what went wrong")


@check("XMCP-ERR-007", profile=OF_DOCUMENTS)
def _meta(meta: Any) -> Observations:
    if not isinstance(meta, dict):
        yield broken("XMCP-ERR-007", f"`meta` is a JSON {type(meta).__name__}", "a JSON object", where=("meta",))
        return
    fault = next(faults("error_meta", meta), None)
    if fault is None:
        yield obeyed("XMCP-ERR-007")
    else:
        expected = "an object that is valid against schemas/error_meta.schema.json"
        yield broken("XMCP-ERR-007", f"`meta`: {fault}", expected, where=("meta", *fault.path))


@check("XMCP-ERR-010", "XMCP-ERR-011", profile=OF_DOCUMENTS)
def _category(error: ErrorElement) -> Observations:
    registered = _CATEGORY_OF.get(error.code)
    if registered is None and _CODE.fullmatch(error.code):
        yield either(
            "XMCP-ERR-011",
            error.category is not None,
            f"the unregistered code `{quoted(error.code)}` without a category",
            "a category, from which a client knows how to react",
        )
    if registered is not None and error.category is not None:
        yield either(
            "XMCP-ERR-010",
            error.category == registered,
            f"{error.code} with the category `{quoted(error.category)}`",
            f"`{registered}`",
            where=("category",),
        )


@check("XMCP-ERR-031", "XMCP-ERR-032", profile=OF_DOCUMENTS)
def _private_details(error: ErrorElement) -> Observations:
    """Judge whether the text that a model could read has stack traces, file paths or credentials."""
    found = {leak.kind: leak for leak in leaks(error.model_text)}
    if "stack trace" in found:
        trace = found["stack trace"]
        yield broken("XMCP-ERR-031", _described(trace), "an error_id instead", where=error.path_of(trace))
        return  # a stack trace contains file paths: one report of the fault is enough
    yield obeyed("XMCP-ERR-031")
    leak = found.get("secret") or found.get("path")
    yield either(
        "XMCP-ERR-032",
        leak is None,
        f"a likely {'credential' if leak.kind == 'secret' else 'file path'} ({quoted(leak.text[:12])}…)"
        if leak
        else "",
        "an error_id instead",
        where=error.path_of(leak) if leak else None,
    )


def stack_trace(error: ErrorElement) -> tuple[str, Path] | None:
    """Return a description and the path of the first stack trace in an error; `None` if it has no stack trace."""
    trace = next((leak for leak in leaks(error.model_text) if leak.kind == "stack trace"), None)
    return None if trace is None else (_described(trace), error.path_of(trace))


def _described(trace: Leak) -> str:
    return f"a stack trace ({trace.language}): `{quoted(trace.text.strip())}`"
