"""Lets the suite judge a client in Python: `xmcp check client "python examples/client_adapter/adapter.py"`.

Copy this file, and put your client in the place of `AIClient`: into `start`, which gives it the options of `setup`, and
into `chat`. The guide "Have a client judged" has the messages.
"""

import asyncio
import itertools
import json
import sys
from collections.abc import Awaitable, Callable
from typing import Any

from xmcp.chat.errors import QuotaExceeded
from xmcp.client import AIClient
from xmcp.client.hooks.quotas import Quota, TenantQuotas
from xmcp.dependency_graph import DependencyError
from xmcp.providers import OpenAIProvider, ProviderError
from xmcp.storage import MemoryCache

# What the client has: scenarios that need more are not run. Leave out what yours lacks.
FEATURES = ["approval", "breaker", "cache", "call_limit", "cancellation", "chat_timeout", "chats_at_the_same_time"]
FEATURES += ["dependencies", "events", "fallback_models", "filled_in_parameters", "meta_tools", "quotas"]
FEATURES += ["tool_limit", "tool_refresh"]
FAILURES: dict[type[Exception], str] = {ProviderError: "provider", QuotaExceeded: "quota", ValueError: "refused"}


def write(message: dict[str, Any]) -> None:
    """Write a line at once: what a client tells has to arrive before what it does next."""
    print(json.dumps(message), flush=True)


class Questions:
    """Questions to the application, and their answers."""

    def __init__(self) -> None:
        self.numbers, self.waiting = itertools.count(1), dict[int, asyncio.Future[dict[str, Any]]]()

    async def ask(self, **question: Any) -> dict[str, Any]:
        """Ask, and return the answer."""
        number = next(self.numbers)
        self.waiting[number] = asyncio.get_running_loop().create_future()
        write({"ask": number, **question})
        return await self.waiting[number]

    def answered(self, answer: dict[str, Any]) -> None:
        """Hand an answer to who waits for it, if anybody still does."""
        waiting = self.waiting.pop(answer["ask"])
        if not waiting.done():
            waiting.set_result(answer)

    def callback(self, name: str) -> Callable[[Any, list[Any]], Awaitable[None]]:
        """Return a callback that raises where the application's own one does."""

        async def call(_: Any, history: list[Any]) -> None:
            if (await self.ask(callback=name, history=history))["fails"]:
                raise RuntimeError("the application's own fault")

        return call


async def start(request: dict[str, Any], questions: Questions) -> AIClient:
    """Start a client with the options, the models and the servers of a request."""
    setup, urls = request["setup"], [server["url"] for server in request["servers"]]
    names = [server["name"] for server in request["servers"]]
    first, *others = [
        OpenAIProvider(model["api_key"], model["base_url"], model["model"]) for model in request["models"]
    ]
    quotas = {tenant: Quota(tokens=tokens) for tenant, tokens in setup["quota_tokens"].items()}

    async def approve(call: Any) -> bool:
        answer = await questions.ask(approve={"chat": call.session_id, "call_id": call.call_id})
        return bool(answer["approved"])

    client = AIClient(
        dict(zip(names, urls, strict=True)) if names and None not in names else urls,
        llm_provider=first,
        fallback_models=[(other, None) for other in others],
        max_turns=setup["max_turns"],
        max_calls_per_turn=setup["max_calls_per_turn"] or 1_000,
        max_tools_per_server=setup["max_tools_per_server"] or 1_000,
        max_concurrency=setup["max_concurrency"],
        tool_timeout=setup["tool_timeout"],
        chat_timeout=setup["chat_timeout"],
        retry_policy={"max_attempts": setup["max_attempts"]},
        breaker_threshold=setup["breaker_threshold"],
        breaker_reset_after=setup["breaker_reset_after"],
        cache=MemoryCache() if setup["cache"] else None,
        cache_read_only=setup["cache_read_only"],
        display=setup["display"],
        display_budget=setup["display_budget"],
        meta_tools=setup["meta_tools"],
        params=setup["params"],
        approve=approve if setup["approval"] else None,
        middleware=[TenantQuotas(limits=quotas, reserve_output_tokens=1)] if quotas else [],
        on_display=questions.callback("on_display"),
        on_error=questions.callback("on_error"),
    )
    await client.__aenter__()
    return client


async def chat(client: AIClient, request: dict[str, Any]) -> dict[str, Any]:
    """Run a chat, and return how it ended."""
    name, given = request["chat"], request["history"]
    stream = client.stream_chat(request["query"], given, tenant_id=request["tenant"], session_id=name)
    result: Any = None
    try:
        async for event in stream:
            told = event.to_json()
            write({"event": told, "chat": name})
            result = told.get("result", result)
    except asyncio.CancelledError:
        await stream.aclose()
        return {"history": stream.history, "given": given, "failure": "cancelled"}
    except Exception as fault:
        failure = FAILURES.get(type(fault), "crashed")
        why = {"why": repr(fault)} if failure == "crashed" else {}
        return {"history": getattr(fault, "history", None) or [], "given": given, "failure": failure, **why}
    return {"history": result["history"], "given": given, "result": result}


async def main() -> None:
    """Do what the suite says, one chat beside the other."""
    client: AIClient | None = None
    chats: dict[str, asyncio.Task[None]] = {}
    questions = Questions()
    lines = asyncio.StreamReader(limit=2**26)
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)

    async def run(running: AIClient, request: dict[str, Any]) -> None:
        write({"id": request["id"], **await chat(running, request)})

    async for line in lines:
        request = json.loads(line)
        told: dict[str, Any] = {"id": request.get("id")}
        match request["command"]:
            case "hello":
                told |= {"protocol": 1, "name": "xmcp.client.AIClient", "features": FEATURES}
            case "start":
                try:
                    client = await start(request, questions)
                except DependencyError as refusal:
                    told["refused"] = str(refusal)
            case "chat" if client:
                chats[request["chat"]] = asyncio.create_task(run(client, request))
                await asyncio.sleep(0)  # so that it has begun when it is cancelled
                continue
            case "cancel":
                chats[request["chat"]].cancel()
                continue
            case "answer":
                questions.answered(request)
                continue
            case "refresh" if client:
                await client.refresh_tools()
            case "stop" if client:
                await client.__aexit__(None, None, None)
                chats.clear()
        write(told)


asyncio.run(main())
