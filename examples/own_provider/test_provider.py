"""The contract of all providers, for the one in `provider.py`: copy both files and run `pytest`."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiohttp import web
from provider import REFUSALS, HouseProvider

from xmcp.chat.completions import ToolCall
from xmcp.providers import contract
from xmcp.providers.contract import Answer, Asked, BreaksOff, Hangs, ProviderContract, Raw, Refusal, Said, Vendor


class House:
    """A stand-in for the model: it says what a test tells it, and keeps what it was asked."""

    # It counts no cached tokens, lists no models, sees no pictures, and wants nothing back that it thought.
    lacks = frozenset(("cached_tokens", "models", "images", "images_in_results", "reasoning", "shown_reasoning"))
    models = ()
    malformed = (
        Raw("a text that is none", b'{"text": 7}\n'),
        Raw("a call without a name", b'{"call": {"id": "1"}}\n'),
        Raw("a number", b"7\n"),
    )

    def __init__(self, url: str) -> None:
        self.provider = HouseProvider(url, contract.SECRET)
        self.asked: list[Asked] = []
        self.left = 0
        self.answers(Answer("ok"))

    def answers(self, *answers: contract.Scripted) -> None:
        self._script = list(answers)

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """Answer one request."""
        self.asked.append(read(await request.json()))
        told = self._script.pop(0) if len(self._script) > 1 else self._script[0]
        if isinstance(told, Raw):
            return web.Response(body=told.body, status=told.status, content_type=told.content_type)
        if isinstance(told, Refusal):
            status = next((status for status, category in REFUSALS.items() if category is told.category), 503)
            return web.Response(text=f"refused: {contract.SECRET}", status=status)
        response = web.StreamResponse()
        await response.prepare(request)
        for line in lines(told):
            await response.write(json.dumps(line, ensure_ascii=False).encode() + b"\n")
        if isinstance(told, Hangs):
            try:
                await asyncio.sleep(60)
            finally:
                self.left += 1
        return response


def read(body: dict) -> Asked:
    """Return what a request says."""
    said = []
    for message in body.pop("messages"):
        functions = ((call["id"], call["function"]) for call in message.get("tool_calls") or ())
        calls = tuple(ToolCall(id_, function["name"], function["arguments"]) for id_, function in functions)
        said.append(Said(message["role"], message["content"] or "", calls=calls, of=message.get("tool_call_id", "")))
    tools = {tool["function"]["name"]: tool["function"]["parameters"] for tool in body.pop("tools")}
    return Asked(body.pop("model"), tuple(said), tools, body)


def lines(told: Answer | BreaksOff | Hangs) -> list[dict]:
    """Return what the model says."""
    said = [{"text": part} for part in (told.text[:5], told.text[5:]) if part]
    if isinstance(told, Answer):
        said += [
            {"call": {"id": one.id, "name": one.name, "arguments": json.loads(one.arguments)}} for one in told.calls
        ]
        tokens = [told.usage.input_tokens, told.usage.output_tokens]
        said.append({"end": told.finish_reason, "tokens": tokens, "model": "house-1"})
    return said


class TestHouseProvider(ProviderContract):
    @asynccontextmanager
    async def vendor(self) -> AsyncIterator[Vendor]:
        async def answer(request: web.Request) -> web.StreamResponse:
            return await house.answer(request)

        app = web.Application()
        app.router.add_post("/answer", answer)
        runner = web.AppRunner(app, handler_cancellation=True)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        house = House(f"http://127.0.0.1:{runner.addresses[0][1]}")
        try:
            yield house
        finally:
            await house.provider.aclose()
            await runner.cleanup()
