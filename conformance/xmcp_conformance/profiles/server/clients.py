"""The clients as which the suite calls a server, and what each declares (section 6.1)."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Final

from xmcp_models.registry import VERSION

LEAST: Final = 4096
"""The smallest `maxBytes`, in bytes: the size into which every error fits."""
_OTHER_VERSION: Final = "99.0"


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

    @property
    def in_words(self) -> str:
        """What the name of a run says of its client; empty for the usual one."""
        return _TITLES[self]

    def declaration(self, era: str) -> dict[str, Any] | None:
        """Return what the client declares in an era, `newest` or `handshake`; `None` if it declares nothing."""
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
}
_MORE: Final[dict[ClientKind, dict[str, Any]]] = {
    ClientKind.DECLARED: {},
    ClientKind.LIMITED: {"maxBytes": LEAST},
    ClientKind.NO_DOCUMENTS: {"documents": False},
}
