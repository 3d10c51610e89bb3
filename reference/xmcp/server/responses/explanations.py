"""The failures that FastMCP explains to the caller, and the code of each: one table (spec chapter 4).

FastMCP raises these exceptions itself, with a text that is written for whoever called: what a service behind the tool
answered, which name is unknown, what the client cannot be asked. They are recognized by the place where they were
raised. The same exception from an author's own code is unexpected, and its text is not shown.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final, NamedTuple

import anyio
import httpx2
from fastmcp.exceptions import (
    AuthorizationError,
    DisabledError,
    InsufficientScopeError,
    NotFoundError,
    PromptError,
    ToolError,
)
from fastmcp.server.sessions import InvalidSession
from fastmcp.utilities.exceptions import get_http_status_code, is_request_error, is_timeout_error
from mcp import MCPError
from mcp.shared.exceptions import NoBackChannelError
from mcp_types import CONNECTION_CLOSED, INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, REQUEST_TIMEOUT
from pydantic import ValidationError as PydanticValidationError

from xmcp.server.fastmcp_internals.failures import (
    lacks_access_token,
    modules_through,
    raised_by_fastmcp,
    runs_a_tool_of_fastmcp,
)
from xmcp.wire import ErrorInfo

MAX_BODY: Final = 1500  # characters of an upstream answer in an error's message
MAX_RETRY_AFTER: Final = 86_400  # seconds; a service that is away for longer says nothing useful for a retry


class Raised(NamedTuple):
    """A failure as the table looks at it.

    `error` is the exception at its origin; `chain` leads to it from the one that left the tool; `through` are the
    modules of all frames, outermost first. `hides_upstream` tells that the words of services behind the server are
    not passed on (`mask_error_details=True`).
    """

    error: BaseException
    chain: tuple[BaseException, ...]
    through: tuple[str, ...]
    hides_upstream: bool = False

    def by(self, module: str) -> bool:
        """Tell whether the error was raised in `module` or in a module of that package."""
        return raised_by_fastmcp(self.error, module)

    def passed(self, *modules: str) -> bool:
        """Tell whether one of `modules` is among the frames."""
        return any(name in modules for name in self.through)

    def was_validated_by(self, module: str) -> bool:
        """Tell whether `module` itself had pydantic validate a value, and not a function of an author below it."""
        if not isinstance(self.error, PydanticValidationError) or not self.passed(module):
            return False
        below = self.through[-self.through[::-1].index(module) :]
        return all(name.startswith(("anyio.", "fastmcp.", "pydantic.")) for name in below)


def explanation_of(chain: tuple[BaseException, ...], *, hides_upstream: bool = False) -> ErrorInfo | None:
    """Return the error for a failure that FastMCP explains, None for any other.

    `chain` begins with the exception that left the tool and ends with its origin.
    """
    through = tuple(name for error in chain for name in modules_through(error))
    raised = Raised(chain[-1], chain, through, hides_upstream)
    return next((explain(raised) for applies, explain in _TABLE if applies(raised)), None)


def retry_after_ms(response: Any) -> int | None:
    """Return the wait in milliseconds that an HTTP response asks for in whole seconds; None if it does not."""
    given = str(response.headers.get("retry-after", ""))
    if not (given.isascii() and given.isdigit() and len(given) < 8):
        return None
    return int(given) * 1000 if int(given) <= MAX_RETRY_AFTER else None


# ---- services behind the tool ----

_OPENAPI: Final = "fastmcp.server.providers.openapi"
_PROXY: Final = "fastmcp.server.providers.proxy"

_CODES_OF_STATUS: Final = {
    401: "AUTH_REQUIRED",
    403: "FORBIDDEN",
    404: "NOT_FOUND",
    405: "NOT_IMPLEMENTED",
    408: "TIMEOUT",
    409: "CONFLICT",
    410: "NOT_FOUND",
    412: "PRECONDITION_FAILED",
    428: "PRECONDITION_FAILED",
    429: "RATE_LIMIT",
    451: "FORBIDDEN",
    501: "NOT_IMPLEMENTED",
    502: "UPSTREAM_UNAVAILABLE",
    503: "UPSTREAM_UNAVAILABLE",
    504: "TIMEOUT",
}
_CODES_WITH_A_WAIT: Final = frozenset({"RATE_LIMIT", "TIMEOUT", "UPSTREAM_UNAVAILABLE"})

_NOT_FOR_A_CALLER: Final = re.compile(
    r"""^\s*<|Traceback\ \(most\ recent\ call\ last\)|\bFile\ [\\"']{1,4}[^"'\n]{1,200}[\\"']{1,4},\ line\ \d
    |\bat\ [\w$.<>]{1,200}\([\w$./\\:\ -]{1,200}:\d+\)|\bat\ (?:[\w$.<>]{1,99}\ \()?(?:file:|node:|/)\S{1,200}:\d
    |\ in\ [^\n]{1,200}:line\ \d|goroutine\ \d+\ \[|panicked\ at|stack\ backtrace:|\.rb:\d+:in\ """,
    re.VERBOSE,
)
"""A page for a browser, or a stack trace (XMCP-ERR-031)."""


def _http_status(raised: Raised) -> ErrorInfo:
    response = getattr(raised.error, "response", None)
    status = get_http_status_code(raised.error) or 500
    code = _CODES_OF_STATUS.get(status, "INVALID_ARGUMENT" if 400 <= status < 500 else "TOOL_ERROR")
    text = f"HTTP error {status}: {getattr(response, 'reason_phrase', '')}"
    body = str(raised.error).removeprefix(text)[:MAX_BODY]
    if raised.hides_upstream or _NOT_FOR_A_CALLER.search(body.removeprefix(" - ")):
        body = ""
    wait = retry_after_ms(response) if code in _CODES_WITH_A_WAIT else None
    return _error(code, text + body, retry_after_ms=wait, upstream_status=status)


def _http_timeout(raised: Raised) -> ErrorInfo:
    return _error("TIMEOUT", f"{raised.error}.")


def _http_unreachable(raised: Raised) -> ErrorInfo:
    # What follows the class can name hosts and addresses of the server's network.
    return _error("UPSTREAM_UNAVAILABLE", f"{str(raised.error).partition('): ')[0].removesuffix(')')}).")


def _unusable_for_a_request(raised: Raised) -> ErrorInfo:
    """Return the error for arguments of which no HTTP request can be made; FastMCP does not validate them."""
    text = str(raised.error.__cause__)
    missing = re.findall(r"'([^']{1,128})'", text) if text.startswith("Missing required path parameters") else []
    if not missing:
        return _error("INVALID_ARGUMENT", f"{text}.", side_effects="none")
    fields = [
        {"pointer": "/" + name.replace("~", "~0").replace("/", "~1"), "reason": "missing", "message": "Field required"}
        for name in missing[:32]
    ]
    return _error("VALIDATION_FAIL", f"{text}.", side_effects="none", fields=fields)


def _upstream_rate_limit(raised: Raised) -> ErrorInfo:
    return _error(
        "RATE_LIMIT",
        "A service behind the tool refuses for now: too many requests.",
        retry_after_ms=retry_after_ms(getattr(raised.error, "response", None)),
        upstream_status=429,
    )


_CODES_OF_JSON_RPC: Final = {
    INVALID_PARAMS: "INVALID_ARGUMENT",
    METHOD_NOT_FOUND: "NOT_IMPLEMENTED",
    REQUEST_TIMEOUT: "TIMEOUT",
    CONNECTION_CLOSED: "UPSTREAM_UNAVAILABLE",
}


def _refused_by_a_server(raised: Raised) -> ErrorInfo:
    """Return the error for a JSON-RPC error of a proxied server."""
    assert isinstance(raised.error, MCPError)  # noqa: S101 - the table says so
    code = _CODES_OF_JSON_RPC.get(raised.error.error.code, "TOOL_ERROR")
    words = "" if raised.hides_upstream else raised.error.error.message.strip()
    return _error(code, words or "The server behind this tool refused the call.")


def _unreachable_server(_raised: Raised) -> ErrorInfo:
    return _error("UPSTREAM_UNAVAILABLE", "The server behind this tool cannot be reached.")


def _is_unreachable_server(raised: Raised) -> bool:
    lost = (httpx2.HTTPError, ConnectionError, anyio.ClosedResourceError, anyio.BrokenResourceError, anyio.EndOfStream)
    return raised.passed(_PROXY) and (
        isinstance(raised.error, lost)
        or (isinstance(raised.error, RuntimeError) and raised.by("fastmcp.client"))
        or (isinstance(raised.error, MCPError) and raised.by(_PROXY))
    )


# ---- questions to the client ----


def _is_about_a_question(raised: Raised) -> bool:
    return isinstance(raised.error, MCPError) and raised.passed("mcp.server.session", "mcp.server.connection")


def _unanswered_question(raised: Raised) -> ErrorInfo:
    """Return the error for a question that the client did not answer."""
    assert isinstance(raised.error, MCPError)  # noqa: S101 - the table says so
    code, words = raised.error.error.code, raised.error.error.message
    if isinstance(raised.error, NoBackChannelError):
        return _error(
            "NOT_IMPLEMENTED", "The tool has to ask the client something, and this connection carries no questions."
        )
    if code in (METHOD_NOT_FOUND, INVALID_REQUEST) or raised.by("mcp.server.validation"):
        return _error("NOT_IMPLEMENTED", f"The tool has to ask the client something that it does not answer: {words}.")
    if code == REQUEST_TIMEOUT:
        return _error("TIMEOUT", "The client did not answer the tool's question in time.")
    return _error("TOOL_ERROR", f"The client answered the tool's question with an error: {words}")


def _unfit_answer(raised: Raised) -> ErrorInfo:
    """Return the error for an answer of the client that is not of the type that the tool asked for."""
    assert isinstance(raised.error, PydanticValidationError)  # noqa: S101 - the table says so
    return _error("TOOL_ERROR", f"The client's answer is not what the tool asked for: {_faults(raised.error)}.")


def _faults(error: PydanticValidationError) -> str:
    details = error.errors(include_url=False, include_input=False, include_context=False)[:8]
    return "; ".join(detail["msg"] for detail in details)


# ---- names and arguments that the caller gave to a tool of FastMCP ----


def _names_something_unknown(raised: Raised) -> bool:
    return isinstance(raised.error, NotFoundError | DisabledError) and raised.by("fastmcp")


_PROMPT: Final = "fastmcp.prompts.function_prompt"


def _cannot_be_an_argument(raised: Raised) -> bool:
    places = ("fastmcp.server.transforms", "fastmcp.apps", "fastmcp.resources.template", "fastmcp.prompts")
    return isinstance(raised.error, ValueError) and (any(map(raised.by, places)) or raised.was_validated_by(_PROMPT))


def _unusable_argument(raised: Raised) -> ErrorInfo:
    if isinstance(raised.error, PydanticValidationError):
        # FastMCP's sentence says which argument; what follows is pydantic's, with the value once more.
        told = next((str(error) for error in raised.chain if isinstance(error, PromptError)), "")
        which = told.partition(" Error: ")[0] if told.startswith("Could not convert") else "The arguments do not fit"
        return _error("INVALID_ARGUMENT", f"{which}: {_faults(raised.error)}.")
    text = str(raised.error).strip()
    return _error("MISSING_ARGUMENT" if text.startswith("Missing required") else "INVALID_ARGUMENT", f"{text}.")


# ---- rights ----


def _forbidden(raised: Raised) -> ErrorInfo:
    text = str(raised.error).strip() or "The caller may not use this tool."
    meta: dict[str, Any] = {"side_effects": "none"} if raised.by("fastmcp") else {}
    if isinstance(raised.error, InsufficientScopeError):
        meta["params"] = {"required_scopes": raised.error.required_scopes}
    elif raised.by("fastmcp.server.middleware.authorization"):
        # One sentence for unknown and for forbidden tools, so that a caller cannot tell them apart.
        text = text.replace("insufficient permissions", "not found or not authorized")
    return _error("FORBIDDEN", text, **meta)


def _sign_in(_raised: Raised) -> ErrorInfo:
    return _error("AUTH_REQUIRED", "The tool needs to know who is calling, and the request has no access token.")


# ---- the table ----


def _error(code: str, message: str, *, retry_after_ms: int | None = None, **meta: Any) -> ErrorInfo:
    return ErrorInfo(code, message, retry_after_ms=retry_after_ms, meta={"side_effects": "unknown", **meta})


def _in_its_own_words(code: str) -> Callable[[Raised], ErrorInfo]:
    return lambda raised: _error(code, str(raised.error).strip() or "The tool reports a failure without saying more.")


def _for_a_tool_of_fastmcp(applies: Callable[[Raised], bool]) -> Callable[[Raised], bool]:
    # An author's tool that names something unknown has a fault of its own, and the name is not the caller's.
    return lambda raised: applies(raised) and runs_a_tool_of_fastmcp(raised.through)


_TABLE: Final[tuple[tuple[Callable[[Raised], bool], Callable[[Raised], ErrorInfo]], ...]] = (
    (lambda r: get_http_status_code(r.error) is not None and r.by(_OPENAPI), _http_status),
    (lambda r: get_http_status_code(r.error) == 429, _upstream_rate_limit),
    (lambda r: r.by(_OPENAPI) and r.error.__cause__ is not None and is_timeout_error(r.error.__cause__), _http_timeout),
    (
        lambda r: r.by(_OPENAPI) and r.error.__cause__ is not None and is_request_error(r.error.__cause__),
        _http_unreachable,
    ),
    (
        lambda r: (
            r.by(_OPENAPI)
            and r.error.__cause__ is not None
            and raised_by_fastmcp(r.error.__cause__, "fastmcp.utilities.openapi.director")
        ),
        _unusable_for_a_request,
    ),
    (_is_about_a_question, _unanswered_question),
    (lambda r: r.was_validated_by("fastmcp.server.elicitation"), _unfit_answer),
    (_is_unreachable_server, _unreachable_server),
    (lambda r: isinstance(r.error, MCPError) and r.passed(_PROXY), _refused_by_a_server),
    (lambda r: isinstance(r.error, ToolError) and r.by("fastmcp.server.context"), _in_its_own_words("NOT_IMPLEMENTED")),
    (
        lambda r: isinstance(r.error, RuntimeError) and r.by("fastmcp.server.transforms.visibility"),
        _in_its_own_words("NOT_IMPLEMENTED"),
    ),
    (lambda r: isinstance(r.error, AuthorizationError), _forbidden),
    (lambda r: lacks_access_token(r.error), _sign_in),
    (lambda r: isinstance(r.error, InvalidSession), _in_its_own_words("NOT_FOUND")),
    (_for_a_tool_of_fastmcp(_names_something_unknown), _in_its_own_words("NOT_FOUND")),
    (_for_a_tool_of_fastmcp(_cannot_be_an_argument), _unusable_argument),
)
"""The first match counts."""
