"""Providers that send through an HTTP client of the application keep the contract, each with its vendor's real SDK."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import httpx2
from support.vendors.anthropic_messages import AnthropicMessages
from support.vendors.chat_completions import ChatCompletions
from support.vendors.gemini import Gemini
from support.vendors.mistral import Mistral
from support.vendors.stand_in import StandIn

from xmcp.providers.contract import SECRET, ProviderContract, Vendor


@asynccontextmanager
async def _behind(stand_in: StandIn) -> AsyncIterator[Vendor]:
    async with httpx2.AsyncClient() as client, stand_in:
        made: Any = stand_in.provider
        provider = type(made)(api_key=SECRET, base_url=made._base_url, model=made.model, http_client=client)
        stand_in.provider = provider
        try:
            yield stand_in
        finally:
            await provider.aclose()


class TestOpenAI(ProviderContract):
    """`OpenAIProvider`."""

    def vendor(self) -> AbstractAsyncContextManager[Vendor]:
        """Return a stand-in for OpenAI."""
        return _behind(ChatCompletions())


class TestAnthropic(ProviderContract):
    """`AnthropicProvider`."""

    def vendor(self) -> AbstractAsyncContextManager[Vendor]:
        """Return a stand-in for Anthropic."""
        return _behind(AnthropicMessages())


class TestGemini(ProviderContract):
    """`GeminiProvider`."""

    def vendor(self) -> AbstractAsyncContextManager[Vendor]:
        """Return a stand-in for Gemini."""
        return _behind(Gemini())


class TestMistral(ProviderContract):
    """`MistralProvider`."""

    def vendor(self) -> AbstractAsyncContextManager[Vendor]:
        """Return a stand-in for Mistral."""
        return _behind(Mistral())
