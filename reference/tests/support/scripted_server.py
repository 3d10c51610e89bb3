"""The one scripted server of the tests: its tools do what a script of acts says.

It stands in both places that the client has for a server in the same process: behind `AIClient` as the application's
own object (`discover_tools`, `execute_tool_call`), and directly below the call pipeline, without a connection.

An act is what a tool does with a call:

- a `ToolResponse`, or another object with `to_xml`, or an `ErrorInfo`: the answer, sent as a document;
- a text: the same, where the server says that it speaks XMCP; else the text itself is returned;
- a pair of one of these and a value: the same, with the value as structured content;
- `Raw(text)`: an answer of this text and nothing else, for what no reader understands;
- an exception: the call fails with it, as where a connection is lost;
- `clock.never`: there is no answer, ever;
- `Reporting(act, *reports)`: reports of progress, and then an act;
- `in_turn(...)`: the first act for the first call, and so on; the last one is repeated;
- a function of the arguments, sync or async: any of the above, or any other value, which is returned unchanged.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import mcp_types as mt

from xmcp.wire import ErrorInfo, ToolResponse
from xmcp_models.registry import TOOL_META_KEY

Act: TypeAlias = Any


@dataclass(frozen=True)
class Raw:
    """An answer whose one text block is `text`."""

    text: str


class Reporting:
    """Reports of progress, each a `progress`, a `total` and a message, as far as there are; and then an act."""

    def __init__(self, act: Act, *reports: tuple[Any, ...]) -> None:
        self.act, self.reports = act, reports


def in_turn(*acts: Act) -> Callable[[Any], Act]:
    """Return an act that is each of `acts` in turn, and the last of them from then on."""
    left = list(acts)
    return lambda _: left.pop(0) if len(left) > 1 else left[0]


class ScriptedServer:
    """A server whose tools do what their acts say.

    Args:
        tools: The act of each tool, by its name.
        name: The name the server gives itself; None: it has none.
        speaks_xmcp: Whether texts are sent as documents; None: it does not say, and they are not.
        listing: What `discover_tools` does: an act whose answer is a list of tools. By default, the tools.
        delays: For one call after the other, taken from the end: how many others have their turn before the act.
        described: For a tool's name, members of its `mcp_types.Tool`; `metadata` stands for XMCP's own in `_meta`.
    """

    named = False

    def __init__(
        self,
        tools: Mapping[str, Act],
        name: str | None = "stand_in",
        *,
        speaks_xmcp: bool | None = True,
        listing: Act = None,
        delays: Sequence[int] = (),
        **described: Mapping[str, Any],
    ) -> None:
        if name is not None:
            self.name: Any = name
        if speaks_xmcp is not None:
            self.speaks_xmcp = speaks_xmcp
        self.identity = name
        self.acts = dict(tools)
        self.discovers = listing
        self._delays = list(delays)
        self._described = described
        self.calls: list[tuple[str, dict[str, Any]]] = []
        """Name and arguments of each call, as they came."""
        self.called = asyncio.Event()
        self.running = 0
        self.most = 0
        """The highest number of calls that were running at the same time."""

    def __repr__(self) -> str:  # what a failing property test shows
        return f"ScriptedServer({[*self.acts]}, delays={self._delays})"

    @property
    def listing(self) -> list[mt.Tool]:
        """The tools that have an act, as the server describes them."""
        return [self._tool(name, **self._described.get(name, {})) for name in self.acts]

    def _tool(self, name: str, metadata: Mapping[str, Any] | None = None, **fields: Any) -> mt.Tool:
        meta = {"_meta": {TOOL_META_KEY: dict(metadata)}} if metadata else {}
        return mt.Tool.model_validate({"name": name, "inputSchema": {"type": "object"}, **fields, **meta})

    def count(self, tool: str) -> int:
        """Return how often a tool was called."""
        return sum(name == tool for name, _ in self.calls)

    async def discover_tools(self) -> Any:
        """Return what the listing's act says, else the tools that have an act."""
        listing = await _performed(self.discovers, None)
        return self.listing if listing is None else listing

    async def execute_tool_call(self, tool_name: str, arguments: dict[str, Any], on_progress: Any = None) -> Any:
        """Do what the tool's act says."""
        self.calls.append((tool_name, arguments))
        self.called.set()
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            for _ in range(self._delays.pop() if self._delays else 0):
                await asyncio.sleep(0)
            act = self.acts[tool_name]
            if isinstance(act, Reporting):
                for report in act.reports:
                    on_progress(*report)
                act = act.act
            return self._written(tool_name, await _performed(act, arguments))
        finally:
            self.running -= 1

    def report_missing_tool(self) -> None:
        """Note nothing: the list of this server is what it is."""

    def _written(self, tool_name: str, answer: Any) -> Any:
        structured = None
        if isinstance(answer, tuple):
            answer, structured = answer
        if isinstance(answer, Raw):
            return _result(answer.text, structured)
        if isinstance(answer, ErrorInfo):
            answer = ToolResponse(tool_name, error=answer)
        if isinstance(answer, str) and getattr(self, "speaks_xmcp", False):
            answer = ToolResponse(tool_name, answer)
        if hasattr(answer, "to_xml"):
            return _result(answer.to_xml(), structured, is_error=answer.error is not None)
        return answer


async def _performed(act: Act, arguments: Any) -> Any:
    while callable(act):
        act = act(arguments)
        if inspect.isawaitable(act):
            act = await act
    if isinstance(act, BaseException):
        raise act
    return act


def _result(text: str, structured: Any, *, is_error: bool = False) -> mt.CallToolResult:
    content: list[Any] = [mt.TextContent(type="text", text=text)]
    return mt.CallToolResult(content=content, structured_content=structured, is_error=is_error)
