"""`XMCP`: the server class authors use.

Construction and registration live here. What results become is in `results` and `lanes`, what
failures become in `failures`, how a server is run in `serving`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypedDict, TypeVar, Unpack, cast, overload

from fastmcp.apps.config import AppConfig, app_config_to_meta_dict
from fastmcp.decorators import get_fastmcp_meta
from fastmcp.server.middleware import Middleware
from fastmcp.server.providers import Provider
from fastmcp.server.transforms import Transform
from fastmcp.tools import Tool
from fastmcp.tools import tool as described
from fastmcp.tools.function_tool import ToolMeta
from fastmcp.utilities.authorization import AuthCheck
from fastmcp.utilities.tasks import TaskConfig
from fastmcp.utilities.types import NotSetT
from mcp_types import Icon, ToolAnnotations

from xmcp.server._fastmcp_hooks import list_before_calls, mirrors_into_header, skip_listing_before_calls
from xmcp.server.extension import ToolResponseExtension
from xmcp.server.middleware import ResponseMiddleware
from xmcp.server.serving import Serving
from xmcp.server.tool import XMCPTool

F = TypeVar("F", bound=Callable[..., Any])


class ToolOptions(TypedDict, total=False):
    """What `tool` and `display_tool` take, with FastMCP's meaning."""

    name: str | None
    version: str | int | None
    title: str | None
    description: str | None
    icons: list[Icon] | None
    tags: set[str] | None
    output_schema: dict[str, Any] | NotSetT | None
    annotations: ToolAnnotations | dict[str, Any] | None
    meta: dict[str, Any] | None
    app: AppConfig | dict[str, Any] | bool | None
    task: bool | TaskConfig | None
    timeout: float | None
    auth: AuthCheck | list[AuthCheck] | None
    run_in_thread: bool


class XMCP(Serving):
    """A FastMCP server whose every tool result is a tool response (spec chapters 1 to 4).

    Takes what `FastMCP` takes. Results and failures of all its tools, those of mounted and proxied
    servers included, leave as one response document; `@mcp.tool` and `@mcp.display_tool` register
    functions, `mcp.serve()` runs it.
    """

    def __init__(
        self,
        name: str | None = None,
        instructions: str | None = None,
        *,
        middleware: Sequence[Middleware] | None = None,
        tools: Sequence[Tool | Callable[..., Any]] | None = None,
        tasks: bool | None = None,
        **options: Any,
    ) -> None:
        self._runs_tools_as_tasks = bool(tasks)
        self._may_mirror_into_headers = False
        super().__init__(
            name,
            instructions,
            middleware=[ResponseMiddleware(), *(middleware or ())],
            tools=[_as_tool(tool) for tool in tools or ()],
            tasks=tasks,
            **options,
        )
        self.add_extension(ToolResponseExtension())
        if not self._may_mirror_into_headers:
            skip_listing_before_calls(self)

    @overload
    def tool(self, name_or_fn: F, **options: Unpack[ToolOptions]) -> F: ...
    @overload
    def tool(self, name_or_fn: str | None = None, **options: Unpack[ToolOptions]) -> Callable[[F], F]: ...
    def tool(self, name_or_fn: Any = None, **options: Unpack[ToolOptions]) -> Any:
        """Register a function as a tool; the function itself comes back unchanged.

        As FastMCP's: `@mcp.tool`, `@mcp.tool()`, `@mcp.tool("name")`, `@mcp.tool(name="name")`,
        `mcp.tool(function, name="name")`.

        Raises:
            TypeError: an unknown option, a first argument that is neither function nor name, a method
                that is not bound.
            ValueError: a function that FastMCP cannot make a tool of.
        """
        return self._register(name_or_fn, options, display=False)

    @overload
    def display_tool(self, name_or_fn: F, **options: Unpack[ToolOptions]) -> F: ...
    @overload
    def display_tool(self, name_or_fn: str | None = None, **options: Unpack[ToolOptions]) -> Callable[[F], F]: ...
    def display_tool(self, name_or_fn: Any = None, **options: Unpack[ToolOptions]) -> Any:
        """Register a tool that can show its result to the person (spec chapter 3).

        Called with `show_user=true` it must return a `DisplayEnvelope` (or a mapping that is one);
        otherwise whatever it returns is text for the model. A function that declares `show_user` is
        given it; for one that does not, it is added to the input schema and taken out of the call.
        There is no output schema unless `output_schema` sets one.

        Raises:
            TypeError: as `tool`, and for a declared `show_user` that is no boolean.
            ValueError: as `tool`.
        """
        return self._register(name_or_fn, options, display=True)

    def add_tool(self, tool: Tool | Callable[..., Any]) -> Tool:
        """Add a `Tool`, or a function (also one marked with FastMCP's standalone `@tool`), as FastMCP does."""
        metadata = None if isinstance(tool, Tool) else get_fastmcp_meta(tool)
        added = super().add_tool(_as_tool(tool))
        if isinstance(metadata, ToolMeta) and not metadata.enabled:
            self.local_provider.disable(keys={added.key})
        if mirrors_into_header(added.parameters):
            self._list_before_calls()
        return added

    def add_provider(self, provider: Provider, *, namespace: str = "") -> None:
        """Add a source of tools (mounting does), as FastMCP does."""
        super().add_provider(provider, namespace=namespace)
        if provider is not self.local_provider:
            self._list_before_calls()

    def add_transform(self, transform: Transform) -> None:
        """Add a transform of tools, resources and prompts, as FastMCP does."""
        super().add_transform(transform)
        self._list_before_calls()

    def _list_before_calls(self) -> None:
        self._may_mirror_into_headers = True
        list_before_calls(self)

    def _register(self, name_or_fn: Any, options: ToolOptions, *, display: bool) -> Any:
        if options.get("task") is None:
            options["task"] = self._runs_tools_as_tasks
        app = options.pop("app", None)
        if app:
            options["meta"] = _meta_with_app(options.get("meta"), app)
        named = not inspect.isroutine(name_or_fn)
        describe = cast("Any", described)(name_or_fn if named else None, **options)

        def register(fn: F) -> F:
            _reject_unbound(fn)
            metadata = get_fastmcp_meta(describe(fn))
            self.add_tool(XMCPTool.of(fn, cast("ToolMeta", metadata), display=display))
            return fn

        return register if named else register(name_or_fn)


def _as_tool(tool: Tool | Callable[..., Any]) -> Tool:
    if isinstance(tool, Tool):
        return tool
    metadata = get_fastmcp_meta(tool)
    if not isinstance(metadata, ToolMeta):
        metadata = ToolMeta()
    if metadata.app:
        metadata = replace(metadata, meta=_meta_with_app(metadata.meta, metadata.app), app=None)
    return XMCPTool.of(tool, metadata, display=False)


def _meta_with_app(meta: dict[str, Any] | None, app: AppConfig | dict[str, Any] | bool) -> dict[str, Any]:
    return {**(meta or {}), "ui": True if app is True else app_config_to_meta_dict(cast("AppConfig", app))}


def _reject_unbound(fn: Callable[..., Any]) -> None:
    try:
        first = next(iter(inspect.signature(fn).parameters), None)
    except (TypeError, ValueError):
        return
    if first in ("self", "cls"):
        name = getattr(fn, "__name__", "the function")
        raise TypeError(
            f"{name!r} has {first!r} as its first parameter: it is a method without its object. "
            f"Make the object first and register its method: `mcp.tool(obj.{name})`."
        )
