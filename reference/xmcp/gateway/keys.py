"""Who calls: the key of a request, compared in constant time with the hashes of all keys."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from xmcp.gateway.config import Key, Tenant, limits_of
from xmcp.gateway.grants import NO_LIMITS, SCOPES, Grant, Limits, Profile
from xmcp.gateway.runs.request import Caller

PREFIX: Final = "xmcp_"
MAX_KEY_CHARACTERS: Final = 512


class MissingVariable(ValueError):
    """The variable that is to have a key is not set, or empty."""


class Keys:
    """The keys of a gateway's file. Without any, everybody may call.

    Args:
        keys: The keys of the configuration.
        events: The profile of keys that have none of their own.
        environment: Has the keys that stand in variables.
        tenants: What tenants may use.

    Raises:
        MissingVariable: one of them is not there.
    """

    def __init__(
        self,
        keys: Sequence[Key],
        events: Profile,
        environment: Mapping[str, str],
        tenants: Sequence[Tenant] = (),
    ) -> None:
        self.tenant_limits = limits = {tenant.name: limits_of(tenant) for tenant in tenants}
        """What the tenants of the file may use, also with keys that do not stand in it."""
        self._callers: list[tuple[bytes, Caller]] = []
        self._anybody = None if keys else Caller("local", profile=events, grant=Grant(frozenset(SCOPES)))
        for key in keys:
            grant = _grant_of(key, limits.get(key.tenant, NO_LIMITS))
            caller = Caller(key.name, key.tenant, key.events or events, grant)
            self._callers.append((_hash_of(key, environment), caller))

    @property
    def needed(self) -> bool:
        """Whether a caller needs a key."""
        return self._anybody is None

    def caller(self, authorization: str | None) -> Caller | None:
        """Return whose key a header `Authorization: Bearer KEY` has; `None` if it is nobody's."""
        if self._anybody is not None:
            return self._anybody
        key = bearer_key(authorization)
        if key is None:
            return None
        given = digest(key)
        found: Caller | None = None
        # All of them, whichever fits: the time says nothing of where it stands.
        for expected, caller in self._callers:
            if hmac.compare_digest(expected, given):
                found = caller
        return None if found is None else replace(found, key=key)


def bearer_key(authorization: str | None) -> str | None:
    """Return the key of a header `Authorization: Bearer KEY`; `None` if it has none, or one that is too long."""
    scheme, _, key = (authorization or "").partition(" ")
    return key.strip() if scheme.lower() == "bearer" and 0 < len(key) <= MAX_KEY_CHARACTERS else None


def _grant_of(key: Key, tenant: Limits) -> Grant:
    models = None if key.models is None else frozenset(key.models)
    tools = None if key.tools is None else frozenset(key.tools)
    return Grant(frozenset(key.scopes), models, tools, limits_of(key), tenant)


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
