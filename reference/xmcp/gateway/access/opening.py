"""Opening the database of keys: its address, its tables, and the pepper from the environment."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Final

from xmcp.gateway.access.access import KeyDatabase
from xmcp.gateway.access.issued_keys import LEAST_PEPPER, PEPPER_VARIABLE, Pepper, same_mac
from xmcp.gateway.audit.database import Address, address_of
from xmcp.gateway.audit.errors import AuditError
from xmcp.gateway.audit.schema import migrate, opened, require_newest

CHECK_SECONDS: Final = 3.0
"""How long a statement of `check_pepper` may take."""


class NoKeyDatabase(ValueError):
    """The database of keys cannot be used; the message says what to change."""


def key_database(database: str, environment: Mapping[str, str]) -> KeyDatabase:
    """Return a database whose tables are those of this package: they are made, or migrated.

    The first pepper that is used with it is the one with which it is used from then on.

    Raises:
        NoKeyDatabase: it cannot be used, or there is no pepper, or it is not the one of its keys.
    """
    pepper = pepper_of(environment)
    try:
        address = address_of(database)
        migrate(address)
        from sqlalchemy import text

        first = "INSERT INTO access_settings (name, value) VALUES ('pepper', :mark) ON CONFLICT (name) DO NOTHING"
        with opened(address) as connection, connection.begin():
            connection.execute(text(first), {"mark": pepper.mark})
        _refuse_another(address, pepper)
    except AuditError as error:
        raise NoKeyDatabase(f"[access] database: {error}") from error
    return KeyDatabase(address, pepper)


def check_pepper(database: str, environment: Mapping[str, str]) -> None:
    """Check the pepper without a change to the database. One that cannot be read, or is not there yet, passes.

    Raises:
        NoKeyDatabase: there is no pepper, or it is not the one of the database's keys.
    """
    pepper = pepper_of(environment)
    with suppress(AuditError):
        _refuse_another(address_of(database), pepper)


def _refuse_another(address: Address, pepper: Pepper) -> None:
    """Raise `NoKeyDatabase` if the keys of a database were made with another pepper, `AuditError` if it is not read."""
    with opened(address, read_only=True, seconds=CHECK_SECONDS) as connection, connection.begin():
        from sqlalchemy import text

        require_newest(address, connection)
        known = connection.execute(text("SELECT value FROM access_settings WHERE name = 'pepper'")).scalar()
    if known is not None and not same_mac(str(known), pepper.mark):
        raise NoKeyDatabase(
            f"{PEPPER_VARIABLE} is not the pepper with which the keys in {address.name} were made: none of them would "
            "open. Set that one. If it is lost, its keys are, too: the guide of keys says how to begin anew."
        )


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
