"""Credentials that depend on the chat: calling the application's functions for them, and when two are the same."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from xmcp.client.hooks.callbacks import call
from xmcp.client.servers.targets import ServerTarget

if TYPE_CHECKING:
    from xmcp.client.hooks.log import EventLog
    from xmcp.client.hooks.middleware import ChatContext

CREDENTIAL_SECONDS: Final = 30.0
"""How long a function of the application may take to return credentials."""


class CredentialsFailed(Exception):
    """There are no credentials for a chat. The message gives the reason for people and contains no credential."""


@dataclass(frozen=True, slots=True)
class Credentials:
    """The headers and the authentication of one chat's connection. Its `repr` shows no secret."""

    headers: Mapping[str, str] = field(repr=False)
    auth: Any = field(repr=False)

    @property
    def key(self) -> Hashable:
        """Equal for two credentials only if a server cannot tell them apart. Contains secrets."""
        return tuple(sorted(self.headers.items())), self.auth

    def applied_to(self, target: ServerTarget) -> ServerTarget:
        """Return `target` with these credentials in place of its functions."""
        return replace(target, headers=self.headers, auth=self.auth)


def depend_on_chat(target: ServerTarget) -> bool:
    """Return whether a target has credentials that a function returns for each chat."""
    return callable(target.headers) or callable(target.auth)


async def credentials_of(target: ServerTarget, chat: ChatContext, log: EventLog) -> Credentials:
    """Return the credentials of a chat, asking the application's functions within `CREDENTIAL_SECONDS` each.

    Raises:
        CredentialsFailed: a function raised, took too long, or returned something that is no credential.
    """
    headers = await _value("headers", target.headers, chat, log)
    auth = await _value("auth", target.auth, chat, log)
    given = {} if headers is None else headers
    if not isinstance(given, Mapping):
        raise CredentialsFailed(f"the function `headers` returned a {type(given).__name__}, not a mapping")
    if not all(_is_header_text(name) and _is_header_text(value) for name, value in given.items()):
        raise CredentialsFailed("the function `headers` returned a name or a value that cannot be sent as a header")
    if not _can_be_a_key(auth) or isinstance(auth, bool | int | float | bytes):
        raise CredentialsFailed(f"the function `auth` returned a {type(auth).__name__}, not a token or an httpx2.Auth")
    return Credentials(dict(given), auth)


async def _value(option: str, given: Any, chat: ChatContext, log: EventLog) -> Any:
    if not callable(given):
        return given
    try:
        return await call(given, chat, seconds=CREDENTIAL_SECONDS)
    except TimeoutError:
        raise CredentialsFailed(f"the function `{option}` did not return in time") from None
    except Exception as exc:
        log.exception("callback_failed", callback=option)
        raise CredentialsFailed(f"the function `{option}` failed with {type(exc).__name__}") from exc


def _can_be_a_key(value: object) -> bool:
    try:
        hash(value)
    except Exception:  # a tuple of lists, for example
        return False
    return True


def _is_header_text(value: object) -> bool:
    return isinstance(value, str) and value.isascii() and value.isprintable()
