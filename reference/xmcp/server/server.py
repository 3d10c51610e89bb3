"""`XMCP`: the server class that authors use, with its decorators.

Results and failures become responses in `responses`; `transports` runs the server.
"""

from __future__ import annotations

import inspect
import logging
import os
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any, Final, TypedDict, TypeVar, Unpack, cast, overload

import fastmcp
from fastmcp.apps.config import AppConfig, app_config_to_meta_dict
from fastmcp.decorators import get_fastmcp_meta
from fastmcp.server.middleware import Middleware
from fastmcp.server.server import default_lifespan
from fastmcp.tools import Tool
from fastmcp.tools import tool as described
from fastmcp.tools.function_tool import ToolMeta
from fastmcp.utilities.authorization import AuthCheck
from fastmcp.utilities.components import FastMCPComponent
from fastmcp.utilities.tasks import TaskConfig
from fastmcp.utilities.types import NotSetT
from fastmcp.utilities.versions import VersionSpec
from mcp.server.lowlevel.server import LifespanResultT
from mcp_types import Icon, ToolAnnotations

from xmcp.option_names import refuse_unknown
from xmcp.server.background import BackgroundTool, TaskDelivery
from xmcp.server.call_state import current_call
from xmcp.server.containment import contain
from xmcp.server.display_view import DisplayView
from xmcp.server.fastmcp_internals.components import local_tools, unwrapped
from xmcp.server.fastmcp_internals.dispatch import add_dispatch_middleware, wrap_dispatch
from xmcp.server.fastmcp_internals.listing import skip_listing_before_calls
from xmcp.server.formatter_binding import DefaultFormatter, bound, check_found, name_of
from xmcp.server.middleware import ResponseMiddleware
from xmcp.server.parameters.providers import OnOverride, ParamProvider, ParamProviders
from xmcp.server.request_ids import refuse_ids_in_use
from xmcp.server.response_caching import for_every_caller
from xmcp.server.responses.capability import ToolResponseExtension, Wire, checked_wire
from xmcp.server.tool import XMCPTool, XMCPToolOptions
from xmcp.server.tool_adoption import adopted, all_adopted, refuse_marks
from xmcp.server.tool_metadata import checked_names, take_metadata
from xmcp.server.tool_ordering import check as check_dependencies
from xmcp.server.transports.serving import Serving
from xmcp.xml_formatters import XMLFormatter

logger = logging.getLogger("xmcp.server")

F = TypeVar("F", bound=Callable[..., Any])
P = TypeVar("P", bound=ParamProvider)


class ToolOptions(TypedDict, total=False):
    """The options of `tool` and `display_tool`: all of FastMCP's, and those of XMCP.

    - `depends_on`: names of tools of this server that run first if they are called in the same turn.
    - `provides`: the parameter name under which the whole result is offered to tools that depend on this one.
    - `cacheable`: a call with the same arguments can be answered from a cache; marks the tool read-only.
    - `xml_formatter`: writes the text that the model reads: a class or an object such as `DeclarativeXMLFormatter`, a
      function `(data, indent_level) -> str`, or the name of one (`"xml"`, `"json"`, `"table"`, or one of yours).
      Without one, the text is the JSON that FastMCP writes.
    - `server_populated`: parameters that the server fills in (`param_provider`), besides those marked with
      `Field(json_schema_extra={"server_populated": True})`.
    - `sensitive`: those of them whose values are not disclosed; or mark them with `"sensitive": True`.

    The first four can also be given in `annotations`.
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


class XMCP(Serving[LifespanResultT]):
    """A FastMCP server whose every tool result is a tool response (spec chapters 1 to 4).

    Accepts every option of `FastMCP`. (`subscription_bus` carries the notifications that a list has changed; the
    default works within this process.) The results and failures of all its tools, including those of mounted and
    proxied servers, are sent as tool responses: as documents, or as plain MCP. `@mcp.tool` and `@mcp.display_tool`
    register functions, `mcp.serve()` runs the server.

    Args:
        wire: Which clients get documents (spec section 6.1). `negotiated`: clients that declare the extension; others
            get plain MCP, with the display and the error in `_meta`. `always`: every client, which is right for a
            host that drops `_meta` and passes on the text.
        apps: Whether hosts of MCP Apps are given the page that shows the displays of the display tools (spec section
            6.7). A display tool with an `app` of its own keeps that. Other hosts see no difference.
        formatter: Writes the objects and lists that the model reads, for each tool without an `xml_formatter` of its
            own: `"json"` (as without one), `"xml"`, `"table"`, or whatever `xml_formatter` takes. Tools that FastMCP
            made keep its text, and those of mounted servers theirs.
        on_param_override: What happens to a value that a caller sends for a parameter that the server fills in.
            `override`: it is replaced, and the answer says so. `reject`: `FORBIDDEN_PARAM_OVERRIDE`.
        mask_error_details: FastMCP's option. Unlike FastMCP, this server never sends the text of an exception that the
            tool's author did not foresee, unless it is `False` here. `True`, here or in FastMCP's settings, also
            withholds what a service behind the server answered when it refused.
        debug: For development: as `mask_error_details=False`, and a warning in the log at the start. The default is
            True if the environment variable `XMCP_DEBUG` is `1`, as `xmcp serve --debug` sets it.

    Raises:
        ValueError: `wire` or `on_param_override` has another value, or `debug` and `mask_error_details` contradict
            each other.
    """

    def __init__(
        self,
        name: str | None = None,
        instructions: str | None = None,
        *,
        middleware: Sequence[Middleware] | None = None,
        tools: Sequence[Tool | Callable[..., Any]] | None = None,
        tasks: bool | None = None,
        wire: Wire = "negotiated",
        apps: bool = True,
        formatter: XMLFormatter | type[XMLFormatter] | str | None = None,
        on_param_override: OnOverride = "override",
        mask_error_details: bool | None = None,
        debug: bool | None = None,
        lifespan: Callable[..., Any] | None = None,
        **options: Any,
    ) -> None:
        self.wire = checked_wire(wire)
        self.param_providers = ParamProviders(on_param_override)
        self._formatters: dict[str, XMLFormatter] = {}
        self._formatter = None if formatter is None else DefaultFormatter(bound(formatter, self._formatters))
        self._runs_tools_as_tasks = bool(tasks)
        self.masking = _masking(mask_error_details, debug=debug)
        views = [DisplayView()] if apps else []
        try:
            super().__init__(
                name,
                instructions,
                middleware=[
                    ResponseMiddleware(self.wire, self.masking),
                    *views,
                    *map(for_every_caller, middleware or ()),
                ],
                tools=[self._as_tool(tool) for tool in tools or ()],
                tasks=tasks,
                mask_error_details=mask_error_details,
                lifespan=_checking(lifespan),
                **options,
            )
        except TypeError as exc:
            if "unexpected keyword" in str(exc):  # FastMCP's other messages say where an option went
                constructors = [vars(one)["__init__"] for one in type(self).__mro__ if "__init__" in vars(one)]
                known = {name for one in constructors for name in inspect.signature(one).parameters}
                refuse_unknown("XMCP()", options, known)
            raise
        self.add_extension(ToolResponseExtension(self.wire))
        add_dispatch_middleware(self, TaskDelivery(self.wire))
        for view in views:
            add_dispatch_middleware(self, view.dispatch)
        skip_listing_before_calls(self)
        wrap_dispatch(self, refuse_ids_in_use)
        wrap_dispatch(self, contain)

    @overload
    def tool(self, name_or_fn: F, **options: Unpack[ToolOptions]) -> F: ...
    @overload
    def tool(self, name_or_fn: str | None = None, **options: Unpack[ToolOptions]) -> Callable[[F], F]: ...
    def tool(self, name_or_fn: Any = None, **options: Unpack[ToolOptions]) -> Any:
        """Register a function as a tool; the function itself is returned unchanged.

        As in FastMCP: `@mcp.tool`, `@mcp.tool()`, `@mcp.tool("name")`, `@mcp.tool(name="name")`,
        `mcp.tool(function, name="name")`.

        Raises:
            TypeError: An option is unknown or has the wrong type, the first argument is neither a function nor a
                name, or a method is not bound.
            ValueError: FastMCP cannot make a tool of the function, a name in `server_populated` or `sensitive` is not
                such a parameter, or a cacheable tool has `readOnlyHint=False`.
        """
        return self._register(name_or_fn, options, display=False)

    @overload
    def display_tool(self, name_or_fn: F, **options: Unpack[ToolOptions]) -> F: ...
    @overload
    def display_tool(self, name_or_fn: str | None = None, **options: Unpack[ToolOptions]) -> Callable[[F], F]: ...
    def display_tool(self, name_or_fn: Any = None, **options: Unpack[ToolOptions]) -> Any:
        """Register a tool that can show its result to the person (spec chapter 3).

        Called with `show_user=true` it must return a `DisplayEnvelope` (or a mapping with the same members);
        otherwise any result is text for the model. A function that declares `show_user` gets it; for one that does
        not, it is added to the input schema and removed from the call. There is no output schema, because a result
        that is shown is not data.

        Raises:
            TypeError: As `tool`, or a declared `show_user` is not a boolean.
            ValueError: As `tool`, or there is an `output_schema`.
        """
        return self._register(name_or_fn, options, display=True)

    def add_middleware(self, middleware: Middleware) -> None:
        """Add a middleware, as FastMCP does; its cache of responses leaves out tools that the server fills in."""
        super().add_middleware(for_every_caller(middleware))

    def add_tool(self, tool: Tool | Callable[..., Any]) -> Tool:
        """Add a `Tool`, or a function (also one marked with FastMCP's standalone `@tool`), as FastMCP does.

        A tool of another XMCP server keeps the parameter providers of that server, and its `on_param_override`.

        Raises:
            ValueError: The tool was made by FastMCP, and shows the caller a parameter that the server fills in.
        """
        metadata = None if isinstance(tool, Tool) else get_fastmcp_meta(tool)
        added = super().add_tool(adopted(self._as_tool(tool), self.param_providers))
        if isinstance(metadata, ToolMeta) and not metadata.enabled:
            self.local_provider.disable(keys={added.key})
        return added

    async def get_tool(self, name: str, version: VersionSpec | None = None) -> Tool | None:
        """Return the tool, whatever it comes from, with the marks and results that tools of this server have."""
        tool = await super().get_tool(name, version)
        tool = None if tool is None else next(iter(all_adopted([tool], self.param_providers)), None)
        call = current_call.get()
        if call is not None and call.server is self and call.tool_name == name:
            call.tool = tool
        return tool

    async def list_tools(self, *, run_middleware: bool = True) -> Sequence[Tool]:
        """Return the tools that a caller may see, as `get_tool`."""
        return all_adopted(await super().list_tools(run_middleware=run_middleware), self.param_providers)

    async def get_tasks(self) -> Sequence[FastMCPComponent]:
        """Return what runs as background tasks; the tools are answered as in any other call (`background.py`)."""
        components = await super().get_tasks()
        tools = all_adopted((part for part in components if isinstance(part, Tool)), self.param_providers)
        return [
            *(BackgroundTool.of(tool, self.masking) for tool in tools),
            *(part for part in components if not isinstance(part, Tool)),
        ]

    @overload
    def param_provider(self, name_or_fn: P) -> P: ...
    @overload
    def param_provider(self, name_or_fn: str | None = None) -> Callable[[P], P]: ...
    def param_provider(self, name_or_fn: Any = None) -> Any:
        """Register a function that returns the values of parameters that the server fills in (spec section 5.3).

        `@mcp.param_provider("user_id")` provides that parameter of any tool of this server; `@mcp.param_provider`
        provides each parameter without a provider of its own. It is called once for each call of a tool, with a
        `ParamRequest`, or without arguments if it has none; a sync function runs in a thread. If it has no value it
        raises a `LookupError`, such as the `KeyError` of `request.headers["x-user"]`, or returns None. An `XMCPError`
        is sent to the caller.

        Raises:
            TypeError: The function needs more arguments than the request.
        """

        def register(fn: P, name: str | None = name_or_fn if isinstance(name_or_fn, str) else None) -> P:
            self.param_providers.add(fn, name)
            return fn

        return register if name_or_fn is None or isinstance(name_or_fn, str) else register(name_or_fn)

    def add_xml_formatter(self, formatter: XMLFormatter | type[XMLFormatter], name: str | None = None) -> None:
        """Register a formatter under a name (default: its own), for `xml_formatter="name"` of this server's tools.

        Subclasses of `DeclarativeXMLFormatter` need no registration.

        Raises:
            TypeError: `formatter` is not a formatter.
        """
        self._formatters[name or name_of(formatter)] = bound(formatter, {})

    def check_tools(self) -> None:
        """Check that the tools of this server do not contradict each other; done whenever it starts.

        Raises:
            DependencyError: Tools depend on each other in a circle, or a tool depends on an unknown one.
            LookupError: A tool names an unknown formatter.
            ValueError: A tool of a mounted server marks a parameter that the server fills in, and that server cannot.
        """
        tools = local_tools(self)
        check_dependencies(tools, complete=len(self.providers) == 1)
        for tool in tools:
            if not isinstance(tool, XMCPTool):
                continue
            check_formatter(tool)
            for name, parameter in tool.server_parameters.items():
                if parameter.default is None and not self.param_providers.provides(name):
                    logger.warning("The parameter %r of the tool %r has no provider yet.", name, tool.name)

        for server in _mounted_in(self):
            refuse_marks(server)

    def _register(self, name_or_fn: Any, options: ToolOptions, *, display: bool) -> Any:
        refuse_unknown("display_tool()" if display else "tool()", options, ToolOptions.__annotations__)
        if options.get("task") is None:
            options["task"] = self._runs_tools_as_tasks
        xmcp_options = self._take_options(cast("dict[str, Any]", options), display=display)
        app = options.pop("app", None)
        if app:
            options["meta"] = _meta_with_app(options.get("meta"), app)
        named = name_or_fn is None or isinstance(name_or_fn, str)
        if not named and (isinstance(name_or_fn, classmethod) or not inspect.isroutine(name_or_fn)):
            raise TypeError(_not_a_function(name_or_fn))
        describe = cast("Any", described)(name_or_fn if named else None, **options)

        def register(fn: F) -> F:
            _reject_unbound(fn)
            metadata = get_fastmcp_meta(describe(fn))
            self.add_tool(XMCPTool.of(fn, cast("ToolMeta", metadata), xmcp_options))
            return fn

        return register if named else register(name_or_fn)

    def _as_tool(self, tool: Tool | Callable[..., Any]) -> Tool:
        if isinstance(tool, Tool):
            return tool
        metadata = get_fastmcp_meta(tool)
        if not isinstance(metadata, ToolMeta):
            metadata = ToolMeta()
        if metadata.app:
            metadata = replace(metadata, meta=_meta_with_app(metadata.meta, metadata.app), app=None)
        return XMCPTool.of(tool, metadata, self._take_options({}, display=False))

    def _take_options(self, options: dict[str, Any], *, display: bool) -> XMCPToolOptions:
        """Remove the options of XMCP from `options` and return them."""
        metadata = take_metadata(options)
        given = metadata.get("xml_formatter")
        formatter = self._formatter if given is None else bound(given, self._formatters)
        if formatter is not None:
            metadata["xml_formatter"] = name_of(formatter if given is None else given)
        populated, sensitive = (
            checked_names(key, () if (given := options.pop(key, None)) is None else given)
            for key in ("server_populated", "sensitive")
        )
        return XMCPToolOptions(display, metadata, formatter, populated, sensitive)


def check_formatter(tool: XMCPTool) -> None:
    """Check that the formatter of `tool` is there, if it was given by name.

    Raises:
        LookupError: It is not; the message names the tool.
    """
    try:
        check_found(tool.formatter)
    except LookupError as error:
        raise LookupError(f"The tool {tool.name!r}: {error}") from None


def _mounted_in(server: fastmcp.FastMCP[Any]) -> Iterator[fastmcp.FastMCP[Any]]:
    """Yield the servers that are mounted in `server`, at any depth, down to the next XMCP server."""
    for inner in map(unwrapped, server.providers):
        if isinstance(inner, fastmcp.FastMCP) and not isinstance(inner, XMCP):
            yield inner
            yield from _mounted_in(inner)


def _checking(lifespan: Callable[..., Any] | None) -> Callable[..., Any]:
    """Return a lifespan that begins with `check_tools`, so that a server whose tools contradict each other fails."""

    @asynccontextmanager
    async def checked(server: XMCP) -> AsyncIterator[Any]:
        server.check_tools()
        if server.masking is False:
            logger.warning("%s sends the text of unexpected exceptions to callers: for development only.", server.name)
        async with (lifespan or default_lifespan)(server) as state:
            yield state

    return checked


DEBUG_VARIABLE: Final = "XMCP_DEBUG"
"""The environment variable that turns `debug` on where the server does not say anything else."""


def _masking(option: bool | None, *, debug: bool | None) -> bool | None:
    """Return the option. Without one, FastMCP's setting can withhold more; its default, `False`, discloses nothing."""
    if debug is not None and option is debug:
        raise ValueError(f"debug={debug} and mask_error_details={option} contradict each other: leave one of them out.")
    if option is not None:
        return option
    if debug is None:
        debug = os.environ.get(DEBUG_VARIABLE) == "1"
    return False if debug else fastmcp.settings.mask_error_details or None


def _meta_with_app(meta: dict[str, Any] | None, app: AppConfig | dict[str, Any] | bool) -> dict[str, Any]:
    return {**(meta or {}), "ui": True if app is True else app_config_to_meta_dict(cast("AppConfig", app))}


def _not_a_function(given: object) -> str:
    if isinstance(given, classmethod):
        return "Put @classmethod outermost, or register the method of the finished class: `mcp.tool(Class.method)`."
    hint = " Use `mcp.add_tool(...)`, which takes any callable object." if callable(given) else ""
    return f"The first argument must be a function or a name, not {type(given).__name__!r}.{hint}"


def _reject_unbound(fn: Callable[..., Any]) -> None:
    try:
        first = next(iter(inspect.signature(fn).parameters), None)
    except (TypeError, ValueError):
        return
    if first in ("self", "cls"):
        name = getattr(fn, "__name__", "the function")
        raise TypeError(
            f"{name!r} has {first!r} as its first parameter, so it is a method without an object. "
            f"Create the object first and register its method: `mcp.tool(obj.{name})`."
        )
