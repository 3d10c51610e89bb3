"""Checks of a server's catalogue: its announcement and its list of tools (sections 1.3 and 3.3, chapter 5). No I/O."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import Any

from xmcp_conformance.core.checks import Observations, check
from xmcp_conformance.core.observation import either
from xmcp_conformance.core.untrusted_text import quoted
from xmcp_conformance.reader.schemas import pointer, validator
from xmcp_models.registry import EXTENSION_ID, TOOL_META_KEY

from .exchange import Catalogue, ListedTool


def check_catalogue(catalogue: Catalogue) -> Observations:
    """Run all checks of a catalogue, and yield their observations."""
    yield from _announcement(catalogue)
    for tool in catalogue.tools:
        yield from _metadata_schema(tool)
        yield from _show_user_parameter(tool)
        yield from _populated_parameters(tool)
        yield from _cacheable_tool(tool)
    yield from _dependencies(catalogue.tools)


def announced_versions(catalogue: Catalogue) -> list[str] | None:
    """Return the versions that a server announces; `None` if it does not list them as XMCP-CNF-003 requires."""
    entry = catalogue.extensions.get(EXTENSION_ID)
    versions = entry.get("versions") if isinstance(entry, dict) else None
    if isinstance(versions, list) and versions and all(isinstance(item, str) for item in versions):
        return versions
    return None


def negotiates(catalogue: Catalogue) -> bool:
    """Return whether a server announces the wire `negotiated` (section 6.1)."""
    entry = catalogue.extensions.get(EXTENSION_ID)
    return isinstance(entry, dict) and entry.get("wire") == "negotiated"


def populated_parameters(tool: ListedTool | None) -> list[str]:
    """Return the parameters that the server fills in itself, as the tool's metadata lists them."""
    return list(_valid_metadata(tool).get("server_populated", [])) if tool is not None else []


@check("XMCP-CNF-002", "XMCP-CNF-003", profile="server")
def _announcement(catalogue: Catalogue) -> Observations:
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


@check("XMCP-TOL-001", profile="server")
def _metadata_schema(tool: ListedTool) -> Observations:
    if TOOL_META_KEY in tool.meta:
        fault = next(iter(validator("tool_metadata").iter_errors(tool.metadata)), None)
        where = pointer(list(fault.instance_path)) if fault else ""
        yield either(
            "XMCP-TOL-001",
            fault is None,
            f"tool `{tool.name}`: at `{where}`: {quoted(fault.message) if fault else ''}",
            "metadata that is valid against schemas/tool_metadata.schema.json",
        )


@check("XMCP-DSP-020", profile="server")
def _show_user_parameter(tool: ListedTool) -> Observations:
    if tool.displays:
        switch = _parameters(tool).get("show_user")
        boolean = isinstance(switch, dict) and switch.get("type") == "boolean"
        required = tool.input_schema.get("required")
        is_required = isinstance(required, list) and "show_user" in required
        yield either(
            "XMCP-DSP-020",
            boolean and not is_required,
            f"tool `{tool.name}`: `show_user` is {'required' if is_required else quoted(str(switch))}",
            "an optional boolean property",
        )


def _parameters(tool: ListedTool) -> dict[str, Any]:
    """Return the properties of the input schema; empty if the member `properties` is not an object."""
    properties = tool.input_schema.get("properties")
    return properties if isinstance(properties, dict) else {}


def _valid_metadata(tool: ListedTool) -> dict[str, Any]:
    """Return the metadata of a tool if it is valid (XMCP-TOL-001), otherwise an empty object: other checks skip it."""
    valid = TOOL_META_KEY in tool.meta and validator("tool_metadata").is_valid(tool.metadata)
    return dict(tool.metadata) if valid else {}


@check("XMCP-TOL-020", profile="server")
def _populated_parameters(tool: ListedTool) -> Observations:
    if populated := _valid_metadata(tool).get("server_populated"):
        exposed = [name for name in populated if name in _parameters(tool)]
        yield either(
            "XMCP-TOL-020",
            not exposed,
            f"tool `{tool.name}`: the input schema has `{quoted(', '.join(exposed))}`, which the server fills in",
            "an input schema without parameters that the server fills in",
        )


@check("XMCP-TOL-030", profile="server")
def _cacheable_tool(tool: ListedTool) -> Observations:
    if _valid_metadata(tool).get("cacheable"):
        yield either(
            "XMCP-TOL-030",
            tool.read_only,
            f"tool `{tool.name}` is cacheable and not marked read-only",
            "`readOnlyHint`: true in its annotations",
        )


@check("XMCP-TOL-010", "XMCP-TOL-011", profile="server")
def _dependencies(tools: Sequence[ListedTool]) -> Observations:
    """Judge the dependencies of tools (section 5.2). The search for a circle ignores unknown names."""
    names = {tool.name for tool in tools}
    dependencies: dict[str, list[str]] = {}
    for tool in tools:
        wanted = _valid_metadata(tool).get("depends_on", [])
        dependencies[tool.name] = [name for name in wanted if name in names and name != tool.name]
        if wanted:
            wrong = [name for name in wanted if name not in dependencies[tool.name]]
            yield either(
                "XMCP-TOL-010",
                not wrong,
                f"tool `{tool.name}` depends on `{quoted(', '.join(wrong))}`",
                "names of other tools of this server",
            )
    if any(dependencies.values()):
        circle = _find_circle(dependencies)
        seen = f"a circle: `{quoted(' → '.join(circle))}`"
        yield either("XMCP-TOL-011", not circle, seen, "dependencies without a circle")


def _find_circle(dependencies: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the names of a dependency circle, each followed by a name that it depends on; empty if there is no circle.

    The first name is repeated at the end.
    """
    try:
        TopologicalSorter(dependencies).prepare()
    except CycleError as error:
        return [str(name) for name in reversed(error.args[1])]
    return []
