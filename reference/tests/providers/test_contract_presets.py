"""Providers of vendors with OpenAI's format keep the contract, each against a stand-in that behaves like its vendor."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager

from support.vendors.presets import DeepSeek, MiniMax, Ollama

from xmcp.providers.contract import ProviderContract, Vendor


class TestLocal(ProviderContract):
    """`LocalProvider`, with Ollama."""

    def vendor(self) -> AbstractAsyncContextManager[Vendor]:
        """Return a stand-in for Ollama."""
        return Ollama()


class TestDeepSeek(ProviderContract):
    """`DeepSeekProvider`."""

    def vendor(self) -> AbstractAsyncContextManager[Vendor]:
        """Return a stand-in for DeepSeek."""
        return DeepSeek()


class TestMiniMax(ProviderContract):
    """`MiniMaxProvider`."""

    def vendor(self) -> AbstractAsyncContextManager[Vendor]:
        """Return a stand-in for MiniMax."""
        return MiniMax()
