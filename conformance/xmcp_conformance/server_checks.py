"""The checks of a server: pure functions from what passed on the wire to observations.

The sentences about a document alone are observed by the reader; here stand those that need the call, the
catalogue or the rest of the MCP result.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import Any

from xmcp_models.registry import EXTENSION_ID, TOOL_META_KEY, VERSION_META_KEY

from .exchange import Call, Catalogue, Exchange, Intent, Tool
from .jsontext import strings
from .observation import Observation, broken, either, obeyed, quoted
from .reader import MOST_BYTES, Document, looks_like_a_document, read
from .schemas import pointer, validator

LONGEST = 2 * MOST_BYTES
"""Characters of a document that the suite reads; it keeps all of its pieces in memory."""
_MARKUP = re.compile("[<&]")
_ILLEGAL = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
# Faults after which nobody knows what `server_populated` names.
_UNREAD = {"XMCP-RSP-040", "XMCP-RSP-041", "XMCP-RSP-043", "XMCP-RSP-044", "XMCP-RSP-095"}


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


def of_exchange(exchange: Exchange, announced: list[str] | None = None) -> Iterator[Observation]:
    """Everything one call shows, to a server that announced those versions. Fills in `exchange.reading`."""
    if exchange.malformed:
        yield broken("XMCP-MCP-001", exchange.malformed, "a text block that holds one tool response document")
        return
    if exchange.result is None:
        yield from _without_result(exchange)
        return
    text = exchange.text
    attempt = text is not None and looks_like_a_document(text)
    yield either("XMCP-MCP-001", attempt, _first_block(exchange), "a text block that holds one tool response document")
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


def _stands_raw(trap: str, text: str) -> bool:
    """Whether markup that the suite sent stands unescaped in `llm_output`."""
    if not _MARKUP.search(trap):
        return False
    before, found, _ = text.partition(trap)
    return bool(found) and before.rfind("<llm_output") > max(before.rfind("<display"), before.rfind("<![CDATA["))


def _first_block(exchange: Exchange) -> str:
    if exchange.text is not None:
        return f"the text `{quoted(exchange.text)}`"
    content = (exchange.result or {}).get("content")
    return f"content `{quoted(str(content))}`"


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
    tool = exchange.call.tool
    filled = _metadata(tool).get("server_populated") if tool is not None and document.error is None else None
    if not filled or any(not seen.ok and seen.requirement in _UNREAD for seen in exchange.reading.observations):
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
        if refused and error.meta_reads and validator("error_meta").is_valid(error.meta):
            fields = meta.get("fields", [])
            named = [field["pointer"] for field in fields]
            missed = [at for at in call.refused if not any((name + "/").startswith(at + "/") for name in named)]
            yield either(
                "XMCP-ERR-021",
                not missed,
                f"the pointers {quoted(', '.join(named) or '(none)')}",
                f"`{', '.join(missed)}` too ({call.fault})",
            )
