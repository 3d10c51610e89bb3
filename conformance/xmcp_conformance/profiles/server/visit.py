"""Visit a server: call its tools, with right arguments and with wrong ones, and keep the answers. Nothing is judged.

The calls are made as a client that declares nothing, as most hosts are, and again as one that declares the extension
where the server announces it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial
from typing import Any, Final

from xmcp_conformance.core.untrusted_text import quoted
from xmcp_conformance.hosts.answers import Answer, Case, Visit, VisitedTool
from xmcp_conformance.reader import read
from xmcp_models.registry import DISPLAY_META_KEY, EXTENSION_ID

from .arguments import readable, valid
from .bounded_wire import Stray
from .call_plan import NO_SUCH_TOOL
from .catalogue import Catalogue, ListedTool, populated_parameters
from .checks.plain_results import begins_a_document
from .clients import ClientKind
from .exchange import Exchange, ToolCall
from .input_schema import without
from .peers import Peer, PeerUnavailable
from .refusals import refusals
from .server_under_test import Session, connect

EXAMPLES: Final = 4
"""Maximum number of generated arguments that are tried until a call succeeds."""

SHOWN: Final = "asked to show it to the person"
NO_TOOL: Final = "a tool that does not exist"

_SEED: Final = 20261123


@dataclass(frozen=True, slots=True)
class VisitOptions:
    """What to call. Times are in seconds.

    Attributes:
        allow_writes: also call tools that are not marked read-only.
        tools: only the tools with these names; all if empty.
        arguments: the arguments of every call, instead of generated ones.
        era: `newest` that the server speaks, or `handshake`.
        connect_timeout: for each of at most two connections.
        call_timeout: for each call; a tool that does not answer in time is not called again.
        most_tools: maximum number of tools that are called.
    """

    allow_writes: bool = False
    tools: tuple[str, ...] = ()
    arguments: dict[str, Any] | None = None
    era: str = "newest"
    connect_timeout: float = 30.0
    call_timeout: float = 30.0
    most_tools: int = 40


class NoSuchTool(Exception):
    """The server has no tool with the name that was asked for. The message names those that it has."""


async def visit(
    peer: Peer,
    options: VisitOptions,
    calls: Mapping[str, list[Case]] | None = None,
    progress: Callable[[str], None] = lambda _: None,
    connecting: Callable[[Peer], None] = lambda _: None,
) -> Visit:
    """Visit a server.

    Args:
        peer: the server.
        options: what to call.
        calls: for each tool the calls to make, instead of those that are found here: the cases of another visit.
        progress: gets the name of each tool before it is called.
        connecting: called before the server is started or connected to, which happens at most twice.

    Raises:
        PeerUnavailable: the server cannot be reached, or its list of tools cannot be read. Of a server that cannot be
            reached a second time, the answers to a client that declares the extension say so.
        NoSuchTool: it does not have a tool that `options` names.
    """
    visited = Visit(str(peer), peer.transport)
    stray = Stray()
    connected = partial(
        connect,
        peer,
        options.era,
        connect_timeout=options.connect_timeout,
        call_timeout=options.call_timeout,
        stray=stray,
    )
    connecting(peer)
    async with connected(kind=ClientKind.PLAIN) as session:
        catalogue = await session.catalogue()
        visited.protocol_version = catalogue.protocol_version
        visited.announces = EXTENSION_ID in catalogue.extensions
        chosen = _chosen(catalogue, options)
        visited.left_out = max(0, len(chosen) - options.most_tools)
        caller = _Caller(session)
        for tool in chosen[: options.most_tools]:
            progress(tool.name)
            visited.tools.append(await _visit_tool(caller, tool, options, calls))
        if not options.tools:
            answer = await caller.answer(NO_SUCH_TOOL, {})
            visited.tools.append(VisitedTool(NO_SUCH_TOOL, [Case(NO_SUCH_TOOL, {}, NO_TOOL, answer)], exists=False))
    if visited.announces:
        cases = [case for visited_tool in visited.tools for case in visited_tool.cases]
        connecting(peer)
        try:
            async with connected(kind=ClientKind.DECLARED) as session:
                caller = _Caller(session)
                for case in cases:
                    progress(case.tool)
                    case.declared = await caller.answer(case.tool, case.arguments, view=case.plain.view)
        except PeerUnavailable as error:  # such as of a server that takes one connection: half of the answers are there
            visited.declared_failure = str(error)
            for case in cases:
                case.declared = case.declared or Answer(case.tool, None, failure=f"not asked again: {error}")
    visited.note = " ".join(stray.notes())
    return visited


def _chosen(catalogue: Catalogue, options: VisitOptions) -> list[ListedTool]:
    chosen = [tool for tool in catalogue.tools if not options.tools or tool.name in options.tools]
    missing = [name for name in options.tools if name not in {tool.name for tool in chosen}]
    if missing:
        names = ", ".join(quoted(tool.name) for tool in catalogue.tools[:20]) or "none"
        near = get_close_matches(missing[0], [tool.name for tool in catalogue.tools], n=1)
        meant = f" Did you mean `{quoted(near[0])}`?" if near else ""
        raise NoSuchTool(f"the server has no tool `{quoted(missing[0])}`.{meant} It has: {names}")
    return chosen


class _Caller:
    """Makes calls; a tool that did not answer in time is not called again, nor is a server that is gone."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._silent: dict[str, str] = {}
        self._gone = ""

    async def answer(self, tool: str, arguments: dict[str, Any], *, view: bool = False) -> Answer:
        """Call a tool; nothing that the server does raises an exception. `view`: the tool has a view of MCP Apps."""
        reason = self._gone or self._silent.get(tool)
        if reason:
            return Answer(tool, None, failure=f"{reason}, in a call before this one")
        exchange = await self._session.call(ToolCall(None, tool, arguments))
        if exchange.timed_out:
            self._silent[tool] = str(exchange.lost)
        else:
            self._gone = exchange.lost or ""
        return _answer(exchange, view)


async def _visit_tool(
    caller: _Caller, tool: ListedTool, options: VisitOptions, calls: Mapping[str, list[Case]] | None
) -> VisitedTool:
    visited = VisitedTool(tool.name)
    if not (tool.read_only or options.allow_writes):
        visited.not_called = "not called: not marked read-only; --allow-writes calls it"
        return visited
    view = _has_view(tool)
    if calls is not None:
        for case in calls.get(tool.name, ()):
            answer = await caller.answer(tool.name, case.arguments, view=view)
            visited.cases.append(Case(tool.name, case.arguments, case.title, answer))
        visited.not_called = "" if visited.cases else "not called: the first server was not asked for it"
        return visited
    populated = populated_parameters(tool)
    tries = [options.arguments] if options.arguments is not None else _right(without(tool.input_schema, populated))
    for arguments in tries:
        answer = await caller.answer(tool.name, arguments, view=view)
        succeeded = answer.result is not None and not answer.is_error
        if succeeded or not visited.cases:
            visited.cases = [Case(tool.name, arguments, "", answer)]
        if succeeded:
            break
    if not visited.cases:
        visited.not_called = f"not called: no arguments fit its schema; try --tool {quoted(tool.name)} --arguments JSON"
    elif options.arguments is None:
        for title, arguments in _more(tool, visited.cases[0].arguments, populated):
            answer = await caller.answer(tool.name, arguments, view=view)
            visited.cases.append(Case(tool.name, arguments, title, answer))
    return visited


def _right(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield arguments that fit a schema, those that a person understands first."""
    schema = without(schema, ["show_user"])
    first = readable(schema)
    if first is not None:
        yield first
    try:
        yield from valid(schema, EXAMPLES, _SEED)
    except TimeoutError:  # a regular expression that backtracks
        return


def _more(tool: ListedTool, right: dict[str, Any], populated: list[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the title and arguments of a call that asks for the display, if there is one, and of one that is wrong."""
    if tool.takes_show_user and tool.displays:
        yield SHOWN, {**right, "show_user": True}
    for refusal in refusals(without(tool.input_schema, populated), right):
        yield f"wrong arguments: {refusal.fault}", refusal.arguments
        return


def _has_view(tool: ListedTool) -> bool:
    """Return whether a tool names a view of MCP Apps (SEP-1865), in the nested or in the older flat form."""
    ui = tool.meta.get("ui")
    return "ui/resourceUri" in tool.meta or (isinstance(ui, dict) and "resourceUri" in ui)


def _answer(exchange: Exchange, view: bool) -> Answer:
    """Return what a server answered, with the display in it if there is one."""
    result, text, tool = exchange.result, exchange.text, exchange.call.name
    if result is None:
        return Answer(tool, None, failure=exchange.malformed or exchange.ended_with)
    if text is not None and begins_a_document(text):
        document = read(text).document
        return Answer(tool, result, display=document.display if document else None, is_document=True, view=view)
    meta = result.get("_meta")
    return Answer(tool, result, display=meta.get(DISPLAY_META_KEY) if isinstance(meta, dict) else None, view=view)
