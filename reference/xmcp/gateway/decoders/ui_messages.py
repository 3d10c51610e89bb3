"""The bodies of the two UI protocols: what a browser keeps of a conversation, as messages in the OpenAI chat format.

Of earlier turns only what was said is taken, and the calls of the page's own tools with their results. Of tools that
ran inside, a browser has parts of the results only.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from xmcp.chat.json_values import encode_json
from xmcp.client.chat_options import ChatOptions
from xmcp.gateway.decoders.fields import MAX_REASON, BadRequest, client_tools, conversation, member, needed
from xmcp.gateway.runs.questions import Answer
from xmcp.gateway.runs.request import ChatRequest, Surface
from xmcp.gateway.runs.rounds import run_of_call

NO_RESULT: Final = "There is no result: the person went on without it."
"""What the model reads of a call of the page's own tools that was not answered."""


@dataclass(frozen=True, slots=True)
class AISDKRequest:
    """A chat, and the id of the page's message that the answer continues; `None`: it is a message of its own."""

    request: ChatRequest
    message_id: str | None


@dataclass(frozen=True, slots=True)
class AGUIRequest:
    """A chat, and the ids that the events of its run must have."""

    request: ChatRequest
    thread_id: str
    run_id: str


@dataclass(frozen=True, slots=True)
class GivenAnswer:
    """What a page of the AI SDK answers to the question of a run about a call."""

    run_id: str
    call_id: str
    answer: Answer


def answers_in(body: Mapping[str, Any]) -> Sequence[GivenAnswer]:
    """Return the answers to questions of one run with which the page lets it go on; none if it begins a new one.

    Raises:
        BadRequest: an answer is not one.
    """
    listed = needed(body, "messages", list)
    last = listed[-1] if listed and isinstance(listed[-1], dict) else {}
    parts = last.get("parts") if last.get("role") == "assistant" else None
    found = [_answer(part) for part in parts if _is_answered(part)] if isinstance(parts, list) else []
    return [given for given in found if given.run_id == found[0].run_id]


def _is_answered(part: Any) -> bool:
    responded = isinstance(part, dict) and part.get("state") == "approval-responded"
    return responded and isinstance(part.get("approval"), dict)


def _answer(part: Mapping[str, Any]) -> GivenAnswer:
    given = part["approval"]
    run_id, _, call_id = needed(given, "id", str).partition(":")
    reason = member(given, "reason", str) or ""
    return GivenAnswer(run_id, call_id, Answer(needed(given, "approved", bool), reason[:MAX_REASON]))


def decode_ai_sdk(body: Mapping[str, Any], default_model: str) -> AISDKRequest:
    """Return what `useChat` of the AI SDK asks for. `model` and `tools` are members that the page can add.

    `tools` has the page's own by their names: objects with a `description` and a schema (`parameters` or
    `inputSchema`), as assistant-ui sends them.

    Raises:
        BadRequest: a member is missing or wrong.
    """
    listed = needed(body, "messages", list)
    messages = [one for place, message in enumerate(listed) for one in _of_parts(message, f"messages[{place}]")]
    named = (member(body, "tools", dict) or {}).items()
    tools = [_tool({"parameters": tool.get("inputSchema"), **tool, "name": name}) for name, tool in named if _is(tool)]
    model = member(body, "model", str) or default_model
    request = _request("ai-sdk", messages, tools, model, member(body, "id", str))
    last = listed[-1]
    continued = last["id"] if last.get("role") == "assistant" and isinstance(last.get("id"), str) else None
    return AISDKRequest(request, continued)


def decode_ag_ui(body: Mapping[str, Any], default_model: str) -> AGUIRequest:
    """Return what a client of AG-UI asks for (`RunAgentInput`). `forwardedProps.model` names the model.

    Raises:
        BadRequest: a member is missing or wrong.
    """
    thread_id, run_id = needed(body, "threadId", str), needed(body, "runId", str)
    listed = needed(body, "messages", list)
    messages = [_of_content(message, f"messages[{place}]") for place, message in enumerate(listed)]
    tools = [_tool(tool) for tool in member(body, "tools", list) or () if _is(tool)]
    props = body.get("forwardedProps")
    model = member(props, "model", str) if isinstance(props, dict) else None
    return AGUIRequest(_request("ag-ui", messages, tools, model or default_model, thread_id), thread_id, run_id)


def _request(
    surface: Surface, messages: Sequence[Any], tools: Sequence[Any], model: str, session_id: str | None
) -> ChatRequest:
    query, history = conversation(joined([message for message in messages if message is not None]))
    options = ChatOptions(external_tools=client_tools(tools, "tools"))
    return ChatRequest(
        surface=surface, model=model, query=query, history=history, options=options, session_id=session_id or None
    )


def _is(tool: Any) -> bool:
    if not isinstance(tool, dict):
        raise BadRequest("tools must have objects with a description and a schema.", "tools", "invalid_type")
    return True


def _tool(tool: Mapping[str, Any]) -> dict[str, Any]:
    """Return a tool of the client's in the OpenAI format."""
    return {"type": "function", "function": {name: tool.get(name) for name in ("name", "description", "parameters")}}


def _of_parts(message: Any, place: str) -> Iterator[Any]:
    """Yield what a message of the AI SDK is, which has parts; nothing if nothing was said or called in it.

    A message of the assistant has all steps of its turn, also those after results of the page's own tools.
    """
    if not isinstance(message, dict) or not isinstance(message.get("parts"), list):
        raise BadRequest(f"{place} must be an object with a list of parts.", f"{place}.parts", "invalid_type")
    role, parts = message.get("role"), message["parts"]
    if role != "assistant":
        yield _message(role, _parts(parts, place))
        return
    step: list[Any] = []
    has_calls = False
    for part in [*parts, {"type": "step-start"}]:
        step.append(part)
        has_calls = has_calls or _is_left_to_page(part)
        if has_calls and isinstance(part, dict) and part.get("type") == "step-start":
            yield from _of_step(step, place)
            step, has_calls = [], False
    yield _message(role, _parts(step, place))


def _of_step(parts: Sequence[Any], place: str) -> Iterator[dict[str, Any]]:
    calls = [part for part in parts if _is_left_to_page(part)]
    said = _message("assistant", _parts(parts, place)) or {"role": "assistant", "content": None}
    yield {**said, "tool_calls": [_call(part) for part in calls]}
    for part in calls:
        if (content := part.get("output", part.get("errorText"))) is not None:
            yield {"role": "tool", "tool_call_id": part["toolCallId"], "content": _text(content)}


def _is_left_to_page(part: Any) -> bool:
    """Return whether a part of a message is a call of the page's own tools, which has an id of this gateway."""
    return isinstance(part, dict) and run_of_call(part.get("toolCallId")) is not None


def _text(value: Any) -> str:
    return value if isinstance(value, str) else encode_json(value).decode()


def _call(part: Mapping[str, Any]) -> dict[str, Any]:
    name = str(part.get("toolName") or str(part.get("type")).removeprefix("tool-"))
    function = {"name": name, "arguments": _text(part.get("input", {}))}
    return {"id": part["toolCallId"], "type": "function", "function": function}


def _of_content(message: Any, place: str) -> Any:
    """Return a message of AG-UI; `None` if nothing was said or called in it."""
    if not isinstance(message, dict):
        raise BadRequest(f"{place} must be an object.", place, "invalid_type")
    role, content = message.get("role"), message.get("content")
    if role == "tool" and run_of_call(message.get("toolCallId")) is not None:
        return {"role": "tool", "tool_call_id": message["toolCallId"], "content": content}
    if role in ("tool", "activity", "reasoning"):
        return None
    listed = content if isinstance(content, list) else [{"type": "text", "text": content}] if content else []
    said = _message(role, _parts(listed, place))
    called = message.get("toolCalls")
    calls = [one for one in called if isinstance(one, dict)] if isinstance(called, list) and role == "assistant" else []
    own = [call for call in calls if run_of_call(call.get("id")) is not None]
    if not own:
        return said
    return {**(said or {"role": role, "content": None}), "tool_calls": own}


def joined(listed: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the messages with one of the assistant for each round of calls, and an answer to each call.

    Clients keep what was said before a call, and each call, as messages of their own. A person can go on before there
    is a result.
    """
    messages: list[dict[str, Any]] = []
    said: list[dict[str, Any]] = []
    open_ids: dict[Any, None] = {}
    for message in [*listed, {"role": ""}]:
        if message["role"] == "tool":
            messages += _as_one(said)
            open_ids.pop(message["tool_call_id"], None)
            messages.append(message)
            said = []
            continue
        if message["role"] != "assistant" or not said:
            messages += _as_one(said)
            messages += [{"role": "tool", "tool_call_id": one, "content": NO_RESULT} for one in open_ids]
            said, open_ids = [], {}
        if message["role"] != "assistant":
            messages.append(message)
            continue
        said.append(message)
        open_ids.update((call["id"], None) for call in message.get("tool_calls", ()))
    return messages[:-1]


def _as_one(said: Sequence[dict[str, Any]]) -> Sequence[dict[str, Any]]:
    """Return messages of the assistant that follow each other: one message if there are calls in them."""
    calls = [call for message in said for call in message.get("tool_calls", ())]
    if not calls or len(said) == 1:
        return said
    text = "\n\n".join(message["content"] for message in said if message["content"])
    return [{"role": "assistant", "content": text or None, "tool_calls": calls}]


def _parts(parts: Sequence[Any], place: str) -> list[dict[str, Any]]:
    return [found for part in parts if (found := _part(part, place)) is not None]


def _message(role: Any, parts: list[dict[str, Any]]) -> dict[str, Any] | None:
    if role == "user":
        return {"role": role, "content": parts}
    text = "\n\n".join(part["text"] for part in parts if part["type"] == "text")
    return {"role": role, "content": text} if text else None


def _part(part: Any, place: str) -> dict[str, Any] | None:
    """Return what was said in a part; `None` if it is something that the page keeps beside, such as a call."""
    match part:
        case {"type": "text", "text": str(text)}:
            return {"type": "text", "text": text}
        case {"type": "file", "url": str(url), "mediaType": str(kind), **more}:
            if kind.startswith("image/"):
                return {"type": "image_url", "image_url": {"url": url}}
            return {"type": "file", "file": {"file_data": url, "filename": more.get("filename")}}
        case {"type": "image", "source": {"type": "data", "value": str(value), "mimeType": str(kind)}}:
            return {"type": "image_url", "image_url": {"url": f"data:{kind};base64,{value}"}}
        case {"type": "image", "source": {"type": "url", "value": str(url)}}:
            return {"type": "image_url", "image_url": {"url": url}}
        case {"type": "image" | "audio" | "video" | "document" | "file" as kind}:
            raise BadRequest(f"{place} has a part of the type {kind} that no model can be given.", place)
        case _:
            return None
