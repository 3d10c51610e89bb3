"""What providers on a vendor's SDK share: the key, the address, the vendor's name in messages, and errors."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, ClassVar, Final, Generic, TypeVar
from urllib.parse import urlsplit

from xmcp.chat.errors import ErrorCategory, ProviderError
from xmcp.chat.untrusted_text import without_secrets
from xmcp.option_names import checking_options
from xmcp.providers.errors import is_unknown_model, quotes_a_header, redact

if TYPE_CHECKING:
    import httpx2

ClientT = TypeVar("ClientT")
"""The client of an SDK."""

_NO_KEY: Final = "none"
"""What an SDK, which wants a key, gets for a server that needs none."""


class MissingKey(ProviderError):
    """There is no key, and no address of a server that needs none."""

    def __init__(self, vendor: type[SDKProvider[Any]], options: str = "") -> None:
        """`options` is what the names of the caller's options begin with."""
        url = f" ({vendor.url_variable})" if vendor.url_variable else ""
        super().__init__(
            f"No {vendor.title} API key: pass {options}api_key=..., set {' or '.join(vendor.key_variables)}, or "
            f"{options}base_url=...{url} of a server that needs none.",
            category=ErrorCategory.AUTH,
            provider=vendor.name,
        )


class SDKProvider(ABC, Generic[ClientT]):
    """A provider on a vendor's SDK. A subclass says how the vendor is called, where it is, and how it is asked.

    Args:
        api_key: The key; default that in `key_variables`. With a `base_url` no key is needed.
        base_url: Address of another server with the same format; default that in `url_variable`.
        model: Model for requests that name none; default `default_model`.
        client: A ready client of the SDK instead of key and address; the caller closes it.
        http_client: An `httpx2.AsyncClient` that sends the requests; the caller closes it.

    Raises:
        TypeError: `http_client` is of another class.
        ValueError: `client` together with `api_key`, `base_url` or `http_client`, or a base URL without a scheme.
        ProviderError: no key anywhere (category `auth`).
    """

    name: str
    title: ClassVar[str]
    """The vendor's name in texts for people."""
    default_model: ClassVar[str]
    """The model if neither the request nor the provider names one."""
    key_variables: ClassVar[tuple[str, ...]] = ()
    """Variables of the environment; the first that is set counts."""
    url_variable: ClassVar[str | None] = None
    default_url: ClassVar[str | None] = None
    """The vendor's address; `None` is the SDK's. An SDK that reads `url_variable` takes an empty one for an address."""
    version_path: ClassVar[str] = ""
    """What the SDK adds to an address, so that it is left out where a caller wrote it."""
    host: ClassVar[str]
    """Messages name the vendor for this host, and each other host by itself."""
    hint: ClassVar[str] = ""
    """A sentence for a server that cannot be reached: what to do."""
    sample_key: ClassVar[str] = "sk-…"
    supports_tools = True
    max_context_tokens: int | None = None

    @checking_options()
    def __init__(
        self,
        api_key: str | None = None,
        base_url: str | None = None,
        model: str | None = None,
        *,
        client: ClientT | None = None,
        http_client: httpx2.AsyncClient | None = None,
    ) -> None:
        if client is not None and (api_key is not None or base_url is not None):
            raise ValueError(f"Give {type(self).__name__} either a client, or api_key and base_url, not both.")
        if http_client is not None:
            if client is not None:
                raise ValueError(
                    f"{type(self).__name__} asks with the client that it is given: give that one the http_client."
                )
            from xmcp import http_clients

            http_clients.check(http_client)
        self._http_client = http_client
        self.model = model or self.default_model
        self._client = client
        self._client_is_ours = client is None
        self._base_url: str | None = None
        self._api_key: str | None = None
        self._key_place = "the key of the client"
        if client is not None:
            return
        urls = (base_url, os.environ.get(self.url_variable) if self.url_variable else None)
        given = _first(urls)
        if given:
            _check_url(given)
        if given and self.version_path:
            given = given.rstrip("/").removesuffix(self.version_path)
        self._base_url = given or self.default_url
        keys = {"the api_key that was passed": api_key}
        keys.update((f"the key in {name}", os.environ.get(name)) for name in self.key_variables)
        found = ((place, key) for place, one in keys.items() if (key := _first((one,))))
        self._key_place, known = next(found, ("", None))
        if known is None and given is None:
            raise MissingKey(type(self))
        if known and not (known.isascii() and known.isprintable()):
            raise ProviderError(
                f"The {self.title} API key has a character that no key has: was a placeholder such as "
                f"`{self.sample_key}` left in?",
                category=ErrorCategory.AUTH,
                provider=self.name,
            )
        self._api_key = known or _NO_KEY

    @abstractmethod
    def _address_of(self, client: ClientT) -> str:
        """Return the address that a client asks."""

    @abstractmethod
    def _keys_of(self, client: ClientT) -> Iterable[object]:
        """Return what a client, also one of the caller, authenticates itself with; messages do not repeat it."""

    @property
    def api_url(self) -> str:
        """The address that is asked, without credentials. Its owner bills the requests, so that prices depend on it."""
        return self._address or f"https://{self.host}"

    @property
    def _address(self) -> str:
        """The address that is asked, without credentials; empty if only the SDK knows it."""
        own = self._address_of(self._client) if self._client is not None else ""
        return without_secrets(self._base_url or own).rstrip("/")

    @property
    def _called(self) -> str:
        """The name for messages: of another server with the vendor's format, its host."""
        host = urlsplit(self._address).netloc.rpartition("@")[2]
        return host if host and host != self.host else self.name

    def _with_advice(self, told: ProviderError, model: str, *, began: bool = False) -> ProviderError:
        """Return the failure that the vendor describes, with what to change where that is known."""
        category = ErrorCategory.MODEL if is_unknown_model(told.status, told.message, model) else told.category
        advice = self._advice(told, category, model)
        message = f"{told.message.rstrip('.')}. {advice}" if advice else told.message
        return self._error(message, category, model, told.status, began=began)

    def _advice(self, told: ProviderError, category: ErrorCategory, model: str) -> str:
        if category is ErrorCategory.MODEL:
            named = "" if model in told.message else f"There is no model {model!r}. "
            return f"{named}`list_models()` says which there are."
        if category is ErrorCategory.AUTH:
            if not self._key_place:
                return "Pass a key as api_key=..."
            return f"Check {self._key_place}{' and what it may use' if told.status == 403 else ''}."
        return "Check the base URL." if told.status == 404 else ""

    def _not_reached(self, fault: BaseException, said: str, model: str, *, unanswered: bool = False) -> ProviderError:
        """Return the failure of a request that got no answer. `fault` is what the SDK or its transport raised."""
        if quotes_a_header(fault):
            message = f"The request to {self._called} cannot be sent: its API key has a character that no key has."
            return self._error(message, ErrorCategory.AUTH, model)
        hint = f". {self.hint}" if self.hint else ""
        message = f"The model at {self._address or self.name} cannot be reached: {said}{hint}"
        error = self._error(message, ErrorCategory.NETWORK, model)
        error.unanswered = unanswered
        return error

    def _error(
        self, message: str, category: ErrorCategory, model: str, status: int | None = None, *, began: bool = False
    ) -> ProviderError:
        given = self._keys_of(self._client) if self._client is not None else ()
        keys = [key for key in (self._api_key, *given) if isinstance(key, str) and key != _NO_KEY]
        safe = redact(message, *keys)
        return ProviderError(safe, category=category, provider=self.name, model=model, status=status, began=began)


def _first(given: Iterable[str | None]) -> str | None:
    """Return the first that says something. One that comes from a file often ends with a line break."""
    return next((text.strip() for text in given if text and text.strip()), None)


def _check_url(url: str) -> None:
    if not url.lower().startswith(("http://", "https://")):
        shown = without_secrets(f"http://{url}")
        raise ValueError(f"The base URL of the model begins with neither http:// nor https://: write {shown}")
    try:
        parts = urlsplit(url)
        known = bool(parts.hostname) and parts.port != 0 and url.isprintable()
    except ValueError:  # brackets without an address in them, or a port that is no number
        known = False
    if not known:
        raise ValueError(f"The base URL of the model has no host, or a port that is none: {without_secrets(url)!r}")
