"""A response of the reference implementation in the form in which vectors and exported examples write it."""

from __future__ import annotations

from typing import Any

from xmcp.wire import ToolResponse
from xmcp_conformance.profiles.codec.vector_checks import Response

BESIDE = ("warnings", "for_person")
"""Members of a response that no document has."""


def told(response: ToolResponse) -> tuple[Response, int]:
    """Return the members of a response, and the number of its warnings."""
    members: dict[str, Any] = {name: getattr(response, name) for name in response.__slots__ if name not in BESIDE}
    if response.display:
        members["display"] = response.display.to_dict()
    if response.error:
        members["error"] = {name: getattr(response.error, name) for name in response.error.__slots__}
    return members, len(response.warnings)
