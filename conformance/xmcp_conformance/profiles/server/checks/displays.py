"""Checks of when a display is sent, and of the switch `show_user` (section 3.4 and XMCP-TOL-002)."""

from __future__ import annotations

import re
from typing import Any

from xmcp_conformance.core.checks import Observations, check
from xmcp_conformance.core.observation import either
from xmcp_conformance.core.untrusted_text import quoted
from xmcp_conformance.profiles.server.catalogue import ListedTool
from xmcp_conformance.profiles.server.exchange import Exchange, Intent, ToolCall
from xmcp_conformance.profiles.server.input_schema import Schema, expanded, resolve, types
from xmcp_conformance.reader import Document


@check("XMCP-DSP-020", profile="server")
def show_user_parameter(tool: ListedTool) -> Observations:
    """Judge whether a display tool has an optional boolean property `show_user`."""
    if tool.displays:
        whole = expanded(tool.input_schema)  # what a part of `allOf` requires is required
        properties = whole.get("properties")
        switch = properties.get("show_user") if isinstance(properties, dict) else None
        boolean = _is_boolean(switch, tool.input_schema)
        required = whole.get("required")
        is_required = isinstance(required, list) and "show_user" in required
        yield either(
            "XMCP-DSP-020",
            boolean and not is_required,
            f"tool `{tool.name}`: `show_user` is {'required' if is_required else quoted(str(switch))}",
            "an optional boolean property",
        )


def _is_boolean(schema: Any, root: Schema) -> bool:
    try:
        return "boolean" in (kinds := types(resolve(schema, root))) and kinds <= {"boolean", "null"}
    except (ValueError, LookupError, TypeError):  # a reference that leads nowhere
        return False


@check("XMCP-DSP-024", profile="server")
def show_user_without_value(call: ToolCall, document: Document) -> Observations:
    """Judge whether a `show_user` that is `null` is taken as absent; XMCP-DSP-021 judges that nothing is shown."""
    if call.tool is None or not call.tool.displays or call.arguments.get("show_user", False) is not None:
        return
    code = document.error and document.error.code
    seen = f"tool `{call.name}`: the error `{quoted(str(code))}`"
    yield either("XMCP-DSP-024", code != "VALIDATION_FAIL", seen, "the answer to a call without `show_user`")


@check("XMCP-DSP-025", profile="server")
def truth_about_displays(exchange: Exchange, text: str, document: Document) -> Observations:
    """Judge what a model reads, `text`, whose client did not say that it shows displays; `document` is the answer.

    No check can read a text: one that differs from that for a client which declared the extension is right, and so is
    one that says to everybody, in a sentence about seeing, a word of doubt.
    """
    call, twin = exchange.call, exchange.twin
    if twin is None or twin.text is None or not call.shows or not document.has_display or document.error is not None:
        return
    told = text != twin.text or any(_DOUBT.search(one) and _SIGHT.search(one) for one in _SENTENCE_END.split(text))
    expected = "another text than for a client that declared the extension: this one may not show the display"
    yield either("XMCP-DSP-025", told, f"the text `{quoted(text)}`, as for a client that did", expected)


# `May` is a month, but for the beginning of a sentence.
_DOUBT = re.compile(r"\b(?:(?i:not|cannot|\w+n't|might|perhaps|unable)|may|May (?:not|be))\b")
_SIGHT = re.compile(r"\b(?:show|shown|display|displayed|see|seen|visible|render|rendered|appear|view)\b", re.IGNORECASE)
_SENTENCE_END = re.compile(r"[.!?\n]")


@check("XMCP-TOL-002", profile="server")
def listed_again(tool: ListedTool) -> Observations:
    """Judge whether a tool that showed a display still says so when the tools are listed once more."""
    seen = f"tool `{tool.name}` displays and no longer says so in a later list"
    yield either("XMCP-TOL-002", tool.displays, seen, '{"display": true}')


@check("XMCP-DSP-021", "XMCP-DSP-022", "XMCP-TOL-002", profile="server")
def display_presence(call: ToolCall, document: Document) -> Observations:
    """Judge whether there is a display exactly where one was asked for, from a tool that says that it displays."""
    if not (call.shows or call.hands_on_a_wish) and (document.has_display or (call.tool and call.tool.takes_show_user)):
        yield either("XMCP-DSP-021", not document.has_display, "a display that nobody asked for", "no `display`")
    if call.tool is None or call.intent is not Intent.VALID:
        return
    if document.has_display and not call.hands_on_a_wish:
        seen = f"tool `{call.name}` displays and does not say so"
        yield either("XMCP-TOL-002", call.tool.displays, seen, '{"display": true}')
    if call.shows and call.tool.displays and document.error is None:
        parts = {"llm_output": document.llm_output is not None, "display": document.has_display}
        present = [name for name, there in parts.items() if there]
        seen = f"{' and '.join(present) or 'neither'}"
        yield either("XMCP-DSP-022", all(parts.values()), seen, "`llm_output` and `display`")
