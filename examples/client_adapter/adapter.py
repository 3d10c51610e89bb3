"""Lets the suite judge a client in Python: `xmcp check client "python examples/client_adapter/adapter.py"`.

Copy this file and program.py, and put your client in the place of `AIClient`.
"""

import asyncio
from functools import partial
from typing import Any

from program import Application, Json, Refused, serve

from xmcp.chat.errors import QuotaExceeded
from xmcp.client import AIClient
from xmcp.client.hooks.quotas import Quota, TenantQuotas
from xmcp.dependency_graph import DependencyError
from xmcp.providers import OpenAIProvider, ProviderError
from xmcp.storage import MemoryCache

# What the client has: scenarios that need more are not run. Leave out what yours lacks.
FEATURES = ["approval", "breaker", "cache", "call_limit", "cancellation", "chat_timeout", "chats_at_the_same_time"]
FEATURES += ["dependencies", "events", "fallback_models", "filled_in_parameters", "meta_tools", "parameters_of_chats"]
FEATURES += ["quotas", "tool_limit", "tool_refresh"]
FAILURES: dict[type[Exception], str] = {ProviderError: "provider", QuotaExceeded: "quota", ValueError: "refused"}


class Adapter:
    """An `AIClient`, driven by the suite."""

    async def start(self, setup: Json, models: list[Json], servers: list[Json], application: Application) -> None:
        """Start a client with these options, models and servers."""
        names, urls = [server["name"] for server in servers], [server["url"] for server in servers]
        first, *others = [OpenAIProvider(model["api_key"], model["base_url"], model["model"]) for model in models]
        quotas = {tenant: Quota(tokens=tokens) for tenant, tokens in setup["quota_tokens"].items()}
        self.application = application
        self.params: dict[str, Json] = {}

        async def approve(call: Any) -> bool:
            return await application.approves(call.session_id, call.call_id)

        self.client = AIClient(
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
            params={name: partial(self.value, name, usual) for name, usual in setup["params"].items()},
            approve=approve if setup["approval"] else None,
            middleware=[TenantQuotas(limits=quotas, reserve_output_tokens=1)] if quotas else [],
            on_display=lambda _, history: application.call_back("on_display", history),
            on_error=lambda _, history: application.call_back("on_error", history),
        )
        try:
            await self.client.__aenter__()
        except DependencyError as refusal:
            raise Refused(str(refusal)) from refusal

    def value(self, name: str, usual: Any, call: Any) -> Any:
        """Return the value of a parameter that the application fills in, for a call of a chat."""
        return self.params[call.session_id].get(name, usual)

    async def chat(self, request: Json) -> Json:
        """Run a chat, and return how it ended."""
        name, given = request["chat"], request["history"]
        self.params[name] = request.get("params", {})
        stream = self.client.stream_chat(request["query"], given, tenant_id=request["tenant"], session_id=name)
        result: Any = None
        try:
            async for event in stream:
                told = event.to_json()
                self.application.tell(name, told)
                result = told.get("result", result)
        except asyncio.CancelledError:
            await stream.aclose()
            return {"history": stream.history, "given": given, "failure": "cancelled"}
        except Exception as fault:
            failure = FAILURES.get(type(fault), "crashed")
            history = getattr(fault, "history", None) or []
            return {"history": history, "given": given, "failure": failure, "why": repr(fault)}
        return {"history": result["history"], "given": given, "result": result}

    async def refresh(self) -> None:
        """List the tools of all servers again."""
        await self.client.refresh_tools()

    async def stop(self) -> None:
        """Close the client."""
        await self.client.__aexit__(None, None, None)


if __name__ == "__main__":
    serve(Adapter(), "xmcp.client.AIClient", FEATURES)
