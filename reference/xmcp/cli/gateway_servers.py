"""The tool servers of a gateway's file: what each is, and with which credentials each tenant reaches it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from xmcp.client import ServerTarget

if TYPE_CHECKING:
    from xmcp.client.hooks.middleware import ChatContext


class BadServers(ValueError):
    """A server of the file that cannot be made; the message says which, and what to change."""


@dataclass(frozen=True, slots=True)
class TenantHeaders:
    """The headers of a server by the tenant whose chat it is; a tenant that has none gets `others`."""

    by_tenant: Mapping[str, Mapping[str, str]] = field(repr=False)
    others: Mapping[str, str] = field(repr=False)

    def __call__(self, chat: ChatContext) -> Mapping[str, str]:
        """Return the headers of a chat."""
        return self.others if chat.tenant_id is None else self.by_tenant.get(chat.tenant_id, self.others)

    @property
    def values(self) -> list[str]:
        """All values of headers, which are secrets."""
        return [value for headers in (self.others, *self.by_tenant.values()) for value in headers.values()]


def configured_servers(
    servers: Mapping[str, Mapping[str, Any]], environment: Mapping[str, str]
) -> Mapping[str, ServerTarget]:
    """Return the servers by their names. `tenants` of a server has tables with the headers of single tenants.

    Raises:
        BadServers: one cannot be made.
    """
    shared = {name: {key: value for key, value in one.items() if key != "tenants"} for name, one in servers.items()}
    targets = dict(_read(shared, environment))
    for name, target in targets.items():
        tenants = servers[name].get("tenants")
        if tenants is not None:
            targets[name] = replace(target, headers=_by_tenant(name, shared[name], target, tenants, environment))
    return targets


def _by_tenant(
    name: str, entry: Mapping[str, Any], target: ServerTarget, tenants: object, environment: Mapping[str, str]
) -> TenantHeaders:
    if not isinstance(target.target, str):
        raise BadServers(f"servers.{name}.tenants: only a server with a url can have headers of tenants.")
    if not isinstance(tenants, Mapping) or not all(_has_headers(own) for own in tenants.values()):
        raise BadServers(f"servers.{name}.tenants must have a table with headers, and nothing else, for each tenant.")
    read = {
        tenant: _read({f"{name}.tenants.{tenant}": {**entry, "headers": own["headers"]}}, environment)
        for tenant, own in tenants.items()
    }
    own = {tenant: _headers(next(iter(made.values()))) for tenant, made in read.items()}
    return TenantHeaders(own, _headers(target))


def _headers(target: ServerTarget) -> dict[str, str]:
    return dict(target.headers) if isinstance(target.headers, Mapping) else {}


def _has_headers(own: object) -> bool:
    return isinstance(own, Mapping) and own.keys() == {"headers"}


def _read(servers: Mapping[str, Any], environment: Mapping[str, str]) -> Mapping[str, ServerTarget]:
    from xmcp.cli.chat.server_files import BadServerFile, servers_in

    try:
        return servers_in(json.dumps({"servers": dict(servers)}), environment).servers
    except BadServerFile as error:
        raise BadServers(str(error).removeprefix(": ")) from error
