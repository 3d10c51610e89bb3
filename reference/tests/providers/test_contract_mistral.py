"""`MistralProvider` keeps the contract of providers, with the real mistralai SDK against a stand-in on the loopback."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager

from support.vendors.mistral import Mistral

from xmcp.providers.contract import ProviderContract, Vendor


class TestMistral(ProviderContract):
    """`MistralProvider`, by Mistral's chat completions."""

    def vendor(self) -> AbstractAsyncContextManager[Vendor]:
        """Return a stand-in for Mistral."""
        return Mistral()
