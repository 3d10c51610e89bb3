"""Checks of what a server announces and lists (sections 1.3 and 3.3, chapter 5). Pure functions of the catalogue."""

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


def of_catalogue(catalogue: Catalogue) -> Observations:
    """Yield what all checks of a catalogue observe."""
    yield from _announcement(catalogue)
    for tool in catalogue.tools:
        yield from _metadata_schema(tool)
        yield from _show_user_parameter(tool)
        yield from _populated_parameters(tool)
        yield from _cacheable_tool(tool)
    yield from _dependencies(catalogue.tools)


def announced_versions(catalogue: Catalogue) -> list[str] | None:
    """Return the versions that a server says it emits; `None` where it does not list them as XMCP-CNF-003 requires."""
    entry = catalogue.extensions.get(EXTENSION_ID)
    versions = entry.get("versions") if isinstance(entry, dict) else None
    if isinstance(versions, list) and versions and all(isinstance(item, str) for item in versions):
        return versions
    return None


def negotiates(catalogue: Catalogue) -> bool:
    """Return whether a server announces the wire `negotiated`."""
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
            "as schemas/tool_metadata.schema.json says",
        )


@check("XMCP-DSP-020", profile="server")
def _show_user_parameter(tool: ListedTool) -> Observations:
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


def _parameters(tool: ListedTool) -> dict[str, Any]:
    """Return the properties of the input schema; an empty object where the schema does not have an object of them."""
    properties = tool.input_schema.get("properties")
    return properties if isinstance(properties, dict) else {}


def _valid_metadata(tool: ListedTool) -> dict[str, Any]:
    """Return the metadata of a tool where it obeys XMCP-TOL-001; invalid metadata is not judged any further."""
    valid = TOOL_META_KEY in tool.meta and validator("tool_metadata").is_valid(tool.metadata)
    return dict(tool.metadata) if valid else {}


@check("XMCP-TOL-020", profile="server")
def _populated_parameters(tool: ListedTool) -> Observations:
    if populated := _valid_metadata(tool).get("server_populated"):
        shown = [name for name in populated if name in _parameters(tool)]
        yield either(
            "XMCP-TOL-020",
            not shown,
            f"tool `{tool.name}`: `{quoted(', '.join(shown))}`, which the server fills in, in the input schema",
            "an input schema without it",
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
    """Judge section 5.2. A name that breaks XMCP-TOL-010 does not count in a circle."""
    names = {tool.name for tool in tools}
    needs: dict[str, list[str]] = {}
    for tool in tools:
        wanted = _valid_metadata(tool).get("depends_on", [])
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
    """Return names that depend on each other in a circle, the first again at the end; empty where there is none."""
    try:
        TopologicalSorter(needs).prepare()
    except CycleError as error:
        return [str(name) for name in reversed(error.args[1])]
    return []
