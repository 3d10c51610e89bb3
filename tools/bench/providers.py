"""Measure each provider against its vendor's raw SDK, in processor time of this process, in one run.

The same request goes to the same server (canned_answers.py, in a process of its own): a question with tools. The floor
asks for the answer in one piece, as most programs do; a provider always streams. For 1,000 pieces both stream.
"""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from typing import Any, Final, NamedTuple

from tools.bench.canned_answers import WORD
from tools.bench.figure import Figure
from tools.bench.processes import START_SECONDS, Process
from xmcp.providers import (
    AnthropicProvider,
    Completion,
    GeminiProvider,
    LLMProvider,
    MistralProvider,
    ModelRequest,
    OpenAIProvider,
    OpenAIResponsesProvider,
    ToolSchemas,
)

Asked = Callable[[], Awaitable[str]]
Close = Callable[[], Awaitable[Any]]


class Pair(NamedTuple):
    """A provider, and the same question to the raw SDK."""

    provider: Any
    floor: Asked
    close: Close
    """Closes the client of the SDK."""


KEY: Final = "none"
SHORT, LONG = 5, 1000
FEW, MANY = 5, 105

_SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "query": {"type": "string", "description": "What to look for."},
        "limit": {"type": "integer", "minimum": 1, "maximum": 100},
        "tags": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["query"],
}
_QUESTION: Final[list[dict[str, Any]]] = [{"role": "user", "content": "What do you find?"}]


def schemas(number: int) -> ToolSchemas:
    """Return so many tools in the format of OpenAI."""
    return ToolSchemas.of(
        {
            "type": "function",
            "function": {"name": f"find_{n}", "description": f"Find records of kind {n}.", "parameters": _SCHEMA},
        }
        for n in range(number)
    )


def ours(provider: LLMProvider, tools: ToolSchemas) -> Asked:
    """Return a question to a provider."""

    async def ask() -> str:
        completion: Any = None
        async for piece in provider.stream(ModelRequest(_QUESTION, tools, "m")):
            completion = piece
        assert isinstance(completion, Completion)
        return completion.text

    return ask


def openai(base: str, tools: ToolSchemas, *, stream: bool) -> Pair:
    """OpenAI's chat completions."""
    from openai import AsyncOpenAI

    client: Any = AsyncOpenAI(base_url=f"{base}/v1", api_key=KEY)
    listed = list(tools.tools)

    async def ask() -> str:
        asked = client.chat.completions.create(model="m", messages=_QUESTION, tools=listed, stream=stream)
        if not stream:
            return str((await asked).choices[0].message.content)
        return "".join([chunk.choices[0].delta.content or "" async for chunk in await asked if chunk.choices])

    return Pair(OpenAIProvider(KEY, f"{base}/v1"), ask, client.close)


def responses(base: str, tools: ToolSchemas, *, stream: bool) -> Pair:
    """OpenAI's Responses API."""
    from openai import AsyncOpenAI

    client: Any = AsyncOpenAI(base_url=f"{base}/v1", api_key=KEY)
    listed = [{"type": "function", "strict": False, **tool["function"]} for tool in tools.tools]

    async def ask() -> str:
        asked = client.responses.create(model="m", input=_QUESTION, tools=listed, stream=stream)
        if not stream:
            return str((await asked).output_text)
        return "".join([event.delta async for event in await asked if event.type == "response.output_text.delta"])

    return Pair(OpenAIResponsesProvider(KEY, f"{base}/v1"), ask, client.close)


def anthropic(base: str, tools: ToolSchemas, *, stream: bool) -> Pair:
    """Anthropic's Messages API."""
    from anthropic import AsyncAnthropic

    client: Any = AsyncAnthropic(base_url=base, api_key=KEY)
    functions = [tool["function"] for tool in tools.tools]
    listed = [
        {"name": one["name"], "description": one["description"], "input_schema": one["parameters"]} for one in functions
    ]

    async def ask() -> str:
        asked = client.messages.create(model="m", max_tokens=4096, messages=_QUESTION, tools=listed, stream=stream)
        if not stream:
            return str((await asked).content[0].text)
        return "".join([event.delta.text async for event in await asked if event.type == "content_block_delta"])

    return Pair(AnthropicProvider(KEY, base), ask, client.close)


def gemini(base: str, tools: ToolSchemas, *, stream: bool) -> Pair:
    """Gemini's API."""
    from google import genai

    client = genai.Client(api_key=KEY, vertexai=False, http_options=genai.types.HttpOptions(base_url=base))
    functions = [tool["function"] for tool in tools.tools]
    declared = [
        {"name": one["name"], "description": one["description"], "parameters_json_schema": one["parameters"]}
        for one in functions
    ]
    config: Any = {
        "tools": [{"function_declarations": declared}],
        "automatic_function_calling": {"disable": True},
    }
    question = _QUESTION[0]["content"]

    async def ask() -> str:
        if not stream:
            whole = await client.aio.models.generate_content(model="m", contents=question, config=config)
            return str(whole.text)
        chunks = await client.aio.models.generate_content_stream(model="m", contents=question, config=config)
        return "".join([chunk.text or "" async for chunk in chunks])

    return Pair(GeminiProvider(KEY, base), ask, client.aio.aclose)


def mistral(base: str, tools: ToolSchemas, *, stream: bool) -> Pair:
    """Mistral's chat completions."""
    from mistralai.client import Mistral

    client: Any = Mistral(api_key=KEY, server_url=base)
    listed = list(tools.tools)

    async def ask() -> str:
        if not stream:
            whole = await client.chat.complete_async(model="m", messages=_QUESTION, tools=listed)
            return str(whole.choices[0].message.content)
        chunks = await client.chat.stream_async(model="m", messages=_QUESTION, tools=listed)
        return "".join([str(chunk.data.choices[0].delta.content or "") async for chunk in chunks])

    return Pair(MistralProvider(KEY, base), ask, lambda: client.__aexit__(None, None, None))


VENDORS: Final = (openai, responses, anthropic, gemini, mistral)


def figures(rounds: int) -> Iterator[Figure]:
    """Measure every vendor, with few tools, with many, and with a long answer."""
    with Process("tools.bench.canned_answers") as server:
        url = f"http://127.0.0.1:{int(server.line(START_SECONDS))}"
        for vendor in VENDORS:
            own = vendor is openai
            for what, pieces, tools, bar in (
                (f"{FEW} tools", SHORT, FEW, 0.7 if own else 1.05),
                (f"{MANY} tools", SHORT, MANY, 0.3 if own else 1.05),
                (f"{LONG:,} pieces", LONG, FEW, 0.25 if own else 1.05),
            ):
                name, kinds = f"{vendor.__name__}, {what}", schemas(tools)
                made = partial(vendor, f"{url}/{pieces}", kinds)
                yield asyncio.run(_measured(name, made, kinds, bar, rounds, pieces))


async def _measured(
    name: str, vendor: Callable[..., Pair], tools: ToolSchemas, bar: float, rounds: int, pieces: int
) -> Figure:
    provider, floor, close = vendor(stream=pieces == LONG)
    ask, times = ours(provider, tools), 4 if pieces == LONG else 20
    pairs = []
    try:
        for number in range(rounds + 1):
            taken = {}
            for asked in (ask, floor)[:: 1 if number % 2 else -1]:
                begun = time.process_time()
                for _ in range(times):
                    if await asked() != WORD * pieces:
                        raise AssertionError(f"{name}: another answer than the server's")
                taken[asked] = (time.process_time() - begun) / times
            pairs.append((taken[ask], taken[floor]))
    finally:
        await provider.aclose()
        await close()
    pairs = pairs[1:]  # the first round warms up
    own, raw = (statistics.median(column) * 1000 for column in zip(*pairs, strict=True))
    ratio = statistics.median(mine / other for mine, other in pairs)
    return Figure(name, ratio, bar, f"{own:8.2f} ms of the processor, the SDK {raw:.2f}")
