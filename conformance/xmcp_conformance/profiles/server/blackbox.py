"""The black-box profile: judge any running server by its tools, without a fixture.

It lists the tools, calls those that only read (others on request) with arguments made from their schemas, and
with arguments that do not fit, and observes every answer. It does so as a client that declares the extension, and
again as a plain one: with every call where the server's wire is `negotiated`, else with a few.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Iterator
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from xmcp_conformance.core.events import Observed
from xmcp_conformance.core.judge import ExitCode, Judgement, conforms, judge
from xmcp_conformance.core.requirements import registry
from xmcp_conformance.core.untrusted_text import quoted

from .arguments import forged, invalid, trapped, valid
from .checks import announced_versions, filled_in, negotiates, of_catalogue, of_exchange, owed
from .exchange import Call, Catalogue, Exchange, Intent, Tool, Twin
from .peer import Peer, PeerUnavailable, Session, connect

ERAS = ("newest", "handshake")
_FEW = 3  # tools that a server with the wire `always` is asked for as a plain client
_NAMED = 10
"""So many tools a note names."""
_NOWHERE = "xmcp_conformance_no_such_tool"


@dataclass(frozen=True, slots=True)
class Options:
    """How to judge. Times are in seconds."""

    examples: int = 8
    seed: int = 20261121
    allow_writes: bool = False
    strict: bool = False
    eras: tuple[str, ...] = ERAS
    connect_timeout: float = 7.0
    call_timeout: float = 10.0


@dataclass(slots=True)
class Run:
    """One peer in one era, as one kind of client: what was done and seen.

    `plain` is a client that did not declare the extension. `answers` are the documents, or plain results of section
    6.3, that the peer's own tools gave.
    """

    peer: str
    transport: str
    era: str
    plain: bool = False
    calls: int = 0
    answers: int = 0
    tools: int = 0
    notes: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return f"{self.transport}, {self.spoken}"

    @property
    def spoken(self) -> str:
        """The era, and which client spoke."""
        return f"{self.era}, plain client" if self.plain else self.era


@dataclass(slots=True)
class Report:
    """Everything a report shows."""

    options: Options
    runs: list[Run] = field(default_factory=list)
    observed: list[Observed] = field(default_factory=list)

    @property
    def judgements(self) -> list[Judgement]:
        """One for each requirement that server checks verify."""
        return judge(self.observed, registry().verified_by("server"), strict=self.options.strict)

    @property
    def exit_code(self) -> ExitCode:
        """Whether the peers conform."""
        conforming = conforms(self.judgements, self.answers)
        return ExitCode.CONFORMS if conforming else ExitCode.DOES_NOT_CONFORM

    @property
    def answers(self) -> int:
        """Documents and plain results that the peers' own tools gave, over all runs."""
        return sum(run.answers for run in self.runs)


Progress = Callable[[Run], None]


async def check(peers: list[Peer], options: Options, progress: Progress = lambda _: None) -> Report:
    """Judge the peers as one implementation.

    Args:
        peers: the same server over one or more transports.
        options: how.
        progress: called after each call, with the run as it stands.

    Raises:
        PeerUnavailable: a peer cannot be reached at all.
    """
    report = Report(options)
    for peer in peers:
        spoken: set[str] = set()
        for era in options.eras:
            await _judge_in_era(peer, era, report, spoken, progress)
    return report


@dataclass(slots=True)
class _Seen:
    """What the documents of a run said, for the run of a plain client after it."""

    negotiates: bool = False
    twins: dict[str, Twin] = field(default_factory=dict)
    samples: dict[str, Call] = field(default_factory=dict)  # by tool, its first call that a document answered


async def _judge_in_era(peer: Peer, era: str, report: Report, spoken: set[str], progress: Progress) -> None:
    """The runs in one era, unless the peer does not speak it or was judged in it already."""
    first = not spoken
    run, seen = Run(str(peer), peer.transport, era), _Seen()
    async with _noted(run, report, fatal=first), _connected(peer, era, report.options, run) as session:
        catalogue = await session.catalogue()
        if catalogue.protocol_version in spoken:
            return
        spoken.add(catalogue.protocol_version)
        seen.negotiates = negotiates(catalogue)
        await _judge(session, catalogue, plan(catalogue, report.options, run.notes), run, seen, report, progress)
    if not seen.negotiates and not (first and seen.samples):
        return
    run = Run(str(peer), peer.transport, era, plain=True)
    async with _noted(run, report), _connected(peer, era, report.options, run) as session:
        catalogue = await session.catalogue()
        few = list(seen.samples.values())[:_FEW]
        calls = plan(catalogue, report.options, run.notes) if seen.negotiates else few
        await _judge(session, catalogue, calls, run, seen, report, progress)


@asynccontextmanager
async def _noted(run: Run, report: Report, *, fatal: bool = False) -> AsyncIterator[None]:
    """A peer that cannot be reached is a note of the run, or fatal where nothing of it was seen yet."""
    try:
        yield
    except PeerUnavailable as error:
        if fatal:
            raise
        run.notes.append(f"Not judged: {error}")
        if all(run is not other for other in report.runs):
            report.runs.append(run)


def _connected(peer: Peer, era: str, options: Options, run: Run) -> AbstractAsyncContextManager[Session]:
    times = {"connect_timeout": options.connect_timeout, "call_timeout": options.call_timeout}
    return connect(peer, era, declares=not run.plain, **times)


async def _judge(
    session: Session,
    catalogue: Catalogue,
    calls: Iterable[Call],
    run: Run,
    seen: _Seen,
    report: Report,
    progress: Progress,
) -> None:
    """One run: what the peer lists, and every call."""
    run.era, run.tools = catalogue.protocol_version, len(catalogue.tools)
    report.runs.append(run)
    report.observed += [Observed(observation, str(run)) for observation in of_catalogue(catalogue)]
    announced = announced_versions(catalogue)
    # Over HTTP a server need not keep what a client declared with `initialize` (section 6.1).
    known = not (run.transport == "http" and run.era in HANDSHAKE_PROTOCOL_VERSIONS)
    form = owed(catalogue, declared=not run.plain, known=known)
    async with aclosing(_exchanges(session, calls, run)) as exchanges:
        async for exchange in exchanges:
            run.calls += 1
            call = exchange.call
            exchange.twin = seen.twins.get(call.key) if run.plain else None
            report.observed += [
                Observed(observation, str(run), str(call)) for observation in of_exchange(exchange, announced, form)
            ]
            document = exchange.reading.document
            if document is not None and not run.plain:
                echoes = bool(call.trap) and call.trap in (document.llm_output or "")
                seen.twins[call.key] = Twin(echoes, document.server_populated is not None, document.error is not None)
            if document is not None and call.intent is Intent.VALID:
                run.answers += 1
                seen.samples.setdefault(call.name, call)
            progress(run)


async def _exchanges(session: Session, calls: Iterable[Call], run: Run) -> AsyncGenerator[Exchange, None]:
    """Make the calls, one after the other; stop when the connection is gone."""
    silent: set[str] = set()
    for call in calls:
        if call.name in silent:  # or a server that never answers takes all calls times the time-out
            continue
        exchange = await session.call(call)
        if exchange.lost and exchange.lost.startswith("no answer"):
            silent.add(call.name)
            run.notes.append(f"{call}: {exchange.lost}; not judged, and `{quoted(call.name)}` was not called again.")
            continue
        if (exchange.result or {}).get("resultType") == "input_required":
            run.notes.append(f"{call}: the server asks the client for input; not judged.")
            continue
        yield exchange
        if exchange.lost:
            run.notes.append(f"The connection ended during {call}; the calls after it were not made.")
            return


def plan(catalogue: Catalogue, options: Options, notes: list[str]) -> Iterator[Call]:
    """The calls to make, the same for the same catalogue and options; `notes` gets what is left out and why."""
    kept = [tool for tool in catalogue.tools if tool.read_only or options.allow_writes]
    writing = [f"`{quoted(tool.name)}`" for tool in catalogue.tools if tool not in kept]
    if writing:
        more = f" and {len(writing) - _NAMED} more" if len(writing) > _NAMED else ""
        told = f"{', '.join(writing[:_NAMED])}{more}"
        notes.append(f"Not called, for it is not marked read-only (--allow-writes calls it): {told}.")
    for tool in kept:
        yield from _of_tool(tool, options, notes)
    yield Call(None, _NOWHERE, {}, Intent.UNKNOWN_TOOL)


def _of_tool(tool: Tool, options: Options, notes: list[str]) -> Iterator[Call]:
    filled = filled_in(tool)
    schema = _without(tool.input_schema, filled)
    # `show_user` is set on purpose below, never by chance.
    drawable = _without(schema, ["show_user"])
    try:
        drawn = valid(drawable, options.examples, options.seed)
    except TimeoutError as error:
        notes.append(f"`{quoted(tool.name)}` was not called: {error}; look for a `pattern` that backtracks.")
        return
    if not drawn:
        notes.append(f"`{quoted(tool.name)}` was not called: no arguments could be made from its input schema.")
        return
    switches: tuple[dict[str, bool], ...] = ({}, {"show_user": True}) if tool.takes_show_user else ({},)
    for switch in switches:
        for arguments in drawn:
            yield Call(tool, tool.name, {**arguments, **switch})
        for trap, arguments in trapped({**schema, "properties": drawable["properties"]}, drawn[0]):
            yield Call(tool, tool.name, {**arguments, **switch}, trap=trap)
    if tool.takes_show_user:
        yield Call(tool, tool.name, {**drawn[0], "show_user": False})
    if filled:
        arguments, strays = forged(tool.input_schema, drawn[0], filled)
        yield Call(tool, tool.name, arguments, refused=strays, trap=arguments[filled[0]], forged=tuple(filled))
    for refusal in invalid(schema, drawn[0]):
        yield Call(tool, tool.name, refusal.arguments, Intent.INVALID, refusal.pointers, refusal.fault)


def _without(schema: dict[str, Any], names: list[str]) -> dict[str, Any]:
    """An input schema that does not know those arguments."""
    properties = {name: value for name, value in schema.get("properties", {}).items() if name not in names}
    return {**schema, "properties": properties, "required": [n for n in schema.get("required", ()) if n not in names]}
