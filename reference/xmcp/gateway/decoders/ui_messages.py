"""The bodies of the two UI protocols: what a browser keeps of a conversation, as messages in the OpenAI chat format.

Of earlier turns only what was said is taken, not the calls of tools: a browser has parts of their results.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from xmcp.gateway.decoders.fields import BadRequest, conversation, member, needed
from xmcp.gateway.runs.request import ChatRequest, Surface


@dataclass(frozen=True, slots=True)
class AGUIRequest:
    """A chat, and the ids that the events of its run must have."""

    request: ChatRequest
    thread_id: str
    run_id: str


def decode_ai_sdk(body: Mapping[str, Any], default_model: str) -> ChatRequest:
    """Return what `useChat` of the AI SDK asks for. `model` is a member that the page can add.

    Raises:
        BadRequest: a member is missing or wrong.
    """
    listed = needed(body, "messages", list)
    messages = [_of_parts(message, f"messages[{place}]") for place, message in enumerate(listed)]
    return _request("ai-sdk", messages, member(body, "model", str) or default_model, member(body, "id", str))


def decode_ag_ui(body: Mapping[str, Any], default_model: str) -> AGUIRequest:
    """Return what a client of AG-UI asks for (`RunAgentInput`). `forwardedProps.model` names the model.

    Raises:
        BadRequest: a member is missing or wrong, or the client offers tools of its own.
    """
    if member(body, "tools", list):
        raise BadRequest(
            "tools cannot be passed: this gateway runs the tools of its own servers. Leave tools out.",
            "tools",
            "unsupported_parameter",
        )
    thread_id, run_id = needed(body, "threadId", str), needed(body, "runId", str)
    listed = needed(body, "messages", list)
    messages = [_of_content(message, f"messages[{place}]") for place, message in enumerate(listed)]
    props = body.get("forwardedProps")
    model = member(props, "model", str) if isinstance(props, dict) else None
    return AGUIRequest(_request("ag-ui", messages, model or default_model, thread_id), thread_id, run_id)


def _request(surface: Surface, messages: Sequence[Any], model: str, session_id: str | None) -> ChatRequest:
    query, history = conversation([message for message in messages if message is not None])
    return ChatRequest(surface=surface, model=model, query=query, history=history, session_id=session_id or None)


def _of_parts(message: Any, place: str) -> Any:
    """Return a message of the AI SDK, which has parts; `None` if nothing was said in it."""
    if not isinstance(message, dict) or not isinstance(message.get("parts"), list):
        raise BadRequest(f"{place} must be an object with a list of parts.", f"{place}.parts", "invalid_type")
    return _message(message.get("role"), _parts(message["parts"], place))


def _of_content(message: Any, place: str) -> Any:
    """Return a message of AG-UI; `None` if nothing was said in it."""
    if not isinstance(message, dict):
        raise BadRequest(f"{place} must be an object.", place, "invalid_type")
    if message.get("role") in ("tool", "activity", "reasoning"):
        return None
    content = message.get("content")
    listed = content if isinstance(content, list) else [{"type": "text", "text": content}] if content else []
    return _message(message.get("role"), _parts(listed, place))


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
