"""Mutants of the handling of calls in a turn: arguments, dependencies, names, readings."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from mutants import breaks, put_first

from xmcp.chat import client_made_errors
from xmcp.chat.errors import CallFailed
from xmcp.client import ai_client
from xmcp.client.calls import attempt, content_blocks, context_budget, server_results
from xmcp.client.calls.active_call import ActiveCall, Next
from xmcp.client.calls.server_results import Reading
from xmcp.client.loop.chat import Chat
from xmcp.client.loop.turn import ToolTurn
from xmcp.client.servers import pool, pool_member, tool_client_adapter
from xmcp.client.servers.listing_limits import Kept
from xmcp.client.slots import Slots
from xmcp.client.tools import catalogue, dependencies, names, schemas
from xmcp.client.tools.dependencies import FilledArguments
from xmcp.wire import ErrorInfo, ToolResponse
from xmcp_models.registry import TOOL_META_KEY


@breaks("XMCP-CLI-010")
def tries_what_cannot_be_read(patch: pytest.MonkeyPatch) -> None:
    """Calls the tool without arguments where the model wrote none that can be read, before it says so."""

    async def trying(call: ActiveCall, proceed: Next) -> Reading:
        if isinstance(call.request.arguments, ErrorInfo):
            await call.entry.server.execute_tool_call(call.entry.tool, {})
        return await proceed(call)

    put_first(patch, trying)


@breaks("XMCP-CLI-011")
def guesses_tools(patch: pytest.MonkeyPatch) -> None:
    """Calls the first tool there is where the model named none that it was offered."""
    init = Chat.__init__

    class Guessing(dict[str, Any]):
        def get(self, name: str, default: Any = None) -> Any:
            own = name.startswith("__")
            return super().get(name) or (default if own else next(iter(self.values()), default))

    def guessing(chat: Chat, settings: Any, pipeline: Any, tools: Any, *rest: Any) -> None:
        async def guessed() -> Any:
            offered = await tools()
            return replace(offered, entries=Guessing(offered.entries))

        init(chat, settings, pipeline, guessed, *rest)

    patch.setattr(Chat, "__init__", guessing)


@breaks("XMCP-CLI-012")
def drops_empty_arguments(patch: pytest.MonkeyPatch) -> None:
    """Leaves out arguments that are null."""

    async def dropping(call: ActiveCall, proceed: Next) -> Reading:
        call.state.arguments = {name: value for name, value in call.state.arguments.items() if value is not None}
        return await proceed(call)

    put_first(patch, dropping)


@breaks("XMCP-CLI-014")
def tells_the_model_its_own_exception(patch: pytest.MonkeyPatch) -> None:
    """Puts the text of an exception of its own into an error for the model."""
    execute = tool_client_adapter.ToolClientAdapter.execute_tool_call

    async def telling(server: Any, *given: Any) -> Any:
        try:
            return await execute(server, *given)
        except tool_client_adapter.CallFailed as exc:
            if exc.__cause__ is not None and not isinstance(exc.__cause__, tool_client_adapter.CallFailed):
                exc.error = replace(exc.error, message=f"{exc.error.message} {exc.__cause__}")
            raise

    patch.setattr(tool_client_adapter.ToolClientAdapter, "execute_tool_call", telling)


@breaks("XMCP-CLI-020")
def runs_one_after_the_other(patch: pytest.MonkeyPatch) -> None:
    """Runs the calls of a turn one after the other."""
    locks: defaultdict[Any, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def one(call: ActiveCall, proceed: Next) -> Reading:
        async with locks[call.state.chat.chat_id, call.state.turn]:
            return await proceed(call)

    put_first(patch, one)


@breaks("XMCP-CLI-021")
def has_no_limit(patch: pytest.MonkeyPatch) -> None:
    """Runs any number of calls at the same time."""
    patch.setattr(ai_client, "Slots", lambda _: Slots(10_000))


@breaks("XMCP-CLI-105")
def makes_every_call_of_a_turn(patch: pytest.MonkeyPatch) -> None:
    """Makes all calls of a turn, however many."""
    init = ToolTurn.__init__

    def unlimited(turn: ToolTurn, *args: Any, **options: Any) -> None:
        init(turn, *args, **{**options, "max_calls": 10_000})

    patch.setattr(ToolTurn, "__init__", unlimited)


@breaks("XMCP-CLI-106")
def leaves_out_tools_in_silence(patch: pytest.MonkeyPatch) -> None:
    """Says nothing of the tools that it leaves out."""
    patch.setattr(Kept, "warnings", lambda kept, server: iter(()))


@breaks("XMCP-CLI-117")
def has_one_queue_for_all_tenants(patch: pytest.MonkeyPatch) -> None:
    """Gives slots to calls in the order in which they came, whoever made them."""
    take = Slots.take
    patch.setattr(Slots, "take", lambda slots, _: take(slots, None))


@breaks("XMCP-CLI-022")
def one_failure_fails_the_turn(patch: pytest.MonkeyPatch) -> None:
    """Does not make calls that come after others in their chains when an unrelated call has failed."""
    handed_on = dependencies.fill_arguments

    def unforgiving(call: int, given: Any, entries: Any, graph: Any, known: Any, hidden: Any = ()) -> Any:
        before = dependencies.nearest_first(call, lambda place: graph[place])
        made = [p for p, entry in enumerate(entries) if entry is not None and p != call and not graph[p]]
        if any(known[p] is None and p not in before for p in made):
            return ErrorInfo("DEPENDENCY_FAILED", "Another call of the turn failed.")
        return handed_on(call, given, entries, graph, known, hidden)

    patch.setattr(dependencies, "fill_arguments", unforgiving)


@breaks("XMCP-TOL-012")
def does_not_wait(patch: pytest.MonkeyPatch) -> None:
    """Starts calls of `hasty` before those that it depends on have ended."""
    predecessors = dependencies.predecessors

    def hasty(entries: Any) -> Any:
        rows = zip(entries, predecessors(entries), strict=True)
        return tuple(() if entry is not None and entry.tool == "hasty" else row for entry, row in rows)

    patch.setattr(dependencies, "predecessors", hasty)


@breaks("XMCP-CLI-030")
def hands_on_no_numbers(patch: pytest.MonkeyPatch) -> None:
    """Hands on no member of a result that is a number."""
    has_member = dependencies._has_member

    def texts_only(result: Any, name: str) -> bool:
        return has_member(result, name) and not isinstance(result.value[name], int)

    patch.setattr(dependencies, "_has_member", texts_only)


@breaks("XMCP-CLI-031")
def hands_on_members_only(patch: pytest.MonkeyPatch) -> None:
    """Hands on members of results only, whatever a tool provides."""
    handed_on = dependencies.fill_arguments

    def members(call: int, given: Any, entries: Any, graph: Any, *rest: Any) -> Any:
        bare = [entry and replace(entry, provides=None) for entry in entries]
        return handed_on(call, given, bare, graph, *rest)

    patch.setattr(dependencies, "fill_arguments", members)


@breaks("XMCP-CLI-120")
def hands_on_nothing_without_a_name(patch: pytest.MonkeyPatch) -> None:
    """Hands on members of results and what a tool provides, and nothing else."""

    def nothing(_entry: Any, arguments: Any, *_: Any) -> FilledArguments:
        return FilledArguments(dict(arguments), {})

    patch.setattr(dependencies, "_filled_by_the_only_predecessor", nothing)


@breaks("XMCP-CLI-032")
def prefers_the_farthest(patch: pytest.MonkeyPatch) -> None:
    """Takes a value from the farthest predecessor that has one."""
    nearest_first = dependencies.nearest_first
    patch.setattr(dependencies, "nearest_first", lambda *args: dict(reversed(nearest_first(*args).items())))


@breaks("XMCP-CLI-033")
def trusts_what_the_model_wrote(patch: pytest.MonkeyPatch) -> None:
    """Keeps what the model wrote where a value is handed on."""
    handed_on = dependencies.fill_arguments

    def trusting(call: int, given: Mapping[str, Any], *rest: Any) -> Any:
        handed = handed_on(call, given, *rest)
        return (
            FilledArguments({**handed.arguments, **given}, handed.sources)
            if isinstance(handed, FilledArguments)
            else handed
        )

    patch.setattr(dependencies, "fill_arguments", trusting)


@breaks("XMCP-CLI-034")
def hands_on_the_first_of_several(patch: pytest.MonkeyPatch) -> None:
    """Hands on the result of the first of several calls of a tool."""

    def first(row: Any, entries: Any, known: Any) -> list[int]:
        firsts: dict[str, int] = {}
        for place in row:
            if known[place] is not None:
                firsts.setdefault(entries[place].tool, place)
        return [*firsts.values()]

    patch.setattr(dependencies, "_successes", first)


@breaks("XMCP-CLI-035")
def calls_in_spite_of_a_failed_predecessor(patch: pytest.MonkeyPatch) -> None:
    """Makes a call although every call of a tool that it depends on has failed."""
    patch.setattr(dependencies, "_all_failed", lambda row, entries, known: None)


@breaks("XMCP-CLI-036")
def hands_on_what_does_not_fit(patch: pytest.MonkeyPatch) -> None:
    """Makes a call with a handed-on value that does not fit its parameter."""
    patch.setattr(dependencies, "_refused", lambda schema, values: {})


@breaks("XMCP-CLI-037")
def demands_what_is_provided(patch: pytest.MonkeyPatch) -> None:
    """Lists a parameter as one that the model has to give although a predecessor provides it."""
    less = schemas._asking_less
    patch.setattr(schemas, "_asking_less", lambda schema, optional: less(schema, ()))


@breaks("XMCP-CLI-090")
def drops_a_tool_whose_name_is_taken(patch: pytest.MonkeyPatch) -> None:
    """Offers only the first of two tools that have the same name."""
    expose = names.expose_each

    def dropping(listings: Any, *args: Any, **kwargs: Any) -> Any:
        return [
            ([e for e in exposed if listings[e.listing].named or e.name == names.legal_name(e.tool)], warnings)
            for exposed, warnings in expose(listings, *args, **kwargs)
        ]

    patch.setattr(catalogue, "expose_each", dropping)


@breaks("XMCP-CLI-092")
def names_with_one_underscore(patch: pytest.MonkeyPatch) -> None:
    """Puts one underscore between the name of a server and that of its tool."""
    build = catalogue.build

    def building(given: Any, version: int, *args: Any, **kwargs: Any) -> Any:
        built = build(given, version, *args, **kwargs)
        entries = {}
        tools = []
        for tool in built.schemas.tools:
            name = tool["function"]["name"]
            entry = built.entries.get(name)
            if entry is not None and entry.server.named:
                name = name.replace("__", "_", 1)
                entry = replace(entry, name=name)
                tool = {**tool, "function": {**tool["function"], "name": name}}
            if entry is not None:
                entries[name] = entry
            tools.append(tool)
        return replace(built, entries=entries, schemas=type(built.schemas).of(tools, version))

    patch.setattr(pool, "build", building)


@breaks("XMCP-CLI-093")
def calls_by_the_models_name(patch: pytest.MonkeyPatch) -> None:
    """Calls a tool at its server by the name that the model knows."""

    async def naming_it(call: ActiveCall, proceed: Next) -> Reading:
        call.request = replace(call.request, entry=replace(call.entry, tool=call.name))
        return await proceed(call)

    put_first(patch, naming_it)


@breaks("XMCP-CLI-094")
def one_server_down_is_none_up(patch: pytest.MonkeyPatch) -> None:
    """Offers no tools at all where one server cannot be reached."""
    build = catalogue.build
    discover = tool_client_adapter.ToolClientAdapter.discover_tools
    down: list[Any] = []

    async def discovering(server: Any) -> Any:
        try:
            found = await discover(server)
        except Exception:
            down.append((asyncio.get_running_loop(), server))
            raise
        down[:] = [(loop, lost) for loop, lost in down if lost is not server]
        return found

    def building(given: Any, *args: Any, **kwargs: Any) -> Any:
        is_down = any(loop is asyncio.get_running_loop() for loop, _ in down)
        return build([] if is_down else given, *args, **kwargs)

    patch.setattr(tool_client_adapter.ToolClientAdapter, "discover_tools", discovering)
    patch.setattr(pool, "build", building)


@breaks("XMCP-MCP-010")
def reads_documents_from_anybody(patch: pytest.MonkeyPatch) -> None:
    """Reads the text of every server as a document where it is one."""
    read = server_results.read

    def credulous(result: Any, name: str, *, speaks_xmcp: bool) -> Reading:
        if not speaks_xmcp and result.content and result.content[0].text.endswith("</tool_response>"):
            speaks_xmcp = True
        return read(result, name, speaks_xmcp=speaks_xmcp)

    patch.setattr(server_results, "read", credulous)


@breaks("XMCP-MCP-043")
def reads_plain_results_as_documents(patch: pytest.MonkeyPatch) -> None:
    """Reads a text that looks like a document as one, whatever the server says of the form of its result."""
    read = server_results.read

    def credulous(result: Any, name: str, *, speaks_xmcp: bool) -> Reading:
        if speaks_xmcp and result.content and result.content[0].text.endswith("</tool_response>"):
            result = result.model_copy(update={"meta": None})
        return read(result, name, speaks_xmcp=speaks_xmcp)

    patch.setattr(server_results, "read", credulous)


@breaks("XMCP-MCP-012")
def takes_garbage_for_an_empty_result(patch: pytest.MonkeyPatch) -> None:
    """Takes a document that cannot be read for a result without text."""
    read = server_results.read

    def lenient(result: Any, name: str, *, speaks_xmcp: bool) -> Reading:
        reading = read(result, name, speaks_xmcp=speaks_xmcp)
        error = reading.response.error
        return Reading(ToolResponse(name, "")) if error is not None and error.code == "INVALID_XML" else reading

    patch.setattr(server_results, "read", lenient)


@breaks("XMCP-MCP-052")
def takes_a_failure_without_an_error_for_a_result(patch: pytest.MonkeyPatch) -> None:
    """Overlooks `isError` beside a document that has no error."""
    read = server_results.read

    def credulous(result: Any, name: str, *, speaks_xmcp: bool) -> Reading:
        seen = result.model_copy(update={"is_error": False}) if speaks_xmcp else result
        return read(seen, name, speaks_xmcp=speaks_xmcp)

    patch.setattr(server_results, "read", credulous)


@breaks("XMCP-MCP-013")
def shows_the_model_garbage(patch: pytest.MonkeyPatch) -> None:
    """Puts the raw text of a document that cannot be read into the error for the model."""
    read = server_results.read

    def raw(result: Any, name: str, *, speaks_xmcp: bool) -> Reading:
        reading = read(result, name, speaks_xmcp=speaks_xmcp)
        error = reading.response.error
        if error is None or error.code != "INVALID_XML":
            return reading
        return server_results.failed(name, replace(error, message=f"{error.message} {result.content[0].text}"))

    patch.setattr(server_results, "read", raw)


@breaks("XMCP-RSP-072")
def refuses_a_document_for_its_display(patch: pytest.MonkeyPatch) -> None:
    """Takes a call as failed because the display of its document is none."""
    decode = server_results.decode
    patch.setattr(server_results, "decode", lambda text, bad_display: decode(text))


@breaks("XMCP-MCP-011")
def takes_the_text_of_others_apart(patch: pytest.MonkeyPatch) -> None:
    """Leaves the white space at the ends of a stranger's text out, and everything in angle brackets."""
    read_plain = server_results._read_plain

    def stripped(result: Any, name: str, text: str) -> ToolResponse:
        response = read_plain(result, name, text)
        if response.llm_output and response.llm_output.startswith("<"):
            return ToolResponse(name, "".join(part.partition(">")[2] for part in response.llm_output.split("<")))
        return response

    patch.setattr(server_results, "_read_plain", stripped)


@breaks("XMCP-MCP-040")
def does_not_read_the_errors_of_others(patch: pytest.MonkeyPatch) -> None:
    """Takes each failure of a server without the extension for one without a code."""
    patch.setattr(server_results, "error_in", lambda structured: None)


@breaks("XMCP-MCP-041")
def takes_a_refusal_for_a_failure_of_the_tool(patch: pytest.MonkeyPatch) -> None:
    """Reads each protocol error as one of the tool."""
    patch.setattr(client_made_errors, "refused_arguments", client_made_errors.refused_by_server)


@breaks("XMCP-MCP-045")
def tells_the_model_what_is_for_the_user(patch: pytest.MonkeyPatch) -> None:
    """Gives the model the content of what the person is shown, instead of a reference."""
    patch.setattr(context_budget, "_reference_line", lambda display: str(display.payload))


@breaks("XMCP-MCP-046")
def shows_nobody_what_is_for_the_user(patch: pytest.MonkeyPatch) -> None:
    """Leaves out the blocks that are for the user alone."""
    patch.setattr(content_blocks, "_words", lambda block: None)


@breaks("XMCP-TOL-003")
def refuses_metadata_it_does_not_know(patch: pytest.MonkeyPatch) -> None:
    """Does not offer a tool whose metadata has a member that it does not know."""
    build = catalogue.build
    known = {"display", "depends_on", "provides", "server_populated", "xml_formatter", "cacheable", "wrapped_in"}

    def strict(given: Any, *args: Any, **kwargs: Any) -> Any:
        kept = [
            (server, [tool for tool in tools if set((tool.meta or {}).get(TOOL_META_KEY, {})) <= known])
            for server, tools in given
        ]
        return build(kept, *args, **kwargs)

    patch.setattr(pool, "build", strict)


@breaks("XMCP-CLI-038")
def starts_with_a_circle(patch: pytest.MonkeyPatch) -> None:
    """Starts although tools depend on each other in a circle."""
    patch.setattr(pool_member, "circle", lambda graph: [])


@breaks("XMCP-CLI-091")
def gives_a_name_to_another_tool(patch: pytest.MonkeyPatch) -> None:
    """Gives the name of a tool that has gone to another one."""
    expose = names.expose_each
    patch.setattr(catalogue, "expose_each", lambda listings, *args, **kwargs: expose(listings))


@breaks("XMCP-CLI-121")
def ignores_that_a_tool_is_unknown(patch: pytest.MonkeyPatch) -> None:
    """Lists no tools when a server does not know one."""
    patch.setattr(attempt, "says_that_the_tool_is_missing", lambda error: False)


@breaks("XMCP-CLI-122")
def lists_tools_only_when_it_must(patch: pytest.MonkeyPatch) -> None:
    """Lists no tools at regular intervals."""

    async def never(_: Any) -> None:
        """End at once."""

    patch.setattr(pool.Servers, "_refresh_regularly", never)


@breaks("XMCP-CLI-096")
def forgets_a_tool_in_the_middle_of_a_turn(patch: pytest.MonkeyPatch) -> None:
    """Refuses a call because its tool has gone since the model asked for it."""

    async def forgetful(call: ActiveCall, proceed: Next) -> Reading:
        if call.entry.tool not in call.entry.server._tools.tools:  # type: ignore[attr-defined]
            return server_results.failed(call.name, client_made_errors.unknown_tool(call.name, []))
        return await proceed(call)

    put_first(patch, forgetful)


@breaks("XMCP-CLI-125")
def says_that_the_tool_failed_where_the_connection_did(patch: pytest.MonkeyPatch) -> None:
    """Answers a call whose connection was lost as if its tool had failed."""
    lost = client_made_errors.tool_client_failed
    wrong = {"code": "TOOL_ERROR", "category": "internal"}
    patch.setattr(client_made_errors, "tool_client_failed", lambda server: replace(lost(server), **wrong))


@breaks("XMCP-CLI-095")
def forgets_a_server_that_was_down(patch: pytest.MonkeyPatch) -> None:
    """Never lists the tools of a server again that could not be reached once."""
    discover = tool_client_adapter.ToolClientAdapter.discover_tools
    down: list[Any] = []

    async def forgetting(server: Any) -> Any:
        if any(one is server for one in down):
            raise CallFailed(client_made_errors.tool_client_failed(server.name), transport=True)
        try:
            return await discover(server)
        except Exception:
            down.append(server)
            raise

    patch.setattr(tool_client_adapter.ToolClientAdapter, "discover_tools", forgetting)
