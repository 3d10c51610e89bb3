"""Who gets documents (spec section 6.1): the server's wire, and what the client declared.

Pure decisions live here: what a client declared in, what it is sent out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal, NamedTuple, get_args

from fastmcp.server.context import Context

from xmcp.wire import DEFAULT_LIMITS
from xmcp_models.registry import EXTENSION_ID, VERSION

Wire = Literal["always", "negotiated"]
_OURS: Final = VERSION.split(".")[0]


class Reader(NamedTuple):
    """What the client at the other end takes: documents or plain MCP, and at most how many bytes of a document."""

    documents: bool
    max_bytes: int = DEFAULT_LIMITS.document_bytes


def checked_wire(wire: str) -> Wire:
    """Return `wire` if there is one of that name.

    Raises:
        ValueError: there is none.
    """
    for known in get_args(Wire):
        if wire == known:
            return wire  # type: ignore[return-value]
    raise ValueError(f"wire is {wire!r}; there are {' and '.join(map(repr, get_args(Wire)))}.")


def reader_for(wire: Wire, declared: Mapping[str, Any] | None) -> Reader:
    """Return what a client that declared this about the extension (`None`: nothing) is sent by a server with `wire`."""
    if declared is None:
        return Reader(documents=wire == "always")
    most = declared.get("maxBytes")
    limited = isinstance(most, int) and not isinstance(most, bool) and 0 < most < DEFAULT_LIMITS.document_bytes
    return Reader(
        documents=wire == "always" or _reads_ours(declared.get("versions")),
        max_bytes=most if limited and isinstance(most, int) else DEFAULT_LIMITS.document_bytes,
    )


def declared_by(context: Context | None) -> Mapping[str, Any] | None:
    """Return what the client of this request declared about the extension, or `None`.

    A server that keeps no session between requests does not know what a client of the handshake era declared.
    """
    request = context.request_context if context is not None else None
    capabilities = request.session.client_capabilities if request is not None else None
    if capabilities is None:
        return None
    for place in (capabilities.extensions, capabilities.experimental):
        declared = (place or {}).get(EXTENSION_ID)
        if isinstance(declared, Mapping):
            return declared
    return None


def _reads_ours(versions: object) -> bool:
    return isinstance(versions, list) and any(str(version).split(".")[0] == _OURS for version in versions)
