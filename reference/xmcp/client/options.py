"""The options of a client as one value: names, types, defaults and checks of the keywords that `AIClient` takes.

`AIClient` documents what each option does. An option that cannot work raises an exception that names it.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from xmcp.chat.sampler_config import SamplerConfig
from xmcp.client.calls.approval import APPROVAL_SECONDS, Approve
from xmcp.client.calls.context_budget import DISPLAY_BUDGET, RESULT_BUDGET
from xmcp.client.calls.retry_policy import RetryPolicy
from xmcp.client.hooks.callbacks import DisplayCallback, ErrorCallback, UsageSink
from xmcp.client.loop.chat import LLM_SECONDS
from xmcp.client.loop.fallback import Fallback
from xmcp.client.loop.stop_reason import DisplayMode
from xmcp.client.loop.turn import MAX_CALLS
from xmcp.client.loop.usage import Price
from xmcp.client.servers.listing_limits import MAX_TOOLS
from xmcp.client.servers.sampling import Sampling
from xmcp.client.servers.targets import Target
from xmcp.providers import LLMProvider
from xmcp.providers.chat_complete import ChatComplete, as_provider
from xmcp.storage import BreakerStore, Cache

if TYPE_CHECKING:
    import httpx2

CONNECT_SECONDS: Final = 30.0
"""As `xmcp check` waits: the first start of a program compiles or downloads its packages. A refused connection fails
at once."""

TOOL_SECONDS: Final = 60.0
"""Time limit of a tool call for which `tool_timeout` has none."""

ALL_OTHERS: Final = "*"
"""The name under which `tool_timeout` has the limit for all tools that it does not name."""

Check: TypeAlias = Callable[[str, Any], None]
"""Raises a `TypeError` or `ValueError` that names the option if the value is not valid."""


# ---- the checks ----


def whole_number(option: str, value: Any) -> None:
    """Require a whole number above 0."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{option} must be a whole number, not {value!r}.")
    if not value > 0:
        raise ValueError(f"{option} must be above 0, not {value!r}.")


def whole_number_or_none(option: str, value: Any) -> None:
    """Require a whole number above 0, or `None`."""
    if value is not None:
        whole_number(option, value)


def positive_number(option: str, value: Any) -> None:
    """Require a finite number above 0."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise TypeError(f"{option} must be a number, not {value!r}.")
    if not 0 < value < math.inf:
        raise ValueError(f"{option} must be a finite number above 0, not {value!r}.")


def interval(option: str, value: Any) -> None:
    """Require a number of seconds of any type, 0 or more."""
    try:
        valid = value >= 0
    except TypeError:
        raise TypeError(f"{option} must be a number of seconds, not {value!r}.") from None
    if not valid:
        raise ValueError(f"{option} must be 0 or more seconds, not {value!r}.")


def time_limits(option: str, value: Any) -> None:
    """Require a number of seconds above 0, or a mapping from names of tools to such numbers."""
    limits = {f"{option}[{name!r}]": limit for name, limit in value.items()} if isinstance(value, Mapping) else None
    for place, limit in ({option: value} if limits is None else limits).items():
        if limit is None:
            reason = "a call without a limit could hang forever"
            raise TypeError(f"{place} must be a number of seconds, not None: {reason}.")
        positive_number(place, limit)


def servers_or_mapping(option: str, value: Any) -> None:
    """Require a list of targets, or a mapping from names to targets."""
    if isinstance(value, str) or not isinstance(value, Sequence | Mapping):
        raise TypeError(f"{option} must be a list, such as [{value!r}], or a mapping from names to servers.")


def list_of_objects(option: str, value: Any) -> None:
    """Require a list."""
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise TypeError(f"{option} must be a list of objects, such as [{value!r}].")


def names_to_values(option: str, value: Any) -> None:
    """Require a mapping with string keys."""
    if not isinstance(value, Mapping) or not all(isinstance(name, str) for name in value):
        raise TypeError(f"{option} must be a mapping from names, not {value!r}.")


def or_none(check: Check) -> Check:
    """Return `check`, except that it lets `None` pass: no time limit."""
    return lambda option, value: None if value is None else check(option, value)


def one_of(*values: str) -> Check:
    """Return a check that requires one of these values."""

    def check(option: str, value: Any) -> None:
        if value not in values:
            raise ValueError(f"{option} must be {' or '.join(map(repr, values))}, not {value!r}.")

    return check


def function_of(*parameters: str) -> Check:
    """Return a check that requires a function which can be called with these arguments."""

    def check(option: str, value: Any) -> None:
        given = ", ".join(parameters)
        if not callable(value) or isinstance(value, type):
            raise TypeError(f"{option} must be a function of ({given}), not {value!r}.")
        try:
            signature = inspect.signature(value)
        except (TypeError, ValueError):
            return  # a C function without a signature
        try:
            signature.bind(*parameters)
        except TypeError:
            raise TypeError(f"{option} is called with ({given}), which {value!r} does not accept.") from None

    return check


def is_async(value: Any) -> bool:
    """Return whether a call of `value` has to be awaited: it is an async function, or an object that is called so."""
    return inspect.iscoroutinefunction(value) or inspect.iscoroutinefunction(getattr(value, "__call__", None))  # noqa: B004


def prices(option: str, value: Any) -> None:
    """Require a function that knows prices, `None`, or the word for the price library."""
    if is_async(value):
        raise TypeError(f"{option} must not be async: what a request costs is known at once.")
    if isinstance(value, str) and value != "library":
        raise ValueError(f"{option} must be 'library', None, or a function of (provider, model, usage), not {value!r}.")
    if value is not None and value != "library":
        function_of("provider", "model", "usage")(option, value)


def store(protocol: type, example: str) -> Check:
    """Return a check that requires an object with the methods of `protocol`."""

    def check(option: str, value: Any) -> None:
        if isinstance(value, type) or not isinstance(value, protocol):
            raise TypeError(f"{option} must be a store such as {example} (xmcp.storage), not {value!r}.")

    return check


def provider(option: str, value: Any) -> None:
    """Require an `LLMProvider`, or what can be adapted to one."""
    as_provider(option, value)


def logger_like(option: str, value: Any) -> None:
    """Require the methods of a logger."""
    if not all(callable(getattr(value, level, None)) for level in ("debug", "info", "warning")):
        raise TypeError(f"{option} must have the methods of a logger (debug, info, warning, exception), not {value!r}.")


def http_client(option: str, value: Any) -> None:  # noqa: ARG001 - it has the same name everywhere
    """Require an `httpx2.AsyncClient` that is open."""
    from xmcp import http_clients

    http_clients.check(value)


def sampler_config(option: str, value: Any) -> None:
    """Require a `SamplerConfig`."""
    if not isinstance(value, SamplerConfig):
        raise TypeError(f"{option} must be a SamplerConfig, such as SamplerConfig(temperature=0), not {value!r}.")


def checked(check: Check) -> Mapping[str, Check]:
    """Return the metadata of a field whose value must pass `check`, except for `None` where that is the default."""
    return MappingProxyType({"check": check})


# ---- the options ----


@dataclass(frozen=True, kw_only=True)
class ClientOptions:
    """The options of an `AIClient`. Times are seconds, budgets are bytes.

    An option without a check is checked by the class that it configures.

    Raises:
        TypeError, ValueError: an option is not valid, or two exclude each other; the message names them.
    """

    servers: Sequence[Target] | Mapping[str, Target] | None = field(default=None, metadata=checked(servers_or_mapping))
    urls: Sequence[Target] | Mapping[str, Target] | None = field(default=None, metadata=checked(servers_or_mapping))

    openai_api_key: str | None = None
    llm_provider: LLMProvider | ChatComplete | None = field(default=None, metadata=checked(provider))
    llm_model: str | None = None
    fallback_models: Sequence[Fallback] = ()
    openai_base_url: str | None = None
    http_client: httpx2.AsyncClient | None = field(default=None, metadata=checked(http_client))
    sampler: SamplerConfig | None = field(default=None, metadata=checked(sampler_config))
    max_turns: int = field(default=10, metadata=checked(whole_number))
    max_calls_per_turn: int = field(default=MAX_CALLS, metadata=checked(whole_number))
    max_concurrency: int = field(default=16, metadata=checked(whole_number))

    tool_timeout: float | Mapping[str, float] = field(default=TOOL_SECONDS, metadata=checked(time_limits))
    connect_timeout: float = field(default=CONNECT_SECONDS, metadata=checked(or_none(positive_number)))
    llm_timeout: float = field(default=LLM_SECONDS, metadata=checked(positive_number))
    chat_timeout: float | None = field(default=None, metadata=checked(positive_number))

    retry_policy: RetryPolicy | Mapping[str, Any] | None = None
    breaker_threshold: int | None = field(default=5, metadata=checked(whole_number_or_none))
    breaker_reset_after: float = field(default=30.0, metadata=checked(positive_number))
    breakers: BreakerStore | None = field(default=None, metadata=checked(store(BreakerStore, "RedisBreakers(url)")))
    cache: Cache | None = field(default=None, metadata=checked(store(Cache, "MemoryCache()")))
    cache_ttl: float | None = field(default=None, metadata=checked(positive_number))
    cache_read_only: bool = False

    display: DisplayMode = field(default="exit", metadata=checked(one_of("exit", "continue")))
    display_budget: int = field(default=DISPLAY_BUDGET, metadata=checked(positive_number))
    result_budget: int = field(default=RESULT_BUDGET, metadata=checked(positive_number))
    meta_tools: bool | Collection[str] = False
    params: Mapping[str, Any] | None = field(default=None, metadata=checked(names_to_values))

    approve: Approve | None = field(default=None, metadata=checked(function_of("call")))
    approval_timeout: float = field(default=APPROVAL_SECONDS, metadata=checked(or_none(positive_number)))
    middleware: Sequence[Any] = field(default=(), metadata=checked(list_of_objects))
    on_display: DisplayCallback | None = field(default=None, metadata=checked(function_of("envelope", "history")))
    on_error: ErrorCallback | None = field(default=None, metadata=checked(function_of("error", "history")))
    sampling: Sampling | None = field(default=None, metadata=checked(function_of("request")))
    usage_sink: UsageSink | None = field(default=None, metadata=checked(function_of("record")))
    price: Price | Literal["library"] | None = field(default="library", metadata=checked(prices))

    max_tools_per_server: int = field(default=MAX_TOOLS, metadata=checked(whole_number))
    refresh_interval: float = field(default=30.0, metadata=checked(interval))
    require_servers: bool = False
    logger: Any = field(default=None, metadata=checked(logger_like))

    def __post_init__(self) -> None:
        for option in fields(self):
            value = getattr(self, option.name)
            if "check" in option.metadata and not (value is None and option.default is None):
                option.metadata["check"](option.name, value)
        if (self.servers is None) is (self.urls is None):
            given = "neither" if self.servers is None else "both"
            raise TypeError(f"Pass servers or urls, which mean the same, not {given}.")
        if self.llm_provider is not None and (self.openai_api_key is not None or self.openai_base_url is not None):
            raise ValueError("Pass either llm_provider, or openai_api_key and openai_base_url, not both.")
        if self.llm_provider is not None and self.http_client is not None:
            raise ValueError("http_client is for the built-in provider: give it to your llm_provider when you make it.")

    @property
    def targets(self) -> list[tuple[str | None, Target]]:
        """The application's name for each server, or `None`, and its target."""
        given = self.urls if self.servers is None else self.servers
        return list(given.items()) if isinstance(given, Mapping) else [(None, target) for target in given or ()]

    @property
    def time_limits(self) -> dict[str, float]:
        """The time limit by the tool's name for the model; `ALL_OTHERS` is always there."""
        given = self.tool_timeout if isinstance(self.tool_timeout, Mapping) else {ALL_OTHERS: self.tool_timeout}
        return {ALL_OTHERS: TOOL_SECONDS, **given}
