"""Decide which tool calls the suite makes, from the server's catalogue and the options. No I/O."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from xmcp_conformance.core.untrusted_text import quoted

from .arguments import forged, invalid, trapped, valid
from .catalogue import Catalogue, ListedTool, populated_parameters
from .exchange import Intent, ToolCall

ERAS = ("newest", "handshake")
"""The protocol eras that a server is judged in: the newest that it supports, and the handshake of MCP 2025-11-25."""
_MAX_NAMES = 10
"""Maximum number of tool names in a note."""
NO_SUCH_TOOL = "xmcp_conformance_no_such_tool"
"""The name by which the suite calls a tool that does not exist."""


@dataclass(frozen=True, slots=True)
class Options:
    """How to judge a server. Times are in seconds."""

    examples: int = 8
    seed: int = 20261121
    allow_writes: bool = False
    strict: bool = False
    eras: tuple[str, ...] = ERAS
    connect_timeout: float = 30.0
    call_timeout: float = 30.0


def plan(catalogue: Catalogue, options: Options, note: Callable[[str], None]) -> Iterator[ToolCall]:
    """Yield the calls to make. Equal catalogues and options result in equal calls.

    Args:
        catalogue: what the server lists.
        options: how to judge.
        note: called with a sentence that says which tools are not called, and why.
    """
    callable_tools = [tool for tool in catalogue.tools if tool.read_only or options.allow_writes]
    skipped = [f"`{quoted(tool.name)}`" for tool in catalogue.tools if not (tool.read_only or options.allow_writes)]
    if skipped:
        more = f" and {len(skipped) - _MAX_NAMES} more" if len(skipped) > _MAX_NAMES else ""
        listed = f"{', '.join(skipped[:_MAX_NAMES])}{more}"
        note(
            f"Not called, because not marked read-only: {listed}. Use --allow-writes to call such tools, or mark those "
            'that only read: annotations={"readOnlyHint": True} in FastMCP.'
        )
    for tool in callable_tools:
        yield from _calls_of(tool, options, note)
    yield ToolCall(None, NO_SUCH_TOOL, {}, Intent.UNKNOWN_TOOL)


def _calls_of(tool: ListedTool, options: Options, note: Callable[[str], None]) -> Iterator[ToolCall]:
    populated = populated_parameters(tool)
    schema = without(tool.input_schema, populated)
    # `show_user` is set explicitly below, never at random.
    drawable = without(schema, ["show_user"])
    try:
        drawn = valid(drawable, options.examples, options.seed)
    except TimeoutError as error:
        note(f"`{quoted(tool.name)}` was not called: {error}; check its input schema for a `pattern` that backtracks.")
        return
    if not drawn:
        note(f"`{quoted(tool.name)}` was not called: no arguments could be made from its input schema.")
        return
    switches: tuple[dict[str, bool], ...] = ({}, {"show_user": True}) if tool.takes_show_user else ({},)
    for switch in switches:
        for arguments in drawn:
            yield ToolCall(tool, tool.name, {**arguments, **switch})
        for trap, arguments in trapped({**schema, "properties": drawable["properties"]}, drawn[0]):
            yield ToolCall(tool, tool.name, {**arguments, **switch}, trap=trap)
    if tool.takes_show_user:
        yield ToolCall(tool, tool.name, {**drawn[0], "show_user": False})
    if tool.takes_show_user and tool.displays:
        yield ToolCall(tool, tool.name, {**drawn[0], "show_user": None})
    if populated:
        arguments, strays = forged(tool.input_schema, drawn[0], populated)
        trap = arguments[populated[0]]
        yield ToolCall(tool, tool.name, arguments, refused=strays, trap=trap, forged=tuple(populated))
    for refusal in invalid(schema, drawn[0]):
        yield ToolCall(tool, tool.name, refusal.arguments, Intent.INVALID, refusal.pointers, refusal.fault)


def without(schema: dict[str, Any], names: list[str]) -> dict[str, Any]:
    """Return an input schema without the parameters `names`."""
    properties = {name: value for name, value in schema.get("properties", {}).items() if name not in names}
    return {**schema, "properties": properties, "required": [n for n in schema.get("required", ()) if n not in names]}
