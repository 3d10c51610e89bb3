"""Judge any running server by its tools, without a fixture.

The suite lists the tools, calls those that are marked read-only (the others on request) with arguments made from their
input schemas and with arguments that do not fit them, and observes every answer. It does so as a client that declares
the extension and again as a plain client: with every call where the server's wire is `negotiated`, else with a few.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Collection, Iterable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from dataclasses import dataclass, field, replace

from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from xmcp_conformance.core.events import CallMade, Connecting, Emit, Noted, Observed, RunEnded, RunStarted, SuiteStarted
from xmcp_conformance.core.requirements import registry
from xmcp_conformance.core.untrusted_text import quoted
from xmcp_models.registry import EXTENSION_ID

from .call_plan import Options, plan
from .catalogue import Catalogue, advice, announced_versions, announced_wire
from .checks.announcement import extension_entry
from .checks.mcp_results import repeats_its_text
from .checks.plain_results import begins_a_document
from .checks.required_form import required_form
from .exchange import Exchange, Intent, ToolCall, Twin
from .judge import catalogue_observations, exchange_observations
from .server_under_test import Peer, PeerUnavailable, Session, connect

PROFILE = "server-blackbox"
_FEW = 3  # number of tools, and of displays, that a server with another wire is asked for as a plain client


async def check(peers: list[Peer], options: Options, emit: Emit) -> None:
    """Judge the peers as one implementation.

    Args:
        peers: the same server over one or more transports.
        options: how to judge.
        emit: gets each event.

    Raises:
        PeerUnavailable: a peer cannot be reached at all.
    """
    stated = {name: getattr(options, name) for name in ("examples", "seed", "allow_writes", "strict")}
    emit(SuiteStarted(PROFILE, registry().version, stated))
    for peer in peers:
        spoken: set[str] = set()
        for era in options.eras:
            await _check_in_era(peer, era, options, spoken, emit)


@dataclass(slots=True)
class _Run:
    """A peer in one era, as one kind of client. `plain`: a client that does not declare the extension."""

    peer: Peer
    era: str
    plain: bool
    options: Options
    emit: Emit
    started: bool = False

    @property
    def name(self) -> str:
        return f"{self.peer.transport}, {self.era}{', plain client' if self.plain else ''}"

    def start(self, tools: int = 0) -> None:
        client = "plain" if self.plain else "declared"
        self.started = True
        self.emit(RunStarted(self.name, str(self.peer), self.peer.transport, self.era, client, tools))

    def note(self, text: str) -> None:
        self.emit(Noted(self.name, text))

    def connected(self) -> AbstractAsyncContextManager[Session]:
        self.emit(Connecting(str(self.peer), self.peer.transport))
        times = {"connect_timeout": self.options.connect_timeout, "call_timeout": self.options.call_timeout}
        return connect(self.peer, self.era, declares=not self.plain, **times)


@dataclass(slots=True)
class _Seen:
    """What a run as a declaring client showed, for the run as a plain client that follows it."""

    negotiates: bool = False
    twins: dict[str, Twin] = field(default_factory=dict)
    samples: dict[tuple[str, bool], ToolCall] = field(default_factory=dict)
    """For each tool, its first call that was answered, and the first whose answer had a display that was asked for."""

    asked_to_show: dict[str, None] = field(default_factory=dict)
    """The tools that were asked to show a display."""

    def few(self) -> list[ToolCall]:
        """Return a call of a few tools, and a call for a display of a few."""
        of = {shows: [call for key, call in self.samples.items() if key[1] is shows] for shows in (False, True)}
        return [*of[False][:_FEW], *of[True][:_FEW]]


async def _check_in_era(peer: Peer, era: str, options: Options, spoken: set[str], emit: Emit) -> None:
    """Do the runs in one era, unless the peer does not speak it or was already judged in it."""
    first, seen = not spoken, _Seen()
    run = _Run(peer, era, False, options, emit)
    async with _unreachable_noted(run, fatal=first), run.connected() as session:
        catalogue = await session.catalogue()
        if catalogue.protocol_version in spoken:
            return
        spoken.add(catalogue.protocol_version)
        if EXTENSION_ID not in catalogue.extensions:
            _judge_announcement_alone(catalogue, run)
            return
        seen.negotiates = announced_wire(catalogue) == "negotiated"
        await _check_run(session, catalogue, plan(catalogue, options, run.note), run, seen)
    if not seen.negotiates and not (first and seen.samples):
        return
    run = _Run(peer, era, True, options, emit)
    async with _unreachable_noted(run), run.connected() as session:
        catalogue = await session.catalogue()
        listed = {tool.name: tool for tool in catalogue.tools}
        few = [replace(call, tool=listed.get(call.name)) for call in seen.few()]
        calls = plan(catalogue, options, run.note) if seen.negotiates else few
        await _check_run(session, catalogue, calls, run, seen)


def _judge_announcement_alone(catalogue: Catalogue, run: _Run) -> None:
    """Judge a server that does not say that it follows the specification: only that is a fault, and what to do next."""
    run.era = catalogue.protocol_version
    run.start(len(catalogue.tools))
    for observation in extension_entry(catalogue):
        run.emit(Observed(observation, run.name))
    run.note(
        "Nothing else was judged: the server does not announce the extension. For FastMCP, `use_xmcp(mcp)` announces "
        "it and does the rest; for any other server, begin with the page Level 1 in one file of the documentation."
    )
    run.emit(RunEnded(run.name))


@asynccontextmanager
async def _unreachable_noted(run: _Run, *, fatal: bool = False) -> AsyncIterator[None]:
    """Note that a peer cannot be reached. `fatal`: raise instead, because nothing of the peer was seen so far.

    Raises:
        PeerUnavailable: the peer cannot be reached, and that is fatal.
    """
    try:
        yield
    except PeerUnavailable as error:
        if fatal:
            raise
        if not run.started:
            run.start()
        run.note(f"Not judged: {error}")
        run.emit(RunEnded(run.name))


async def _check_run(session: Session, catalogue: Catalogue, calls: Iterable[ToolCall], run: _Run, seen: _Seen) -> None:
    """Do one run: judge what the peer lists, and every call."""
    run.era = catalogue.protocol_version
    run.start(len(catalogue.tools))
    # Over HTTP a server need not remember what a client declared with `initialize` (section 6.1).
    known = not (run.peer.transport == "http" and run.era in HANDSHAKE_PROTOCOL_VERSIONS)
    for observation in catalogue_observations(catalogue, declared=known and not run.plain):
        run.emit(Observed(observation, run.name))
    if not run.plain and (advised := advice(catalogue)):
        run.note(advised)
    announced = announced_versions(catalogue)
    form = required_form(catalogue, declared=not run.plain, known=known)
    succeeded: set[str] = set()
    failed_with: dict[str, dict[str, None]] = {}
    repeating: dict[str, None] = {}
    async with aclosing(_exchanges(session, calls, run.note)) as exchanges:
        async for exchange in exchanges:
            call = exchange.call
            exchange.twin = seen.twins.get(call.key) if run.plain else None
            for observation in exchange_observations(exchange, announced, form, declared=not run.plain):
                run.emit(Observed(observation, run.name, str(call)))
            if run.plain and repeats_its_text(exchange):
                repeating[f"`{quoted(call.name)}`"] = None
            document = exchange.reading.document
            told_apart = known or (seen.negotiates and begins_a_document(exchange.text))
            if document is not None and not run.plain and told_apart:
                echoes = bool(call.trap) and call.trap in (document.llm_output or "")
                populates, failed = document.server_populated is not None, document.error is not None
                seen.twins[call.key] = Twin(echoes, populates, failed, document.llm_output)
            answered = document is not None and call.intent is Intent.VALID
            if answered and call.shows:
                seen.asked_to_show[call.name] = None
            if answered and document is not None:
                if document.error is None:
                    succeeded.add(call.name)
                else:
                    failed_with.setdefault(call.name, {})[document.error.code] = None
                if document.has_display or not call.shows:
                    seen.samples.setdefault((call.name, call.shows), call)
            run.emit(CallMade(run.name, str(call), answered))
    if not run.plain:
        for note in _never_seen(succeeded, failed_with, seen):
            run.note(note)
    if repeating:
        run.note(
            f"The text of {', '.join(repeating)} comes again as `structuredContent`, without an output schema, and "
            "some hosts give the model that alone. It is right where the author of the tool gave it (XMCP-MCP-049)."
        )
    run.emit(RunEnded(run.name))


def _never_seen(succeeded: set[str], failed_with: Mapping[str, Collection[str]], seen: _Seen) -> Iterator[str]:
    """Yield what the calls did not show of tools, and why, as far as that can be told."""
    never = {name: codes for name, codes in failed_with.items() if name not in succeeded}
    if never:
        listed = ", ".join(f"`{quoted(name)}` ({quoted(', '.join(codes))})" for name, codes in never.items())
        helps = any(_OF_ARGUMENTS & set(codes) for codes in never.values())
        advised = " An `enum` or `examples` for the arguments would help." if helps else ""
        yield f"No call of {listed} succeeded, so only errors were judged.{advised}"
    shown = {name for name, shows in seen.samples if shows}
    if dark := [name for name in seen.asked_to_show if name in succeeded and name not in shown]:
        yield f"{', '.join(f'`{quoted(name)}`' for name in dark)}: asked to show a display, and never did."


_OF_ARGUMENTS = {"VALIDATION_FAIL", "INVALID_ARGUMENT", "MISSING_ARGUMENT", "NOT_FOUND"}
"""The codes of failures that other arguments can avoid."""


async def _exchanges(
    session: Session, calls: Iterable[ToolCall], note: Callable[[str], None]
) -> AsyncGenerator[Exchange, None]:
    """Make the calls one after the other; stop when the connection is lost. `note` gets what is not judged."""
    silent: set[str] = set()
    in_a_row: list[ToolCall] = []
    for call in calls:
        if call.name in silent:  # otherwise a tool that never answers costs the time-out for each of its calls
            continue
        exchange = await session.call(call)
        if exchange.lost and exchange.lost.startswith("no answer within"):
            silent.add(call.name)
            note(f"{call}: {exchange.lost}; not judged, and `{quoted(call.name)}` was not called again.")
            in_a_row.append(call)
            if len(in_a_row) == _FEW:
                first = in_a_row[0]
                note(f"After {first} the server answered no other call in time: does that tool block its event loop?")
            continue
        in_a_row.clear()
        if (exchange.result or {}).get("resultType") == "input_required":
            note(f"{call}: the server asks the client for input; not judged.")
            continue
        yield exchange
        if exchange.lost:
            note(f"The connection ended during {call}; the calls after it were not made.")
            return
