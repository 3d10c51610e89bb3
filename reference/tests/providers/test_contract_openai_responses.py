"""`OpenAIResponsesProvider` keeps the contract of providers, with the real SDK against a stand-in on the loopback."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager

from support.vendors.responses import Responses

from xmcp.providers.contract import ProviderContract, Vendor


class TestOpenAIResponses(ProviderContract):
    """`OpenAIResponsesProvider`."""

    def vendor(self) -> AbstractAsyncContextManager[Vendor]:
        """Return a stand-in for OpenAI."""
        return Responses()
