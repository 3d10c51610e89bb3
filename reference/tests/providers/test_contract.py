"""Every provider keeps the contract of providers, with its vendor's real SDK against a stand-in on the loopback."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager

from support.vendors.chat_completions import ChatCompletions

from xmcp.providers.contract import ProviderContract, Vendor


class TestOpenAI(ProviderContract):
    """`OpenAIProvider`, by chat completions."""

    def vendor(self) -> AbstractAsyncContextManager[Vendor]:
        """Return a stand-in for OpenAI."""
        return ChatCompletions()
