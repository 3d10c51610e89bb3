"""No model: a script that calls the tool that a question names, to try `xmcp chat` and servers without a key.

`sales_summary region=EMEA` and `sales_summary {"region": "EMEA"}` are calls. A question that names no tool gets an
answer that says which there are.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from xmcp.chat.messages import Message
from xmcp.client.tools.names import AFTER_SERVER
from xmcp.providers import ScriptedProvider, Turn


def demo_model() -> ScriptedProvider:
    """Return the script as a model."""
    return ScriptedProvider(_turn)


def _turn(messages: Sequence[Message], tools: Sequence[Mapping[str, Any]]) -> Turn | str:
    last = messages[-1]
    if last.get("role") == "tool":
        return "That is what the tool said." if last.get("content") else "The tool said nothing."
    offered = {tool["function"]["name"]: tool["function"] for tool in tools}
    question = last.get("content")
    return answer(question if isinstance(question, str) else "", offered)


def answer(question: str, offered: Mapping[str, Mapping[str, Any]]) -> Turn | str:
    """Return the call that a question names, or what can be called. `offered` has the tools by their names."""
    word, _, rest = question.strip().partition(" ")
    name = next((tool for tool in offered if word in (tool, tool.partition(AFTER_SERVER)[2])), None)
    if name is None:
        return _what_there_is(offered)
    try:
        return Turn(calls=[(name, _arguments(rest.strip()))])
    except ValueError as error:
        return f'These are no arguments: {error}. Write `{name} NAME=VALUE`, or `{name} {{"NAME": VALUE}}`.'


def _arguments(text: str) -> dict[str, Any]:
    if text.startswith("{"):
        value = json.loads(text)
        if not isinstance(value, dict):
            raise ValueError("not a JSON object")
        return value
    pairs = [word.partition("=") for word in shlex.split(text)]
    if wrong := next((name for name, equals, _ in pairs if not equals), None):
        raise ValueError(f"`{wrong}` has no `=`")
    return {name: _value(written) for name, _, written in pairs}


def _value(written: str) -> Any:
    try:
        return json.loads(written)
    except ValueError:
        return written


def _what_there_is(offered: Mapping[str, Mapping[str, Any]]) -> str:
    if not offered:
        return "I am a script, not a model, and there is no tool that I could call."
    lines = [f"- `{_example(function)}`: {_first_line(function)}" for function in list(offered.values())[:12]]
    more = [f"- and {len(offered) - 12} more: the list of tools has them all"] if len(offered) > 12 else []
    head = "I am a script, not a model: I call the tool that you name. You could ask:"
    return "\n".join([head, "", *lines, *more])


def _example(function: Mapping[str, Any]) -> str:
    schema = function.get("parameters") or {}
    properties = schema.get("properties") or {}
    names = [name for name in schema.get("required") or [] if name in properties]
    if "show_user" in properties:
        names.append("show_user")
    return " ".join([str(function["name"]), *(f"{name}={_sample(name, properties[name])}" for name in names)])


def _sample(name: str, schema: Any) -> str:
    """Return a value that fits most schemas of a parameter."""
    known = schema if isinstance(schema, dict) else {}
    if known.get("enum"):
        return json.dumps(known["enum"][0]).strip('"')
    if name == "show_user" or known.get("type") == "boolean":
        return "true"
    return {"integer": "1", "number": "1", "array": "[]", "object": "{}"}.get(str(known.get("type")), "…")


def _first_line(function: Mapping[str, Any]) -> str:
    lines = str(function.get("description") or "").strip().splitlines()
    return lines[0] if lines else "no description"
