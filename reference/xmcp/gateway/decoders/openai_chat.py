"""The body of `POST /v1/chat/completions`. Members that change nothing here are accepted and left out, as others do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from xmcp.client.chat_options import ChatOptions
from xmcp.client.tools.external import ExternalTools
from xmcp.gateway.decoders.fields import BadRequest, client_tools, conversation, member, needed, sampler
from xmcp.gateway.runs.request import ChatRequest


@dataclass(frozen=True, slots=True)
class CompletionRequest:
    """A chat; whether it is streamed; whether the stream ends with the usage; whether the answer has a format."""

    request: ChatRequest
    stream: bool
    usage: bool


def decode(body: Mapping[str, Any], chat_id: str | None) -> CompletionRequest:
    """Return what a body asks for. `chat_id` is the id of the conversation in a header of Open WebUI.

    Raises:
        BadRequest: a member is wrong, or asks for what the gateway does not do.
    """
    if member(body, "functions", list):
        raise BadRequest("functions cannot be passed: use tools.", "functions", "unsupported_parameter")
    if (n := member(body, "n", int)) not in (None, 1):
        raise BadRequest(f"n must be 1, not {n}: a run gives one answer.", "n", "unsupported_value")
    if member(body, "logprobs", bool):
        raise BadRequest("logprobs cannot be given. Leave it out.", "logprobs", "unsupported_parameter")
    model = needed(body, "model", str)
    query, history = conversation(needed(body, "messages", list))
    metadata = member(body, "metadata", dict) or {}
    named = metadata.get("conversation_id")
    own = client_tools(member(body, "tools", list) or (), "tools")
    options = chat_options(body, own, body.get("tool_choice"), _schema(body))
    stream_options = member(body, "stream_options", dict) or {}
    return CompletionRequest(
        ChatRequest(
            surface="openai",
            model=model,
            query=query,
            history=history,
            options=options,
            one_call=member(body, "parallel_tool_calls", bool) is False,
            session_id=chat_id or (named if isinstance(named, str) and named else None),
        ),
        stream=bool(member(body, "stream", bool)),
        usage=bool(member(stream_options, "include_usage", bool)),
    )


def chat_options(
    sampling: Mapping[str, Any], own: ExternalTools | None, wanted: Any, schema: Mapping[str, Any] | None
) -> ChatOptions:
    """Return the options of a chat with tools of the client's `own`, of which `wanted` says which are called.

    Raises:
        BadRequest: one of `sampling` has a value that no vendor takes, or `wanted` is no choice.
    """
    choice = _choice(wanted, own)
    options = ChatOptions(sampler=sampler(sampling, response_format=schema, tool_choice=choice), external_tools=own)
    if choice is not None or wanted == "none":
        # A client that wants a call wants one of its own tools: those that run inside would be called again and again.
        options["tools"] = []
    return options


def _choice(wanted: Any, own: ExternalTools | None) -> str | None:
    """Return the choice among the client's own tools; `None` leaves it to the model, and so does a client without."""
    if own is None:
        return None
    match wanted:
        case None | "auto":
            return None
        case "none" | "required":
            return str(wanted)
        case {"function": {"name": str(name)}} if name in own.names:
            return name
        case _:
            told = "tool_choice must be none, auto, required, or name one of the tools that you pass."
            raise BadRequest(told, "tool_choice")


def _schema(body: Mapping[str, Any]) -> Mapping[str, Any] | None:
    match member(body, "response_format", dict):
        case None | {"type": "text"}:
            return None
        case {"type": "json_object"}:
            return {"type": "object"}
        case {"type": "json_schema", "json_schema": {"schema": dict() as schema}}:
            return schema
        case _:
            raise BadRequest(
                "response_format must have the type text, json_object, or json_schema with a schema.", "response_format"
            )
