"""The suite's own model, which a gateway can be told to ask: what it does depends on the question alone.

It speaks OpenAI's chat completions, whole and streamed. With it every gateway is asked for the same chats.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from .options import Prompts

CALL: Final = "xmcp check: call a tool"
SHOW: Final = "xmcp check: call a tool, and show its display"
FAIL: Final = "xmcp check: call a tool, then fail"
LONG: Final = "xmcp check: write a long answer"
PROMPTS: Final = Prompts((CALL, SHOW), (FAIL,), LONG)
MODEL: Final = "scripted"

Choose: TypeAlias = Callable[[dict[str, Any]], Any]
"""Returns arguments for the input schema of a tool, `None` if it has none that fit."""

_SHOW: Final = "show_user"
"""The parameter with which a model asks for a display (section 3.4)."""
_MOST_READ: Final = 16 * 1024 * 1024
"""Maximum number of bytes of a request."""
_PIECES: Final = 1_200
"""Number of pieces of the long answer."""
_PAUSE_SECONDS: Final = 0.05
_SENT: Final = 7
"""What each request is said to have cost, in tokens; a prime, so that a sum shows what it is of."""
_WRITTEN: Final = 3


@dataclass(frozen=True, slots=True)
class Said:
    """One answer of the model. `arguments` are those of its call, if it has `calls`."""

    calls: bool = False
    arguments: Any = None
    sent: int = _SENT
    written: int = _WRITTEN


class ScriptedModel:
    """The model, as an ASGI application at `/v1`.

    Args:
        choose: makes arguments for a tool.
        tool: the name of the tool to call; empty for the first that `choose` has arguments for.
        arguments: those for that tool, in the place of what `choose` makes.
    """

    def __init__(self, choose: Choose, tool: str = "", arguments: Mapping[str, Any] | None = None) -> None:
        self.answers: list[Said] = []
        self.credentials: list[str] = []
        """What the gateway said who it is."""
        self.offered: tuple[str, ...] = ()
        """The names of the tools that it was offered last, when it was asked to call one."""
        self._choose = choose
        self._tool = tool
        self._arguments = arguments
        routes = [
            Route("/v1/chat/completions", self._complete, methods=["POST"]),
            Route("/v1/models", _models, methods=["GET"]),
        ]
        self.app = Starlette(routes=routes)

    async def _complete(self, request: Request) -> Response:
        credential = request.headers.get("authorization", "").rpartition(" ")[2]
        if credential and credential not in self.credentials:
            self.credentials.append(credential)
        body = await _body(request)
        messages = body.get("messages")
        if not isinstance(messages, list):
            return _refusal("this is no request for a chat completion")
        asked, results = _question(messages)
        streams = body.get("stream") is True
        if asked == FAIL and results:
            return _refusal("the scripted model fails here")
        if asked in (CALL, SHOW, FAIL) and not results:
            call = self._call(body.get("tools"), shown=asked == SHOW)
            return self._answer(body, "Let me look.", call, streams=streams)
        if asked == LONG and streams:
            return StreamingResponse(_long(), media_type="text/event-stream")
        return self._answer(body, "That is what the tool said.", None, streams=streams)

    def _call(self, tools: Any, *, shown: bool) -> tuple[str, Any] | None:
        """Return the call for the tools of a request: the tool that is wanted, else a display tool, else any."""
        offered = _functions(tools)
        self.offered = tuple(offered)
        found = [name for name in offered if name == self._tool or not self._tool]
        for name in sorted(found, key=lambda one: _SHOW not in _properties(offered[one])):
            if self._arguments is not None:
                return name, _with_display(self._arguments, offered[name], shown=shown)
            if (arguments := self._choose(dict(offered[name]))) is not None:
                return name, _with_display(arguments, offered[name], shown=shown)
        return None

    def _answer(self, body: Mapping[str, Any], text: str, call: tuple[str, Any] | None, *, streams: bool) -> Response:
        self.answers.append(Said() if call is None else Said(calls=True, arguments=call[1]))
        number = len(self.answers)
        calls = [] if call is None else [_tool_call(f"call_{number}", *call)]
        finish = "tool_calls" if calls else "stop"
        head = {"id": f"chatcmpl-{number}", "created": 1, "model": str(body.get("model"))}
        usage = {"prompt_tokens": _SENT, "completion_tokens": _WRITTEN, "total_tokens": _SENT + _WRITTEN}
        if not streams:
            message = {"role": "assistant", "content": text, **({"tool_calls": calls} if calls else {})}
            choice = {"index": 0, "message": message, "finish_reason": finish}
            return JSONResponse({**head, "object": "chat.completion", "choices": [choice], "usage": usage})
        half = len(text) // 2
        deltas: list[Mapping[str, Any]] = [{"role": "assistant", "content": text[:half]}, {"content": text[half:]}]
        if calls:
            deltas.append({"tool_calls": [{"index": 0, **calls[0]}]})
        chunks = [_chunk(head, delta) for delta in deltas]
        chunks.append(_chunk(head, {}, finish))
        chunks.append(_event({**head, "object": "chat.completion.chunk", "choices": [], "usage": usage}))
        return Response("".join([*chunks, "data: [DONE]\n\n"]), media_type="text/event-stream")


def _functions(tools: Any) -> dict[str, Mapping[str, Any]]:
    """Return the input schemas of tools by their names."""
    found = [one.get("function") for one in tools if isinstance(one, dict)] if isinstance(tools, list) else []
    functions = [one for one in found if isinstance(one, dict) and isinstance(one.get("name"), str)]
    return {one["name"]: one["parameters"] if isinstance(one.get("parameters"), dict) else {} for one in functions}


def _with_display(arguments: Any, schema: Mapping[str, Any], *, shown: bool) -> Any:
    return {**arguments, _SHOW: True} if shown and _SHOW in _properties(schema) else arguments


def _properties(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    properties = schema.get("properties")
    return properties if isinstance(properties, dict) else {}


def _question(messages: list[Any]) -> tuple[str, int]:
    """Return the last text of the user, and how many results of tools follow it."""
    asked, results = "", 0
    for message in messages:
        if not isinstance(message, dict):
            continue
        if message.get("role") == "user":
            asked, results = _text(message.get("content")), 0
        results += message.get("role") == "tool"
    return asked.strip(), results


def _text(content: Any) -> str:
    if isinstance(content, list):
        return "".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""


async def _long() -> AsyncIterator[str]:
    head = {"id": "chatcmpl-long", "created": 1, "model": MODEL}
    for number in range(_PIECES):
        yield _chunk(head, {"content": f"{number} "})
        await asyncio.sleep(_PAUSE_SECONDS)
    yield _chunk(head, {}, "stop")
    yield "data: [DONE]\n\n"


async def _models(_: Request) -> Response:
    return JSONResponse(
        {"object": "list", "data": [{"id": MODEL, "object": "model", "created": 1, "owned_by": "xmcp"}]}
    )


async def _body(request: Request) -> Mapping[str, Any]:
    content = bytearray()
    async for piece in request.stream():
        content += piece
        if len(content) > _MOST_READ:
            return {}
    try:
        body = json.loads(bytes(content))
    except (ValueError, RecursionError):
        return {}
    return body if isinstance(body, dict) else {}


def _refusal(message: str) -> Response:
    error = {"message": message, "type": "invalid_request_error", "param": None, "code": "scripted"}
    return JSONResponse({"error": error}, 400, headers={"x-should-retry": "false"})


def _tool_call(id_: str, name: str, arguments: Any) -> dict[str, Any]:
    return {"id": id_, "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}


def _chunk(head: Mapping[str, Any], delta: Mapping[str, Any], finish: str | None = None) -> str:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return _event({**head, "object": "chat.completion.chunk", "choices": [choice]})


def _event(value: Mapping[str, Any]) -> str:
    return f"data: {json.dumps(value)}\n\n"
