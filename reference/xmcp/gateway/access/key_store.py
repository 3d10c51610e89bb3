"""Tenants, keys, and who changed them, in the database. Each function is for one transaction.

What changes something writes a row of `admin_audit` in the same transaction: no change is without one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from xmcp.gateway.access.issued_keys import IssuedKey
from xmcp.gateway.grants import DEFAULT_SCOPES, NO_LIMITS, Limits, Profile, Scope
from xmcp.gateway.ids import now_ms, time_text, uuid7

if TYPE_CHECKING:
    from xmcp.gateway.audit.drivers import Execute

PAGE: Final = 100
"""Maximum number of rows of one page."""

KEYS_OF_A_TENANT: Final = 1_000
"""Maximum number of keys of a tenant that are not revoked."""


class TenantDeleted(ValueError):
    """A tenant of this name was deleted; chats and counts of it are still kept under the name."""


class NoSuchTenant(ValueError):
    """There is no tenant of this name."""


class TooManyKeys(ValueError):
    """The tenant has as many keys as a tenant can have."""


class Terms(BaseModel):
    """What a key allows, as it is stored and as the admin API takes it."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    scopes: list[Scope] = Field(default_factory=lambda: list(DEFAULT_SCOPES), min_length=1, max_length=3)
    models: list[str] | None = Field(None, max_length=1_000)
    tools: list[str] | None = Field(None, max_length=10_000)
    limits: Limits = NO_LIMITS
    events: Profile | None = None


@dataclass(frozen=True, slots=True)
class StoredKey:
    """A key with its tenant's limits; all times are milliseconds since 1970. `repr` shows no part of the key."""

    id: str
    tenant: str
    name: str
    hmac: str
    terms: Terms
    created_at: int
    expires_at: int | None
    revoked_at: int | None
    tenant_limits: Limits

    def __repr__(self) -> str:
        return f"StoredKey({self.id!r}, {self.tenant!r})"

    def to_dict(self) -> dict[str, Any]:
        """Return what an administrator is told of it."""
        return {
            "id": self.id,
            "tenant": self.tenant,
            "name": self.name,
            **self.terms.model_dump(exclude={"limits"}),
            "limits": limits_to_dict(self.terms.limits),
            "created_at": time_text(self.created_at),
            "expires_at": None if self.expires_at is None else time_text(self.expires_at),
            "revoked_at": None if self.revoked_at is None else time_text(self.revoked_at),
        }


@dataclass(frozen=True, slots=True)
class Actor:
    """Who changes something: the name of a key, or a person at the command line."""

    name: str


_NOTHING: Final = Terms.model_construct(scopes=[], models=[], tools=[], limits=NO_LIMITS, events=None)

_KEYS: Final = (
    "SELECT k.id, k.tenant, k.name, k.hmac, k.terms, k.created_at, k.expires_at, k.revoked_at, t.limits "
    "FROM api_keys k JOIN tenants t ON t.name = k.tenant "
)


def find_key(run: Execute, key_id: str) -> StoredKey | None:
    """Return a key, also one that is revoked or has expired; `None` if there is none, or its tenant is deleted."""
    rows = run(_KEYS + "WHERE k.id = ?", [key_id])
    return _stored(rows[0]) if rows else None


def list_keys(run: Execute, tenant: str | None, after: str, limit: int) -> list[StoredKey]:
    """Return the keys whose ids come after `after`, at most `limit`; `None`: of all tenants."""
    whose, values = ("", []) if tenant is None else ("AND k.tenant = ? ", [tenant])
    rows = run(f"{_KEYS}WHERE k.id > ? {whose}ORDER BY k.id LIMIT ?", [after, *values, limit])
    return [_stored(row) for row in rows]


def add_key(
    run: Execute, by: Actor, key: IssuedKey, *, tenant: str, name: str, terms: Terms, expires_at: int | None
) -> StoredKey:
    """Store a new key.

    Raises:
        NoSuchTenant: there is none.
        TooManyKeys: it has `KEYS_OF_A_TENANT`.
    """
    limits = run("SELECT limits FROM tenants WHERE name = ?", [tenant])
    if not limits:
        raise NoSuchTenant(tenant)
    ((number,),) = run("SELECT count(*) FROM api_keys WHERE tenant = ? AND revoked_at IS NULL", [tenant])
    if number >= KEYS_OF_A_TENANT:
        raise TooManyKeys(tenant)
    now = now_ms()
    run(
        "INSERT INTO api_keys (id, tenant, name, hmac, terms, created_at, expires_at) VALUES (?, ?, ?, ?, ?, ?, ?) "
        "ON CONFLICT (id) DO NOTHING",
        [key.id, tenant, name, key.hmac, terms.model_dump_json(), now, expires_at],
    )
    stored = StoredKey(key.id, tenant, name, key.hmac, terms, now, expires_at, None, _limits(limits[0][0]))
    _note(run, by, "key.add", key.id, {**stored.to_dict()})
    return stored


def set_key_limits(run: Execute, by: Actor, key_id: str, limits: Limits) -> StoredKey | None:
    """Set the limits of a key; `None` if there is none."""
    found = find_key(run, key_id)
    if found is None:
        return None
    terms = found.terms.model_copy(update={"limits": limits})
    run("UPDATE api_keys SET terms = ? WHERE id = ?", [terms.model_dump_json(), key_id])
    _note(run, by, "key.limits", key_id, {"from": limits_to_dict(found.terms.limits), "to": limits_to_dict(limits)})
    return find_key(run, key_id)


def revoke_key(run: Execute, by: Actor, key_id: str) -> bool:
    """Revoke a key; return False if there is none, or it is revoked already."""
    found = find_key(run, key_id)
    if found is None or found.revoked_at is not None:
        return False
    run("UPDATE api_keys SET revoked_at = ? WHERE id = ?", [now_ms(), key_id])
    _note(run, by, "key.revoke", key_id, {"tenant": found.tenant, "name": found.name})
    return True


def list_tenants(run: Execute, after: str, limit: int) -> list[dict[str, Any]]:
    """Return the tenants whose names come after `after`, at most `limit`, each with its number of valid keys."""
    rows = run(
        "SELECT t.name, t.limits, t.created_at, (SELECT count(*) FROM api_keys k WHERE k.tenant = t.name AND "
        "k.revoked_at IS NULL) FROM tenants t WHERE t.name > ? ORDER BY t.name LIMIT ?",
        [after, limit],
    )
    return [
        {"name": name, "limits": limits_to_dict(_limits(limits)), "created_at": time_text(created), "keys": keys}
        for name, limits, created, keys in rows
    ]


def has_tenant(run: Execute, name: str) -> bool:
    """Return whether there is a tenant of this name."""
    return bool(run("SELECT 1 FROM tenants WHERE name = ?", [name]))


def put_tenant(run: Execute, by: Actor, name: str, limits: Limits) -> bool:
    """Add a tenant, or set the limits of one; return whether it is new.

    Raises:
        TenantDeleted: there was one of this name, whose chats another one must not see.
    """
    before = run("SELECT limits FROM tenants WHERE name = ?", [name])
    if not before and run("SELECT 1 FROM admin_audit WHERE action = 'tenant.delete' AND subject = ? LIMIT 1", [name]):
        raise TenantDeleted(name)
    run(
        "INSERT INTO tenants (name, limits, created_at) VALUES (?, ?, ?) "
        "ON CONFLICT (name) DO UPDATE SET limits = excluded.limits",
        [name, limits.model_dump_json(), now_ms()],
    )
    told = {"to": limits_to_dict(limits)}
    if before:
        told = {"from": limits_to_dict(_limits(before[0][0])), **told}
    _note(run, by, "tenant.limits" if before else "tenant.add", name, told)
    return not before


def delete_tenant(run: Execute, by: Actor, name: str) -> bool:
    """Delete a tenant and revoke its keys, for good: there will be no other tenant of its name."""
    if not has_tenant(run, name):
        return False
    run("UPDATE api_keys SET revoked_at = ? WHERE tenant = ? AND revoked_at IS NULL", [now_ms(), name])
    run("DELETE FROM tenants WHERE name = ?", [name])
    _note(run, by, "tenant.delete", name, {})
    return True


def list_changes(run: Execute, after: str, limit: int) -> list[dict[str, Any]]:
    """Return what was changed, in the order of time, after the change with the id `after`."""
    rows = run(
        "SELECT id, at, actor, action, subject, details FROM admin_audit WHERE id > ? ORDER BY id LIMIT ?",
        [after, limit],
    )
    return [
        {
            "id": change,
            "at": time_text(at),
            "actor": actor,
            "action": action,
            "subject": subject,
            "details": json.loads(details),
        }
        for change, at, actor, action, subject, details in rows
    ]


def limits_to_dict(limits: Limits) -> dict[str, Any]:
    """Return the limits that are set."""
    return limits.model_dump(exclude_none=True)


def _note(run: Execute, by: Actor, action: str, subject: str, details: Mapping[str, Any]) -> None:
    run(
        "INSERT INTO admin_audit (id, at, actor, action, subject, details) VALUES (?, ?, ?, ?, ?, ?)",
        [uuid7(), now_ms(), by.name, action, subject, json.dumps(details)],
    )


def _stored(row: Sequence[Any]) -> StoredKey:
    key_id, tenant, name, mac, terms, created, expires, revoked, limits = row
    try:
        read, of_tenant = Terms.model_validate_json(terms), _limits(limits)
    except ValidationError:
        # Of a newer version, or damaged: what is not understood allows nothing.
        read, of_tenant = _NOTHING, NO_LIMITS
    return StoredKey(key_id, tenant, name, mac, read, created, expires, revoked, of_tenant)


def _limits(text: str) -> Limits:
    return Limits.model_validate_json(text)
