"""Anthropic keeps the contract of providers, with its real SDK against a stand-in on the loopback."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager

from support.vendors.anthropic_messages import AnthropicMessages

from xmcp.providers.contract import ProviderContract, Vendor


class TestAnthropic(ProviderContract):
    """`AnthropicProvider`, by the Messages API."""

    def vendor(self) -> AbstractAsyncContextManager[Vendor]:
        """Return a stand-in for Anthropic."""
        return AnthropicMessages()
