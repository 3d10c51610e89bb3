"""The clients as which the suite calls a server, and what each declares (sections 6.1 and 6.7)."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Final

from xmcp_models.registry import EXTENSION_ID, VERSION

LEAST: Final = 4096
"""The smallest `maxBytes`, in bytes: the size into which every error fits."""
_OTHER_VERSION: Final = "99.0"
MCP_APPS: Final = "io.modelcontextprotocol/ui"
"""The identifier of MCP Apps."""
VIEW_TYPE: Final = "text/html;profile=mcp-app"
"""The type of the pages of MCP Apps."""


class ClientKind(StrEnum):
    """A kind of client; the value is its word in reports."""

    DECLARED = "declared"
    """Declares the extension in the version of the suite."""
    LIMITED = "limited"
    """Declares the smallest `maxBytes`, too."""
    PLAIN = "plain"
    """Declares nothing."""
    OTHER_VERSION = "other_version"
    """Declares a version that no server emits."""
    NO_DOCUMENTS = "no_documents"
    """Sets `documents` to `false`."""
    APPS = "apps"
    """Declares nothing of this specification, and announces MCP Apps."""

    @property
    def in_words(self) -> str:
        """What the name of a run says of its client; empty for the usual one."""
        return _TITLES[self]

    def extensions(self, era: str) -> dict[str, Any]:
        """Return the extensions that the client declares in an era, `newest` or `handshake`."""
        if self is ClientKind.APPS:
            return {MCP_APPS: {"mimeTypes": [VIEW_TYPE]}}
        declaration = self._declaration(era)
        return {} if declaration is None else {EXTENSION_ID: declaration}

    def _declaration(self, era: str) -> dict[str, Any] | None:
        if self is ClientKind.PLAIN:
            return None
        if self is ClientKind.OTHER_VERSION:
            return {"versions": [_OTHER_VERSION]}
        # In one of the eras it reads a later version too, and knows few types of displays.
        in_the_handshake = {"versions": [_OTHER_VERSION, VERSION], "displayTypes": ["text", "markdown"]}
        return {"versions": [VERSION], **_MORE[self], **(in_the_handshake if era == "handshake" else {})}


_TITLES: Final = {
    ClientKind.DECLARED: "",
    ClientKind.LIMITED: f"maxBytes {LEAST}",
    ClientKind.PLAIN: "plain client",
    ClientKind.OTHER_VERSION: f"client of version {_OTHER_VERSION}",
    ClientKind.NO_DOCUMENTS: "client without documents",
    ClientKind.APPS: "client with MCP Apps",
}
_MORE: Final[dict[ClientKind, dict[str, Any]]] = {
    ClientKind.DECLARED: {},
    ClientKind.LIMITED: {"maxBytes": LEAST},
    ClientKind.NO_DOCUMENTS: {"documents": False},
}
