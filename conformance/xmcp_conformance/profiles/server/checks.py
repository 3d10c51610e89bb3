"""The checks of a server: pure functions from what passed on the wire to observations.

The sentences about a document alone are observed by the reader; here stand those that need the call, the
catalogue or the rest of the MCP result.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum, auto
from graphlib import CycleError, TopologicalSorter
from typing import Any

from xmcp_conformance.core.observation import Observation, broken, either, obeyed
from xmcp_conformance.core.untrusted_text import quoted
from xmcp_conformance.reader import MOST_BYTES, Document, looks_like_a_document, read
from xmcp_conformance.reader.errors import ErrorElement
from xmcp_conformance.reader.jsontext import strings
from xmcp_conformance.reader.schemas import pointer, validator
from xmcp_models.registry import EXTENSION_ID, POPULATED_META_KEY, TOOL_META_KEY, VERSION, VERSION_META_KEY

from . import plain_result as plain
from .exchange import Call, Catalogue, Exchange, Intent, Tool

LONGEST = 2 * MOST_BYTES
"""Characters of a document that the suite reads; it keeps all of its pieces in memory."""
_MARKUP = re.compile("[<&]")
_ILLEGAL = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_DOCUMENT = "a text block that holds one tool response document"
# Faults after which nobody knows what `server_populated` names.
_UNREAD = {"XMCP-RSP-040", "XMCP-RSP-041", "XMCP-RSP-043", "XMCP-RSP-044", "XMCP-RSP-095"}


class Owed(Enum):
    """What a server owes a client (sections 6.1 to 6.3), by its wire and by what the client declared."""

    DOCUMENT = auto()  # the wire `always`
    UNDECLARED = auto()  # a document with the wire `always`, to a client that declared nothing
    NEGOTIATED = auto()  # a document, for the client declared that it reads them
    PLAIN = auto()  # plain MCP, for the client declared nothing
    EITHER = auto()  # whichever: the server need not know what the client declared


def owed(catalogue: Catalogue, *, declared: bool, known: bool) -> Owed:
    """What the server of this catalogue owes a client.

    Args:
        catalogue: what it said to that client.
        declared: whether the client declared the extension, with the version of this suite.
        known: whether the server can know that.
    """
    if not negotiates(catalogue):
        return Owed.DOCUMENT if declared else Owed.UNDECLARED
    if not declared:
        return Owed.PLAIN
    return Owed.NEGOTIATED if known and VERSION in (announced_versions(catalogue) or ()) else Owed.EITHER


def negotiates(catalogue: Catalogue) -> bool:
    """Whether a server says that it has the wire `negotiated`."""
    entry = catalogue.extensions.get(EXTENSION_ID)
    return isinstance(entry, dict) and entry.get("wire") == "negotiated"


def of_catalogue(catalogue: Catalogue) -> Iterator[Observation]:
    """What a server announces and lists."""
    announced = catalogue.extensions.get(EXTENSION_ID)
    yield either(
        "XMCP-CNF-002",
        EXTENSION_ID in catalogue.extensions,
        f"the extensions {quoted(', '.join(catalogue.extensions) or '(none)')}",
        f"an entry `{EXTENSION_ID}`",
    )
    if EXTENSION_ID in catalogue.extensions:
        listed = announced_versions(catalogue) is not None
        yield either("XMCP-CNF-003", listed, f"`{quoted(str(announced))}`", 'such as {"versions": ["1.0"]}')
    for tool in catalogue.tools:
        yield from _of_tool(tool)
        yield from _of_metadata(tool)
    yield from _of_dependencies(catalogue.tools)


def _of_tool(tool: Tool) -> Iterator[Observation]:
    if TOOL_META_KEY in tool.meta:
        fault = next(iter(validator("tool_metadata").iter_errors(tool.metadata)), None)
        where = pointer(list(fault.instance_path)) if fault else ""
        yield either(
            "XMCP-TOL-001",
            fault is None,
            f"tool `{tool.name}`: at `{where}`: {quoted(fault.message) if fault else ''}",
            "as schemas/tool_metadata.schema.json says",
        )
    if tool.displays:
        switch = _parameters(tool).get("show_user")
        boolean = isinstance(switch, dict) and switch.get("type") == "boolean"
        required = tool.input_schema.get("required")
        needed = isinstance(required, list) and "show_user" in required
        yield either(
            "XMCP-DSP-020",
            boolean and not needed,
            f"tool `{tool.name}`: `show_user` is {'needed' if needed else quoted(str(switch))}",
            "a boolean property that a caller can leave out",
        )


def _parameters(tool: Tool) -> dict[str, Any]:
    """The properties of the input schema; none where it says so in no form that JSON Schema knows."""
    properties = tool.input_schema.get("properties")
    return properties if isinstance(properties, dict) else {}


def _metadata(tool: Tool) -> dict[str, Any]:
    """The metadata of a tool where XMCP-TOL-001 is obeyed; other metadata say nothing that could be judged."""
    valid = TOOL_META_KEY in tool.meta and validator("tool_metadata").is_valid(tool.metadata)
    return dict(tool.metadata) if valid else {}


def _of_metadata(tool: Tool) -> Iterator[Observation]:
    """The metadata against the rest of what is listed of the tool (sections 5.3 and 5.4)."""
    metadata = _metadata(tool)
    if filled := metadata.get("server_populated"):
        shown = [name for name in filled if name in _parameters(tool)]
        yield either(
            "XMCP-TOL-020",
            not shown,
            f"tool `{tool.name}`: `{quoted(', '.join(shown))}`, which the server fills in, in the input schema",
            "an input schema without it",
        )
    if metadata.get("cacheable"):
        yield either(
            "XMCP-TOL-030",
            tool.read_only,
            f"tool `{tool.name}` is cacheable and not marked read-only",
            "`readOnlyHint`: true in its annotations",
        )


def _of_dependencies(tools: Sequence[Tool]) -> Iterator[Observation]:
    """Section 5.2. A name that breaks XMCP-TOL-010 is left out of the circles."""
    names = {tool.name for tool in tools}
    needs: dict[str, list[str]] = {}
    for tool in tools:
        wanted = _metadata(tool).get("depends_on", [])
        needs[tool.name] = [name for name in wanted if name in names and name != tool.name]
        if wanted:
            odd = [name for name in wanted if name not in needs[tool.name]]
            yield either(
                "XMCP-TOL-010",
                not odd,
                f"tool `{tool.name}` depends on `{quoted(', '.join(odd))}`",
                "names of other tools of this server",
            )
    if any(needs.values()):
        circle = _circle(needs)
        seen = f"`{quoted(' → '.join(circle))}`, each of which depends on the next"
        yield either("XMCP-TOL-011", not circle, seen, "dependencies that end")


def _circle(needs: Mapping[str, Sequence[str]]) -> list[str]:
    """Names that depend on each other in a circle, the first of them at the end again; none where there is none."""
    try:
        TopologicalSorter(needs).prepare()
    except CycleError as error:
        return [str(name) for name in reversed(error.args[1])]
    return []


def announced_versions(catalogue: Catalogue) -> list[str] | None:
    """The versions that a server says it emits; `None` where it says so in no form that CNF-003 knows."""
    entry = catalogue.extensions.get(EXTENSION_ID)
    versions = entry.get("versions") if isinstance(entry, dict) else None
    if isinstance(versions, list) and versions and all(isinstance(item, str) for item in versions):
        return versions
    return None


def of_exchange(
    exchange: Exchange, announced: list[str] | None = None, owed: Owed = Owed.DOCUMENT
) -> Iterator[Observation]:
    """Everything one call shows, of a server that announced those versions. Fills in `exchange.reading`.

    An answer in the form that is owed, or in either, is judged by what sections 6.2 and 6.3 say of its form.
    """
    if exchange.malformed:
        requirement, expected = ("XMCP-MCP-020", "a text block") if owed is Owed.PLAIN else ("XMCP-MCP-001", _DOCUMENT)
        yield broken(requirement, exchange.malformed, expected)
        return
    if exchange.result is None:
        yield from _without_result(exchange)
        return
    # A plain client is owed no document: what passes for one there was sent by the suite, or breaks XMCP-MCP-023.
    document = owed is Owed.DOCUMENT or (owed is not Owed.PLAIN and plain.begins_a_document(exchange.text))
    form = list(_of_form(exchange, owed, document))
    yield from form
    if all(observation.ok for observation in form):
        yield from _of_document(exchange, announced) if document else _of_plain(exchange, announced)


def _of_form(exchange: Exchange, owed: Owed, document: bool) -> Iterator[Observation]:
    """Whether the answer has the form that is owed."""
    if owed is Owed.NEGOTIATED:
        expected = "a document, for the client declared the extension"
        yield either("XMCP-MCP-015", document, exchange.first_block, expected)
    if owed is Owed.UNDECLARED and not document:
        seen = f"{exchange.first_block}; a client that declares the extension gets a document"
        yield broken("XMCP-MCP-005", seen, "`wire`: `negotiated` in the announcement, or a document")
    if owed is Owed.PLAIN:
        tagged = plain.tag_as_structure(exchange)
        yield either(
            "XMCP-MCP-023", tagged is None, f"the text `{quoted(tagged or '')}`", "text without tags around it"
        )
        if tagged is None:
            yield obeyed("XMCP-MCP-005")


def _of_plain(exchange: Exchange, announced: list[str] | None) -> Iterator[Observation]:
    exchange.reading = plain.read(exchange, announced)
    yield from exchange.reading.observations
    if (document := exchange.reading.document) is not None:
        yield from _of_call(exchange.call, document)
        yield from _of_told(exchange, document)
        yield from _of_forged(exchange, document)


def _of_document(exchange: Exchange, announced: list[str] | None) -> Iterator[Observation]:
    text = exchange.text
    attempt = text is not None and looks_like_a_document(text)
    yield either("XMCP-MCP-001", attempt, exchange.first_block, _DOCUMENT)
    if text is None or not attempt:
        return
    if len(text) > LONGEST:
        seen = f"a document of {len(text):,} characters, which is not judged further"
        yield broken("XMCP-RSP-081", seen, f"at most {MOST_BYTES:,} bytes")
        return
    if _stands_raw(exchange.call.trap, text):
        # What a parser makes of it now is chance: structure where there was none, or a fault of another name.
        yield broken("XMCP-RSP-022", f"the text `{quoted(exchange.call.trap)}` as it is", "`&lt;` and `&amp;`")
        return
    exchange.reading = read(text)
    yield from exchange.reading.observations
    document = exchange.reading.document
    if document is not None:
        if announced is not None and document.version is not None:
            seen, expected = f"a document of version {document.version}", f"one of {quoted(', '.join(announced))}"
            yield either("XMCP-CNF-003", document.version in announced, seen, expected)
        yield from _of_result(exchange, document)
        yield from _of_call(exchange.call, document)
        yield from _of_replacement(exchange, document)
        yield from _of_filled(exchange, document)
        yield from _of_forged(exchange, document)


def _stands_raw(trap: str, text: str) -> bool:
    """Whether markup that the suite sent stands unescaped in `llm_output`."""
    if not _MARKUP.search(trap):
        return False
    before, found, _ = text.partition(trap)
    return bool(found) and before.rfind("<llm_output") > max(before.rfind("<display"), before.rfind("<![CDATA["))


def _without_result(exchange: Exchange) -> Iterator[Observation]:
    """A call that ended in a JSON-RPC error, or in silence."""
    how = f"the JSON-RPC error {exchange.rpc_error}" if exchange.rpc_error else f"{exchange.lost}"
    if exchange.call.intent is Intent.VALID:
        yield broken("XMCP-ERR-001", how, "a result with a document that has `error`")
    elif exchange.call.intent is Intent.INVALID:
        yield broken("XMCP-ERR-020", f"{how}, for {exchange.call.fault}", "a document with the code VALIDATION_FAIL")
    elif exchange.lost:
        yield broken("XMCP-ERR-022", how, "a document with the code UNKNOWN_TOOL, or a JSON-RPC error")


def _of_result(exchange: Exchange, document: Document) -> Iterator[Observation]:
    """The MCP result around the document (chapter 6)."""
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
        yield either(
            "XMCP-MCP-004", result.get("structuredContent") is None, "`structuredContent` in a failed result", "none"
        )


def _of_call(call: Call, document: Document) -> Iterator[Observation]:
    """What the document says, against what was asked."""
    if document.tool_name:
        yield either(
            "XMCP-RSP-007", document.tool_name == call.name, f"`{quoted(document.tool_name)}`", f"`{quoted(call.name)}`"
        )
    yield from _of_display(call, document)
    if document.error is not None:
        yield from _of_failure(call, document)
    elif call.intent is Intent.INVALID:
        yield broken("XMCP-ERR-020", f"success, for {call.fault}", "the error VALIDATION_FAIL")
    elif call.intent is Intent.UNKNOWN_TOOL:
        yield broken("XMCP-ERR-022", "success", "the error UNKNOWN_TOOL")


def _of_display(call: Call, document: Document) -> Iterator[Observation]:
    if not call.shows and (document.has_display or (call.tool and call.tool.takes_show_user)):
        yield either("XMCP-DSP-021", not document.has_display, "a display that nobody asked for", "no `display`")
    if call.tool is None or call.intent is not Intent.VALID:
        return
    if document.has_display:
        yield either(
            "XMCP-TOL-002", call.tool.displays, f"tool `{call.name}` displays and does not say so", '{"display": true}'
        )
    if call.shows and call.tool.displays and document.error is None:
        both = document.has_display and document.llm_output is not None
        has = [
            name
            for name, there in (("llm_output", document.llm_output is not None), ("display", document.has_display))
            if there
        ]
        yield either("XMCP-DSP-022", both, f"{' and '.join(has) or 'neither'}", "`llm_output` and `display`")


def _of_filled(exchange: Exchange, document: Document) -> Iterator[Observation]:
    """Whether a tool that succeeded names what the server filled in, as its metadata says it does."""
    filled = filled_in(exchange.call.tool) if document.error is None else []
    if not filled or _unread(exchange):
        return
    told = document.server_populated or {}
    named = [*told.get("values", {}), *told.get("redacted", [])]
    missed = [name for name in filled if name not in named]
    has = "no `server_populated`" if document.server_populated is None else "`server_populated`"
    yield either(
        "XMCP-TOL-021",
        not missed,
        f"{has} with {quoted(', '.join(named) or '(nothing)')}" if named else has,
        f"`{quoted(', '.join(missed))}` in its `values` or `redacted`",
    )


def filled_in(tool: Tool | None) -> list[str]:
    """The parameters that the server fills in, as the tool's metadata says."""
    return list(_metadata(tool).get("server_populated", [])) if tool is not None else []


def _unread(exchange: Exchange) -> bool:
    return any(not seen.ok and seen.requirement in _UNREAD for seen in exchange.reading.observations)


def _of_told(exchange: Exchange, document: Document) -> Iterator[Observation]:
    """The same in a plain result, where a member that is missing altogether is a fault of its own."""
    twin, failed = exchange.twin, document.error is not None
    told = document.server_populated is not None
    if told or (filled_in(exchange.call.tool) and not failed) or (twin and twin.fills and twin.failed == failed):
        yield either("XMCP-MCP-025", told, "none, of a call that fills parameters in", f"`{POPULATED_META_KEY}`")
    if told:
        yield from _of_filled(exchange, document)


def _of_forged(exchange: Exchange, document: Document) -> Iterator[Observation]:
    """What became of values that the caller has no business to send (section 5.3)."""
    call, error = exchange.call, document.error
    if not call.forged or _unread(exchange):
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
    if call.refused:  # else the input schema lets them pass, and nothing shows whether they were set aside
        yield obeyed("XMCP-TOL-024")
    told = document.server_populated or {}
    values, overridden = told.get("values", {}), told.get("overridden", [])
    used = [name for name in call.forged if call.arguments[name] in strings(values.get(name))]
    # A value that is not told could be the forged one.
    if used or any(name in values or name in overridden for name in call.forged):
        seen = f"`{quoted(', '.join(used))}` with the value `{quoted(call.trap)}`, which the caller sent"
        yield either("XMCP-TOL-023", not used, seen, "the server's own value, or FORBIDDEN_PARAM_OVERRIDE")


def _named(error: ErrorElement) -> list[str] | None:
    """The pointers of the arguments that an error refuses; `None` where its `meta` cannot be read."""
    if not error.meta_reads or not validator("error_meta").is_valid(error.meta):
        return None
    return [field["pointer"] for field in error.meta.get("fields", [])]


def _of_replacement(exchange: Exchange, document: Document) -> Iterator[Observation]:
    """Code points that XML cannot carry: in a text that the suite sent, or in the data beside the document."""
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


def _of_failure(call: Call, document: Document) -> Iterator[Observation]:
    error = document.error
    if error is None:
        return
    yield obeyed("XMCP-ERR-001")
    meta: dict[str, Any] = error.meta if isinstance(error.meta, dict) else {}
    if error.code == "INTERNAL" and error.meta_reads:
        marked = isinstance(meta.get("error_id"), str) and bool(meta["error_id"])
        yield either(
            "XMCP-ERR-030", marked, "INTERNAL without `error_id` in `meta`", "an `error_id` to find in the log"
        )
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
