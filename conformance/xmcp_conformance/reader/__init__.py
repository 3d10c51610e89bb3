"""The strict reader of documents, written from the specification alone. Import its face from here."""

from __future__ import annotations

from .checks.sizes import MOST_BYTES
from .reader import looks_like_a_document, read
from .reading import Document, Reading

__all__ = ["MOST_BYTES", "Document", "Reading", "looks_like_a_document", "read"]
