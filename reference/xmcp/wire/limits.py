"""How much of a peer's document a receiver takes in. Numbers only; the decoder applies them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """Upper bounds of one document (spec section 2.6); beyond any of them it is refused as `LIMIT`."""

    document_bytes: int = 8 * 1024 * 1024
    """Length of the whole document in UTF-8."""
    attribute_bytes: int = 4 * 1024
    """Length in UTF-8 of one attribute's value, namespace declarations included."""
    depth: int = 64
    """Elements inside each other, the root counted as 1."""
    elements: int = 256
    """Elements in all."""
    json_depth: int = 64
    """Arrays and objects inside each other in one JSON value, the outermost counted as 1; at most 128."""
    attributes: int = 256
    """Attributes of all elements together, namespace declarations included."""
    tag_bytes: int = 64 * 1024
    """Length of one tag."""

    def __post_init__(self) -> None:
        for name in self.__slots__:
            if getattr(self, name) < 1:
                raise ValueError(f"Limits.{name} must be at least 1")
        if self.json_depth > 128:
            raise ValueError("Limits.json_depth must be at most 128: deeper JSON is refused by the JSON reader itself")


DEFAULT_LIMITS = Limits()
"""The limits a receiver has when nobody says otherwise."""
