"""Which failures FastMCP raised, and which a tool's author did."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from fastmcp.tools.function_tool import _ToolBodyError
from mcp import MCPError

_TIMEOUT_CODE: Final = -32000


def raised_by_fastmcp(error: BaseException, module: str = "fastmcp") -> bool:
    """Tell whether `error` was raised by FastMCP's own code, and not by a tool or a middleware.

    FastMCP wraps any exception of a tool in a `ToolError`, the class that authors raise themselves; only the place
    where it was raised distinguishes the two. An error without a traceback counts as FastMCP's, so that its text is
    not shown.
    """
    trace = error.__traceback__
    if trace is None:
        return True
    while trace.tb_next is not None:
        trace = trace.tb_next
    name = str(trace.tb_frame.f_globals.get("__name__", ""))
    return name == module or name.startswith(f"{module}.")


def is_body_error(error: BaseException) -> bool:
    """Tell whether `error` is FastMCP's mark around a pydantic error of a tool's body, as opposed to its arguments."""
    return isinstance(error, _ToolBodyError) and error.__cause__ is not None


def modules_through(error: BaseException) -> Iterator[str]:
    """Yield the name of the module of each frame that `error` passed, outermost first."""
    trace = error.__traceback__
    while trace is not None:
        yield str(trace.tb_frame.f_globals.get("__name__", ""))
        trace = trace.tb_next


def runs_a_tool_of_fastmcp(modules: Sequence[str]) -> bool:
    """Tell whether the innermost tool in the frames of a failure is one that FastMCP made.

    Such tools take names of tools, resources, prompts or files from the caller. Names in an author's tool are the
    author's.
    """
    depth = max((at for at, name in enumerate(modules) if name == "fastmcp.tools.function_tool"), default=None)
    return depth is not None and any(name.startswith(_MAKERS_OF_TOOLS) for name in modules[depth:])


_MAKERS_OF_TOOLS: Final = (
    "fastmcp.apps.",
    "fastmcp.experimental.transforms.",
    "fastmcp.server.middleware.tool_injection",
    "fastmcp.server.transforms.",
)


def lacks_access_token(error: BaseException) -> bool:
    """Tell whether FastMCP could not fill in a parameter from the access token, because there is none."""
    return isinstance(error, RuntimeError) and raised_by_fastmcp(error, _DEPENDENCIES) and _says_no_token(error)


def _says_no_token(error: BaseException) -> bool:
    cause = error.__cause__ or error
    return raised_by_fastmcp(cause, _DEPENDENCIES) and str(cause).startswith("No access token")


_DEPENDENCIES: Final = "fastmcp.server.dependencies"


def is_tool_timeout(error: BaseException) -> bool:
    """Tell whether `error` is FastMCP's report that a tool exceeded its `timeout=`."""
    return (
        isinstance(error, MCPError)
        and error.error.code == _TIMEOUT_CODE
        and raised_by_fastmcp(error, "fastmcp.tools.function_tool")
    )
