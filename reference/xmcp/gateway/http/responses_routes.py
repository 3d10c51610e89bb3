"""The routes of OpenAI's Responses API."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp

from xmcp.client.calls.worker_threads import in_worker_if_large
from xmcp.gateway.decoders import openai_responses as decoding
from xmcp.gateway.decoders.openai_items import continued_run, needed_runs
from xmcp.gateway.encoders import openai_responses as encoding
from xmcp.gateway.http.archive_refusals import archive_refusals
from xmcp.gateway.http.chats import Asked, caller_of, gateway_of
from xmcp.gateway.http.homes import keep_to_home, name_of_earlier
from xmcp.gateway.http.refusals import Refused, json_response
from xmcp.gateway.runs.response_ids import run_of_response
from xmcp.gateway.runs.run import Run


async def create(request: Request) -> ASGIApp:
    """`POST /v1/responses`."""
    asked = await Asked.by(request)
    caller = caller_of(request)
    chat_id = request.headers.get("x-openwebui-chat-id")
    runs = await asked.decoded(needed_runs)
    session = await asked.decoded(decoding.session_of, chat_id)
    if (name := name_of_earlier(caller.tenant, session, await asked.decoded(continued_run))) is not None:
        keep_to_home(request, lambda: name, asked.raw)  # which remembers it
    with archive_refusals():
        earlier = await gateway_of(request).memory.earlier(runs, caller.tenant)
    wanted = await asked.decoded(decoding.decode, chat_id, earlier)
    can_be_asked = wanted.stream and caller.profile == "xmcp"
    following = await asked.begin(replace(wanted.request, can_be_asked=can_be_asked))
    if wanted.stream:
        alone = gateway_of(request).answers_alone(wanted.request)
        return await following.stream(encoding.ResponseEncoder(wanted.echo, caller.profile, answer_alone=alone))
    await following.to_the_end()
    return await _whole(request, following.run, wanted.echo, following.headers)


async def retrieve(request: Request) -> Response:
    """`GET /v1/responses/{id}`: the response of a run that is kept, as far as it has come."""
    if request.query_params.get("stream") == "true":
        told = "A response is not streamed again here: GET /runs/{id}/events is."
        raise Refused(400, told, "unsupported_parameter", "stream")
    return await _whole(request, _run_of(request))


async def cancel(request: Request) -> Response:
    """`POST /v1/responses/{id}/cancel`: end its run. One that has ended is left as it is."""
    run = _run_of(request)
    run.cancel("caller")
    await run.over()
    return await _whole(request, run)


def _run_of(request: Request) -> Run:
    named: str = request.path_params["response_id"]
    run_id = run_of_response(named)
    run = None
    if run_id is not None and (run := gateway_of(request).runs.get(run_id, caller_of(request))) is None:
        keep_to_home(request, lambda: run_id)
    if run is None or run.request.surface != "responses":
        told = f"Response with id {named[:100]!r} not found, or not kept any more."
        raise Refused(404, told, "response_not_found", "response_id")
    return run


async def _whole(request: Request, run: Run, echo: Any = None, headers: Any = None) -> Response:
    profile = caller_of(request).profile
    alone = gateway_of(request).answers_alone(run.request)
    written = partial(encoding.whole, run.id, run.state, echo or {}, profile, answer_alone=alone)
    response = await in_worker_if_large(run.size, written)
    return json_response(response, headers=headers)
