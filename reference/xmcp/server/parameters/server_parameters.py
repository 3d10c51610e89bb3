"""Parameters that the server fills in (spec sections 2.7 and 5.3).

Which parameters of a function these are, which providers give their values, and what happens to a value that the caller
sent. The caller never sees such a parameter, because it is not in the tool's input schema.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, Literal, NamedTuple, get_args

import anyio.to_thread
from fastmcp.server.auth import AccessToken
from fastmcp.server.context import Context
from fastmcp.server.dependencies import get_access_token, get_http_headers, get_http_request
from pydantic.fields import FieldInfo
from pydantic_core import to_jsonable_python

from xmcp.server.errors import XMCPError
from xmcp.server.lone_surrogates import without_lone_surrogates
from xmcp.server.parameters.sensitive import Secrets
from xmcp.server.worker_threads import Threads, name_of, safe_in_thread

logger = logging.getLogger("xmcp.server")

MARK: Final = "server_populated"
SENSITIVE_MARK: Final = "sensitive"

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


# ---- at registration ----


class ServerParameter(NamedTuple):
    """A parameter that the server fills in. The values of a `sensitive` one must not be disclosed."""

    sensitive: bool
    accepts_none: bool
    default: Any


REQUIRED: Final = inspect.Parameter.empty
"""The default of a parameter without a default."""


def server_parameters_of(
    fn: Callable[..., Any], parameters: Mapping[str, Any], named: Iterable[str], sensitive: Iterable[str]
) -> dict[str, ServerParameter]:
    """Return the parameters of `fn` that the server fills in.

    These are the ones in `named`, and those that the input schema `parameters` marks with `"server_populated": true`.
    Sensitive are the ones in `sensitive`, and those that the schema marks with `"sensitive": true`.

    Raises:
        ValueError: A name is not a parameter, a sensitive parameter is not filled in by the server, or a mark stands
            inside a parameter, where it would hide nothing.
    """
    tool_name = getattr(fn, "__name__", type(fn).__name__)
    properties: Mapping[str, Any] = parameters.get("properties", {})
    filled = dict.fromkeys(named) | {name: None for name, schema in properties.items() if schema.get(MARK) is True}
    secret = {*sensitive, *(name for name in filled if properties.get(name, {}).get(SENSITIVE_MARK) is True)}
    for what, names, known in (("server_populated", filled, properties), ("sensitive", secret, filled)):
        if odd := [name for name in names if name not in known]:
            reason = "is not a parameter" if known is properties else "is not filled in by the server"
            raise ValueError(f"{what} of the tool {tool_name!r} names {odd[0]!r}, which {reason}.")
    inner = [*(_inside(schema) for schema in properties.values()), *parameters.get("$defs", {}).values()]
    if any(_mentions_mark(schema) for schema in inner):
        raise ValueError(
            f"The tool {tool_name!r} marks a field inside a parameter as server_populated, but the caller would see "
            "it there. Mark a parameter of the function itself, and build the object in the function."
        )
    return {
        name: ServerParameter(name in secret, _accepts_none(properties[name]), _default(fn, name, parameters))
        for name in filled
    }


def marked_parameters(parameters: Mapping[str, Any]) -> list[str]:
    """Return the names of the parameters in the input schema `parameters` that it marks as filled in by the server."""
    properties = parameters.get("properties", {})
    return [name for name, schema in properties.items() if isinstance(schema, Mapping) and schema.get(MARK) is True]


def _default(fn: Callable[..., Any], name: str, parameters: Mapping[str, Any]) -> Any:
    if name in parameters.get("required", []):
        return REQUIRED
    default = inspect.signature(fn).parameters[name].default
    if isinstance(default, FieldInfo):
        return default.get_default(call_default_factory=True, validated_data={})
    return parameters["properties"][name].get("default") if default is REQUIRED else default


def _accepts_none(schema: Mapping[str, Any]) -> bool:
    if schema.get("type") == "null" or any(map(_accepts_none, schema.get("anyOf", []))):
        return True
    return not schema.keys() & {"type", "anyOf", "oneOf", "allOf", "$ref", "enum", "const"}


def without_properties(parameters: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """Return the input schema without the properties `names` and without the definitions that only they use."""
    gone = set(names)
    kept = dict(parameters)
    kept["properties"] = {name: part for name, part in parameters.get("properties", {}).items() if name not in gone}
    if required := [name for name in parameters.get("required", []) if name not in gone]:
        kept["required"] = required
    else:
        kept.pop("required", None)
    if (definitions := kept.pop("$defs", None)) and (used := _used(kept, definitions)):
        kept["$defs"] = used
    return kept


def _inside(schema: Any) -> Any:
    return {key: part for key, part in schema.items() if key != MARK} if isinstance(schema, Mapping) else schema


def _mentions_mark(schema: Any) -> bool:
    match schema:
        case Mapping():
            return schema.get(MARK) is True or any(map(_mentions_mark, schema.values()))
        case list():
            return any(map(_mentions_mark, schema))
        case _:
            return False


def _used(schema: Any, definitions: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    waiting = [schema]
    while waiting:
        match waiting.pop():
            case Mapping() as part:
                name = str(part.get("$ref", "")).removeprefix("#/$defs/")
                if name in definitions and name not in found:
                    found[name] = definitions[name]
                    waiting.append(definitions[name])
                waiting += part.values()
            case list() as parts:
                waiting += parts
    return {name: part for name, part in definitions.items() if name in found}


# ---- at a call ----


@dataclass(frozen=True, slots=True)
class FilledArguments:
    """The arguments to call a tool with, and the `server_populated` object about them (spec section 2.7)."""

    arguments: dict[str, Any]
    server_populated: dict[str, Any]


async def fill(
    tool_name: str,
    arguments: Mapping[str, Any],
    wanted: Mapping[str, ServerParameter],
    providers: ParamProviders,
    context: Context | None,
    sensitive: list[Any],
) -> FilledArguments:
    """Return the arguments with a value for each of the parameters `wanted`.

    A value that the caller sent for one is replaced. If no provider has a value, the function's default is used.
    Values of sensitive parameters are added to `sensitive` as soon as they are known.

    Raises:
        XMCPError: `FORBIDDEN_PARAM_OVERRIDE`: the caller sent a value and the server rejects that.
            `MISSING_SERVER_PARAM`: no provider has a value, and there is no default.
        Exception: Any exception of a provider that is not a `LookupError`.
    """
    sent = [name for name in wanted if name in arguments]
    if sent and providers.rejects:
        raise forbidden(sent)
    own = {name: value for name, value in arguments.items() if name not in wanted}
    headers, token = _headers(), get_access_token()
    values: dict[str, Any] = {}
    for name, parameter in wanted.items():
        request = ParamRequest(
            name=name, tool_name=tool_name, arguments=own, headers=headers, access_token=token, context=context
        )
        try:
            values[name] = await providers.value(request, accepts_none=parameter.accepts_none)
        except LookupError as missing:
            if parameter.default is REQUIRED:
                extra = {"tool": tool_name}
                logger.warning(
                    "The tool %r has no value for its parameter %r: %s.", tool_name, name, missing, extra=extra
                )
                raise _missing(name) from None
            values[name] = parameter.default
        if parameter.sensitive:
            sensitive.append(values[name])
    # A value that may be disclosed can contain one that must not be: a URL with a key.
    secrets = Secrets(sensitive)
    values_shown = {
        name: secrets.out_of(_as_json(value)) for name, value in values.items() if not wanted[name].sensitive
    }
    parts = {
        "values": values_shown,
        "redacted": [name for name in wanted if name not in values_shown],
        "overridden": sent,
    }
    return FilledArguments({**own, **values}, server_populated={key: part for key, part in parts.items() if part})


def _as_json(value: Any) -> Any:
    return without_lone_surrogates(to_jsonable_python(value, fallback=str, bytes_mode="base64"))


def _headers() -> dict[str, str]:
    """Return the headers of the request; of two with one name neither counts alone (RFC 9110, section 5.3).

    A caller can send a header that a proxy adds as well: taking one of them would let the caller choose a user.
    """
    try:
        headers = get_http_request().headers
    except RuntimeError:  # no HTTP, or a background task, which has the headers of its request
        return get_http_headers(include_all=True)
    return {name.lower(): ", ".join(headers.getlist(name)) for name in headers}


def forbidden(names: Sequence[str]) -> XMCPError:
    """Return the error for a caller that sent values for the parameters `names`, which the server fills in."""
    listed = ", ".join(map(repr, names))
    reason = {"reason": "forbidden", "message": "The server fills this parameter in"}
    return XMCPError(
        "FORBIDDEN_PARAM_OVERRIDE",
        f"The server fills in {listed}. Call the tool again without it.",
        meta={"fields": [{"pointer": f"/{name}", **reason} for name in names], "side_effects": "none"},
    )


def _missing(name: str) -> XMCPError:
    return XMCPError(
        "MISSING_SERVER_PARAM",
        f"The server has no value for {name!r}, which it fills in itself. You cannot set it.",
        meta={"params": {"parameter": name}, "side_effects": "none"},
    )
