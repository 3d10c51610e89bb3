"""Whether the JSON of a chat completion has the types that its reader relies on. Pure.

Only members that decide what an answer says are judged. Whatever else is of a wrong type counts as absent: a model's
text is not refused for its statistics.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from xmcp.chat.json_values import encode_json


def shape_fault(answer: Mapping[str, Any]) -> str | None:
    """Return what of a chunk, or of an answer in one piece, is of a wrong type: a phrase; `None` if nothing is.

    A member that is empty, `null` or missing is absent. Of several choices only the first is read.
    """
    choices = answer.get("choices")
    if not _text_or_absent(answer.get("model")):
        return "`model` is not a text"
    if not choices:
        return None
    if not isinstance(choices, list) or not isinstance(choices[0], Mapping):
        return "`choices` is not a list of objects"
    if not _text_or_absent(choices[0].get("finish_reason")):
        return "`finish_reason` is not a text"
    for member in ("delta", "message"):
        if said := choices[0].get(member):
            fault = (
                _calls_fault(said.get("tool_calls")) if isinstance(said, Mapping) else f"`{member}` is not an object"
            )
            if fault:
                return fault
    return None


def _calls_fault(calls: Any) -> str | None:
    if not calls:
        return None
    if not isinstance(calls, list) or not all(isinstance(call, Mapping) for call in calls):
        return "`tool_calls` is not a list of objects"
    functions = [call["function"] for call in calls if call.get("function")]
    if not all(isinstance(function, Mapping) for function in functions):
        return "the `function` of a tool call is not an object"
    if not all(_text_or_absent(function.get("name")) for function in functions):
        return "the `name` of a tool call is not a text"
    if not all(can_be_written(function.get("arguments")) for function in functions):
        return "the `arguments` of a tool call are nested too deeply"
    return None


def _text_or_absent(value: Any) -> bool:
    return not value or isinstance(value, str)


def can_be_written(arguments: Any) -> bool:
    """Return whether what should have been text, such as arguments that some servers send as objects, can be JSON."""
    if arguments is None or isinstance(arguments, str):
        return True
    try:
        encode_json(arguments)
    except (TypeError, ValueError, RecursionError):
        return False
    return True
