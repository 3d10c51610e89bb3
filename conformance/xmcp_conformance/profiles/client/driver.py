"""Drives a client through a scenario and returns the trace of it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from . import virtual_time
from .adapter import LONGEST_WHY, ChatOutcome, ChatRequest, ClientAdapter, RunningClient, StartRefused
from .observer import ChatScript, ObservedApplication, ObservedModel, ObservedServer, Recorder, copied, described
from .scenario import Change, Conversation, Scenario
from .trace import Cancelled, ChatBegan, ChatEnded, Trace


def observe(scenario: Scenario, adapter: ClientAdapter) -> Trace:
    """Run a scenario in virtual time and return what was seen of the client.

    Raises:
        virtual_time.Stuck: a task would wait forever.
        AssertionError: a task was left behind.
        Exception: what the client raised in a chat, and the adapter did not translate: the client crashed.
    """
    recorder = Recorder()
    virtual_time.run(drive(recorder, scenario, adapter))
    return Trace(described(scenario.setup), recorder.records)


async def drive(recorder: Recorder, scenario: Scenario, adapter: ClientAdapter, *, one_connection: bool = True) -> None:
    """Run a scenario in the time of the event loop, and record what is seen of the client.

    Args:
        recorder: gets the records.
        scenario: what happens.
        adapter: starts the client.
        one_connection: whether calls of a server that are lost at the same time were on one connection.

    Raises:
        Exception: what the client raised in a chat, and the adapter did not translate: the client crashed.
    """
    scripts: dict[str, ChatScript] = {}
    models = [ObservedModel(recorder, scripts) for _ in range(1 + scenario.fallbacks)]
    numbers = range(len(scenario.setup.servers))
    servers = [ObservedServer(recorder, scenario, number, one_connection=one_connection) for number in numbers]
    try:
        client = await adapter.start(scenario.setup, models, servers, ObservedApplication(recorder, scenario))
    except StartRefused:
        _note_refused(recorder, scenario.chats)
        return
    changes = [asyncio.create_task(_change(client, servers, change)) for change in scenario.changes]
    try:
        chats = (_converse(recorder, scripts, client, str(i), chat) for i, chat in enumerate(scenario.chats))
        await asyncio.gather(*chats)
        await asyncio.gather(*changes)
        if recorder.has_calls:
            await asyncio.sleep(_GRACE)
    except BaseException:
        recorder.note_late(scenario.setup.tool_timeout)  # a client that hangs on a call
        raise
    finally:
        for change in changes:
            change.cancel()
        await client.close()
        recorder.over = True


_GRACE = 1.0
"""Seconds in which the cancellation of a call can still reach its server when the last chat is over."""


def _note_refused(recorder: Recorder, chats: Sequence[Conversation]) -> None:
    """Record the chats of a client that did not start."""
    for number, chat in enumerate(chats):
        name = str(number)
        recorder.note(
            ChatBegan(chat=name, history=chat.history, query=chat.query, tenant=chat.tenant, events=chat.events)
        )
        recorder.note(ChatEnded(chat=name, result=None, history=[], given=chat.history, failure="refused"))


async def _change(client: RunningClient, servers: Sequence[ObservedServer], change: Change) -> None:
    await asyncio.sleep(change.time)
    if change.announced:
        servers[change.server].change_tools(change.tools)
        await client.refresh_tools()
    else:
        servers[change.server].redeploy(change.tools)


async def _converse(
    recorder: Recorder, scripts: dict[str, ChatScript], client: RunningClient, name: str, conversation: Conversation
) -> None:
    await asyncio.sleep(conversation.begins)
    scripts[name] = script = ChatScript(name, conversation)
    given = copied(conversation.history)
    tenant = conversation.tenant
    events, params = conversation.events, conversation.params
    recorder.note(
        ChatBegan(chat=name, history=copied(given), query=script.query, tenant=tenant, events=events, params=params)
    )
    task = asyncio.create_task(client.chat(ChatRequest(name, script.query, given, tenant, events, params)))
    if conversation.cancelled is not None:
        await asyncio.wait({task}, timeout=conversation.cancelled)
        if not task.done():
            recorder.note(Cancelled(chat=name))
            task.cancel()
    try:
        await asyncio.wait({task})
    finally:
        task.cancel()  # of a run that is broken off
    outcome = ChatOutcome(failure="cancelled") if task.cancelled() else task.result()
    recorder.note(
        ChatEnded(
            chat=name,
            result=None if outcome.result is None else copied([outcome.result])[0],
            history=copied(outcome.history),
            given=copied(given) if outcome.sees_given else None,
            failure=outcome.failure,
            why=None if outcome.why is None else outcome.why[:LONGEST_WHY],
        )
    )
