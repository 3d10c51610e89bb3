"""What stands in for a model where there is no key: it calls the tool that a question names. A chat of your own needs
nothing of this file.
"""

import json
from collections.abc import Mapping
from typing import Any

from xmcp.providers import Turn
from xmcp.wire.decoder import decode

OF_TYPE: dict[str, Any] = {"integer": 1, "number": 1, "boolean": True, "array": [], "object": {}}


def stand_in(messages: list[Any], tools: list[Any]) -> Turn | str:
    """Call the tool that the question names, and repeat what it answers; else say what can be asked."""
    lines = {tool["function"]["name"]: line(tool["function"]) for tool in tools}
    if messages[-1]["role"] == "tool":
        answer = decode(messages[-1]["content"])
        # The page has shown the error: the event `tool_error` came before.
        return answer.llm_output or f"The call failed. Try: {lines.get(answer.tool_name, hint(tools))}"
    name, _, arguments = messages[-1]["content"].partition(" ")
    return Turn(calls=[(name, arguments or "{}")]) if name in lines else hint(tools)


def hint(tools: list[Any]) -> str:
    """Return what can be asked: for each tool a line that works."""
    return "\n".join(["No key, so no model. Type one of these lines:", *(line(tool["function"]) for tool in tools)])


def line(tool: Mapping[str, Any]) -> str:
    """Return the name of a tool, and the arguments that its schema requires; a display is asked for."""
    schema = tool["parameters"]
    members = schema.get("properties", {})
    arguments = {name: example(members.get(name, {})) for name in schema.get("required", [])}
    return f"{tool['name']} {json.dumps(arguments | ({'show_user': True} if 'show_user' in members else {}))}"


def example(schema: Any) -> Any:
    """Return a value for a parameter: the first that its schema names, else one of its type."""
    if not isinstance(schema, dict):
        return "text"
    for word in ("examples", "enum"):
        if isinstance(named := schema.get(word), list) and named:
            return named[0]
    for word in ("const", "default"):
        if word in schema:
            return schema[word]
    return OF_TYPE.get(str(schema.get("type")), "text")
