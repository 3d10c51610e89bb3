"""Tenants and keys in a database of a test."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from xmcp.gateway.access import key_store
from xmcp.gateway.access.access import KeyDatabase
from xmcp.gateway.access.issued_keys import Pepper
from xmcp.gateway.access.key_store import Actor, Terms
from xmcp.gateway.audit.database import address_of
from xmcp.gateway.audit.drivers import Execute, driver_for
from xmcp.gateway.audit.schema import migrate
from xmcp.gateway.grants import Limits

PEPPER = Pepper("a pepper of the tests, 32 characters and more")
TESTER = Actor("tester")
T = TypeVar("T")


def key_database(url: str) -> KeyDatabase:
    """Return a database with empty tables."""
    address = address_of(url)
    migrate(address)
    return KeyDatabase(address, PEPPER)


def in_database(database: KeyDatabase, work: Callable[[Execute], T]) -> T:
    """Run a transaction."""
    driver = driver_for(database.address)
    driver.connect()
    try:
        with driver.transaction() as run:
            return work(run)
    finally:
        driver.close()


def add_tenant(database: KeyDatabase, name: str, **limits: Any) -> None:
    """Add a tenant with limits."""
    in_database(database, lambda run: key_store.put_tenant(run, TESTER, name, Limits(**limits)))


def add_key(database: KeyDatabase, tenant: str, name: str = "k", expires_at: int | None = None, **terms: Any) -> str:
    """Add a key, and return it."""
    key = PEPPER.new_key()
    issued = PEPPER.issued(key)
    assert issued is not None
    in_database(
        database,
        lambda run: key_store.add_key(
            run, TESTER, issued, tenant=tenant, name=name, terms=Terms(**terms), expires_at=expires_at
        ),
    )
    return key


def bearer(key: str) -> dict[str, str]:
    """Return the header that brings a key."""
    return {"authorization": f"Bearer {key}"}
