"""`GeminiCLIProvider` keeps the contract of providers, with a stand-in for the program."""

from __future__ import annotations

import sys
from contextlib import AbstractAsyncContextManager

import pytest
from support.vendors.gemini_cli import GeminiCLI

from xmcp.providers.contract import ProviderContract, Vendor

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the stand-in is a script for a POSIX shell")


class TestGeminiCLI(ProviderContract):
    """`GeminiCLIProvider`."""

    def vendor(self) -> AbstractAsyncContextManager[Vendor]:
        """Return a stand-in for the program."""
        return GeminiCLI()
