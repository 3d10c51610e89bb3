"""The functions of an author that give the values of parameters that the server fills in (spec section 5.3)."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal, get_args

import anyio.to_thread
from fastmcp.server.auth import AccessToken
from fastmcp.server.context import Context

from xmcp.server.worker_threads import Threads, name_of, safe_in_thread

logger = logging.getLogger("xmcp.server")

OnOverride = Literal["override", "reject"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ParamRequest:
    """The call for which a provider is asked for a value.

    `name` is the name of the parameter, `tool_name` that of the tool on the server it belongs to. `arguments` are the
    caller's, without the parameters that the server fills in. `headers` are those of the HTTP request, with names in
    lower case; if a name is there twice, both values joined by ", "; empty over stdio and in memory. `access_token` is
    the verified token, with `client_id`, `scopes` and `claims`; None if the server has no `auth`. `context` is
    FastMCP's.
    """

    name: str
    tool_name: str
    arguments: Mapping[str, Any]
    headers: Mapping[str, str] = field(repr=False)
    access_token: AccessToken | None = field(repr=False)
    context: Context | None = field(repr=False)

    @property
    def client_id(self) -> str | None:
        """The id of the verified client, or None. What a client claims in `_meta` is ignored."""
        return self.access_token.client_id if self.access_token is not None else None


ParamProvider = Callable[[ParamRequest], Any | Awaitable[Any]] | Callable[[], Any | Awaitable[Any]]


class ParamProviders:
    """The providers of a server: the one of a parameter, or the general ones for a parameter without its own."""

    def __init__(self, on_override: str) -> None:
        if on_override not in get_args(OnOverride):
            raise ValueError(f"on_param_override must be 'override' or 'reject', not {on_override!r}.")
        self.rejects = on_override == "reject"
        self._named: dict[str, _Provider] = {}
        self._general: list[_Provider] = []

    def add(self, provider: ParamProvider, name: str | None) -> None:
        """Add the provider of the parameter `name`, or with None a general one.

        Raises:
            TypeError: `provider` cannot be called with one argument or none.
        """
        added = _Provider(provider)
        if name is None:
            self._general.append(added)
        else:
            self._named[name] = added

    def provides(self, name: str) -> bool:
        """Tell whether there is a provider for the parameter."""
        return bool(self._providers_of(name))

    def _providers_of(self, name: str) -> Sequence[_Provider]:
        return [self._named[name]] if name in self._named else self._general

    async def value(self, request: ParamRequest, *, accepts_none: bool) -> Any:
        """Return the value for the parameter; None only if the parameter accepts it.

        Raises:
            LookupError: No provider has a value; the message says which ones were asked.
            Exception: Any other exception of a provider.
        """
        answers = []
        for provider in self._providers_of(request.name):
            try:
                value = await provider(request)
            except LookupError as missing:
                answers.append(f"{provider!r} raised {type(missing).__name__}")
                logger.debug("The provider %r has no value for %r: %r", provider, request.name, missing)
            else:
                if value is not None or accepts_none:
                    return value
                answers.append(f"{provider!r} returned None")
        raise LookupError("; ".join(answers) or "there is no provider for it")


class _Provider:
    def __init__(self, fn: Callable[..., Any]) -> None:
        try:
            parameters = inspect.signature(fn).parameters.values()
        except (TypeError, ValueError):
            raise TypeError(f"{fn!r} is not a function that can provide a value.") from None
        needed = [p for p in parameters if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
        positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        if len(needed) > 1 or any(p.kind is p.KEYWORD_ONLY for p in needed):
            raise TypeError(f"{fn!r} must take one argument, the ParamRequest, or none.")
        self._name = name_of(fn)
        self._takes_request = bool(needed or positional)
        is_async = inspect.iscoroutinefunction(fn) or inspect.iscoroutinefunction(type(fn).__call__)
        self._fn = fn if is_async else safe_in_thread(fn)
        self._threads = None if is_async else Threads(f"Provider {self._name}")

    async def __call__(self, request: ParamRequest) -> Any:
        given = (request,) if self._takes_request else ()
        if self._threads is None:
            return await self._fn(*given)
        value = await self._threads.run(partial(anyio.to_thread.run_sync, self._fn, *given))
        return await value if inspect.isawaitable(value) else value

    def __repr__(self) -> str:
        return self._name
