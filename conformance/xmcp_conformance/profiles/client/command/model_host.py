"""The models of a scenario over HTTP: OpenAI's chat completions, whole and streamed."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from xmcp_conformance.profiles.client.adapter import Json, Model, ModelAnswer, ModelFailure, NoSuchChat
from xmcp_conformance.profiles.client.observer import NEVER

from .hosting import Cut

_MOST_READ: Final = 64 * 1024 * 1024
"""Maximum number of bytes of a request."""
_STATUSES: Final[Mapping[str, tuple[int, str]]] = {
    "auth": (401, "invalid_api_key"),
    "content": (400, "content_filter"),
    "context": (400, "context_length_exceeded"),
    "rate_limit": (429, "rate_limit_exceeded"),
}
"""HTTP status and code of a failed request, by its category; of `network` the connection breaks."""


def models_app(models: Sequence[Model], cut: Cut) -> Starlette:
    """Return an application in which `/N/v1/chat/completions` is the model with the index N."""

    numbers = itertools.count(1)

    async def complete(request: Request) -> Response:
        number = request.path_params["model"]
        if number >= len(models):
            return _refusal(404, "not_found", "there is no such model")
        body = await _body(request)
        if body is None:
            return _refusal(400, "invalid_request_error", "this is no request for a chat completion")
        streamed = body.get("stream") is True
        options = body.get("stream_options")
        counts = not streamed or (isinstance(options, dict) and options.get("include_usage") is True)
        asked = body["messages"], body.get("tools") or []
        try:
            answer = await models[number].answer(*asked, whole=not streamed, counts=counts)
        except NoSuchChat:  # a request beside the chats of the scenario, such as one for a title
            answer = ModelAnswer(["ok"])
        head = {"id": f"chatcmpl-{next(numbers)}", "created": 1, "model": str(body.get("model"))}
        answer = answer if counts else replace(answer, tokens=None)
        if streamed:
            return await _streamed(answer, head, request, cut)
        return await _whole(answer, head, request, cut)

    async def known(request: Request) -> Response:
        found = {"id": f"scripted-{request.path_params['model']}", "object": "model", "created": 1, "owned_by": "xmcp"}
        return JSONResponse({"object": "list", "data": [found]})

    return Starlette(
        routes=[
            Route("/{model:int}/v1/chat/completions", complete, methods=["POST"]),
            Route("/{model:int}/v1/models", known, methods=["GET"]),
        ]
    )


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


async def _whole(answer: ModelAnswer, head: Json, request: Request, cut: Cut) -> Response:
    if answer.stalls:
        await _for_ever()
    if answer.failure is not None:
        return await _failed(answer.failure, request, cut)
    message: dict[str, Any] = {"role": "assistant", "content": "".join(answer.pieces) or None}
    if answer.reasoning:
        message["reasoning_content"] = "".join(answer.reasoning)
    if answer.calls:
        message["tool_calls"] = [_call(call) for call in answer.calls]
    choice = {"index": 0, "message": message, "finish_reason": _finish(answer)}
    usage = {} if answer.tokens is None else {"usage": _usage(answer.tokens)}
    return JSONResponse({**head, "object": "chat.completion", "choices": [choice], **usage})


async def _streamed(answer: ModelAnswer, head: Json, request: Request, cut: Cut) -> Response:
    failure = answer.failure
    if failure is not None and not failure.began:
        return await _failed(failure, request, cut)

    async def chunks() -> AsyncIterator[str]:
        yield _chunk(head, {"role": "assistant", "content": ""})
        for thought in answer.reasoning:
            yield _chunk(head, {"reasoning_content": thought})
        for piece in answer.pieces:
            yield _chunk(head, {"content": piece})
        if answer.begun is not None:
            yield _chunk(head, {"tool_calls": [{"index": 0, **_call(answer.begun)}]})
        if answer.stalls:
            await _for_ever()
        if failure is not None:
            await asyncio.sleep(_FLUSH_SECONDS)
            cut(request.scope["client"])
            await _for_ever()
        for index, call in enumerate(answer.calls):
            for part in _parts(_call(call)):
                yield _chunk(head, {"tool_calls": [{"index": index, **part}]})
        yield _chunk(head, {}, _finish(answer))
        if answer.tokens is not None:
            yield _event({**head, "object": "chat.completion.chunk", "choices": [], "usage": _usage(answer.tokens)})
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


def _event(value: Mapping[str, Any]) -> str:
    return f"data: {json.dumps(value)}\n\n"


def _chunk(head: Json, delta: Mapping[str, Any], finish: str | None = None) -> str:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return _event({**head, "object": "chat.completion.chunk", "choices": [choice]})


def _call(call: Mapping[str, str]) -> dict[str, Any]:
    function = {"name": call["name"], "arguments": call["arguments"]}
    return {"id": call["id"], "type": "function", "function": function}


def _parts(call: Json) -> Iterator[Json]:
    """Yield a call in the parts in which vendors send it: what is called, then the arguments in pieces."""
    arguments = call["function"]["arguments"]
    yield {**call, "function": {**call["function"], "arguments": ""}}
    size = max(1, -(-len(arguments) // _PIECES))
    for start in range(0, len(arguments), size):
        yield {"function": {"arguments": arguments[start : start + size]}}


_PIECES: Final = 3
"""Number of pieces in which the arguments of a call come."""


def _finish(answer: ModelAnswer) -> str:
    return answer.finish or ("tool_calls" if answer.calls else "stop")


def _usage(tokens: int) -> dict[str, int]:
    return {"prompt_tokens": tokens, "completion_tokens": 0, "total_tokens": tokens}
