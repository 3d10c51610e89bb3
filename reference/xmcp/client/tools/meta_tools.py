"""The client's own tools: think, ask the person, replace old messages by a summary. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from xmcp.chat import client_made_errors
from xmcp.chat.messages import INSTRUCTIONS, Message
from xmcp.wire import ToolResponse

THINK: Final = "__think__"
CLARIFY: Final = "__clarify__"
SUMMARIZE: Final = "__summarize__"

_TOOLS: Final[dict[str, tuple[str, str, str, str]]] = {
    THINK: (
        "thought",
        "Note a thought before you go on, for example after a surprising result. The person does not see it.",
        "What you think.",
        "Noted.",
    ),
    CLARIFY: (
        "question",
        "Ask the person one question when the request can be understood in several ways, instead of guessing.",
        "The question, as the person will read it.",
        "The question was put to the person.",
    ),
    SUMMARIZE: (
        "summary",
        "Replace the older part of this conversation by a summary of yours, when it has become long. Everything before "
        "the newest message of the person is forgotten but for the summary.",
        "All that will still be needed: facts, decisions, names, numbers, what is still open.",
        "The older messages were replaced by your summary.",
    ),
}
"""Name to parameter, description, description of the parameter, and the answer of a successful call."""

ANSWER: Final = "__answer__"
"""The tool by whose call a model gives a typed answer, where its vendor takes no schema (`loop.typed_answer`)."""

RESERVED: Final = frozenset((*_TOOLS, ANSWER))


def selected(option: bool | Collection[str]) -> tuple[str, ...]:
    """Return the names of the tools that an application selects: all, none, or those it names (`think`, `__think__`).

    Raises:
        ValueError: an unknown name.
    """
    if isinstance(option, bool):
        return tuple(_TOOLS) if option else ()
    names = [name if name in _TOOLS else f"__{name}__" for name in ([option] if isinstance(option, str) else option)]
    if unknown := [name for name in names if name not in _TOOLS]:
        known = ", ".join(name.strip("_") for name in _TOOLS)
        raise ValueError(f"meta_tools has no {', '.join(name.strip('_') for name in unknown)}; there are {known}.")
    return tuple(name for name in _TOOLS if name in names)


def openai_tools(names: Collection[str]) -> list[dict[str, Any]]:
    """Return the tools in the OpenAI format."""
    return [_openai_tool(name, *_TOOLS[name][:3]) for name in names]


def answer(name: str, arguments: Mapping[str, Any]) -> ToolResponse:
    """Return the answer to a call of a meta tool."""
    parameter, _, _, acknowledgement = _TOOLS[name]
    if text_of(name, arguments):
        return ToolResponse(name, acknowledgement)
    return ToolResponse(name, error=client_made_errors.missing_text(parameter))


def text_of(name: str, arguments: Mapping[str, Any]) -> str:
    """Return the text in the arguments of a call; empty if there is none."""
    value = arguments.get(_TOOLS[name][0])
    return value.strip() if isinstance(value, str) else ""


def summarized(history: Sequence[Message], summary: str) -> list[dict[str, Any]]:
    """Return a history with `summary` instead of all between the leading system messages and the newest user message.

    The summary is in a user message: it is the model's text, made from the answers of tools, and must not have the
    authority of a system message.
    """
    messages = [dict(message) for message in history]
    head = next((i for i, m in enumerate(messages) if m["role"] not in INSTRUCTIONS), len(messages))
    newest = max((i for i, m in enumerate(messages) if m["role"] == "user"), default=head)
    if newest <= head:
        return messages
    summary_message = {"role": "user", "content": f"Summary of our conversation up to here, written by you:\n{summary}"}
    return [*messages[:head], summary_message, *messages[newest:]]


def _openai_tool(name: str, parameter: str, description: str, parameter_description: str) -> dict[str, Any]:
    return {
        "type": "function",
        "function": {
            "name": name,
            "description": description,
            "parameters": {
                "type": "object",
                "properties": {parameter: {"type": "string", "description": parameter_description}},
                "required": [parameter],
                "additionalProperties": False,
            },
        },
    }
