"""Checks of calls that have to fail: arguments that do not fit, and tools that do not exist (section 4.3)."""

from __future__ import annotations

from xmcp_conformance.core.checks import Observations, check
from xmcp_conformance.core.observation import broken, either
from xmcp_conformance.core.untrusted_text import quoted
from xmcp_conformance.profiles.server.exchange import Exchange, Intent, ToolCall
from xmcp_conformance.reader.checks.error_element import ErrorElement
from xmcp_conformance.reader.schemas import validator


@check("XMCP-ERR-020", "XMCP-ERR-022", profile="server")
def invalid_call_without_result(exchange: Exchange) -> Observations:
    """Judge an invalid call that ended with a JSON-RPC error or without an answer."""
    call, how = exchange.call, exchange.ended_with
    if call.intent is Intent.INVALID:
        yield broken("XMCP-ERR-020", f"{how}, for {call.fault}", "an error with the code VALIDATION_FAIL")
    elif call.intent is Intent.UNKNOWN_TOOL:
        expected = "an error with the code UNKNOWN_TOOL, or a JSON-RPC error"
        yield either("XMCP-ERR-022", not exchange.lost, how, expected)


@check("XMCP-ERR-020", "XMCP-ERR-022", profile="server")
def success_of_invalid_call(call: ToolCall) -> Observations:
    """Judge an answer without an error, to a call that has to fail."""
    if call.intent is Intent.INVALID:
        yield broken("XMCP-ERR-020", f"success, for {call.fault}", "the error VALIDATION_FAIL")
    elif call.intent is Intent.UNKNOWN_TOOL:
        yield broken("XMCP-ERR-022", "success", "the error UNKNOWN_TOOL")


@check("XMCP-ERR-020", "XMCP-ERR-021", "XMCP-ERR-022", profile="server")
def error_of_invalid_call(call: ToolCall, error: ErrorElement) -> Observations:
    """Judge the code and `meta` of an error against the reason for which the call has to fail."""
    if call.intent is Intent.UNKNOWN_TOOL:
        yield either("XMCP-ERR-022", error.code == "UNKNOWN_TOOL", f"the code `{quoted(error.code)}`", "`UNKNOWN_TOOL`")
    if call.intent is Intent.INVALID:
        if call.forged and error.code == "FORBIDDEN_PARAM_OVERRIDE":
            return  # where the policy refuses what only the server fills in, that comes before the rest (section 5.3)
        refused = error.code == "VALIDATION_FAIL"
        yield either("XMCP-ERR-020", refused, f"the code `{quoted(error.code)}`, for {call.fault}", "`VALIDATION_FAIL`")
        if refused and (named := refused_arguments(error)) is not None:
            missed = [at for at in call.refused if not any(_names(name, at) for name in named)]
            yield either(
                "XMCP-ERR-021",
                not missed,
                f"the pointers {quoted(', '.join(named) or '(none)')}",
                f"`{', '.join(missed)}` too ({call.fault})",
            )


def _names(pointer: str, refused: str) -> bool:
    """Return whether a pointer names what was refused: the value, one inside it, or the argument that it is in."""
    within, around = f"{pointer}/".startswith(f"{refused}/"), f"{refused}/".startswith(f"{pointer}/")
    return within or (around and bool(pointer))


def refused_arguments(error: ErrorElement) -> list[str] | None:
    """Return the pointers of the arguments that an error refuses; `None` where its `meta` cannot be read."""
    if not error.meta_reads or not validator("error_meta").is_valid(error.meta):
        return None
    return [field["pointer"] for field in error.meta.get("fields", [])]
