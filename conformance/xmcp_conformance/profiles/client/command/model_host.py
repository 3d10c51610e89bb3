"""The models of a scenario over HTTP: OpenAI's chat completions, whole and streamed."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any, Final

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from xmcp_conformance.profiles.client.adapter import Model, ModelAnswer, ModelFailure, NoSuchChat
from xmcp_conformance.profiles.client.observer import NEVER

_MOST_READ: Final = 64 * 1024 * 1024
"""Maximum number of bytes of a request."""
_STATUSES: Final[Mapping[str, tuple[int, str]]] = {
    "auth": (401, "invalid_api_key"),
    "content": (400, "content_filter"),
    "rate_limit": (429, "rate_limit_exceeded"),
}
"""HTTP status and code of a failed request, by its category; of `network` the connection breaks."""
Cut = Callable[[tuple[str, int] | None], None]


def models_app(models: Sequence[Model], cut: Cut) -> Starlette:
    """Return an application in which `/N/v1/chat/completions` is the model with the index N."""

    async def complete(request: Request) -> Response:
        number = request.path_params["model"]
        if number >= len(models):
            return _refusal(404, "not_found", "there is no such model")
        body = await _body(request)
        if body is None:
            return _refusal(400, "invalid_request_error", "this is no request for a chat completion")
        streamed = body.get("stream") is True
        try:
            answer = await models[number].answer(body["messages"], body.get("tools") or [], whole=not streamed)
        except NoSuchChat:  # a request beside the chats of the scenario, such as one for a title
            answer = ModelAnswer(["ok"])
        name = str(body.get("model"))
        if streamed:
            with_usage = (body.get("stream_options") or {}).get("include_usage") is True
            return await _streamed(answer, name, request, cut, with_usage=with_usage)
        return await _whole(answer, name, request, cut)

    return Starlette(routes=[Route("/{model:int}/v1/chat/completions", complete, methods=["POST"])])


async def _body(request: Request) -> dict[str, Any] | None:
    """Return the request; `None` if it is none. A model judges nothing of it: the checks see the messages."""
    content = bytearray()
    async for piece in request.stream():
        content += piece
        if len(content) > _MOST_READ:
            return None
    try:
        body = json.loads(bytes(content))
    except (ValueError, RecursionError):
        return None
    if (
        not isinstance(body, dict)
        or not _are_objects(body.get("messages"))
        or not _are_objects(body.get("tools") or [])
    ):
        return None
    return body


def _are_objects(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, dict) for one in value)


async def _whole(answer: ModelAnswer, name: str, request: Request, cut: Cut) -> Response:
    if answer.stalls:
        await _for_ever()
    if answer.failure is not None:
        return await _failed(answer.failure, request, cut)
    message: dict[str, Any] = {"role": "assistant", "content": "".join(answer.pieces) or None}
    if answer.calls:
        message["tool_calls"] = [_call(call) for call in answer.calls]
    choice = {"index": 0, "message": message, "finish_reason": _finish(answer)}
    usage = {} if answer.tokens is None else {"usage": _usage(answer.tokens)}
    return JSONResponse({**_head(name), "object": "chat.completion", "choices": [choice], **usage})


async def _streamed(answer: ModelAnswer, name: str, request: Request, cut: Cut, *, with_usage: bool) -> Response:
    failure = answer.failure
    if failure is not None and not failure.began:
        return await _failed(failure, request, cut)

    async def chunks() -> AsyncIterator[str]:
        yield _chunk(name, {"role": "assistant", "content": ""})
        for piece in answer.pieces:
            yield _chunk(name, {"content": piece})
        if answer.stalls:
            await _for_ever()
        if failure is not None:
            await asyncio.sleep(_FLUSH_SECONDS)
            cut(request.scope["client"])
            await _for_ever()
        for index, call in enumerate(answer.calls):
            yield _chunk(name, {"tool_calls": [{"index": index, **_call(call)}]})
        yield _chunk(name, {}, _finish(answer))
        if with_usage and answer.tokens is not None:
            yield _event(
                {**_head(name), "object": "chat.completion.chunk", "choices": [], "usage": _usage(answer.tokens)}
            )
        yield "data: [DONE]\n\n"

    return StreamingResponse(chunks(), media_type="text/event-stream")


_FLUSH_SECONDS: Final = 0.05
"""The time that what was written has to reach the client before its connection breaks."""


async def _failed(failure: ModelFailure, request: Request, cut: Cut) -> Response:
    if failure.category not in _STATUSES:
        cut(request.scope["client"])
        await _for_ever()
    status, code = _STATUSES[failure.category]
    return _refusal(status, code, "the scripted model fails here")


async def _for_ever() -> None:
    """Give no answer: the client ends the request, or the host its connections."""
    await asyncio.sleep(NEVER)


def _refusal(status: int, code: str, message: str) -> Response:
    error = {"message": message, "type": code, "code": code}
    # OpenAI's SDK repeats failed requests by itself unless it is told not to.
    return JSONResponse({"error": error}, status, headers={"x-should-retry": "false"})


def _head(name: str) -> dict[str, Any]:
    return {"id": "chatcmpl-1", "created": 1, "model": name}


def _event(value: Mapping[str, Any]) -> str:
    return f"data: {json.dumps(value)}\n\n"


def _chunk(name: str, delta: Mapping[str, Any], finish: str | None = None) -> str:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return _event({**_head(name), "object": "chat.completion.chunk", "choices": [choice]})


def _call(call: Mapping[str, str]) -> dict[str, Any]:
    function = {"name": call["name"], "arguments": call["arguments"]}
    return {"id": call["id"], "type": "function", "function": function}


def _finish(answer: ModelAnswer) -> str:
    return answer.finish or ("tool_calls" if answer.calls else "stop")


def _usage(tokens: int) -> dict[str, int]:
    return {"prompt_tokens": tokens, "completion_tokens": 0, "total_tokens": tokens}
