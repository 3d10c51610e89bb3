"""The XMCP capability: what a server announces, what a client declares, and the form of results (section 6.1).

FastMCP sends the announcement on connections of 2026-07-28; the middleware adds it to the answer of the older
`initialize` handshake, from which the SDK strips extensions.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, Literal, NamedTuple, get_args

from fastmcp.server.context import Context
from fastmcp.server.extensions import ServerExtension
from mcp_types import ClientCapabilities

from xmcp.wire import DEFAULT_LIMITS
from xmcp_models.registry import EXTENSION_ID, VERSION

Wire = Literal["always", "negotiated", "plain"]
_OF_OURS: Final = re.compile(rf"{VERSION.split('.')[0]}\.(?:0|[1-9][0-9]{{0,3}})")
FEWEST_BYTES: Final = 4_096
"""The smallest `maxBytes` (spec section 6.1): an error with a short message and little of its `meta` fits."""


class Reader(NamedTuple):
    """What the client reads: documents or plain MCP, and the maximum number of bytes of a document.

    `declared` tells whether it declared the extension, and so can tell text, data and displays apart.
    """

    documents: bool
    max_bytes: int = DEFAULT_LIMITS.document_bytes
    declared: bool = True


def checked_wire(wire: str) -> Wire:
    """Return `wire` if it is one of the three values.

    Raises:
        ValueError: It is none of them.
    """
    for known in get_args(Wire):
        if wire == known:
            return wire  # type: ignore[return-value]
    raise ValueError(f"wire must be {' or '.join(map(repr, get_args(Wire)))}, not {wire!r}.")


def announcement(wire: Wire) -> dict[str, Any]:
    """Return what a server announces: the versions of the format it writes, and its wire (spec section 6.1)."""
    return {"versions": [VERSION], "wire": wire}


class ToolResponseExtension(ServerExtension):
    """Announces `capabilities.extensions[EXTENSION_ID]`.

    A server that mounts this one decides for itself whether to announce: only it knows whether all its results are
    tool responses.
    """

    identifier = EXTENSION_ID

    def __init__(self, wire: Wire) -> None:
        self._wire = wire

    def settings(self) -> dict[str, Any]:
        """Return the announcement of the extension."""
        return announcement(self._wire)


def reader_for(wire: Wire, declared: Mapping[str, Any] | None) -> Reader:
    """Return the form of results for a client that declared `declared` about the extension (None: no declaration)."""
    if declared is None or not _reads_our_version(declared.get("versions")):
        # Another version counts as no declaration, with all that is in it (XMCP-VER-002).
        return Reader(documents=wire == "always", declared=False)
    return Reader(
        documents=wire == "always" or (wire == "negotiated" and declared.get("documents") is not False),
        max_bytes=_size(declared.get("maxBytes")),
    )


def declared_by(context: Context | None) -> Mapping[str, Any] | None:
    """Return what the client of this request declared about the extension, or None.

    A server that keeps no session between requests does not know what a client declared in an `initialize` handshake.
    A stand-in for a session, as tests make one, may have no `client_capabilities`: then nothing was declared.
    """
    request = context.request_context if context is not None else None
    return declared_in(getattr(request and request.session, "client_capabilities", None))


def declared_in(capabilities: ClientCapabilities | None, extension: str = EXTENSION_ID) -> Mapping[str, Any] | None:
    """Return what `capabilities` declare about an extension, ours or another one, or None."""
    for place in ("extensions", "experimental"):
        declared = (getattr(capabilities, place, None) or {}).get(extension)
        if isinstance(declared, Mapping):
            return declared
    return None


def _reads_our_version(versions: object) -> bool:
    """Return whether a client reads a version of our major version: it reads all of them (XMCP-VER-001)."""
    return isinstance(versions, list) and any(isinstance(one, str) and _OF_OURS.fullmatch(one) for one in versions)


def _size(declared: object) -> int:
    """Return the size of the largest document for a client that declared this `maxBytes`."""
    if isinstance(declared, bool) or not isinstance(declared, int | float) or declared != declared // 1:
        return DEFAULT_LIMITS.document_bytes
    return min(max(int(declared), FEWEST_BYTES), DEFAULT_LIMITS.document_bytes)
