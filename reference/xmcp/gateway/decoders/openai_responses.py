"""The body of `POST /v1/responses`. Members that change nothing here are accepted and left out, as in chat completions.

A request can go on from earlier runs: `openai_items.needed_runs` says from which, and `decode` is given what was said
in them. What the gateway remembers is no business of this module.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any, Final

from xmcp.chat.json_values import encode_json
from xmcp.chat.messages import INSTRUCTIONS, Message, size_of, text_of
from xmcp.client.chat_options import ChatOptions
from xmcp.client.tools.external import ExternalTools
from xmcp.gateway.decoders.fields import BadRequest, client_tools, conversation, member, needed
from xmcp.gateway.decoders.openai_chat import chat_options
from xmcp.gateway.decoders.openai_items import Earlier, continued_run, messages_of, run_before
from xmcp.gateway.runs.request import ChatRequest

ECHO_BYTES: Final = 16 * 1024
"""Most bytes of a member of the request that is said again in the response, which is sent three times in a stream."""

_UNSUPPORTED: Final[Mapping[str, str]] = {
    "background": "background cannot be true: ask for a stream. GET /runs/{id}/events reads it again.",
    "prompt": "prompt cannot be given: no prompts are stored here. Send instructions and input.",
    "max_tool_calls": "max_tool_calls cannot be given: the gateway itself limits the calls of a chat. Leave it out.",
    "moderation": "moderation cannot be done. Leave it out.",
    "top_logprobs": "top_logprobs cannot be given. Leave it out.",
}
"""What asks for something that is not done, unless it is null, false or 0."""

_OPTIONS: Final[Mapping[str, str]] = {"max_tokens": "max_output_tokens", "reasoning_effort": "reasoning.effort"}
"""The names of options here, by those in chat completions."""


@dataclass(frozen=True, slots=True)
class ResponsesRequest:
    """A chat; whether it is streamed; and what the response says again of the request."""

    request: ChatRequest
    stream: bool
    echo: Mapping[str, Any]


def decode(body: Mapping[str, Any], chat_id: str | None, earlier: Earlier) -> ResponsesRequest:
    """Return what a body asks for.

    Args:
        body: The body.
        chat_id: The id of the conversation in a header of Open WebUI.
        earlier: The conversations after the runs that `needed_runs` names, as far as they are known.

    Raises:
        BadRequest: a member is wrong, or asks for what the gateway does not do.
    """
    for name, told in _UNSUPPORTED.items():
        if body.get(name):
            raise BadRequest(told, name, "unsupported_parameter")
    if "message.output_text.logprobs" in (member(body, "include", list) or ()):
        told = "include cannot ask for message.output_text.logprobs. Leave it out."
        raise BadRequest(told, "include", "unsupported_value")
    model = needed(body, "model", str)
    named = _conversation_id(body)
    run_id = run_before(body)
    before = _before(member(body, "previous_response_id", str), run_id, earlier)
    messages = messages_of(_items(body), before, run_id, earlier)
    query, history = conversation(messages, "input")
    own = _client_tools(body)
    metadata = member(body, "metadata", dict) or {}
    one_call = member(body, "parallel_tool_calls", bool) is False
    stored = member(body, "store", bool) is not False
    request = ChatRequest(
        surface="responses",
        model=model,
        query=query,
        history=history,
        options=_options(body, own, history),
        one_call=one_call,
        session_id=session_of(body, chat_id),
        continues=named is not None and run_id is None,
        size=sum(map(size_of, history)) if earlier else 0,
        stored=stored,
        goes_on_from=continued_run(body),
    )
    said_again = {
        "background": False,
        "conversation": None if named is None else {"id": named},
        "max_output_tokens": body.get("max_output_tokens"),
        "metadata": _short(metadata, {}),
        "parallel_tool_calls": not one_call,
        "previous_response_id": body.get("previous_response_id"),
        "reasoning": {"effort": _within(body, "reasoning").get("effort"), "summary": None},
        "store": stored,
        "temperature": body.get("temperature"),
        "text": {"format": _short(_within(body, "text").get("format") or {"type": "text"}, {"type": "text"})},
        "tool_choice": _short(body.get("tool_choice") or "auto", "auto"),
        "tools": _short(body.get("tools") or [], []),
        "top_p": body.get("top_p"),
        "truncation": "auto",
    }
    return ResponsesRequest(request, bool(member(body, "stream", bool)), said_again)


def session_of(body: Mapping[str, Any], chat_id: str | None) -> str | None:
    """Return the session of a request; `chat_id` as for `decode`.

    Raises:
        BadRequest: its conversation, or its metadata, are wrong.
    """
    metadata = member(body, "metadata", dict) or {}
    session = _conversation_id(body) or chat_id or metadata.get("conversation_id")
    return session if isinstance(session, str) and session else None


def _items(body: Mapping[str, Any]) -> Sequence[Any]:
    items = body.get("input")
    if isinstance(items, str):
        return [{"role": "user", "content": items}]
    try:
        return needed(body, "input", list)
    except BadRequest as error:
        raise BadRequest("input must be a text or a list of items.", "input", error.code) from None


def _before(response: str | None, run_id: str | None, earlier: Earlier) -> Sequence[Message]:
    """Return the messages that the request goes on from."""
    if run_id is not None and run_id in earlier:
        return earlier[run_id]
    if response is None:
        return ()  # of results whose calls are not known any more, reading the items says so
    told = f"Previous response with id {response[:100]!r} not found, or not kept any more: send all items."
    raise BadRequest(told, "previous_response_id", "previous_response_not_found")


def _conversation_id(body: Mapping[str, Any]) -> str | None:
    """Return the conversation that the gateway is to remember, which is a session by this name."""
    match body.get("conversation"):
        case None:
            return None
        case str(name) | {"id": str(name)} if name:
            if body.get("previous_response_id") is not None:
                told = "conversation and previous_response_id cannot be given together."
                raise BadRequest(told, "conversation", "mutually_exclusive_parameters")
            return name
        case _:
            raise BadRequest("conversation must be an id, or an object with an id.", "conversation")


def _options(body: Mapping[str, Any], own: ExternalTools | None, history: Sequence[Message]) -> ChatOptions:
    sampling = {
        "temperature": body.get("temperature"),
        "top_p": body.get("top_p"),
        "max_tokens": body.get("max_output_tokens"),
        "reasoning_effort": _within(body, "reasoning").get("effort"),
    }
    try:
        options = chat_options(sampling, own, _choice(body.get("tool_choice")), _schema(body))
    except BadRequest as error:
        told = str(error)
        for theirs, ours in _OPTIONS.items():
            told = told.replace(theirs, ours)
        raise BadRequest(told, _OPTIONS.get(error.param or "", error.param), error.code) from None
    if instructions := member(body, "instructions", str):
        # They come before the messages and are not carried on by the conversation, unlike instructions in it.
        leading = takewhile(lambda message: message["role"] in INSTRUCTIONS, history)
        options["system"] = "\n\n".join([instructions, *map(text_of, leading)])
    return options


def _client_tools(body: Mapping[str, Any]) -> ExternalTools | None:
    listed = member(body, "tools", list) or ()
    for place, tool in enumerate(listed):
        if not isinstance(tool, dict) or tool.get("type") != "function":
            told = f"tools[{place}] must have the type function: there are no tools of OpenAI's here."
            raise BadRequest(told, "tools", "unsupported_value")
    functions = [
        {"type": "function", "function": {name: value for name, value in tool.items() if name != "type"}}
        for tool in listed
    ]
    try:
        return client_tools(functions, "tools")
    except BadRequest as error:
        raise BadRequest(str(error).replace(".function.", "."), error.param, error.code) from None


def _choice(wanted: Any) -> Any:
    """Return a choice as chat completions write it."""
    match wanted:
        case {"type": "function", "name": str(name)}:
            return {"function": {"name": name}}
        case dict():
            return {}  # of OpenAI's own tools, or of some
        case _:
            return wanted


def _schema(body: Mapping[str, Any]) -> Mapping[str, Any] | None:
    match _within(body, "text").get("format"):
        case None | {"type": "text"}:
            return None
        case {"type": "json_object"}:
            return {"type": "object"}
        case {"type": "json_schema", "schema": dict() as schema}:
            return schema
        case _:
            told = "text.format must have the type text, json_object, or json_schema with a schema."
            raise BadRequest(told, "text.format")


def _within(body: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    return member(body, name, dict) or {}


def _short(value: Any, other: Any) -> Any:
    """Return a value, or another one in the place of what is long."""
    return value if len(encode_json(value)) <= ECHO_BYTES else other
