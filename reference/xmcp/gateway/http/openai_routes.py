"""The routes of OpenAI's API: models and chat completions."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp

from xmcp.client.calls.worker_threads import in_worker_if_large
from xmcp.gateway.decoders import openai_chat as decoding
from xmcp.gateway.encoders import openai_chat as encoding
from xmcp.gateway.http.chats import Asked, caller_of, gateway_of
from xmcp.gateway.http.refusals import Refused, json_response


async def completions(request: Request) -> ASGIApp:
    """`POST /v1/chat/completions`."""
    asked = await Asked.by(request)
    wanted = await asked.decoded(decoding.decode, request.headers.get("x-openwebui-chat-id"))
    profile = caller_of(request).profile
    alone = gateway_of(request).answers_alone(wanted.request)
    following = await asked.begin(replace(wanted.request, can_be_asked=wanted.stream and profile == "xmcp"))
    if wanted.stream:
        return await following.stream(encoding.ChunkEncoder(usage=wanted.usage, profile=profile, answer_alone=alone))
    await following.to_the_end()
    run = following.run
    written = partial(encoding.whole, run.id, run.state, profile, answer_alone=alone)
    completion = await in_worker_if_large(run.size, written)
    return json_response(completion, headers=following.headers)


async def models(request: Request) -> Response:
    """`GET /v1/models`."""
    listed = [_model(request, model) for model in gateway_of(request).models_for(caller_of(request))]
    return json_response({"object": "list", "data": listed})


async def model(request: Request) -> Response:
    """`GET /v1/models/{id}`."""
    name = request.path_params["model"]
    if not gateway_of(request).offers(name, caller_of(request)):
        raise Refused(404, f"There is no model {name[:128]!r}. GET /v1/models lists them.", "model_not_found", "model")
    return json_response(_model(request, name))


def _model(request: Request, name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": int(request.app.state.started), "owned_by": "xmcp"}
