"""One run: make the calls of a plan over one session as one kind of client, and judge every answer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from functools import partial

from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from xmcp_conformance.core.events import (
    CallMade,
    Emit,
    Noted,
    Observed,
    OtherVersions,
    RunEnded,
    RunStarted,
    ToolListed,
)
from xmcp_conformance.core.observation import Observation
from xmcp_conformance.core.untrusted_text import quoted
from xmcp_conformance.reader import Document
from xmcp_models.registry import VERSION

from .bounded_wire import Stray
from .call_plan import Batch, Learned
from .calling import Caller, asks_to_wait
from .catalogue import Catalogue, ListedTool, advice, announced_versions
from .checks.display_view import names_view, view
from .checks.displays import listed_again
from .checks.echoes import Echo, echoes
from .checks.forms_compared import Told, told
from .checks.mcp_results import repeats_its_text
from .checks.other_clients import Shape, no_documents, other_version, shape
from .checks.plain_results import begins_a_document
from .checks.required_form import RequiredForm, required_form
from .checks.tool_metadata import wrapped_for_every_client
from .clients import LEAST, ClientKind
from .command_process import StartedAhead
from .exchange import Exchange, Intent, ReadView, ToolCall, Twin, call_made
from .fixture.run import NAME as FIXTURE
from .fixture.run import RESPONSES_FOR_AN_EXAMPLE, Fixture, check_fixture, tool_of
from .input_schema import Arguments
from .judge import catalogue_observations, exchange_observations, limited_observations
from .options import Options
from .pace import Pace
from .peers import Peer, PeerUnavailable
from .server_under_test import Session
from .shrinking import shrunk
from .text_changes import says_cut

_MUCH = 4
_MOST_NAMED = 10
"""Number of announced versions that are named."""
_OF_THE_LIMIT = "XMCP-MCP-051"
_TIMES = 5
"""How often a call is made again whose answer tells against the server only if it is the same each time."""
_LONG = 8_192
"""Number of characters from which a text is kept for a later comparison only while there is room."""
_ROOM = 4 << 20
"""The number of characters of long texts that are kept: those of about sixty tools, which are 16 MB."""
_FEW = 3  # number of tools, and of displays, that a server with another wire is asked for as a plain client


@dataclass(slots=True)
class Seen:
    """What the run as a declaring client showed, for the plan of that run and for the run as a plain client."""

    echoes: list[Echo] = field(default_factory=list)
    told: list[Told] = field(default_factory=list)
    negotiates: bool = False
    unread: bool = False
    """Whether a client that declares the extension got an answer that could not be read."""
    succeeded: set[str] = field(default_factory=set)
    """The names of the tools of which a call succeeded."""
    large: dict[tuple[str, bool, bool, bool], ToolCall] = field(default_factory=dict)
    """For each tool, the first call that was answered with a document larger than `LEAST`: a result, and an error; one
    that is much larger, and one that is not; one whose text is larger too, and one whose text is not."""
    silent: set[str] = field(default_factory=set)
    """The names of the tools that did not answer in time, in the other era too."""
    learned: Learned = field(default_factory=Learned)
    shrunk: set[str] = field(default_factory=set)
    """The requirements of which the tool of the suite showed a fault that was made small."""
    declared: dict[str, ListedTool] = field(default_factory=dict)
    """The tools as they are listed for a client of which the server knows that it declared the extension."""
    in_any_era: dict[str, ListedTool] = field(default_factory=dict)
    """The same, as they were listed in the first era; shared by the eras, of which the first one lists first."""
    made: list[Batch] = field(default_factory=list)
    twins: dict[str, Twin] = field(default_factory=dict)
    room: int = _ROOM
    plain: dict[str, Shape] = field(default_factory=dict)
    """What a client that declares nothing got, by the keys of the calls."""
    views: set[str] = field(default_factory=set)
    """The protocol versions in which a tool names a view of MCP Apps; shared by the eras."""
    samples: dict[tuple[str, bool], ToolCall] = field(default_factory=dict)
    """For each tool, its first call that was answered, and the first whose answer had a display that was asked for."""

    def kept(self, batches: Iterable[Batch]) -> Iterator[Batch]:
        """Yield the batches of a plan, and keep those that were made."""
        for batch in batches:
            self.made.append(batch)
            yield batch

    def simplest(self) -> tuple[list[ToolCall], list[ToolCall]]:
        """Return a call of a few tools, and of a few tools one that asks for a display."""
        of = {shows: [call for key, call in self.samples.items() if key[1] is shows] for shows in (False, True)}
        return of[False][:_FEW], of[True][:_FEW]

    def few(self) -> list[ToolCall]:
        """Return a call of a few tools, and of a few more that say what they filled in.

        Of a few that have displays, return a call for it, one with `null`, and one without.
        """
        first, asking = self.simplest()
        others = [call for key, call in self.samples.items() if not key[1]][_FEW:]
        filled = [call for call in others if call.key in self.twins and self.twins[call.key].populates]
        neither = [replace(call, arguments={**call.arguments, "show_user": None}) for call in asking]
        silent = [replace(call, arguments=_without_switch(call)) for call in asking]
        return [*first, *filled[:_FEW], *asking, *neither, *silent]

    def keep(self, call: ToolCall, document: Document) -> None:
        """Keep what a right call showed."""
        if document.has_display or not call.shows:
            self.samples.setdefault((call.name, call.shows), call)
        if document.error is None and not call.traps:
            self.learned.add_success(call.name, call.arguments)

    def few_large(self) -> list[ToolCall]:
        """Return a few calls with a large result, and a few with a large error, those first that have it every time."""
        results = [call for (_, failed, _, _), call in sorted(self.large.items(), key=_small) if not failed]
        errors = [call for (_, failed, _, _), call in self.large.items() if failed]
        errors.sort(key=lambda call: call.intent is Intent.VALID and call.name in self.succeeded)
        return [*results[: 2 * _FEW], *errors[: 2 * _FEW]]

    def keep_twin(self, exchange: Exchange, document: Document, *, known: bool) -> None:
        """Keep what a plain client, or one that declares a limit, has to be answered to the same call."""
        call, text = exchange.call, document.llm_output or ""
        if exchange.is_busy and call.key in self.twins:
            return  # an answer of a server that was not busy says more
        if len(text) >= _LONG:
            if len(text) > self.room:
                return
            self.room -= len(text)
        echoes = tuple(trap for trap in call.traps if trap in text)
        populates, failed = document.server_populated is not None, document.error is not None
        code = document.error.code if document.error is not None else None
        size = exchange.size if begins_a_document(exchange.text) else 0
        cut = says_cut(exchange.text or "")
        shown, before = document.has_display, self.twins.get(call.key)
        texts = () if before is None else tuple(dict.fromkeys((*before.earlier, before.text or "")))
        earlier = tuple(one for one in texts if one != text)
        self.twins[call.key] = Twin(echoes, populates, failed, document.llm_output, code, size, cut, shown, earlier)
        if known and size > LEAST and not exchange.is_busy:
            small = len((document.llm_output or "").encode()) < LEAST
            self.large.setdefault((call.name, failed, size > _MUCH * LEAST, small), call)


def _without_switch(call: ToolCall) -> Arguments:
    return {name: value for name, value in call.arguments.items() if name != "show_user"}


def _small(entry: tuple[tuple[str, bool, bool, bool], ToolCall]) -> bool:
    """Return whether a large document has a large text too: those that have not come first."""
    return not entry[0][3]


def _is_set() -> asyncio.Event:
    event = asyncio.Event()
    event.set()
    return event


@dataclass(slots=True)
class Run:
    """A peer in one era, as one kind of client."""

    peer: Peer
    era: str
    options: Options
    emit: Emit
    pace: Pace
    """How fast, and for how long, the peer is called, over all runs."""
    record: Callable[[str, str, Exchange], None] | None
    """Gets the version of MCP, the kind of the client and the exchange, for each call that has ended."""
    stray: Stray
    """The lines of a command that are no message, over all runs of it."""
    ahead: StartedAhead
    """Starts the processes of a command, over all runs of it."""
    client: ClientKind = ClientKind.DECLARED
    started: bool = False
    alone: asyncio.Event = field(default_factory=_is_set)
    """Set when no run of the peer in another era goes on."""

    @property
    def name(self) -> str:
        """The name of the run in a report."""
        return ", ".join(filter(None, (self.peer.transport, self.era, self.client.in_words)))

    @property
    def plain(self) -> bool:
        """True as a client that declares nothing."""
        return self.client is ClientKind.PLAIN

    @property
    def knows_the_client(self) -> bool:
        """True where the server has to know what the client declared.

        Over HTTP it need not remember what a client declared with `initialize` (section 6.1).
        """
        return not (self.peer.transport == "http" and self.era in HANDSHAKE_PROTOCOL_VERSIONS)

    def start(self, tools: int = 0) -> None:
        """Say that the run begins."""
        self.started = True
        self.emit(RunStarted(self.name, str(self.peer), self.peer.transport, self.era, self.client.value, tools))

    def note(self, text: str) -> None:
        """Say something that is not a verdict."""
        self.emit(Noted(self.name, text))

    def called(self, exchange: Exchange) -> None:
        """Emit that a call was made, and how it ended."""
        self.emit(call_made(self.name, exchange))

    def _list(self, catalogue: Catalogue) -> None:
        for tool in catalogue.tools:
            called = self.options.calls_tool(tool) or tool.name == FIXTURE
            displays = tool.displays or tool.takes_show_user
            left_out = not self.options.chooses(tool)
            self.emit(ToolListed(self.name, quoted(tool.name), called, displays, left_out))

    def observed(self, observations: Iterable[Observation], call: ToolCall | None = None) -> None:
        """Emit what a check observed, of a call or of what the server lists."""
        said, tool = (str(call), call.of_tool) if call else ("", "")
        for observation in observations:
            request = call.request if call is not None and not observation.ok else None
            self.emit(Observed(observation, self.name, said, tool=tool, request=request))

    def end(self) -> None:
        """Say that the run ended."""
        self.emit(RunEnded(self.name))

    async def judge(self, session: Session, catalogue: Catalogue, calls: Iterable[Batch], seen: Seen) -> bool:
        """Do the run: judge what the peer lists, and every call, and what it lists then.

        Return whether the connection is still there.
        """
        self.era = catalogue.protocol_version
        self.start(len(catalogue.tools))
        declared = self.knows_the_client and not self.plain
        known = self.knows_the_client
        self.observed(catalogue_observations(catalogue, declared=declared, known=known))
        if declared:
            seen.declared = {tool.name: tool for tool in catalogue.tools}
            for listed in catalogue.tools:
                first = seen.in_any_era.setdefault(listed.name, listed)
                self.observed(wrapped_for_every_client(first, listed) if first is not listed else ())
        for listed in catalogue.tools if self.plain else ():
            if listed.name in seen.declared:
                self.observed(wrapped_for_every_client(listed, seen.declared[listed.name]))
        announced = announced_versions(catalogue)
        if announced is not None and VERSION not in announced:
            self.emit(OtherVersions(self.name, tuple(map(quoted, announced[:_MOST_NAMED]))))
        if not self.plain:
            self._list(catalogue)
        if not self.plain and (advised := advice(catalogue)):
            self.note(advised)
        form = required_form(catalogue, declared=not self.plain, known=self.knows_the_client)
        caller = Caller(session, self.note, seen.learned, seen.silent, self.pace)
        exchanges = _Exchanges(self, caller, announced, form, seen)
        connected = await exchanges.judge(calls)
        if connected and (tool := tool_of(catalogue)) is not None and not self.pace.holds_back():
            fixture = Fixture(self.name, tool, exchanges.announced, form, not self.plain, seen.shrunk)
            responses = self.options.examples * RESPONSES_FOR_AN_EXAMPLE
            seed = self.options.seed
            await check_fixture(
                session, fixture, examples=responses, seed=seed, emit=self.emit, note=self.note, pace=self.pace
            )
        if connected:
            try:
                last = await session.catalogue()
                self.observed(catalogue_observations(last, declared=declared, known=known))
                for listed in last.tools:
                    self.observed(listed_again(listed) if listed.name in exchanges.displayed else ())
            except PeerUnavailable as error:
                self.note(f"Listed its tools once, and not again: {error}")
                self.emit(CallMade(self.name, "tools/list", "", "unanswered"))
                connected = False
        for note in exchanges.notes():
            self.note(note)
        self.end()
        return connected

    async def judge_limited(self, session: Session, catalogue: Catalogue, seen: Seen) -> bool:
        """Do the run as a client that declares the smallest `maxBytes`: only what concerns that is judged.

        Return whether the connection is still there.
        """
        self.era = catalogue.protocol_version
        self.start(len(catalogue.tools))
        form = required_form(catalogue, declared=True, known=self.knows_the_client)
        caller = Caller(session, self.note, seen.learned, seen.silent, self.pace)
        connected = True
        async with aclosing(caller.exchanges((call,) for call in seen.few_large())) as exchanges:
            async for exchange in exchanges:
                call = exchange.call
                connected = exchange.lost is None
                if not (exchange.is_busy or exchange.timed_out):
                    observe = partial(limited_observations, form=form, before=seen.twins[call.key])
                    self.observed(await self._confirmed(caller, exchange, observe), call)
                self.called(exchange)
        self.end()
        return connected

    async def judge_other(self, session: Session, catalogue: Catalogue, seen: Seen) -> bool:
        """Do the run as a client of another version, or without documents: only that is judged, by a few calls.

        Return whether the connection is still there.
        """
        self.era = catalogue.protocol_version
        self.start(len(catalogue.tools))
        caller = Caller(session, self.note, seen.learned, seen.silent, self.pace)
        connected = True
        async with aclosing(caller.exchanges((call,) for calls in seen.simplest() for call in calls)) as exchanges:
            async for exchange in exchanges:
                plain = seen.plain.get(exchange.call.key)
                connected = exchange.lost is None
                if exchange.result is not None and plain is not None and not exchange.is_busy:
                    if self.client is ClientKind.NO_DOCUMENTS:
                        self.observed(no_documents(exchange, plain), exchange.call)
                    else:
                        equal = plain == shape(exchange)
                        beside = plain if equal else await self._plain_again(session, caller, exchange)
                        self.observed(other_version(exchange, beside), exchange.call)
                self.called(exchange)
        self.end()
        return connected

    async def judge_view(self, session: Session, catalogue: Catalogue) -> ReadView | None:
        """Do the run as a client that announces MCP Apps; return the view as it was read, if a tool names it."""
        if not any(map(names_view, catalogue.tools)):
            return None
        self.era = catalogue.protocol_version
        self.start(len(catalogue.tools))
        read = await session.read_view()
        self.observed(view(read, known=self.knows_the_client))
        self.end()
        return read

    async def _plain_again(self, session: Session, caller: Caller, exchange: Exchange) -> Shape | None:
        """Return what a client that declares nothing gets now: a tool can answer in another way than before.

        `None` where each client needs a connection of its own, or where this client too is answered in another way.
        """
        if not session.is_stateless or exchange.result is None:
            return None
        session.declare(ClientKind.PLAIN)
        again = await caller.again(exchange.call)
        session.declare(self.client)
        own = await caller.again(exchange.call)
        if again.result is None or own.result is None or shape(own) != shape(exchange):
            return None
        return shape(again)

    async def _confirmed(
        self, caller: Caller, exchange: Exchange, observe: Callable[[Exchange], Iterator[Observation]]
    ) -> list[Observation]:
        """Return what was observed, without a fault of the limit that does not come each time.

        What is judged is a call that was made before: a tool that fails now and then can end it in another way.
        """
        observations = list(observe(exchange))
        faults = {one.requirement for one in observations if not one.ok} & {_OF_THE_LIMIT}
        for _ in range(_TIMES):
            if not faults or exchange.lost is not None or self.pace.is_over:
                break
            again = await caller.again(exchange.call)
            if again.lost is not None:
                break
            if asks_to_wait(again) is None:
                faults &= {one.requirement for one in observe(again) if not one.ok}
        return [one for one in observations if one.ok or one.requirement in faults or one.requirement != _OF_THE_LIMIT]


@dataclass(slots=True)
class _Exchanges:
    """Judges the exchanges of a run, one after the other."""

    run: Run
    caller: Caller
    announced: list[str] | None
    form: RequiredForm
    seen: Seen
    repeating: dict[str, None] = field(default_factory=dict)
    displayed: set[str] = field(default_factory=set)
    """The names of the tools that showed a display of their own."""
    broken: set[str] = field(default_factory=set)

    async def judge(self, calls: Iterable[Batch]) -> bool:
        """Make the calls and judge the answers; return whether the connection is still there."""
        lost = None
        async with aclosing(self.caller.exchanges(calls)) as exchanges:
            async for exchange in exchanges:
                if exchange.timed_out or exchange.asked_for_too_much:
                    lost = None if exchange.timed_out else exchange.lost
                    self.run.called(exchange)
                    continue
                lost = exchange.lost
                observations = self._observations(exchange)
                for requirement in dict.fromkeys(one.requirement for one in observations if not one.ok):
                    if requirement not in self.broken and lost is None:  # else no simpler call is answered either
                        self.broken.add(requirement)
                        await self._show_smallest(requirement, exchange.call)
                self.run.observed(observations, exchange.call)
                self._keep(exchange)
        return lost is None

    def _observations(self, exchange: Exchange) -> list[Observation]:
        if self.run.plain:
            exchange.twin = self.seen.twins.get(exchange.call.key)
        observations = exchange_observations(exchange, self.announced, self.form, declared=not self.run.plain)
        # Where declaring clients got no document either, it is not the announcement that is wrong.
        return [one for one in observations if not (self.seen.unread and one.requirement == "XMCP-MCP-005")]

    async def _show_smallest(self, requirement: str, call: ToolCall) -> None:
        """Emit first what the simplest call shows that breaks a requirement: it is what a report begins with."""
        found: list[Observation] = []

        async def breaks(simpler: ToolCall) -> bool:
            if self.run.pace.is_over:
                return False
            exchange = await self.caller.again(simpler)
            if exchange.lost is not None and not exchange.timed_out:
                return False  # the call after this one can have ended the connection
            faults = [one for one in self._observations(exchange) if not one.ok]
            own = [one for one in faults if one.requirement == requirement]
            if own:
                found[:] = own
            return bool(own)

        smallest = await shrunk(call, breaks)
        if found:
            self.run.observed(found, smallest)

    def _keep(self, exchange: Exchange) -> None:
        call, document = exchange.call, exchange.reading.document
        if document is None and exchange.result is not None and not self.run.plain:
            self.seen.unread = True
        if self.run.plain and exchange.result is not None:
            self.seen.plain.setdefault(call.key, shape(exchange))
        if self.run.plain and repeats_its_text(exchange):
            self.repeating[f"`{quoted(call.name)}`"] = None
        told_apart = self.run.knows_the_client or (self.seen.negotiates and begins_a_document(exchange.text))
        if document is not None and not self.run.plain and told_apart:
            self.seen.keep_twin(exchange, document, known=self.run.knows_the_client)
        answered = document is not None and call.intent is Intent.VALID
        if answered and document is not None and document.has_display and not call.hands_on_a_wish:
            self.displayed.add(call.name)
        self.seen.echoes += echoes(exchange, self.run.name)
        self.seen.told += told(exchange, self.run.name, declared=not self.run.plain)
        if answered and document is not None:
            self.seen.keep(call, document)
            if document.error is None:
                self.seen.succeeded.add(call.name)
            else:
                self.seen.learned.add_failure(call.name, call.arguments, document.error.code)
        self.run.called(exchange)

    def notes(self) -> Iterator[str]:
        """Yield what a person should know of the answers, though it breaks nothing."""
        if self.repeating:
            yield (
                f"The text of {', '.join(self.repeating)} comes again as `structuredContent`, without an output "
                "schema, and some hosts give the model that alone. It is right where the author of the tool gave it "
                "(XMCP-MCP-049)."
            )
