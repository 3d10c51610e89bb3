"""The limits of a document that a receiver accepts. The decoder applies them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """Upper bounds of one document (spec section 2.6); a document beyond any of them is refused as `LIMIT`."""

    document_bytes: int = 8 * 1024 * 1024
    """Length of the whole document in UTF-8."""
    attribute_bytes: int = 4 * 1024
    """Length in UTF-8 of one attribute's value, namespace declarations included."""
    depth: int = 64
    """Nested elements; the root counts as 1."""
    elements: int = 256
    """Number of elements."""
    json_depth: int = 64
    """Nested arrays and objects in one JSON value; the outermost counts as 1. At most 128."""
    attributes: int = 256
    """Number of attributes of all elements together, namespace declarations included."""
    tag_bytes: int = 64 * 1024
    """Length of one tag in UTF-8."""

    def __post_init__(self) -> None:
        for name in self.__slots__:
            if getattr(self, name) < 1:
                raise ValueError(f"Limits.{name} must be at least 1")
        if self.json_depth > 128:
            raise ValueError("Limits.json_depth must be at most 128: deeper JSON is refused by the JSON reader itself")


DEFAULT_LIMITS = Limits()
"""The default limits of a receiver."""
