"""What a client declares that reads documents and shows displays (spec section 6.1)."""

from __future__ import annotations

from typing import Any, Final

from mcp.client import advertise

from xmcp_models.registry import EXTENSION_ID, VERSION

DECLARES: Final[list[Any]] = [advertise(EXTENSION_ID, {"versions": [VERSION]})]
"""The value of `extensions` of FastMCP's client."""
