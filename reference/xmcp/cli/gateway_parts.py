"""The gateway that a configuration and a command line ask for: its models, its tool servers, its client."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, unquote_plus, urlsplit

import click

from xmcp.cli.chat.model_choice import DEMO, VENDORS, NoModel, model_of, vendor_named
from xmcp.cli.gateway_servers import BadServers, TenantHeaders, configured_servers
from xmcp.client import AIClient, ServerTarget
from xmcp.gateway.access.access import Access
from xmcp.gateway.access.issued_keys import PEPPER_VARIABLE
from xmcp.gateway.access.opening import NoKeyDatabase, check_pepper, key_database
from xmcp.gateway.access.quota_hook import QuotaHook
from xmcp.gateway.approval import approver
from xmcp.gateway.audit.errors import AuditError
from xmcp.gateway.config import AuditSettings, CacheSettings, GatewayConfig, OfferedModel
from xmcp.gateway.config_rules import CannotServe, refuse_unsafe, refuse_workers
from xmcp.gateway.keys import Keys, MissingVariable
from xmcp.gateway.service import Gateway, Offered
from xmcp.gateway.shared_cache import SharedCache
from xmcp.gateway.tenant_cache import TenantCache
from xmcp.storage import MemoryCache

if TYPE_CHECKING:
    from xmcp.gateway.audit.archive import Archive
    from xmcp.gateway.audit.log import AuditLog
    from xmcp.providers import LLMProvider

SAMPLE = "xmcp.samples.sales:mcp"
"""The server of the model `demo`, if none is named."""

_SECRET = re.compile(r"key|token|secret|pass|credential|auth", re.IGNORECASE)
"""In the names of variables whose values are secrets. The value of another one can be any word of a text."""


def gateway_of(
    config: GatewayConfig,
    environment: Mapping[str, str],
    *,
    provider: str | None = None,
    model: str | None = None,
    base_url: str | None = None,
    servers: Sequence[str] = (),
) -> Gateway:
    """Return the gateway; the keywords are those of the command line.

    Raises:
        CannotServe: a model, a server or a key cannot be made.
    """
    models: Sequence[OfferedModel] = config.models
    if provider is not None or model is not None or base_url is not None or not models:
        models = [_model_of_command_line(provider, model, base_url, environment)]
    providers = [_provider(offered) for offered in models]
    offered_models = [
        Offered(offered.id, (made, offered.model)) for offered, made in zip(models, providers, strict=True)
    ]
    by_command_line = servers or ((SAMPLE,) if models[0].provider == DEMO and not config.servers else ())
    targets = _named(by_command_line) if by_command_line else _configured(config, environment)
    try:
        keys = Keys(config.keys, config.openai.events, environment, config.tenants)
        database = None if config.access.database is None else key_database(config.access.database, environment)
    except (MissingVariable, NoKeyDatabase) as error:
        raise CannotServe(str(error)) from error
    # A chat can take a second more than its deadline, to end what it began.
    lifetime = config.runs.deadline_seconds + 60
    access = Access(keys, config.openai.events, database, reservation=lifetime)
    audit = _audit_log(config.audit, _secrets(config, environment, targets))
    cache = _cache(config.cache, environment)
    client = AIClient(
        targets,
        llm_provider=providers[0],
        llm_model=models[0].model,
        max_turns=config.chat.max_turns,
        tool_timeout=config.chat.tool_seconds,
        connect_timeout=config.chat.connect_seconds,
        breaker_threshold=config.chat.breaker_failures,
        breaker_reset_after=config.chat.breaker_seconds,
        approve=approver(config.chat),
        approval_timeout=config.chat.approval_seconds,
        middleware=[
            QuotaHook(access.ledger, config.access.reserve_output_tokens),
            *_hooks_of(audit, config.audit),
        ],
        cache=cache,
    )
    owned, archive = [audit, cache, *providers], _archive_of(audit)
    return Gateway(client, offered_models, config, access, audit, owned=owned, cache=cache, archive=archive)


def _cache(settings: CacheSettings, environment: Mapping[str, str]) -> TenantCache | None:
    if not settings.max_bytes:
        return None
    memory = MemoryCache(max_entries=100_000, max_bytes=settings.max_bytes, ttl=settings.seconds)
    return TenantCache(memory if settings.redis is None else _shared(settings.redis, memory, environment))


def _shared(url: str, memory: MemoryCache, environment: Mapping[str, str]) -> SharedCache:
    """Return the cache in Redis; it connects at the first use.

    Raises:
        CannotServe: the URL, or a variable that it names, is wrong, or a package is missing.
    """
    address = _redis_url(url, environment)
    try:
        return SharedCache(address, memory)
    except (ValueError, ModuleNotFoundError) as error:
        raise CannotServe(f"[cache] redis: {error}") from None


def _redis_url(url: str, environment: Mapping[str, str]) -> str:
    """Return the URL with the variables that it names.

    Raises:
        CannotServe: one is not set.
    """
    from xmcp.cli.chat.server_files import BadServerFile, with_variables

    try:
        return with_variables(url, "[cache] redis", environment)
    except BadServerFile as error:
        raise CannotServe(str(error).removeprefix(": ")) from None


def _audit_log(settings: AuditSettings, secrets: Sequence[str]) -> AuditLog | None:
    """Open the store, before anything is served: one that cannot be used is a fault of the configuration."""
    if settings.database is None:
        return None
    try:
        from xmcp.gateway.audit import AuditLog

        return asyncio.run(AuditLog.open(settings.database, keep_days=settings.keep_days, secrets=secrets))
    except (AuditError, ModuleNotFoundError) as error:
        raise CannotServe(f"[audit] database: {error}") from error


def _hooks_of(audit: AuditLog | None, settings: AuditSettings) -> list[Any]:
    if audit is None:
        return []
    from xmcp.gateway.audit import AuditMiddleware

    return [AuditMiddleware(audit, outbox=settings.outbox)]


def _archive_of(audit: AuditLog | None) -> Archive | None:
    if audit is None:
        return None
    from xmcp.gateway.audit.archive import Archive

    return Archive(audit)


def _secrets(
    config: GatewayConfig, environment: Mapping[str, str], targets: Mapping[str, Any] | Sequence[Any]
) -> list[str]:
    """Return what no record may have (XMCP-REC-021): keys of vendors and callers, and what servers are given."""
    variables = {*chain.from_iterable(vendor.keys for vendor in VENDORS.values()), PEPPER_VARIABLE}
    variables |= {key.env for key in config.keys if key.env is not None}
    found = [environment.get(name, "") for name in variables]
    found += _secrets_of_url(_redis_url(config.cache.redis, environment)) if config.cache.redis is not None else []
    for target in targets.values() if isinstance(targets, Mapping) else targets:
        server = target.target if isinstance(target, ServerTarget) else target
        found += _secrets_of_url(server) if isinstance(server, str) and "://" in server else []
        if isinstance(target, ServerTarget):
            found += [value for name, value in dict(target.env or {}).items() if _SECRET.search(name)]
            found += [word for value in _texts_of(target.headers) for word in value.split()[-1:]]  # without `Bearer`
    return [value for value in found if value.strip()]


def _secrets_of_url(url: str) -> list[str]:
    """Return the password of a URL, and secret values of its query, as they are written and as they are meant."""
    try:
        parts = urlsplit(url)
    except ValueError:  # the client says so
        return []
    # A user without a password is one; beside a password it is a name, which can be any word of a text.
    found = parts.netloc.rpartition("@")[0].split(":", 1)[-1:]
    for pair in parts.query.split("&"):
        name, _, value = pair.partition("=")
        found += [value] if _SECRET.search(unquote_plus(name)) else []
    return [*dict.fromkeys(form for value in found if value for form in (value, unquote(value), unquote_plus(value)))]


def _texts_of(headers: object) -> list[str]:
    if isinstance(headers, TenantHeaders):
        return headers.values
    return list(headers.values()) if isinstance(headers, Mapping) else []


def problems(config: GatewayConfig, environment: Mapping[str, str]) -> list[str]:
    """Return why a gateway cannot be made of a configuration, one sentence each."""
    return list(_problems(config, environment))


def _problems(config: GatewayConfig, environment: Mapping[str, str]) -> Iterator[str]:
    for offered in config.models:
        try:
            _provider(offered)
        except CannotServe as error:
            yield str(error)
    if not config.models:
        try:
            _model_of_command_line(None, None, None, environment)
        except CannotServe as error:
            yield str(error)
    for check in (
        lambda: _configured(config, environment),
        lambda: Keys(config.keys, config.openai.events, environment),
        lambda: _cache(config.cache, environment),
        lambda: None if config.access.database is None else check_pepper(config.access.database, environment),
        lambda: refuse_unsafe(config),
        lambda: refuse_workers(config),
    ):
        try:
            check()
        except (CannotServe, MissingVariable, NoKeyDatabase) as error:
            yield str(error)


def _model_of_command_line(
    provider: str | None, model: str | None, base_url: str | None, environment: Mapping[str, str]
) -> OfferedModel:
    """Return the model of the options, or of the environment; its name is that of the vendor's model, or the vendor's.

    Raises:
        CannotServe: none is named, and the environment has no key.
    """
    try:
        vendor = vendor_named(provider, base_url, environment)
    except NoModel as error:
        raise CannotServe(str(error)) from error
    return OfferedModel.model_construct(id=model or vendor, provider=vendor, model=model, base_url=base_url)


def _provider(offered: OfferedModel) -> LLMProvider:
    try:
        return model_of(offered.provider, offered.model, offered.base_url)
    except KeyError:
        from xmcp.cli.chat.model_choice import NAMES

        known = ", ".join(NAMES)
        raise CannotServe(
            f"The model {offered.id!r} has the provider {offered.provider!r}. There are: {known}."
        ) from None
    except NoModel as error:
        raise CannotServe(f"The model {offered.id!r}: {error}") from error


def _named(words: Sequence[str]) -> list[ServerTarget]:
    from xmcp.cli.chat.command import target_of
    from xmcp.cli.named_servers import server_named

    try:
        return [target_of(server_named(word, option="--server")) for word in words]
    except click.BadParameter as error:
        raise CannotServe(error.format_message()) from error


def _configured(config: GatewayConfig, environment: Mapping[str, str]) -> Mapping[str, Any]:
    try:
        return configured_servers(config.servers, environment)
    except BadServers as error:
        raise CannotServe(str(error)) from error
