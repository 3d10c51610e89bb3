"""The routes of the UI protocols."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from starlette.requests import Request
from starlette.types import ASGIApp

from xmcp.gateway.decoders import ui_messages as decoding
from xmcp.gateway.encoders import ai_sdk
from xmcp.gateway.encoders.ag_ui import AGUIEncoder
from xmcp.gateway.http.chats import Asked, Following, caller_of, gateway_of, give_answer, refuse_crowd, run_of
from xmcp.gateway.http.refusals import Refused


async def ai_sdk_chat(request: Request) -> ASGIApp:
    """`POST /ui/ai-sdk`: a chat of `useChat`."""
    asked = await Asked.by(request)
    if answers := await asked.decoded(decoding.answers_in):
        return _continued(request, answers, asked.raw)
    wanted = await asked.decoded(decoding.decode_ai_sdk, gateway_of(request).default_for(caller_of(request)))
    following = await asked.begin(replace(wanted.request, can_be_asked=True))
    return await following.stream(ai_sdk.UIMessageEncoder(wanted.message_id), ai_sdk.HEADERS, ai_sdk.PAUSE)


def _continued(request: Request, answers: Sequence[decoding.GivenAnswer], body: bytes) -> ASGIApp:
    """Answer the questions of a run, and follow it from there: the rest belongs to the same message of the page."""
    run = run_of(request, answers[0].run_id, body)
    refuse_crowd(run)
    places = [run.questions.place_of(given.call_id) or 0 for given in answers]
    following = Following(request, run, after=max(places))
    try:
        for given in answers:
            give_answer(run, given.call_id, given.answer, caller_of(request).key_name)
    except Refused:
        following.leave()
        raise
    return following.events(ai_sdk.UIMessageEncoder(), ai_sdk.HEADERS, ai_sdk.PAUSE)


async def ag_ui_run(request: Request) -> ASGIApp:
    """`POST /ui/ag-ui`: a run of an AG-UI client."""
    asked = await Asked.by(request)
    wanted = await asked.decoded(decoding.decode_ag_ui, gateway_of(request).default_for(caller_of(request)))
    following = await asked.begin(replace(wanted.request, can_be_asked=True))
    return await following.stream(AGUIEncoder(wanted.thread_id, wanted.run_id))
