"""Who calls: the key of a request, compared in constant time with the hashes of all keys."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from xmcp.gateway.config import Key
from xmcp.gateway.runs.request import Caller, Profile

PREFIX: Final = "xmcp_"
MAX_KEY_CHARACTERS: Final = 512


class MissingVariable(ValueError):
    """The variable that is to have a key is not set, or empty."""


class Keys:
    """The keys of a gateway. Without any, everybody may call.

    Args:
        keys: The keys of the configuration.
        events: The profile of keys that have none of their own.
        environment: Has the keys that stand in variables.

    Raises:
        MissingVariable: one of them is not there.
    """

    def __init__(self, keys: Sequence[Key], events: Profile, environment: Mapping[str, str]) -> None:
        self._callers: list[tuple[bytes, Caller]] = []
        self._anybody = None if keys else Caller("local", profile=events)
        for key in keys:
            caller = Caller(key.name, key.tenant, key.events or events)
            self._callers.append((_hash_of(key, environment), caller))

    @property
    def needed(self) -> bool:
        """Whether a caller needs a key."""
        return self._anybody is None

    def caller(self, authorization: str | None) -> Caller | None:
        """Return whose key a header `Authorization: Bearer KEY` has; `None` if it is nobody's."""
        if self._anybody is not None:
            return self._anybody
        scheme, _, key = (authorization or "").partition(" ")
        if scheme.lower() != "bearer" or not 0 < len(key) <= MAX_KEY_CHARACTERS:
            return None
        key = key.strip()
        given = digest(key)
        found: Caller | None = None
        # All of them, whichever fits: the time says nothing of where it stands.
        for expected, caller in self._callers:
            if hmac.compare_digest(expected, given):
                found = caller
        return None if found is None else replace(found, key=key)


def new_key() -> str:
    """Return a new key: 32 random bytes."""
    return PREFIX + secrets.token_urlsafe(32)


def digest(key: str) -> bytes:
    """Return the SHA-256 of a key. It has the randomness of 32 bytes, so that nothing slower is needed."""
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()


def _hash_of(key: Key, environment: Mapping[str, str]) -> bytes:
    if key.hash is not None:
        return bytes.fromhex(key.hash.removeprefix("sha256:"))
    value = environment.get(key.env or "", "").strip()
    if not value:
        raise MissingVariable(f"The key {key.name!r} is to stand in the variable {key.env}, which is not set.")
    return digest(value)
