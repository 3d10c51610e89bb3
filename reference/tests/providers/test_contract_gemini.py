"""`GeminiProvider` keeps the contract of providers, with the google-genai SDK against a stand-in on the loopback."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager

from support.vendors.gemini import Gemini, OlderGemini

from xmcp.providers.contract import ProviderContract, Vendor


class TestGemini(ProviderContract):
    """`GeminiProvider`, by generateContent."""

    def vendor(self) -> AbstractAsyncContextManager[Vendor]:
        """Return a stand-in for the Gemini API."""
        return Gemini()


class TestOlderGemini(ProviderContract):
    """The same with models that give calls no ids."""

    def vendor(self) -> AbstractAsyncContextManager[Vendor]:
        """Return a stand-in for the Gemini API with models of the second generation."""
        return OlderGemini()
