"""`XMCP`: the server class authors use.

Construction and registration live here. What results become is in `results` and `lanes`, what
failures become in `failures`, how a server is run in `serving`.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any, TypedDict, TypeVar, Unpack, cast, overload

from fastmcp.apps.config import AppConfig, app_config_to_meta_dict
from fastmcp.decorators import get_fastmcp_meta
from fastmcp.server.middleware import Middleware
from fastmcp.server.server import default_lifespan
from fastmcp.tools import Tool
from fastmcp.tools import tool as described
from fastmcp.tools.function_tool import ToolMeta
from fastmcp.utilities.authorization import AuthCheck
from fastmcp.utilities.tasks import TaskConfig
from fastmcp.utilities.types import NotSetT
from mcp_types import Icon, ToolAnnotations

from xmcp.server._fastmcp_hooks import local_tools, skip_listing_before_calls
from xmcp.server.formatter_binding import NamedFormatter, bound, name_of
from xmcp.server.middleware import ResponseMiddleware
from xmcp.server.parameters.server_parameters import REQUIRED, OnOverride, ParamProvider, ParamProviders
from xmcp.server.responses.capability import Wire, checked_wire
from xmcp.server.responses.extension import ToolResponseExtension
from xmcp.server.tool import Sayings, XMCPTool
from xmcp.server.tool_metadata import names, told
from xmcp.server.tool_ordering import check as check_dependencies
from xmcp.server.transports.serving import Serving
from xmcp.xml_formatters import XMLFormatter

logger = logging.getLogger("xmcp.server")

F = TypeVar("F", bound=Callable[..., Any])
P = TypeVar("P", bound=ParamProvider)


class ToolOptions(TypedDict, total=False):
    """What `tool` and `display_tool` take: FastMCP's, with FastMCP's meaning, and below them ours.

    - `depends_on`: names of tools of this server whose results, when they are called in the same turn, come first.
    - `provides`: the parameter name under which the whole result is offered to tools that depend on this one.
    - `cacheable`: the same arguments can be answered from a cache; marks the tool read-only.
    - `xml_formatter`: writes what the model reads: a class or an object such as `DeclarativeXMLFormatter`, a
      function `(data, indent_level) -> str`, or the name of one.
    - `server_populated`: parameters that the server fills in (`param_provider`), besides those that are marked by
      `Field(json_schema_extra={"server_populated": True})`.
    - `sensitive`: those of them whose values are told to nobody; or mark them with `"sensitive": True`.

    The first four can stand in `annotations`, too.
    """

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
    depends_on: Sequence[str] | None
    provides: str | None
    cacheable: bool | None
    xml_formatter: XMLFormatter | type[XMLFormatter] | str | None
    server_populated: Sequence[str] | None
    sensitive: Sequence[str] | None


class XMCP(Serving):
    """A FastMCP server whose every tool result is a tool response (spec chapters 1 to 4).

    Takes what `FastMCP` takes. Results and failures of all its tools, those of mounted and proxied
    servers included, leave as one response document; `@mcp.tool` and `@mcp.display_tool` register
    functions, `mcp.serve()` runs it.

    Args:
        wire: who gets documents (spec section 6.1). `always`: every client. `negotiated`: clients that declare
            the extension; others get plain MCP, with the display and the error in `_meta`.
        on_param_override: what becomes of a value that a caller sends for a parameter that the server fills in.
            `override`: it is not used, and the answer says so. `reject`: `FORBIDDEN_PARAM_OVERRIDE`.
        subscription_bus: carries the news that a list has changed; by default within this process (`LiveLists`).

    Raises:
        ValueError: another `wire` or `on_param_override`.
    """

    def __init__(
        self,
        name: str | None = None,
        instructions: str | None = None,
        *,
        middleware: Sequence[Middleware] | None = None,
        tools: Sequence[Tool | Callable[..., Any]] | None = None,
        tasks: bool | None = None,
        wire: Wire = "always",
        on_param_override: OnOverride = "override",
        lifespan: Callable[..., Any] | None = None,
        **options: Any,
    ) -> None:
        self.wire = checked_wire(wire)
        self.param_providers = ParamProviders(on_param_override)
        self._formatters: dict[str, XMLFormatter] = {}
        self._runs_tools_as_tasks = bool(tasks)
        super().__init__(
            name,
            instructions,
            middleware=[ResponseMiddleware(self.wire), *(middleware or ())],
            tools=[_as_tool(tool) for tool in tools or ()],
            tasks=tasks,
            lifespan=_checking(lifespan),
            **options,
        )
        self.add_extension(ToolResponseExtension(self.wire))
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
            TypeError: an unknown option, an option of the wrong type, a first argument that is neither function nor
                name, a method that is not bound.
            ValueError: a function that FastMCP cannot make a tool of, a name in `server_populated` or `sensitive`
                that is no such parameter, a cacheable tool that is said to change something.
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
        There is no output schema: a result that is shown is no data.

        Raises:
            TypeError: as `tool`, and for a declared `show_user` that is no boolean.
            ValueError: as `tool`, and for an `output_schema`.
        """
        return self._register(name_or_fn, options, display=True)

    def add_tool(self, tool: Tool | Callable[..., Any]) -> Tool:
        """Add a `Tool`, or a function (also one marked with FastMCP's standalone `@tool`), as FastMCP does."""
        metadata = None if isinstance(tool, Tool) else get_fastmcp_meta(tool)
        added = super().add_tool(_as_tool(tool))
        if isinstance(metadata, ToolMeta) and not metadata.enabled:
            self.local_provider.disable(keys={added.key})
        return added

    @overload
    def param_provider(self, name_or_fn: P) -> P: ...
    @overload
    def param_provider(self, name_or_fn: str | None = None) -> Callable[[P], P]: ...
    def param_provider(self, name_or_fn: Any = None) -> Any:
        """Register who gives the values of parameters that the server fills in (spec section 5.3).

        `@mcp.param_provider("user_id")` is asked for that parameter of any tool of this server;
        `@mcp.param_provider` for each that has no provider of its own. It is called with a `ParamRequest`, or
        with nothing if it takes nothing, once for each call; sync ones run in a thread. It says that it has no
        value by a `LookupError`, such as the `KeyError` of `request.headers["x-user"]`, or by `None`. An
        `XMCPError` is the answer to the caller.

        Raises:
            TypeError: a function that takes more than the request.
        """

        def register(fn: P, name: str | None = name_or_fn if isinstance(name_or_fn, str) else None) -> P:
            self.param_providers.add(fn, name)
            return fn

        return register if name_or_fn is None or isinstance(name_or_fn, str) else register(name_or_fn)

    def add_xml_formatter(self, formatter: XMLFormatter | type[XMLFormatter], name: str | None = None) -> None:
        """Give a formatter a name (default: its own) by which tools of this server can be bound to it.

        Subclasses of `DeclarativeXMLFormatter` are known by their name without this.

        Raises:
            TypeError: it is no formatter.
        """
        self._formatters[name or name_of(formatter)] = bound(formatter, {})

    def check_tools(self) -> None:
        """Hold what was said of the tools of this server against each other; done whenever it starts.

        Raises:
            DependencyError: tools that depend on each other in a circle, or on a tool that is not there.
            LookupError: a tool is bound to the name of a formatter that is not there.
        """
        tools = local_tools(self)
        check_dependencies(tools, complete=len(self.providers) == 1)
        for tool in tools:
            if not isinstance(tool, XMCPTool):
                continue
            if isinstance(tool.formatter, NamedFormatter):
                try:
                    tool.formatter.found()
                except LookupError as error:
                    raise LookupError(f"The tool {tool.name!r}: {error}") from None
            for name, parameter in tool.populated.items():
                if parameter.default is REQUIRED and not self.param_providers.knows(name):
                    logger.warning("Nobody provides the parameter %r of the tool %r yet.", name, tool.name)

    def _register(self, name_or_fn: Any, options: ToolOptions, *, display: bool) -> Any:
        if options.get("task") is None:
            options["task"] = self._runs_tools_as_tasks
        said = self._said(cast("dict[str, Any]", options), display=display)
        app = options.pop("app", None)
        if app:
            options["meta"] = _meta_with_app(options.get("meta"), app)
        named = name_or_fn is None or isinstance(name_or_fn, str)
        if not named and (isinstance(name_or_fn, classmethod) or not inspect.isroutine(name_or_fn)):
            raise TypeError(_no_function(name_or_fn))
        describe = cast("Any", described)(name_or_fn if named else None, **options)

        def register(fn: F) -> F:
            _reject_unbound(fn)
            metadata = get_fastmcp_meta(describe(fn))
            self.add_tool(XMCPTool.of(fn, cast("ToolMeta", metadata), said))
            return fn

        return register if named else register(name_or_fn)

    def _said(self, options: dict[str, Any], *, display: bool) -> Sayings:
        """Take out of `options` what is ours."""
        metadata = told(options)
        formatter = metadata.get("xml_formatter")
        if formatter is not None:
            metadata["xml_formatter"] = name_of(formatter)
            formatter = bound(formatter, self._formatters)
        populated, sensitive = (
            names(key, () if (given := options.pop(key, None)) is None else given)
            for key in ("server_populated", "sensitive")
        )
        return Sayings(display, metadata, formatter, populated, sensitive)


def _checking(lifespan: Callable[..., Any] | None) -> Callable[..., Any]:
    """Return a lifespan that begins with `check_tools`: a server whose tools contradict each other does not start."""

    @asynccontextmanager
    async def checked(server: XMCP) -> AsyncIterator[Any]:
        server.check_tools()
        async with (lifespan or default_lifespan)(server) as state:
            yield state

    return checked


def _as_tool(tool: Tool | Callable[..., Any]) -> Tool:
    if isinstance(tool, Tool):
        return tool
    metadata = get_fastmcp_meta(tool)
    if not isinstance(metadata, ToolMeta):
        metadata = ToolMeta()
    if metadata.app:
        metadata = replace(metadata, meta=_meta_with_app(metadata.meta, metadata.app), app=None)
    return XMCPTool.of(tool, metadata)


def _meta_with_app(meta: dict[str, Any] | None, app: AppConfig | dict[str, Any] | bool) -> dict[str, Any]:
    return {**(meta or {}), "ui": True if app is True else app_config_to_meta_dict(cast("AppConfig", app))}


def _no_function(given: object) -> str:
    if isinstance(given, classmethod):
        return "Put @classmethod outermost, or register the method of the finished class: `mcp.tool(Class.method)`."
    hint = " Give it to `mcp.add_tool(...)`, which takes anything that can be called." if callable(given) else ""
    return f"The first argument is a {type(given).__name__}; it takes a function or a name.{hint}"


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
