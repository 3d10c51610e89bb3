"""What importing the client costs: neither FastMCP nor an LLM SDK is loaded before it is used."""

from __future__ import annotations

import subprocess
import sys


def test_importing_client_and_providers_loads_neither_fastmcp_nor_an_llm_sdk() -> None:
    code = "import sys, xmcp.client.sync, xmcp.client.ai_client, xmcp.providers; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=True)
    loaded = {*done.stdout.split()}
    assert "xmcp.client.ai_client" in loaded
    assert loaded & {"fastmcp", "mcp", "mcp_types", "openai", "httpx2"} == set()
