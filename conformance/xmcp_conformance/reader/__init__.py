"""The strict reader of documents, written from the specification alone. Import its face from here."""

from __future__ import annotations

from .document import Document, Reading
from .reader import looks_like_a_document, read
from .xml_text_checks import MOST_BYTES

__all__ = ["MOST_BYTES", "Document", "Reading", "looks_like_a_document", "read"]
