"""When the SDK lists tools before it runs one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from fastmcp import FastMCP
from fastmcp.server.low_level import LowLevelServer
from fastmcp.server.providers import FastMCPProvider, LocalProvider, Provider
from fastmcp.server.providers.wrapped_provider import _WrappedProvider
from fastmcp.server.transforms import Namespace, Visibility

from xmcp.server.fastmcp_internals.components import watched


class _ServerWithoutListing(LowLevelServer[Any]):
    """FastMCP's low-level server, with a decision of its own whether the SDK needs the tools' schemas for a call."""

    @property
    def get_tool_input_schema(self) -> Callable[[str], None] | None:
        """A look-up that finds no schema, or None: then the SDK runs tools/list and checks against the result."""
        return None if may_mirror_into_headers(self.fastmcp) else _no_schema

    @get_tool_input_schema.setter
    def get_tool_input_schema(self, _: object) -> None:
        """Ignore the look-up that the SDK's constructor sets."""


def skip_listing_before_calls(server: FastMCP[Any]) -> None:
    """Make the SDK list tools before a call only if some tool may mirror a parameter into an HTTP header.

    Otherwise the SDK runs the whole tools/list, including middleware, before every call over HTTP of protocol version
    2026-07-28, to find out that no tool does.
    """
    server._mcp_server.__class__ = _ServerWithoutListing


def may_mirror_into_headers(server: FastMCP[Any]) -> bool:
    """Tell whether a tool of `server`, or of a server mounted in it, may declare `x-mcp-header`.

    Computed for each call, in time that grows with the number of mounts, not of tools. True for everything that cannot
    be inspected: a proxy, and any other class of provider or transform.
    """
    return any(type(transform) not in _KEEP_SCHEMAS for transform in server.transforms) or any(
        map(_provider_may_mirror, server.providers)
    )


_KEEP_SCHEMAS: Final = frozenset({Namespace, Visibility})


def _provider_may_mirror(provider: Provider) -> bool:
    if any(type(transform) not in _KEEP_SCHEMAS for transform in provider.transforms):
        return True
    # Only these classes: a subclass may list other tools.
    if type(provider) is LocalProvider:
        return watched(provider).mirrors
    if type(provider) is FastMCPProvider:
        return may_mirror_into_headers(provider.server)
    return type(provider) is not _WrappedProvider or _provider_may_mirror(provider._inner)


def _no_schema(_name: str) -> None:
    return None
