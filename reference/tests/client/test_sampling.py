"""Servers that ask the client's model: refused unless the application has a policy (XMCP-CLI-118), in each era."""

from __future__ import annotations

import asyncio
from typing import Any

import fastmcp
import mcp_types as mt
import pytest
from support.chats import answers_in
from support.clock import never
from support.scripted_model import ScriptedModel, asks

from xmcp.client import AIClient, SamplingRequest
from xmcp.client.hooks.log import EventLog
from xmcp.client.servers import sampling
from xmcp.client.servers.targets import ServerTarget
from xmcp.storage import MemoryBreakers

TEXT = mt.TextContent(type="text", text="Say hi")
IMAGE = mt.ImageContent(type="image", data="AA==", mime_type="image/png")


def asking(content: Any = TEXT, at_once: int = 1, text: str = "Say hi") -> Any:
    """A server that asks for sampling in the way of each era, and says what it was answered."""
    mcp: Any = fastmcp.FastMCP("asking")
    message = mt.SamplingMessage(role="user", content=content)
    if text != "Say hi":
        message = mt.SamplingMessage(role="user", content=mt.TextContent(type="text", text=text))

    @mcp.tool
    async def ask(ctx: fastmcp.Context) -> Any:
        if answers := ctx.input_responses:
            return " ".join(sorted(answer.content.text for answer in answers.values()))  # type: ignore[union-attr]
        params = mt.CreateMessageRequestParams(messages=[message], max_tokens=10, system_prompt="Be kind.")
        if ctx.session.protocol_version >= "2026":
            requests = {f"s{number}": mt.CreateMessageRequest(params=params) for number in range(at_once)}
            return mt.InputRequiredResult(input_requests=requests, request_state="s")
        answers_ = await asyncio.gather(
            *(
                ctx.session.create_message(messages=[message], max_tokens=10, system_prompt="Be kind.")
                for _ in range(at_once)
            )
        )
        return " ".join(answer.content.text for answer in answers_)

    @mcp.tool
    async def insist(ctx: fastmcp.Context) -> Any:
        return mt.InputRequiredResult(input_requests={"r": mt.ListRootsRequest()}, request_state="s")

    return mcp


async def called(tool: str = "ask", server: Any = None, mode: str = "auto", **options: Any) -> Any:
    """Return the answer of a call, as the model gets it."""
    target = ServerTarget(target=server or asking(), mode=mode, roots=["file:///a"])
    async with asyncio.timeout(300), AIClient([target], llm_provider=ScriptedModel(asks(tool)), **options) as ai:
        (answer,) = answers_in((await ai.chat("q", []))["history"]).values()
        return answer


pytestmark = [
    pytest.mark.parametrize("mode", ["auto", "legacy"]),
    pytest.mark.filterwarnings("ignore:The sampling capability is deprecated"),
]


async def test_without_a_policy_sampling_is_refused(mode: str) -> None:
    answer = await called(mode=mode)
    assert "Sampling not supported" in answer.error.message


async def test_a_policy_answers_with_what_the_server_asked(mode: str) -> None:
    seen: list[SamplingRequest] = []

    async def policy(request: SamplingRequest) -> str:
        seen.append(request)
        await asyncio.sleep(0)
        return "hi there"

    answer = await called(mode=mode, sampling=policy)
    assert "hi there" in answer.llm_output
    (request,) = seen
    assert request.messages == [
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": "Say hi"},
    ]
    assert (request.server, request.max_tokens, request.temperature) == ("asking", 10, None)


async def test_an_answer_that_no_line_can_hold_is_sent_without_what_cannot_be_sent(mode: str) -> None:
    got: list[str] = []

    def ends(text: str) -> str:
        got.append(text)
        return "half \ud800"

    params = mt.CreateMessageRequestParams(messages=[], max_tokens=1, system_prompt=mode)
    answer = sampling.handler(lambda request: ends(request.messages[0]["content"]), "s", EventLog())
    assert await answer([], params, None) == "half \ufffd"
    assert got == [mode]


def _none(_: Any) -> None:
    return None


def _raises(_: Any) -> str:
    raise ValueError("s3cret internals")


def _wrong(_: Any) -> Any:
    return 7


@pytest.mark.parametrize(
    ("policy", "said"),
    [
        (_none, "does not allow this request"),
        (_raises, "could not answer"),
        (_wrong, "could not answer"),
        (never, "no answer in time"),
    ],
)
async def test_a_policy_that_does_not_answer_refuses_and_tells_no_internals(
    mode: str, policy: Any, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sampling, "SAMPLING_SECONDS", 0.01)
    answer = await called(mode=mode, sampling=policy)
    assert said in answer.error.message
    assert "s3cret" not in answer.to_xml()


async def test_what_is_not_text_or_too_much_is_refused_before_the_policy_is_asked(
    mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sampling, "MAX_TEXT_BYTES", 1000)
    seen: list[Any] = []
    for server, said in ((asking(IMAGE), "only text"), (asking(text="x" * 1001), "more than 1000 bytes")):
        answer = await called(server=server, mode=mode, sampling=lambda request: seen.append(request) or "hi")
        assert said in answer.error.message
    assert seen == []


async def test_a_server_has_few_requests_answered_at_the_same_time(mode: str) -> None:
    running = most = 0

    async def policy(_: SamplingRequest) -> str:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.02)
        running -= 1
        return "hi"

    await called(server=asking(at_once=20), mode=mode, sampling=policy)
    assert 1 <= most <= sampling.MAX_AT_ONCE


async def test_requests_that_were_answered_or_refused_no_longer_count(mode: str) -> None:
    policy = sampling.handler(lambda request: "hi" if request.max_tokens == 1 else None, "s", EventLog())
    params = [mt.CreateMessageRequestParams(messages=[], max_tokens=n, system_prompt=mode) for n in (1, 2)]
    for _ in range(sampling.MAX_AT_ONCE + 1):
        assert await policy([], params[0], None) == "hi"
        with pytest.raises(sampling.SamplingRefused, match="does not allow"):
            await policy([], params[1], None)


async def test_each_server_has_a_number_of_requests_of_its_own(mode: str) -> None:
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def policy(_: SamplingRequest) -> str:
        begun.set()
        await go_on.wait()
        return "hi"

    params = mt.CreateMessageRequestParams(messages=[], max_tokens=1, system_prompt=mode)
    one, other = (sampling.handler(policy, name, EventLog()) for name in ("one", "other"))
    busy = [asyncio.create_task(one([], params, None)) for _ in range(sampling.MAX_AT_ONCE)]
    await begun.wait()
    with pytest.raises(sampling.SamplingRefused, match="ask again later"):
        await one([], params, None)
    asked = asyncio.create_task(other([], params, None))
    await asyncio.sleep(0)
    go_on.set()
    assert await asked == "hi"
    assert await asyncio.gather(*busy) == ["hi"] * sampling.MAX_AT_ONCE


async def test_a_policy_is_told_how_to_sample(mode: str) -> None:
    seen: list[SamplingRequest] = []
    params = mt.CreateMessageRequestParams(
        messages=[], max_tokens=7, system_prompt=mode, temperature=0.5, stop_sequences=["end", "."]
    )
    await sampling.handler(lambda request: seen.append(request) or "hi", "s", EventLog())([], params, None)
    (request,) = seen
    assert (request.max_tokens, request.temperature, request.stop_sequences) == (7, 0.5, ("end", "."))


async def test_a_server_that_only_ever_asks_fails_its_call_and_costs_no_connection(mode: str) -> None:
    if mode == "legacy":
        return  # it has no such result
    breakers = MemoryBreakers(threshold=1)
    answer = await called("insist", mode=mode, breakers=breakers)
    assert (answer.error.code, "kept asking" in answer.error.message) == ("TOOL_ERROR", True)
    assert not breakers._circuits
