"""Keys for a database: how one is made, and how one is told from a forged one without asking the database. Pure.

A key is `xmcp_ID_SECRET`. The id finds it, and is no secret. The end of the secret is a tag, which only whoever has the
pepper can make: of keys that nobody issued, however many, none costs a query or a place in a cache.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
import secrets
from dataclasses import dataclass
from typing import Final

from xmcp.gateway.keys import PREFIX

PEPPER_VARIABLE: Final = "XMCP_GATEWAY_PEPPER"
"""The variable of the environment that has the pepper."""

LEAST_PEPPER: Final = 32
"""Minimum number of characters of a pepper."""

_ID: Final = re.compile(r"[0-9a-f]{16}")
_KEY: Final = re.compile(rf"{PREFIX}({_ID.pattern})_([A-Za-z0-9_-]{{43}})([A-Za-z0-9_-]{{16}})", re.ASCII)
_TAG_BYTES: Final = 12


@dataclass(frozen=True, slots=True)
class IssuedKey:
    """A key, and what of it may be stored. Its `repr` does not show it."""

    id: str
    hmac: str


class Pepper:
    """The secret without which stored keys can neither be guessed nor forged.

    Raises:
        ValueError: it is too short.
    """

    def __init__(self, value: str) -> None:
        if len(value) < LEAST_PEPPER:
            raise ValueError(f"The pepper has {len(value)} characters; it needs {LEAST_PEPPER} or more.")
        self._value = value.encode()

    def new_key(self) -> str:
        """Return a new key: an id of 8 random bytes, and 32 random bytes with their tag."""
        return self._tagged(secrets.token_hex(8), secrets.token_urlsafe(32))

    def issued(self, key: str) -> IssuedKey | None:
        """Return what is stored of a key; `None` for one that was not made with this pepper."""
        found = _KEY.fullmatch(key)
        if found is None or not hmac.compare_digest(self._tagged(found[1], found[2]), key):
            return None
        return IssuedKey(found[1], self._mac("key", key).hex())

    @property
    def mark(self) -> str:
        """What is stored beside keys, by which the pepper is known again; it does not reveal it."""
        return self._mac("mark", "").hex()

    def _tagged(self, key_id: str, secret: str) -> str:
        tag = self._mac("tag", f"{key_id}_{secret}")[:_TAG_BYTES]
        return f"{PREFIX}{key_id}_{secret}{base64.urlsafe_b64encode(tag).decode()}"

    def _mac(self, purpose: str, text: str) -> bytes:
        return hmac.digest(self._value, f"{purpose}:{text}".encode(), hashlib.sha256)


def is_key_id(text: str) -> bool:
    """Return whether a text can be the id of a key."""
    return _ID.fullmatch(text) is not None


def same_mac(one: str, other: str) -> bool:
    """Return whether two stored forms are equal, in a time that says nothing of where they differ."""
    return hmac.compare_digest(one, other)
