"""Calls of tools that another server or service runs, whose arguments nobody here validates (spec section 4.3).

FastMCP validates the arguments of functions only. Those of a proxied tool or of an OpenAPI operation go out as they
are, and what comes back is the other side's words. A service may accept more than its schema says, so the arguments are
validated after the other side has refused them, not before.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from itertools import islice
from typing import Any, Final

import jsonschema_rs
import orjson
from fastmcp import FastMCP
from fastmcp.tools.base import ToolResult
from fastmcp.tools.function_tool import FunctionTool

from xmcp.server.call_state import ServedCall
from xmcp.server.errors import XMCPError
from xmcp.server.fastmcp_internals.components import tool_that_runs
from xmcp.server.responses.failures import MAX_FIELDS, MAX_POINTER, error_for
from xmcp.server.responses.mcp_results import has_error_in_meta, is_document

MAX_ARGUMENTS: Final = 64 * 1024  # bytes of JSON; larger arguments are left to the other side's words
MAX_SCHEMA: Final = 48 * 1024  # bytes of JSON
MAX_STEPS: Final = 50_000  # schemas, with references followed, times values: each can cost the loop ten microseconds
MAX_VALIDATORS: Final = 256
MAX_PATTERN: Final = 64 * 1024  # bytes of a compiled pattern

_UNSPECIFIC: Final = frozenset({"INTERNAL", "INVALID_ARGUMENT", "TOOL_ERROR"})
"""Codes of a refusal that can be about the arguments."""


async def with_checked_arguments(run: Any, context: Any, call: ServedCall) -> Any:
    """Return what `run(context)` returns, a call of a tool.

    Raises:
        XMCPError: `VALIDATION_FAIL`: another server or service runs the tool, it refused the call, and the arguments do
            not fit the tool's input schema.
        Exception: Any other failure of the call.
    """
    try:
        result = await run(context)
    except Exception as failure:
        error = error_for(failure, call)
        if error.code in _UNSPECIFIC and (fields := await _refused(context, call)):
            raise _unfit(fields, "" if error.code == "INTERNAL" else error.message) from failure
        raise
    if isinstance(result, ToolResult) and result.is_error and _is_of_another_kind(result):
        fields = await _refused(context, call)
        if fields:
            raise _unfit(fields, "\n".join(getattr(block, "text", "") for block in result.content))
    return result


def _is_of_another_kind(result: ToolResult) -> bool:
    """Tell whether `result` comes from something that is no XMCP server, which would have said it itself."""
    return not is_document(result) and not has_error_in_meta(result)


async def _refused(context: Any, call: ServedCall) -> list[dict[str, str]]:
    server: FastMCP[Any] = context.fastmcp_context.fastmcp
    tool = await server.get_tool(call.tool_name)
    runs = None if tool is None else await tool_that_runs(tool)
    if tool is None or runs is None or isinstance(runs, FunctionTool):
        return []
    return refused_arguments(tool.parameters, call.arguments)


def _unfit(fields: list[dict[str, str]], words: str) -> XMCPError:
    listed = "; ".join(f"{field['pointer'] or 'arguments'}: {field['message']}" for field in fields)
    said = f" The tool said: {words.strip()}" if words.strip() else ""
    message = f"The arguments do not fit the tool's input schema. {listed}.{said}"
    return XMCPError("VALIDATION_FAIL", message, meta={"fields": fields, "side_effects": "unknown"})


def refused_arguments(schema: Mapping[str, Any], arguments: Mapping[str, Any]) -> list[dict[str, str]]:
    """Return one `{pointer, reason, message}` for each argument that does not fit, at most `MAX_FIELDS`.

    Empty if all fit, or if schema or arguments are too large or not valid. A text that is the JSON of a fitting value
    counts as that value.
    """
    try:
        written, given = orjson.dumps(schema), orjson.dumps(arguments)
    except TypeError:  # not JSON, or an integer above 64 bits
        return []
    if len(written) > MAX_SCHEMA or len(given) > MAX_ARGUMENTS:
        return []
    size, validator = _validator(written)
    if validator is None or size * _values(arguments) > MAX_STEPS:
        return []
    properties = schema.get("properties")
    members = properties if isinstance(properties, Mapping) else {}
    converted = {name: _converted(value, members.get(name)) for name, value in arguments.items()}
    faults = islice(validator.iter_errors(converted), MAX_FIELDS)
    return [field for fault in faults for field in _fields(fault)][:MAX_FIELDS]


def _converted(value: Any, schema: object) -> Any:
    wanted = schema.get("type") if isinstance(schema, Mapping) else None
    if not isinstance(value, str) or wanted not in ("integer", "number", "boolean"):
        return value
    try:
        return orjson.loads(value)
    except orjson.JSONDecodeError:
        return value


@lru_cache(MAX_VALIDATORS)
def _validator(schema: bytes) -> tuple[int, jsonschema_rs.Draft202012Validator | None]:
    """Return the size of `schema` (`_size`), and a validator, None if there can be none.

    It downloads nothing, takes linear time for a pattern, and repeats no value.
    """
    try:
        decoded = orjson.loads(schema)
        size = _size(decoded)
        if size > MAX_STEPS:
            return size, None
        return size, jsonschema_rs.Draft202012Validator(
            decoded,
            offline=True,
            pattern_options=jsonschema_rs.RegexOptions(size_limit=MAX_PATTERN),
            mask="the value",
        )
    except (ValueError, RecursionError, jsonschema_rs.ReferencingError):
        return MAX_STEPS, None


def _size(root: Any) -> int:
    """Return the number of schemas in `root`, a schema that is referred to counted at each place.

    More than `MAX_STEPS` if one refers to itself: then the time for it can double with each level of a value.

    Raises:
        ValueError: It has a reference that is not a JSON Pointer to one of its members.
    """
    sizes: dict[int, int] = {}

    def size(node: Any) -> int:
        if isinstance(node, list):
            return sum(map(size, node))
        if not isinstance(node, dict):
            return 0
        if (known := sizes.get(id(node))) is not None:
            return known
        sizes[id(node)] = MAX_STEPS + 1
        found = 1 + sum(map(size, node.values()))
        if isinstance(reference := node.get("$ref"), str):
            found += size(_target(root, reference))
        sizes[id(node)] = found
        return found

    return size(root)


def _target(root: Any, reference: str) -> Any:
    target = root
    for step in reference.removeprefix("#/").split("/"):
        name = step.replace("~1", "/").replace("~0", "~")
        if not isinstance(target, dict) or name not in target:
            raise ValueError(f"{reference} is not in the schema")
        target = target[name]
    return target


def _values(value: Any) -> int:
    parts = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    return 1 + sum(map(_values, parts))


_REASONS: Final = {"type": "wrong_type", "required": "missing"}


def _fields(fault: Any) -> list[dict[str, str]]:
    path, name = fault.instance_path, fault.kind.name
    if name == "required":
        return [_field([*path, fault.kind.property], "missing", "Field required")]
    if name == "additionalProperties":
        return [_field([*path, extra], "unexpected", "Unexpected argument") for extra in fault.kind.unexpected]
    return [_field(path, _REASONS.get(name, name), fault.message)]


def _field(path: list[str | int], reason: str, message: str) -> dict[str, str]:
    pointer = "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in path)
    return {"pointer": pointer[:MAX_POINTER].removesuffix("~"), "reason": reason, "message": message[:MAX_POINTER]}
