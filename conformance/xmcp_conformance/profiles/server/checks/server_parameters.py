"""Checks of the parameters that the server fills in (sections 5.3 and 6.3)."""

from __future__ import annotations

from xmcp_conformance.core.checks import Observations, check
from xmcp_conformance.core.observation import broken, either, obeyed
from xmcp_conformance.core.untrusted_text import quoted
from xmcp_conformance.profiles.server.catalogue import ListedTool, populated_parameters, valid_metadata
from xmcp_conformance.profiles.server.exchange import Exchange
from xmcp_conformance.reader import Document
from xmcp_conformance.reader.schemas import pointer
from xmcp_conformance.reader.strict_json import strings
from xmcp_models.registry import POPULATED_META_KEY

from .input_validation import refused_arguments

# Faults after which it is not known which parameters `server_populated` names.
_POPULATED_UNREADABLE = {"XMCP-RSP-040", "XMCP-RSP-041", "XMCP-RSP-043", "XMCP-RSP-044", "XMCP-RSP-095"}


@check("XMCP-TOL-020", profile="server")
def left_out_of_input_schema(tool: ListedTool) -> Observations:
    """Judge whether the input schema leaves out the parameters that the server fills in."""
    if populated := valid_metadata(tool).get("server_populated"):
        shown = [name for name in populated if name in tool.properties]
        yield either(
            "XMCP-TOL-020",
            not shown,
            f"tool `{tool.name}`: the input schema has `{quoted(', '.join(shown))}`, which the server fills in",
            "an input schema without parameters that the server fills in",
        )


@check("XMCP-TOL-021", profile="server")
def named_in_document(exchange: Exchange, document: Document) -> Observations:
    """Judge whether a tool that succeeded names the parameters that, by its metadata, the server fills in."""
    populated = populated_parameters(exchange.call.tool) if document.error is None else []
    if not populated or _is_populated_unreadable(exchange):
        return
    element = document.server_populated or {}
    named = [*element.get("values", {}), *element.get("redacted", [])]
    missed = [name for name in populated if name not in named]
    has = "no `server_populated`" if document.server_populated is None else "`server_populated`"
    yield either(
        "XMCP-TOL-021",
        not missed,
        f"{has} with {quoted(', '.join(named) or '(nothing)')}" if named else has,
        f"`{quoted(', '.join(missed))}` in its `values` or `redacted`",
    )


def _is_populated_unreadable(exchange: Exchange) -> bool:
    """Return whether a fault hides which parameters the server filled in."""
    return any(not seen.ok and seen.requirement in _POPULATED_UNREADABLE for seen in exchange.reading.observations)


@check("XMCP-MCP-025", "XMCP-TOL-021", profile="server")
def named_in_plain_result(exchange: Exchange, document: Document) -> Observations:
    """Judge the same in a plain result, where a missing member breaks a requirement of its own."""
    twin, failed = exchange.twin, document.error is not None
    present = document.server_populated is not None
    by_metadata = bool(populated_parameters(exchange.call.tool)) and not failed
    by_twin = twin is not None and twin.populates and twin.failed == failed
    if present or by_metadata or by_twin:
        seen = "none, of a call that fills parameters in"
        yield either("XMCP-MCP-025", present, seen, f"`{POPULATED_META_KEY}`")
    if present:
        yield from named_in_document(exchange, document)


@check("XMCP-TOL-023", "XMCP-TOL-024", profile="server")
def forged_arguments(exchange: Exchange, document: Document) -> Observations:
    """Judge what became of arguments that only the server may fill in (section 5.3)."""
    call, error = exchange.call, document.error
    if not call.forged or _is_populated_unreadable(exchange):
        return
    if error is not None:
        if error.code == "FORBIDDEN_PARAM_OVERRIDE":
            yield from (obeyed("XMCP-TOL-023"), obeyed("XMCP-TOL-024"))
        elif error.code == "VALIDATION_FAIL":
            held = [name for name in call.forged if pointer([name]) in (refused_arguments(error) or [])]
            if held:
                seen = f"VALIDATION_FAIL for `{quoted(', '.join(held))}`, which the server fills in"
                yield broken("XMCP-TOL-024", seen, "success, or FORBIDDEN_PARAM_OVERRIDE")
        return
    if call.refused:  # otherwise the input schema allows them, and nothing shows whether the server ignored them
        yield obeyed("XMCP-TOL-024")
    element = document.server_populated or {}
    values, overridden = element.get("values", {}), element.get("overridden", [])
    used = [name for name in call.forged if call.arguments[name] in strings(values.get(name))]
    if not used and call.traps and call.traps[0] in (document.llm_output or ""):
        used = list(call.forged)  # the tool got what it says, whatever the server reports
    # A value that the server does not name could be the forged one: then nothing is judged.
    if used or any(name in values or name in overridden for name in call.forged):
        seen = f"`{quoted(', '.join(used))}` with the value `{quoted(''.join(call.traps[:1]))}`, which the caller sent"
        yield either("XMCP-TOL-023", not used, seen, "the server's own value, or FORBIDDEN_PARAM_OVERRIDE")
