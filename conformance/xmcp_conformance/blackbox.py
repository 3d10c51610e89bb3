"""The black-box profile: judge any running server by its tools, without a fixture.

It lists the tools, calls those that only read (others on request) with arguments made from their schemas, and
with arguments that do not fit, and observes every answer.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing
from dataclasses import dataclass, field

from .arguments import invalid, trapped, valid
from .exchange import Call, Catalogue, Exchange, Intent, Tool
from .observation import quoted
from .peer import Peer, PeerUnavailable, Session, connect
from .requirements import registry
from .server_checks import announced_versions, of_catalogue, of_exchange
from .verdict import Evidence, ExitCode, Judgement, conforms, judge

ERAS = ("newest", "handshake")
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
    """One peer in one era: what was done and seen. `answers` are the documents that its own tools gave."""

    peer: str
    transport: str
    era: str
    calls: int = 0
    answers: int = 0
    tools: int = 0
    notes: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return f"{self.transport}, {self.era}"


@dataclass(slots=True)
class Report:
    """Everything a report shows."""

    options: Options
    runs: list[Run] = field(default_factory=list)
    evidence: list[Evidence] = field(default_factory=list)

    @property
    def judgements(self) -> list[Judgement]:
        """One for each requirement that server checks verify."""
        return judge(self.evidence, registry(), strict=self.options.strict)

    @property
    def exit_code(self) -> ExitCode:
        """Whether the peers conform."""
        conforming = conforms(self.judgements, self.answers)
        return ExitCode.CONFORMS if conforming else ExitCode.DOES_NOT_CONFORM

    @property
    def answers(self) -> int:
        """Documents that the peers' own tools gave, over all runs."""
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


async def _judge_in_era(peer: Peer, era: str, report: Report, spoken: set[str], progress: Progress) -> None:
    """One run, unless the peer does not speak that era or was judged in it already."""
    options = report.options
    run = Run(str(peer), peer.transport, era)
    try:
        async with connect(
            peer, era, connect_timeout=options.connect_timeout, call_timeout=options.call_timeout
        ) as session:
            catalogue = await session.catalogue()
            if catalogue.protocol_version in spoken:
                return
            spoken.add(catalogue.protocol_version)
            announced = announced_versions(catalogue)
            run.era, run.tools = catalogue.protocol_version, len(catalogue.tools)
            report.runs.append(run)
            report.evidence += [Evidence(observation, str(run)) for observation in of_catalogue(catalogue)]
            async with aclosing(_exchanges(session, catalogue, options, run)) as exchanges:
                async for exchange in exchanges:
                    run.calls += 1
                    report.evidence += [
                        Evidence(observation, str(run), str(exchange.call))
                        for observation in of_exchange(exchange, announced)
                    ]
                    run.answers += exchange.call.intent is Intent.VALID and exchange.reading.document is not None
                    progress(run)
    except PeerUnavailable as error:
        if not spoken:
            raise
        run.notes.append(f"Not judged: {error}")
        report.runs.append(run)


async def _exchanges(
    session: Session, catalogue: Catalogue, options: Options, run: Run
) -> AsyncGenerator[Exchange, None]:
    """Make the planned calls, one after the other; stop when the connection is gone."""
    silent: set[str] = set()
    for call in plan(catalogue, options, run.notes):
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
    for tool in catalogue.tools:
        if tool.read_only or options.allow_writes:
            yield from _of_tool(tool, options, notes)
        else:
            notes.append(f"`{quoted(tool.name)}` was not called: it is not marked read-only (--allow-writes calls it).")
    yield Call(None, _NOWHERE, {}, Intent.UNKNOWN_TOOL)


def _of_tool(tool: Tool, options: Options, notes: list[str]) -> Iterator[Call]:
    schema = tool.input_schema
    # `show_user` is set on purpose below, never by chance.
    properties = {name: value for name, value in schema.get("properties", {}).items() if name != "show_user"}
    needed = [name for name in schema.get("required", ()) if name != "show_user"]
    try:
        drawn = valid({**schema, "properties": properties, "required": needed}, options.examples, options.seed)
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
        for trap, arguments in trapped({**schema, "properties": properties}, drawn[0]):
            yield Call(tool, tool.name, {**arguments, **switch}, trap=trap)
    if tool.takes_show_user:
        yield Call(tool, tool.name, {**drawn[0], "show_user": False})
    for refusal in invalid(schema, drawn[0]):
        yield Call(tool, tool.name, refusal.arguments, Intent.INVALID, refusal.pointers, refusal.fault)
