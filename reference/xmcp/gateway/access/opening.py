"""Opening the database of keys: its address, its tables, and the pepper from the environment."""

from __future__ import annotations

from collections.abc import Mapping

from xmcp.gateway.access.access import KeyDatabase
from xmcp.gateway.access.issued_keys import LEAST_PEPPER, PEPPER_VARIABLE, Pepper
from xmcp.gateway.audit.database import address_of
from xmcp.gateway.audit.errors import AuditError
from xmcp.gateway.audit.schema import migrate


class NoKeyDatabase(ValueError):
    """The database of keys cannot be used; the message says what to change."""


def key_database(database: str, environment: Mapping[str, str]) -> KeyDatabase:
    """Return a database whose tables are those of this package: they are made, or migrated.

    Raises:
        NoKeyDatabase: it cannot be used, or there is no pepper.
    """
    pepper = pepper_of(environment)
    try:
        address = address_of(database)
        migrate(address)
    except AuditError as error:
        raise NoKeyDatabase(f"[access] database: {error}") from error
    return KeyDatabase(address, pepper)


def pepper_of(environment: Mapping[str, str]) -> Pepper:
    """Return the pepper of the environment.

    Raises:
        NoKeyDatabase: there is none, or it is too short.
    """
    value = environment.get(PEPPER_VARIABLE, "").strip()
    if not value:
        raise NoKeyDatabase(
            f"Keys in a database need a pepper in the variable {PEPPER_VARIABLE}: {LEAST_PEPPER} random characters or "
            "more, such as `openssl rand -hex 32` prints. Keep it: without it no key opens any more."
        )
    try:
        return Pepper(value)
    except ValueError as error:
        raise NoKeyDatabase(f"{PEPPER_VARIABLE}: {error}") from None
