"""Whether the JSON of a chat completion has the types that its reader relies on. Pure.

Only members that decide what an answer says are judged. Whatever else is of a wrong type counts as absent: a model's
text is not refused for its statistics.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from xmcp.chat.json_values import is_sendable


def shape_fault(answer: Mapping[str, Any]) -> str | None:
    """Return what of a chunk, or of an answer in one piece, is of a wrong type: a phrase; `None` if nothing is.

    A member that is empty, `null` or missing is absent. Of several choices only the first is read.
    """
    # Each piece of a streamed text comes through here: `dict`, since a check against `Mapping` takes ten times as long.
    model, choices = answer.get("model"), answer.get("choices")
    if model and not isinstance(model, str):
        return "`model` is not a text"
    if not choices:
        return None
    if not isinstance(choices, list) or not isinstance(choices[0], dict):
        return "`choices` is not a list of objects"
    choice = choices[0]
    reason = choice.get("finish_reason")
    if reason and not isinstance(reason, str):
        return "`finish_reason` is not a text"
    for member in ("delta", "message"):
        said = choice.get(member)
        if not said:
            continue
        if not isinstance(said, dict):
            return f"`{member}` is not an object"
        calls = said.get("tool_calls")
        if calls and (fault := _calls_fault(calls)):
            return fault
    return None


def _calls_fault(calls: Any) -> str | None:
    if not isinstance(calls, list):
        return "`tool_calls` is not a list of objects"
    for call in calls:
        if not isinstance(call, dict):
            return "`tool_calls` is not a list of objects"
        function = call.get("function")
        if not function:
            continue
        if not isinstance(function, dict):
            return "the `function` of a tool call is not an object"
        name = function.get("name")
        if name and not isinstance(name, str):
            return "the `name` of a tool call is not a text"
        if not can_be_written(function.get("arguments")):
            return "the `arguments` of a tool call are nested too deeply"
    return None


def can_be_written(arguments: Any) -> bool:
    """Return whether what should have been text, such as arguments that some servers send as objects, can be JSON.

    Deep nesting is refused before the standard library, or a history that keeps the value, runs out of stack.
    """
    return arguments is None or isinstance(arguments, str) or is_sendable(arguments)
