"""The errors that the client itself makes, for the model to read: one table, and functions that fill its rows.

Most rows have a function of their name. `circuit_open`, `crashed` and `connection_lost` each fill one of two rows,
depending on whether the server had been asked; `tool_failed` is filled by two functions, `refused_by_server` being the
other one.

What a server answered with, and what a model vendor reports (`ProviderError`), is not in it. A message must not reveal
internals or the text of an exception (XMCP-CLI-014).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice, pairwise
from typing import Any, Final, Literal, TypeAlias

from xmcp.wire import ErrorInfo

MAX_NAMES: Final = 50
"""Maximum number of tool names in an UNKNOWN_TOOL error."""

MAX_COMPARED: Final = 200
"""Maximum number of names that a misspelt name is compared with, since each comparison takes time."""

MAX_QUOTED: Final = 128
"""Maximum number of characters of a name that an error quotes, or that is compared: twice what vendors allow."""

SIMILAR: Final = 0.5
"""Similarity (0 to 1) from which on a name is listed first: the pairs of letters that two names share."""

MAX_SIMILAR: Final = 3
"""Maximum number of similar names that are listed first."""

SideEffects: TypeAlias = Literal["none", "unknown"]


@dataclass(frozen=True, slots=True)
class Row:
    """One kind of failure. `message` is a template for `str.format`.

    `side_effects` says whether the call may have changed something (`None`: not stated). Whether it is retryable is
    what the registry has for the code, also where the client itself does not try again (spec section 11.4).
    """

    code: str
    message: str
    side_effects: SideEffects | None = None


TABLE: Final[Mapping[str, Row]] = {
    # Mistakes of the model
    "unknown_tool": Row("UNKNOWN_TOOL", "There is no tool named {name!r}.{offer}", "none"),
    "unusable_arguments": Row(
        "VALIDATION_FAIL",
        "The arguments were not used: {problem}. Call the tool again with one JSON object.{written}",
        "none",
    ),
    "too_many_calls": Row(
        "RATE_LIMIT",
        "The call was not made: there may be {limit} calls in one answer. Make it in your next one if it is still "
        "needed, together with fewer others.",
        "none",
    ),
    "missing_text": Row("VALIDATION_FAIL", "The call did nothing: {problem}.", "none"),
    # Calls that are not made
    "failed_dependency": Row(
        "DEPENDENCY_FAILED",
        "The call was not made: it depends on `{tool}`, which failed. Deal with that error first, then make both "
        "calls again.",
        "none",
    ),
    "unfit_result": Row(
        "DEPENDENCY_FAILED",
        "The call was not made: the result of `{tool}` does not fit the parameter `{parameter}`. To give the value "
        "yourself, make this call in a turn without `{tool}`.",
        "none",
    ),
    "not_approved": Row("FORBIDDEN", "{reason}", "none"),
    "missing_app_parameter": Row(
        "MISSING_SERVER_PARAM", "The application has no value for the parameter {name!r} of this tool.", "none"
    ),
    "quota_used_up": Row("QUOTA_EXCEEDED", "The call was not made: a quota is used up.", "none"),
    "circuit_open": Row(
        "CIRCUIT_OPEN",
        "The server {server} failed several times in a row; calls are held back for {seconds:.0f} s.",
        "none",
    ),
    "circuit_opened_meanwhile": Row(
        "CIRCUIT_OPEN",
        "The call was made and failed, and so did others: calls of the server {server} are held back for "
        "{seconds:.0f} s.",
        "unknown",
    ),
    "no_credentials": Row(
        "AUTH_REQUIRED",
        "The call was not made: the application has no credentials for the server {server} in this conversation.",
        "none",
    ),
    "credentials_refused": Row(
        "AUTH_REQUIRED",
        "The server {server} refused the credentials that the application has for it.",
        "none",
    ),
    "no_connection_free": Row(
        "RATE_LIMIT",
        "The call was not made: all connections that the client may have to the server {server} are in use. Call the "
        "tool again later.",
        "none",
    ),
    "not_sendable": Row("INTERNAL", "The call was not made: its arguments cannot be written as JSON.", "none"),
    "crashed_before_the_call": Row("INTERNAL", "The client failed to make this call.", "none"),
    # Calls without an answer
    "crashed": Row("INTERNAL", "The client failed while it made this call.", "unknown"),
    "timed_out": Row("TIMEOUT", "The call did not end within {seconds:g} s and was cancelled.", "unknown"),
    "chat_timed_out": Row(
        "TIMEOUT",
        "The time for this conversation was over before the call ended; it was cancelled.",
        "unknown",
    ),
    "request_timed_out": Row("TIMEOUT", "The server {server} did not answer within {seconds:g} s."),
    "cancelled": Row("CANCELLED", "The call was cancelled before it ended.", "unknown"),
    "not_ended": Row("CANCELLED", "There is no result: the call had not ended.", "unknown"),
    "connection_lost": Row(
        "CONNECTION_FAILED",
        "The connection to the server {server} is gone; a later call may find it again.",
        "unknown",
    ),
    "connection_refused": Row(
        "CONNECTION_FAILED", "The connection to the server {server} is gone; a later call may find it again.", "none"
    ),
    "no_message": Row(
        "CONNECTION_FAILED",
        "The server {server} was reached, but what it sent is no answer to the call; a later call may succeed.",
        "unknown",
    ),
    "tool_client_failed": Row(
        "CONNECTION_FAILED", "The server {server} could not be asked; a later call may succeed.", "unknown"
    ),
    # Answers that are failures, or cannot be read
    "keeps_asking": Row(
        "TOOL_ERROR", "The tool kept asking for further input instead of answering; the call was given up.", "unknown"
    ),
    "answer_too_large": Row(
        "RESULT_TOO_LARGE",
        "The answer of the server {server} is too large and was not read. Ask for less: fewer rows, a smaller range, "
        "or one part at a time.",
        "unknown",
    ),
    "answer_compressed": Row(
        "TOOL_ERROR",
        "The answer of the server {server} was not read: it is compressed, which the client did not ask for.",
        "unknown",
    ),
    "tool_failed": Row("TOOL_ERROR", "{text}"),
    "refused_arguments": Row("VALIDATION_FAIL", "{text}"),
    "unreadable_answer": Row("TOOL_ERROR", "The tool gave an answer that cannot be read."),
    "no_document": Row("INVALID_XML", "The server's response has no document."),
    "unreadable_document": Row("INVALID_XML", "The server's response could not be read ({kind})."),
    # Chats that end without a result, for their records
    "chat_quota_used_up": Row("QUOTA_EXCEEDED", "{text}"),
    "chat_crashed": Row("INTERNAL", "The chat failed: {kind}."),
    "chat_cancelled": Row("CANCELLED", "The chat was cancelled before it ended."),
    "unrecorded": Row("CANCELLED", "The call was cancelled before it ended."),
}
"""The rows, which the functions below fill."""


# ---- Mistakes of the model ----


def unknown_tool(name: str, known: Collection[str]) -> ErrorInfo:
    """Return the error for a tool that is not offered. It lists tools that are, similar names first."""
    # Of very many names only those with the same beginning are compared.
    compared = known if len(known) <= MAX_COMPARED else (n for n in known if n[:2] == name[:2])
    likely = _similar(name, islice(compared, MAX_COMPARED))
    names = [*likely, *islice((n for n in known if n not in likely), MAX_NAMES - len(likely))]
    offer = f" There are: {', '.join(names)}." if names else " There are no tools."
    quoted = name if len(name) <= MAX_QUOTED else name[:MAX_QUOTED] + "…"
    return _error("unknown_tool", meta={"params": {"names": names}}, name=quoted, offer=offer)


def too_many_calls(limit: int) -> ErrorInfo:
    """Return the error for a call above the limit of calls in one turn (XMCP-CLI-105)."""
    return _error("too_many_calls", meta={"params": {"limit": limit}}, limit=limit)


def unusable_arguments(reason: str, problem: str, written: str = "") -> ErrorInfo:
    """Return the error for arguments that are not one JSON object that can be sent.

    `reason` is a machine-readable word, `problem` a phrase for the model, `written` a quotation of its arguments.
    """
    field = {"pointer": "", "reason": reason, "message": problem}
    quotation = f" You wrote: {written}" if written else ""
    return _error("unusable_arguments", meta={"fields": [field]}, problem=problem, written=quotation)


def missing_text(parameter: str) -> ErrorInfo:
    """Return the error for a call of a meta tool without its text argument."""
    problem = f"{parameter!r} is missing, or is not a text"
    field = {"pointer": f"/{parameter}", "reason": "missing", "message": f"{problem}."}
    return _error("missing_text", meta={"fields": [field]}, problem=problem)


def _similar(name: str, known: Iterable[str]) -> list[str]:
    """Return the most similar names, best first; in linear time, which `difflib` does not take."""
    pairs = _pairs(name[:MAX_QUOTED])
    rated = [(2 * len(pairs & other) / ((len(pairs) + len(other)) or 1), n) for n in known if (other := _pairs(n))]
    rated = [pair for pair in rated if pair[0] >= SIMILAR]
    return [n for _, n in sorted(rated, key=lambda pair: -pair[0])[:MAX_SIMILAR]]


@lru_cache(4 * MAX_COMPARED)
def _pairs(name: str) -> frozenset[str]:
    """Return the pairs of neighbouring letters and digits in a name, in lower case, and its beginning."""
    plain = name.lower().replace("_", "").replace("-", "")
    return frozenset({f" {plain[:1]}", *map("".join, pairwise(plain))})


# ---- Calls that are not made ----


def failed_dependency(tool: str) -> ErrorInfo:
    """Return the error for a call that depends on `tool`, of which every call failed."""
    return _error("failed_dependency", meta={"params": {"tool": tool}}, tool=tool)


def unfit_result(tool: str, parameter: str, fields: Sequence[Mapping[str, str]]) -> ErrorInfo:
    """Return the error for a call whose parameters do not accept the result of `tool`; `fields` lists all of them."""
    meta = {"fields": list(fields), "params": {"tool": tool}}
    return _error("unfit_result", meta=meta, tool=tool, parameter=parameter)


def not_approved(reason: str = "") -> ErrorInfo:
    """Return the error for a call that was refused; `reason` is the text from the refusing application, if any."""
    return _error("not_approved", reason=reason or "The person did not approve this call.")


def missing_app_parameter(name: str) -> ErrorInfo:
    """Return the error for a parameter that the application fills in and has no value for."""
    return _error("missing_app_parameter", name=name)


def quota_used_up(quota: str | None) -> ErrorInfo:
    """Return the error for a call at which a quota of the tenant stopped the chat."""
    return _error("quota_used_up", meta={"params": {"quota": quota}} if quota else {})


def circuit_open(server: str, retry_after: float, *, sent: bool = False) -> ErrorInfo:
    """Return the error for a call that an open circuit breaker refuses for `retry_after` seconds.

    `sent`: whether an earlier attempt may have reached the server.
    """
    row = "circuit_opened_meanwhile" if sent else "circuit_open"
    return _error(row, retry_after_ms=max(1, round(retry_after * 1000)), server=server, seconds=retry_after)


def no_credentials(server: str) -> ErrorInfo:
    """Return the error for a call of a server for which the application gave this chat no credentials."""
    return _error("no_credentials", server=server)


def credentials_refused(server: str) -> ErrorInfo:
    """Return the error for a call that a server refused because of the credentials that came with it."""
    return _error("credentials_refused", server=server)


def no_connection_free(server: str) -> ErrorInfo:
    """Return the error for a call of a server to which this chat gets no connection, because others use them all."""
    return _error("no_connection_free", server=server)


def not_sendable() -> ErrorInfo:
    """Return the error for a call that cannot be written as JSON."""
    return _error("not_sendable")


# ---- Calls without an answer ----


def crashed(error_id: str, *, sent: bool = False) -> ErrorInfo:
    """Return the error for a bug in the client or a hook. `sent`: whether the request may have reached the server."""
    return _error("crashed" if sent else "crashed_before_the_call", error_id=error_id)


def timed_out(seconds: float) -> ErrorInfo:
    """Return the error for a call that took longer than the client allows."""
    return _error("timed_out", meta={"params": {"seconds": seconds}}, seconds=seconds)


def chat_timed_out() -> ErrorInfo:
    """Return the error for a call that was still running when the time limit of its chat passed."""
    return _error("chat_timed_out")


def request_timed_out(server: str, seconds: float) -> ErrorInfo:
    """Return the error for a request, other than a call, that a server did not answer in time."""
    return _error("request_timed_out", server=server, seconds=seconds)


def cancelled() -> ErrorInfo:
    """Return the error for a call that was cancelled while it ran."""
    return _error("cancelled")


def not_ended() -> ErrorInfo:
    """Return the error that a history has for a call without a result."""
    return _error("not_ended")


def connection_lost(server: str, *, sent: bool) -> ErrorInfo:
    """Return the error for a lost connection. `sent`: whether the request may have reached the server."""
    return _error("connection_lost" if sent else "connection_refused", server=server)


def no_message(server: str) -> ErrorInfo:
    """Return the error for a call that a server answered outside MCP, with an HTTP status or a page for example."""
    return _error("no_message", server=server)


def tool_client_failed(server: str) -> ErrorInfo:
    """Return the error for an exception of a tool client, an object in the place of a server."""
    return _error("tool_client_failed", server=server)


# ---- Answers that are failures, or cannot be read ----


def tool_failed(text: str) -> ErrorInfo:
    """Return the error for a failure that the tool reports in plain text."""
    return _error("tool_failed", text=text.strip() or "The tool reported a failure without saying what.")


def refused_by_server(text: str) -> ErrorInfo:
    """Return the error for a protocol error of the server; `text` is its message."""
    return _error("tool_failed", text=text.strip() or "The server refused the call.")


def refused_arguments(text: str) -> ErrorInfo:
    """Return the error for a protocol error which says that the arguments do not fit (XMCP-MCP-041)."""
    return _error("refused_arguments", text=text.strip() or "The server refused the arguments.")


def keeps_asking() -> ErrorInfo:
    """Return the error for a call that a server answers again and again with a request for input."""
    return _error("keeps_asking")


def answer_too_large(server: str) -> ErrorInfo:
    """Return the error for an answer with more bytes, or more arrays and objects, than the client reads."""
    return _error("answer_too_large", server=server)


def answer_compressed(server: str) -> ErrorInfo:
    """Return the error for an answer whose body is compressed."""
    return _error("answer_compressed", server=server)


def unreadable_answer() -> ErrorInfo:
    """Return the error for an answer that is neither a text nor an MCP result."""
    return _error("unreadable_answer")


def no_document() -> ErrorInfo:
    """Return the error for a result of an XMCP server that does not begin with a text."""
    return _error("no_document")


def unreadable_document(kind: str, line: int, column: int) -> ErrorInfo:
    """Return the error for a document that cannot be decoded: the kind of fault and its place, nothing of its text."""
    return _error("unreadable_document", meta={"params": {"kind": kind, "line": line, "column": column}}, kind=kind)


# ---- Chats that end without a result, for their records ----


def chat_quota_used_up(text: str, reset: float | None = None) -> ErrorInfo:
    """Return the error for a chat that a quota ended; `reset` is the number of seconds until there is room again."""
    wait = None if reset is None else math.ceil(reset * 1000)
    return _error("chat_quota_used_up", text=text, retry_after_ms=wait)


def chat_crashed(kind: str) -> ErrorInfo:
    """Return the error for a chat that an unexpected exception ended; `kind` is its type's name."""
    return _error("chat_crashed", kind=kind)


def chat_cancelled() -> ErrorInfo:
    """Return the error for a chat that was cancelled."""
    return _error("chat_cancelled")


def unrecorded() -> ErrorInfo:
    """Return the error for a call whose end no event reported."""
    return _error("unrecorded")


def _error(
    row: str,
    *,
    meta: Mapping[str, Any] | None = None,
    error_id: str | None = None,
    retry_after_ms: int | None = None,
    **values: object,
) -> ErrorInfo:
    made = TABLE[row]
    ids = {"error_id": error_id} if error_id else {}
    effects = {"side_effects": made.side_effects} if made.side_effects else {}
    return ErrorInfo(
        made.code,
        made.message.format(**values),
        retry_after_ms=retry_after_ms,
        meta={**ids, **effects, **(meta or {})} or None,
    )
