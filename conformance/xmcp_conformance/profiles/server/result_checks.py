"""Checks of how a server answers a call (chapters 2 to 6). Pure functions of the call and its MCP result.

The reader judges what concerns a document alone. Here are the checks that also need the call, the catalogue or the
rest of the MCP result.
"""

from __future__ import annotations

import re
from enum import Enum, auto
from typing import Any

from xmcp_conformance.core.checks import Observations, check
from xmcp_conformance.core.observation import broken, either, obeyed
from xmcp_conformance.core.untrusted_text import quoted
from xmcp_conformance.reader import MOST_BYTES, Document, looks_like_a_document, read
from xmcp_conformance.reader.errors import ErrorElement
from xmcp_conformance.reader.jsontext import strings
from xmcp_conformance.reader.schemas import pointer, validator
from xmcp_models.registry import POPULATED_META_KEY, VERSION, VERSION_META_KEY

from . import plain_result
from .catalogue_checks import announced_versions, negotiates, populated_parameters
from .exchange import Catalogue, Exchange, Intent, ToolCall

LONGEST = 2 * MOST_BYTES
"""Maximum number of characters of a document that the suite reads: it keeps all tokens of the document in memory."""

_MARKUP = re.compile("[<&]")
_ILLEGAL = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_DOCUMENT = "a text block that holds one tool response document"
# Faults after which it is not known which parameters `server_populated` names.
_POPULATED_UNREADABLE = {"XMCP-RSP-040", "XMCP-RSP-041", "XMCP-RSP-043", "XMCP-RSP-044", "XMCP-RSP-095"}


class RequiredForm(Enum):
    """The form in which a server must answer a client (sections 6.1 to 6.3)."""

    DOCUMENT = auto()
    """A document: the wire is `always`."""
    UNDECLARED = auto()
    """A document: the wire is `always`, and the client declared nothing."""
    NEGOTIATED = auto()
    """A document: the wire is `negotiated`, and the client declared that it reads documents."""
    PLAIN = auto()
    """A plain MCP result: the wire is `negotiated`, and the client declared nothing."""
    EITHER = auto()
    """Either of the two: the server cannot be expected to know what the client declared."""


def required_form(catalogue: Catalogue, *, declared: bool, known: bool) -> RequiredForm:
    """Return the form in which a server must answer a client.

    Args:
        catalogue: what the server announced to that client.
        declared: whether the client declared the extension, in the version of this suite.
        known: whether the server can know what the client declared.
    """
    if not negotiates(catalogue):
        return RequiredForm.DOCUMENT if declared else RequiredForm.UNDECLARED
    if not declared:
        return RequiredForm.PLAIN
    supported = VERSION in (announced_versions(catalogue) or ())
    return RequiredForm.NEGOTIATED if known and supported else RequiredForm.EITHER


def of_exchange(
    exchange: Exchange, announced: list[str] | None = None, form: RequiredForm = RequiredForm.DOCUMENT
) -> Observations:
    """Yield what all checks of one call observe, and set `exchange.reading`.

    Args:
        exchange: the call and how it ended.
        announced: the versions that the server says it emits, where it says so.
        form: the form that the answer must have. The content is judged only where the form is right.
    """
    if exchange.malformed:
        yield from _malformed(exchange, form)
        return
    if exchange.result is None:
        yield from _without_result(exchange)
        return
    # Where a plain result is required, a document in the text is the suite's own text, or breaks XMCP-MCP-023.
    is_document = form is RequiredForm.DOCUMENT or (
        form is not RequiredForm.PLAIN and plain_result.begins_a_document(exchange.text)
    )
    of_form = list(_form(exchange, form, is_document))
    yield from of_form
    if all(observation.ok for observation in of_form):
        yield from _of_document(exchange, announced) if is_document else _of_plain_result(exchange, announced)


def _of_document(exchange: Exchange, announced: list[str] | None) -> Observations:
    readable = list(_document_text(exchange))
    yield from readable
    if not all(observation.ok for observation in readable) or exchange.text is None:
        return
    exchange.reading = read(exchange.text)
    yield from exchange.reading.observations
    document = exchange.reading.document
    if document is not None:
        if announced is not None:
            yield from _announced_version(document, announced)
        yield from _mcp_result(exchange, document)
        yield from _of_content(exchange.call, document)
        yield from _replaced_code_points(exchange, document)
        yield from _populated_named(exchange, document)
        yield from _forged_arguments(exchange, document)


def _of_plain_result(exchange: Exchange, announced: list[str] | None) -> Observations:
    exchange.reading = plain_result.read(exchange, announced)
    yield from exchange.reading.observations
    document = exchange.reading.document
    if document is not None:
        yield from _of_content(exchange.call, document)
        yield from _populated_in_meta(exchange, document)
        yield from _forged_arguments(exchange, document)


def _of_content(call: ToolCall, document: Document) -> Observations:
    """Yield what the content of the answer shows, in whichever form it came."""
    yield from _tool_name(call, document)
    yield from _display(call, document)
    if document.error is not None:
        yield from _error(call, document.error)
    else:
        yield from _success(call)


@check("XMCP-MCP-001", "XMCP-MCP-020", profile="server")
def _malformed(exchange: Exchange, form: RequiredForm) -> Observations:
    """Judge a result that is not a result of MCP."""
    plain = form is RequiredForm.PLAIN
    requirement, expected = ("XMCP-MCP-020", "a text block") if plain else ("XMCP-MCP-001", _DOCUMENT)
    yield broken(requirement, exchange.malformed or "", expected)


@check("XMCP-ERR-001", "XMCP-ERR-020", "XMCP-ERR-022", profile="server")
def _without_result(exchange: Exchange) -> Observations:
    """Judge a call that ended with a JSON-RPC error or without an answer."""
    how = f"the JSON-RPC error {exchange.rpc_error}" if exchange.rpc_error else f"{exchange.lost}"
    if exchange.call.intent is Intent.VALID:
        yield broken("XMCP-ERR-001", how, "a result with a document that has `error`")
    elif exchange.call.intent is Intent.INVALID:
        yield broken("XMCP-ERR-020", f"{how}, for {exchange.call.fault}", "a document with the code VALIDATION_FAIL")
    elif exchange.lost:
        yield broken("XMCP-ERR-022", how, "a document with the code UNKNOWN_TOOL, or a JSON-RPC error")


@check("XMCP-MCP-005", "XMCP-MCP-015", "XMCP-MCP-023", profile="server")
def _form(exchange: Exchange, form: RequiredForm, is_document: bool) -> Observations:
    """Judge whether the answer has the required form."""
    if form is RequiredForm.NEGOTIATED:
        expected = "a document, for the client declared the extension"
        yield either("XMCP-MCP-015", is_document, exchange.first_block, expected)
    if form is RequiredForm.UNDECLARED and not is_document:
        seen = f"{exchange.first_block}; a client that declares the extension gets a document"
        yield broken("XMCP-MCP-005", seen, "`wire`: `negotiated` in the announcement, or a document")
    if form is RequiredForm.PLAIN:
        tagged = plain_result.document_markup(exchange)
        seen = f"the text `{quoted(tagged or '')}`"
        yield either("XMCP-MCP-023", tagged is None, seen, "text without tags around it")
        if tagged is None:
            yield obeyed("XMCP-MCP-005")


@check("XMCP-MCP-001", "XMCP-RSP-022", "XMCP-RSP-081", profile="server")
def _document_text(exchange: Exchange) -> Observations:
    """Judge whether there is a text that is worth reading as a document."""
    text = exchange.text
    attempt = text is not None and looks_like_a_document(text)
    yield either("XMCP-MCP-001", attempt, exchange.first_block, _DOCUMENT)
    if text is None or not attempt:
        return
    if len(text) > LONGEST:
        seen = f"a document of {len(text):,} characters, which is not judged further"
        yield broken("XMCP-RSP-081", seen, f"at most {MOST_BYTES:,} bytes")
    elif _is_unescaped(exchange.call.trap, text):
        # What a parser makes of the rest is chance: it can see elements where there was text, or any other fault.
        yield broken("XMCP-RSP-022", f"the text `{quoted(exchange.call.trap)}` as it is", "`&lt;` and `&amp;`")


def _is_unescaped(trap: str, text: str) -> bool:
    """Return whether markup that the suite sent as text is in `llm_output` without being escaped."""
    if not _MARKUP.search(trap):
        return False
    before, found, _ = text.partition(trap)
    return bool(found) and before.rfind("<llm_output") > max(before.rfind("<display"), before.rfind("<![CDATA["))


@check("XMCP-CNF-003", profile="server")
def _announced_version(document: Document, announced: list[str]) -> Observations:
    if document.version is not None:
        seen, expected = f"a document of version {document.version}", f"one of {quoted(', '.join(announced))}"
        yield either("XMCP-CNF-003", document.version in announced, seen, expected)


@check("XMCP-MCP-002", "XMCP-MCP-003", "XMCP-MCP-004", profile="server")
def _mcp_result(exchange: Exchange, document: Document) -> Observations:
    """Judge the MCP result around the document (chapter 6)."""
    result = exchange.result or {}
    failed = document.error is not None
    flag = result.get("isError", False)
    yield either(
        "XMCP-MCP-002",
        flag is failed,
        f"isError={flag} with {'`error`' if failed else 'no `error`'} in the document",
        f"isError={failed}",
    )
    version = (result.get("_meta") or {}).get(VERSION_META_KEY)
    if document.version is not None:
        expected = f"`{VERSION_META_KEY}`: `{document.version}`"
        yield either("XMCP-MCP-003", version == document.version, f"`{quoted(str(version))}`", expected)
    if failed:
        structured = result.get("structuredContent")
        yield either("XMCP-MCP-004", structured is None, "`structuredContent` in a failed result", "none")


@check("XMCP-RSP-007", profile="server")
def _tool_name(call: ToolCall, document: Document) -> Observations:
    if document.tool_name:
        same = document.tool_name == call.name
        yield either("XMCP-RSP-007", same, f"`{quoted(document.tool_name)}`", f"`{quoted(call.name)}`")


@check("XMCP-DSP-021", "XMCP-DSP-022", "XMCP-TOL-002", profile="server")
def _display(call: ToolCall, document: Document) -> Observations:
    """Judge whether there is a display exactly where one was asked for, from a tool that says that it displays."""
    if not call.shows and (document.has_display or (call.tool and call.tool.takes_show_user)):
        yield either("XMCP-DSP-021", not document.has_display, "a display that nobody asked for", "no `display`")
    if call.tool is None or call.intent is not Intent.VALID:
        return
    if document.has_display:
        seen = f"tool `{call.name}` displays and does not say so"
        yield either("XMCP-TOL-002", call.tool.displays, seen, '{"display": true}')
    if call.shows and call.tool.displays and document.error is None:
        parts = {"llm_output": document.llm_output is not None, "display": document.has_display}
        present = [name for name, there in parts.items() if there]
        seen = f"{' and '.join(present) or 'neither'}"
        yield either("XMCP-DSP-022", all(parts.values()), seen, "`llm_output` and `display`")


@check("XMCP-ERR-020", "XMCP-ERR-022", profile="server")
def _success(call: ToolCall) -> Observations:
    """Judge an answer without an error, to a call that has to fail."""
    if call.intent is Intent.INVALID:
        yield broken("XMCP-ERR-020", f"success, for {call.fault}", "the error VALIDATION_FAIL")
    elif call.intent is Intent.UNKNOWN_TOOL:
        yield broken("XMCP-ERR-022", "success", "the error UNKNOWN_TOOL")


@check("XMCP-ERR-001", "XMCP-ERR-020", "XMCP-ERR-021", "XMCP-ERR-022", "XMCP-ERR-030", profile="server")
def _error(call: ToolCall, error: ErrorElement) -> Observations:
    """Judge the code and `meta` of an error against the reason for which the call has to fail."""
    yield obeyed("XMCP-ERR-001")
    meta: dict[str, Any] = error.meta if isinstance(error.meta, dict) else {}
    if error.code == "INTERNAL" and error.meta_reads:
        marked = isinstance(meta.get("error_id"), str) and bool(meta["error_id"])
        seen = "INTERNAL without `error_id` in `meta`"
        yield either("XMCP-ERR-030", marked, seen, "an `error_id` to find in the log")
    if call.intent is Intent.UNKNOWN_TOOL:
        yield either("XMCP-ERR-022", error.code == "UNKNOWN_TOOL", f"the code `{quoted(error.code)}`", "`UNKNOWN_TOOL`")
    if call.intent is Intent.INVALID:
        refused = error.code == "VALIDATION_FAIL"
        yield either("XMCP-ERR-020", refused, f"the code `{quoted(error.code)}`, for {call.fault}", "`VALIDATION_FAIL`")
        if refused and (named := _named(error)) is not None:
            missed = [at for at in call.refused if not any((name + "/").startswith(at + "/") for name in named)]
            yield either(
                "XMCP-ERR-021",
                not missed,
                f"the pointers {quoted(', '.join(named) or '(none)')}",
                f"`{', '.join(missed)}` too ({call.fault})",
            )


def _named(error: ErrorElement) -> list[str] | None:
    """Return the pointers of the arguments that an error refuses; `None` where its `meta` cannot be read."""
    if not error.meta_reads or not validator("error_meta").is_valid(error.meta):
        return None
    return [field["pointer"] for field in error.meta.get("fields", [])]


@check("XMCP-TOL-021", profile="server")
def _populated_named(exchange: Exchange, document: Document) -> Observations:
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
def _populated_in_meta(exchange: Exchange, document: Document) -> Observations:
    """Judge the same in a plain result, where a missing member breaks a requirement of its own."""
    twin, failed = exchange.twin, document.error is not None
    present = document.server_populated is not None
    by_metadata = bool(populated_parameters(exchange.call.tool)) and not failed
    by_twin = twin is not None and twin.populates and twin.failed == failed
    if present or by_metadata or by_twin:
        seen = "none, of a call that fills parameters in"
        yield either("XMCP-MCP-025", present, seen, f"`{POPULATED_META_KEY}`")
    if present:
        yield from _populated_named(exchange, document)


@check("XMCP-TOL-023", "XMCP-TOL-024", profile="server")
def _forged_arguments(exchange: Exchange, document: Document) -> Observations:
    """Judge what became of arguments that only the server may fill in (section 5.3)."""
    call, error = exchange.call, document.error
    if not call.forged or _is_populated_unreadable(exchange):
        return
    if error is not None:
        if error.code == "FORBIDDEN_PARAM_OVERRIDE":
            yield from (obeyed("XMCP-TOL-023"), obeyed("XMCP-TOL-024"))
        elif error.code == "VALIDATION_FAIL":
            held = [name for name in call.forged if pointer([name]) in (_named(error) or [])]
            if held:
                seen = f"VALIDATION_FAIL for `{quoted(', '.join(held))}`, which the server fills in"
                yield broken("XMCP-TOL-024", seen, "success, or FORBIDDEN_PARAM_OVERRIDE")
        return
    if call.refused:  # otherwise the input schema allows them, and nothing shows whether the server ignored them
        yield obeyed("XMCP-TOL-024")
    element = document.server_populated or {}
    values, overridden = element.get("values", {}), element.get("overridden", [])
    used = [name for name in call.forged if call.arguments[name] in strings(values.get(name))]
    # A value that the server does not name could be the forged one: then nothing is judged.
    if used or any(name in values or name in overridden for name in call.forged):
        seen = f"`{quoted(', '.join(used))}` with the value `{quoted(call.trap)}`, which the caller sent"
        yield either("XMCP-TOL-023", not used, seen, "the server's own value, or FORBIDDEN_PARAM_OVERRIDE")


@check("XMCP-RSP-026", profile="server")
def _replaced_code_points(exchange: Exchange, document: Document) -> Observations:
    """Judge code points that XML cannot carry: those that the suite sent, and those in `structuredContent`."""
    text = document.llm_output
    if text is None:
        return
    trap = exchange.call.trap
    for source in (trap, *strings((exchange.result or {}).get("structuredContent"))):
        replaced = _ILLEGAL.sub("\ufffd", source)
        if replaced != source and replaced in text:
            marked = "llm_output" in document.lossy
            yield either("XMCP-RSP-026", marked, f"`{quoted(replaced)}` without a mark", 'lossy="true" on `llm_output`')
    left_out = _ILLEGAL.sub("", trap)
    if left_out != trap and left_out in text:
        yield broken("XMCP-RSP-026", f"`{quoted(left_out)}`: code points left out", "U+FFFD in their place")
