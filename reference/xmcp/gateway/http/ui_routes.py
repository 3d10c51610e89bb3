"""The routes of the UI protocols."""

from __future__ import annotations

from starlette.requests import Request
from starlette.types import ASGIApp

from xmcp.gateway.decoders import ui_messages as decoding
from xmcp.gateway.encoders import ai_sdk
from xmcp.gateway.encoders.ag_ui import AGUIEncoder
from xmcp.gateway.http.chats import Asked, caller_of, gateway_of


async def ai_sdk_chat(request: Request) -> ASGIApp:
    """`POST /ui/ai-sdk`: a chat of `useChat`."""
    asked = await Asked.by(request)
    wanted = await asked.decoded(decoding.decode_ai_sdk, gateway_of(request).default_for(caller_of(request)))
    following = await asked.begin(wanted)
    return await following.stream(ai_sdk.UIMessageEncoder(), ai_sdk.HEADERS)


async def ag_ui_run(request: Request) -> ASGIApp:
    """`POST /ui/ag-ui`: a run of an AG-UI client."""
    asked = await Asked.by(request)
    wanted = await asked.decoded(decoding.decode_ag_ui, gateway_of(request).default_for(caller_of(request)))
    following = await asked.begin(wanted.request)
    return await following.stream(AGUIEncoder(wanted.thread_id, wanted.run_id))
