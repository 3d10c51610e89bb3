"""Judge any running server by its tools, without a fixture.

The suite lists the tools, calls those that are marked read-only (the others on request) with arguments made from
their input schemas and with arguments that do not fit them, and observes every answer. It does so as a client that
declares the extension and again as a plain client: with every call where the server's wire is `negotiated`, else with
a few. In the second era it makes half of the calls, and as a plain client a few of each tool. A few calls whose
documents were large are made once more as a client that declares a small `maxBytes`. As a client that announces MCP
Apps it lists the tools, and reads the view if one of them names it. In the stateless era, in which each request says
what its client declares, all of these clients use one connection, as they do behind a proxy; in the handshake era each
has its own. A command is judged in both eras at the same time.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import replace
from functools import partial
from itertools import chain

import anyio

from xmcp_conformance.core.events import (
    CallLasts,
    Connecting,
    Emit,
    Noted,
    NotReached,
    Observed,
    SuiteStarted,
    TimeOver,
)
from xmcp_conformance.core.requirements import registry
from xmcp_conformance.core.untrusted_text import quoted
from xmcp_models.registry import EXTENSION_ID

from .bounded_wire import Stray
from .call_plan import Batch, few_of_each, misfits, plan
from .catalogue import Catalogue, announced_wire
from .checks import echoes, forms_compared
from .checks.announcement import extension_entry
from .clients import ClientKind
from .command_process import StartedAhead
from .exchange import Exchange
from .fixture.run import without_tool
from .options import Options
from .pace import Pace
from .peers import Peer, PeerLate, PeerUnavailable, StdioPeer
from .run import Run, Seen
from .server_under_test import Session, connect
from .told_later import ToldLater

PROFILE = "server-blackbox"
_RAN_TWICE = (
    "A process of the server that was started beside another one did not answer, and was started again, alone. If the "
    "server cannot run twice, --one-process saves the time."
)


async def check(
    peers: list[Peer],
    options: Options,
    emit: Emit,
    record: Callable[[str, str, Exchange], None] | None = None,
    first: StartedAhead | None = None,
) -> None:
    """Judge the peers as one implementation.

    Args:
        peers: the same server over one or more transports.
        options: how to judge.
        emit: gets each event.
        record: gets the version of MCP, the kind of the client and the exchange, for each call that has ended.
        first: a process that was started for the first peer; the caller ends it if it is not used.

    Raises:
        PeerUnavailable: no peer can be reached at all. Where only some cannot, each of them is an event.
    """
    stated = {name: getattr(options, name) for name in ("examples", "calls", "seed", "allow_writes", "strict")}
    emit(SuiteStarted(PROFILE, registry().version, stated))
    not_reached: list[NotReached] = []
    pace = Pace(options.rate, options.max_time)
    for peer in peers:
        ahead, first = first or StartedAhead(peer, alone=options.one_process), None
        run = Run(peer, options.eras[0], options, emit, pace, record, Stray(), ahead)
        try:
            await _check_in_eras(run)
        except PeerUnavailable as error:
            not_reached.append(NotReached(str(peer), peer.transport, str(error)))
        finally:
            await ahead.stop()
    if not_reached and len(not_reached) == len(peers):
        raise PeerUnavailable(" ".join(event.reason for event in not_reached))
    for event in not_reached:
        emit(event)
    if pace.held_back and options.max_time is not None:
        emit(TimeOver(options.max_time))


async def _check_in_eras(run: Run) -> None:
    """Judge a peer in each era: a command in all of them at the same time, each era with processes of its own.

    The second one begins when it is known what the server is, and is told after the first one, so that a report does
    not depend on which was faster.
    """
    spoken: set[str] = set()
    eras = [Seen()]
    later, first_ended, others = ToldLater(run.emit), asyncio.Event(), None

    async def check_others() -> None:
        for era in run.options.eras[1:]:
            if run.pace.holds_back():
                break
            eras.append(Seen(in_any_era=eras[0].in_any_era, silent=set(eras[0].silent), views=eras[0].views))
            await _check_in_era(replace(run, era=era, emit=later, alone=first_ended), spoken, eras[-1])

    def begin() -> None:
        nonlocal others
        if isinstance(run.peer, StdioPeer) and not run.options.one_process:
            others = asyncio.create_task(check_others())

    try:
        await _check_in_era(run, spoken, eras[0], begin)
        first_ended.set()
        later.tell()
        await (others or check_others())
    finally:
        if others is not None:
            others.cancel()
            with anyio.CancelScope(shield=True):
                await asyncio.wait({others})
    for note in run.stray.notes():
        run.emit(Noted(run.peer.transport, note))
    of_echoes = echoes.judged(echo for seen in eras for echo in seen.echoes)
    of_forms = forms_compared.judged(told for seen in eras for told in seen.told)
    for repeat, observations in chain(of_echoes, of_forms):
        for observation in observations:
            run.emit(Observed(observation, repeat.run, str(repeat.call), tool=repeat.call.of_tool))


@asynccontextmanager
async def _connected(run: Run) -> AsyncIterator[Session]:
    run.emit(Connecting(str(run.peer), run.peer.transport))
    options = run.options
    opened = partial(
        connect,
        run.peer,
        run.era,
        connect_timeout=options.connect_timeout,
        call_timeout=options.call_timeout,
        kind=run.client,
        stray=run.stray,
        tool_timeouts=options.tool_timeouts,
        pace=run.pace,
        record=run.record,
        lasts=lambda tool, limit: run.emit(CallLasts(run.name, tool, limit)),
    )
    started, is_alone = run.ahead.take(), run.alone.is_set()
    beside = not is_alone or (started is not None and started.beside)
    async with AsyncExitStack() as stack:
        try:
            session = await stack.enter_async_context(opened(started=started))
        except PeerUnavailable as error:
            if not beside or (is_alone and isinstance(error, PeerLate)):  # it was waited for
                raise
            run.emit(Noted(run.peer.transport, _RAN_TWICE))
            await run.alone.wait()
            session = await stack.enter_async_context(opened())
        yield session


async def _check_in_era(
    run: Run, spoken: set[str], seen: Seen, begin_others: Callable[[], None] = lambda: None
) -> None:
    """Do the runs in one era, unless the peer does not speak it or was already judged in it.

    Args:
        run: the run as a client that declares the extension.
        spoken: the protocol versions in which the peer was judged.
        seen: what the runs show.
        begin_others: called when it is known that the peer is to be judged.
    """
    first, options, era = not spoken, run.options, run.era
    async with _unreachable_noted(run, fatal=first), _connected(run) as session:
        catalogue = await session.catalogue()
        if catalogue.protocol_version in spoken:
            return
        spoken.add(catalogue.protocol_version)
        if first and (pattern := options.unmatched(catalogue.tools)):
            known = ", ".join(f"`{quoted(tool.name)}`" for tool in catalogue.tools[:10])
            raise PeerUnavailable(f"No tool is called `{quoted(pattern)}`, so nothing was called; there are {known}.")
        if first and (sentence := next(misfits(catalogue, options), "")):
            raise PeerUnavailable(f"{sentence} Nothing was called.")
        if EXTENSION_ID not in catalogue.extensions:
            _judge_announcement_alone(catalogue, run)
            return
        seen.negotiates = announced_wire(catalogue) == "negotiated"
        others = not session.is_stateless and (first or seen.negotiates)  # each needs a connection of its own
        if others or (first and len(options.eras) > 1):
            await run.ahead.start(beside=True)
        begin_others()
        batches = seen.kept(plan(without_tool(catalogue), options, run.note, seen.learned, again=not first))
        is_open = await run.judge(session, catalogue, batches, seen)
        others_run = replace(run, era=era, started=False)
        shares = session.is_stateless and is_open and not seen.silent
        # It is looked at early, so that the next era knows whether there is a view, and told as the last.
        of_view = ToldLater(run.emit)
        if shares and await _check_view(replace(others_run, emit=of_view), seen, session):
            await _check_as_other_clients(others_run, seen, first=first, shared=session)
            of_view.tell()
            return
    await _check_as_other_clients(others_run, seen, first=first)
    if shares:
        of_view.tell()
    elif first or await _named_before(run, seen):
        await _check_view(others_run, seen)


async def _check_as_other_clients(run: Run, seen: Seen, *, first: bool, shared: Session | None = None) -> None:
    """Do the runs as a client that declares the smallest `maxBytes`, and as one that declares nothing.

    Args:
        run: the run as a client that declares the extension.
        seen: what that run showed.
        first: whether it was the first one of the peer.
        shared: its connection, if the others can use it too.
    """
    if first and seen.few_large():
        if run.pace.holds_back():
            return
        limited, used, shared = replace(run, client=ClientKind.LIMITED), shared, None
        async with _unreachable_noted(limited), _as_client(limited, used) as session:
            if used is None:
                await run.ahead.start(beside=True)
            if await limited.judge_limited(session, await session.catalogue(), seen):
                shared = used
    if (not seen.negotiates and not (first and seen.samples)) or run.pace.holds_back():
        return
    plain = replace(run, client=ClientKind.PLAIN)
    async with _unreachable_noted(plain), _as_client(plain, shared) as session:
        if shared is None and seen.views:  # a client with MCP Apps comes next, in a connection of its own
            await run.ahead.start(beside=True)
        catalogue = await session.catalogue()
        listed = {tool.name: tool for tool in catalogue.tools}
        batches: list[Batch] = [(call,) for call in seen.few()]
        if seen.negotiates:
            batches = seen.made if first else list(few_of_each(seen.made))
        calls = (tuple(replace(call, tool=listed.get(call.name)) for call in batch) for batch in batches)
        is_open = await plain.judge(session, catalogue, calls, seen)
        if first and seen.negotiates and plain.knows_the_client:
            await _check_without_documents(run, catalogue, seen, session if is_open and session.is_stateless else None)


async def _named_before(run: Run, seen: Seen) -> bool:
    """Return whether a tool named the view in the era before, whose runs are waited for."""
    await run.alone.wait()
    return bool(seen.views)


async def _check_view(run: Run, seen: Seen, shared: Session | None = None) -> bool:
    """Do the run as a client that announces MCP Apps, and return whether its connection can still be used.

    A server that has no view, or is gone, shows nothing of one.
    """
    if run.pace.holds_back():
        return True
    apps = replace(run, client=ClientKind.APPS)
    with suppress(PeerUnavailable):
        async with _as_client(apps, shared) as session:
            catalogue = await session.catalogue()
            read = await apps.judge_view(session, catalogue)
            if read is not None:
                seen.views.add(catalogue.protocol_version)
            return read is None or not read.failure
    return False


async def _check_without_documents(run: Run, catalogue: Catalogue, seen: Seen, shared: Session | None) -> None:
    """Do the runs as clients that declare the extension and get no documents."""
    for client in (ClientKind.OTHER_VERSION, ClientKind.NO_DOCUMENTS):
        if run.pace.holds_back():
            return
        other, used = replace(run, client=client), shared
        async with _unreachable_noted(other), _as_client(other, used) as session:
            if not await other.judge_other(session, catalogue, seen):
                shared = None


@asynccontextmanager
async def _as_client(run: Run, shared: Session | None) -> AsyncIterator[Session]:
    """Open the session of a run, or use a shared one as its client."""
    if shared is None:
        async with _connected(run) as session:
            yield session
        return
    shared.declare(run.client)
    yield shared


def _judge_announcement_alone(catalogue: Catalogue, run: Run) -> None:
    """Judge a server that does not say that it follows the specification: only that is a fault, and what to do next."""
    run.era = catalogue.protocol_version
    run.start(len(catalogue.tools))
    for observation in extension_entry(catalogue):
        run.emit(Observed(observation, run.name))
    run.note(
        "Nothing else was judged: the server does not announce the extension. For FastMCP, `use_xmcp(mcp)` announces "
        "it and does the rest; for any other server, begin with docs/guides/level-1.md in the repository of XMCP."
    )
    run.end()


@asynccontextmanager
async def _unreachable_noted(run: Run, *, fatal: bool = False) -> AsyncIterator[None]:
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
        run.end()
