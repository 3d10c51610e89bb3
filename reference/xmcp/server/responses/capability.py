"""The XMCP capability: what a server announces, what a client declares, and the form of results (section 6.1).

FastMCP sends the announcement on connections of 2026-07-28; the middleware adds it to the answer of the older
`initialize` handshake, from which the SDK strips extensions.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal, NamedTuple, get_args

from fastmcp.server.context import Context
from fastmcp.server.extensions import ServerExtension
from mcp_types import ClientCapabilities

from xmcp.wire import DEFAULT_LIMITS
from xmcp_models.registry import EXTENSION_ID, VERSION

Wire = Literal["always", "negotiated", "plain"]
_MAJOR_VERSION: Final = VERSION.split(".")[0]


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
    """Return what a server announces: the versions of the format it writes, and its wire (spec sections 1.3, 6.1)."""
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
    declared, known = declared or {}, declared is not None and _reads_our_version(declared.get("versions"))
    most = declared.get("maxBytes")
    limited = isinstance(most, int) and not isinstance(most, bool) and 0 < most < DEFAULT_LIMITS.document_bytes
    return Reader(
        documents=wire == "always" or (wire == "negotiated" and known and declared.get("documents") is not False),
        max_bytes=most if limited and isinstance(most, int) else DEFAULT_LIMITS.document_bytes,
        declared=known,  # another version counts as no declaration (XMCP-VER-002)
    )


def declared_by(context: Context | None) -> Mapping[str, Any] | None:
    """Return what the client of this request declared about the extension, or None.

    A server that keeps no session between requests does not know what a client declared in an `initialize` handshake.
    A stand-in for a session, as tests make one, may have no `client_capabilities`: then nothing was declared.
    """
    request = context.request_context if context is not None else None
    return declared_in(getattr(request and request.session, "client_capabilities", None))


def declared_in(capabilities: ClientCapabilities | None) -> Mapping[str, Any] | None:
    """Return what `capabilities` declare about the extension, or None."""
    for place in ("extensions", "experimental"):
        declared = (getattr(capabilities, place, None) or {}).get(EXTENSION_ID)
        if isinstance(declared, Mapping):
            return declared
    return None


def _reads_our_version(versions: object) -> bool:
    return isinstance(versions, list) and any(str(version).split(".")[0] == _MAJOR_VERSION for version in versions)
