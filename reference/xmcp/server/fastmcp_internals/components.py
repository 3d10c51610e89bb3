"""The tools of a server, what stands behind them, and who is told when they change."""

from __future__ import annotations

import json
import weakref
from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol

from fastmcp import FastMCP
from fastmcp.server.providers import FastMCPProvider, LocalProvider, Provider
from fastmcp.server.providers.fastmcp_provider import FastMCPProviderTool
from fastmcp.server.providers.wrapped_provider import _WrappedProvider
from fastmcp.tools import Tool
from fastmcp.tools.tool_transform import TransformedTool
from fastmcp.utilities.components import FastMCPComponent
from mcp.shared.inbound import X_MCP_HEADER_KEY


def local_tools(server: FastMCP[Any]) -> list[Tool]:
    """Return the tools registered on this server itself, all versions, enabled or not."""
    return [part for part in server.local_provider._components.values() if isinstance(part, Tool)]


async def tool_that_runs(tool: Tool) -> Tool | None:
    """Return the tool that a mounted server's tool, or a transformed one, stands for; None if it is gone."""
    inner: Tool | None = tool
    while isinstance(inner, FastMCPProviderTool | TransformedTool):
        if isinstance(inner, TransformedTool):
            inner = inner.parent_tool
        else:
            inner = await inner._server.get_tool(inner._original_name)
    return inner


def unwrapped(provider: Provider) -> Provider:
    """Return `provider` without namespaces and other wrappers; for a mounted server, the server, itself a provider."""
    if isinstance(provider, _WrappedProvider):
        return unwrapped(provider._inner)
    return provider.server if isinstance(provider, FastMCPProvider) else provider


class ComponentObserver(Protocol):
    """Observer of changes in a local provider."""

    def component_changed(self, component: FastMCPComponent | None) -> None:
        """Called when `component`, or any component if None, was added, removed, shown or hidden."""


def watch_components(provider: LocalProvider, observer: ComponentObserver) -> None:
    """Call `observer`, which is held weakly, at each change in `provider` from now on."""
    watched(provider).observers.add(observer)


class _WatchedProvider:
    """The observers of one local provider; FastMCP has no notification of its own."""

    def __init__(self, provider: LocalProvider) -> None:
        self.observers: weakref.WeakSet[ComponentObserver] = weakref.WeakSet()
        self.mirrors = False
        """Whether a tool in the provider mirrors a parameter into a header, or did so earlier."""
        add, remove, get = provider._add_component, provider._remove_component, provider._get_component

        def added(component: Any) -> Any:
            self._note_mirroring(component)
            result = add(component)
            self._notify(component)
            return result

        def removed(key: str) -> None:
            component = get(key)
            remove(key)
            self._notify(component)

        def notifying(change: Callable[..., Any]) -> Callable[..., Any]:
            def changed(*args: Any, **options: Any) -> Any:
                result = change(*args, **options)
                self._notify(None)
                return result

            return changed

        replaced = {"_add_component": added, "_remove_component": removed}
        replaced |= {name: notifying(getattr(provider, name)) for name in ("enable", "disable", "add_transform")}
        vars(provider).update(replaced)
        for component in list(provider._components.values()):
            self._note_mirroring(component)

    def _note_mirroring(self, component: object) -> None:
        self.mirrors = self.mirrors or (isinstance(component, Tool) and mirrors_into_header(component.parameters))

    def _notify(self, component: FastMCPComponent | None) -> None:
        for observer in list(self.observers):
            observer.component_changed(component)


_WATCHED: Final[weakref.WeakKeyDictionary[LocalProvider, _WatchedProvider]] = weakref.WeakKeyDictionary()


def watched(provider: LocalProvider) -> _WatchedProvider:
    """Return what is known of the components of `provider`, from the first call on."""
    known = _WATCHED.get(provider)
    if known is None:
        known = _WATCHED[provider] = _WatchedProvider(provider)
    return known


def mirrors_into_header(input_schema: Mapping[str, Any]) -> bool:
    """Tell whether the schema declares `x-mcp-header` anywhere."""
    return f'"{X_MCP_HEADER_KEY}"' in json.dumps(input_schema, default=str)
