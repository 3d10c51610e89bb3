"""The model, the servers and the application that a scenario scripts; each records what it sees of the client."""

from __future__ import annotations

import asyncio
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any, Final, Literal

from .adapter import (
    ConnectionLost,
    Declaration,
    Json,
    Messages,
    ModelAnswer,
    ModelFailure,
    NoSuchChat,
    SendReport,
    ServerUnreachable,
)
from .messages import function_of, text_of
from .name_resolution import is_said_in
from .scenario import OK, Act, Ask, Conversation, Says, Scenario
from .server_messages import PAGES, answer, listing
from .trace import (
    Answered,
    Approved,
    Asked,
    Called,
    CalledBack,
    Declared,
    Listed,
    Record,
    Redeployed,
    Reported,
    Said,
    Server,
    Setup,
    Told,
    Tool,
    Unreachable,
    is_without_documents,
)

NEVER: Final = 1e9
"""Seconds; longer than any client waits."""
_MARKER: Final = "chat="
"""Text in each query before the name of the chat, by which the model recognizes the chat of a request."""
_MARKED: Final = re.compile(rf"{_MARKER}(\d+)")


class Recorder:
    """Records what happens, in order, with the time of the event loop since `began`."""

    def __init__(self, began: float = 0.0) -> None:
        self.records: list[Record] = []
        self.over = False
        """Whether nothing more is recorded: the client was stopped, and what ends now, others end."""
        self._began = began
        self._calls = 0
        self._asks = 0

    def note(self, record: Record) -> None:
        """Add a record."""
        if not self.over:
            self.records.append(replace(record, time=asyncio.get_running_loop().time() - self._began))

    @property
    def has_calls(self) -> bool:
        """Whether a server is still at work on a call."""
        return bool(self._unanswered())

    def note_late(self, limit: float) -> None:
        """Record of each call that a server has been at work on for more than `limit` seconds that it had no answer."""
        now = asyncio.get_running_loop().time() - self._began
        for call in self._unanswered():
            if now - call.time > limit:
                self.note(Answered(call=call.call, outcome="late"))

    def _unanswered(self) -> list[Called]:
        answered = {record.call for record in self.records if isinstance(record, Answered)}
        calls = [record for record in self.records if isinstance(record, Called)]
        return [call for call in calls if call.call not in answered]

    def new_call(self) -> int:
        """Return a new number for a call of a server."""
        self._calls += 1
        return self._calls

    def new_ask(self) -> int:
        """Return a new number for a request to a model."""
        self._asks += 1
        return self._asks


class ChatScript:
    """The remaining answers of the model in one chat. All models of a scenario share the script of the chat."""

    def __init__(self, name: str, conversation: Conversation) -> None:
        self.query = f"{conversation.query} {_MARKER}{name}"
        self.name = name
        self._says = iter(conversation.script)
        self._tags = 0

    def next(self) -> Says:
        """Return the next answer."""
        return next(self._says, Says("end"))

    def call(self, ask: Ask, tools: Sequence[Mapping[str, Any]]) -> dict[str, str]:
        """Return a call as the model writes it, under the name by which the tool is offered."""
        self._tags += 1
        arguments = {"tag": ask.tag or f"{self.name}.{self._tags}", **ask.arguments}
        name = ask.tool if isinstance(ask.tool, str) else _offered_name(ask.tool, tools)
        id_ = f"call_{self.name}_{self._tags}" if ask.id is None else ask.id
        return {"id": id_, "name": name, "arguments": json.dumps(arguments) if ask.written is None else ask.written}


_SHORT_PIECES: Final = 8


def _pieces(text: str) -> list[str]:
    """Return a text in pieces, as vendors send it: the first are a word, a part of one, or nothing but white space."""
    parts = [*re.findall(r"\s+|\S+", text[:3]), *re.findall(r"\s+|\S+", text[3:])]
    pieces = [*parts[:_SHORT_PIECES], "".join(parts[_SHORT_PIECES:])]
    return [piece for piece in pieces if piece]


class ObservedModel:
    """A model that says what the script of the chat says."""

    def __init__(self, recorder: Recorder, scripts: Mapping[str, ChatScript]) -> None:
        self._recorder, self._scripts = recorder, scripts

    async def answer(
        self, messages: Messages, tools: Sequence[Mapping[str, Any]], *, whole: bool = False, counts: bool = True
    ) -> ModelAnswer:
        """Answer a request; see `Model.answer`.

        Raises:
            NoSuchChat: it belongs to no chat.
        """
        chat, ask = _chat_of(messages, self._scripts, has_tools=bool(tools)), self._recorder.new_ask()
        offered = copied(tools)
        self._recorder.note(Asked(chat=chat, ask=ask, messages=copied(messages), tools=offered))
        script = self._scripts[chat]
        says = script.next()
        if says.delay:
            await asyncio.sleep(says.delay)
        failure = None if says.fails is None else ModelFailure(says.fails, says.broken)
        failed = failure is not None or says.stalls
        calls = [] if failed else [script.call(one, offered) for one in says.asks]
        tokens = None if failed or not counts else says.tokens
        text = "" if failed and whole else says.text
        said = Said(chat=chat, ask=ask, text=text, calls=calls, failed=failed, stalls=says.stalls, tokens=tokens)
        begun = None
        if failed and says.asks:
            begun = script.call(says.asks[0], offered)
            begun["arguments"] = begun["arguments"][: len(begun["arguments"]) // 2]
        received = begun["arguments"] if begun is not None and not whole else ""
        counted = None if failed else {} if tokens is None else {"input": tokens, "output": 0}
        reasoning = "" if failed and whole else says.reasoning
        said = replace(said, finish=says.finish, failure=says.fails, begun=received, counts=counted)
        self._recorder.note(replace(said, reasoning=reasoning))
        thoughts = _pieces(says.reasoning)
        return ModelAnswer(_pieces(says.text), calls, tokens, failure, says.stalls, says.finish, thoughts, begun)


class ObservedServer:
    """A server whose answers follow the acts of its tools. `index` is its index in `Setup.servers`.

    `one_connection`: calls that are lost at the same time were on one connection.
    """

    def __init__(self, recorder: Recorder, scenario: Scenario, index: int, *, one_connection: bool = True) -> None:
        self._recorder, self._scenario, self._index = recorder, scenario, index
        self._has_one_connection, self._connection = one_connection, 0
        self._server = scenario.setup.servers[index]
        self._calls_of: Counter[int] = Counter()
        self._tools: dict[str, tuple[int, Tool]] = {}
        self._gone: set[str] = set()
        self._unlisted: Sequence[Tool] | None = None
        self._declaration: Declaration | None = None
        self._is_up = asyncio.Event()
        if self._server.reachable:
            self._is_up.set()
        self._numbers = {tool.name: n for n, tool in enumerate(scenario.setup.tools) if tool.server == index}
        self._list([tool for tool in scenario.setup.tools if tool.server == index])
        self.answers_outside = any(
            act.kind in PAGES for n in self._numbers.values() for act in scenario.acts.get(n, ())
        )

    async def up(self) -> None:
        """Return once the server can be reached."""
        await self._is_up.wait()

    def learn(self, declaration: Declaration) -> None:
        """Take note of what the client declares."""
        if declaration != self._declaration:
            self._declaration = declaration
            self._recorder.note(Declared(server=self._index, **asdict(declaration)))

    async def list_tools(self) -> list[Json]:
        """Return the tools as in the result of `tools/list`.

        Raises:
            ServerUnreachable: the server is down.
        """
        if not self._is_up.is_set():
            raise ServerUnreachable("nobody there")
        if self._unlisted is not None:
            self._recorder.note(Listed(server=self._index, tools=self._unlisted))
            self._unlisted = None
        return [listing(tool) for _, tool in self._tools.values()]

    async def call_tool(self, name: str, arguments: Mapping[str, Any], report: SendReport | None = None) -> Json:
        """Return the result of `tools/call`.

        Raises:
            ServerUnreachable: the call was not sent.
            ConnectionLost: the call was sent, and there will be no answer.
            ProtocolError: the answer is a JSON-RPC error.
            OutsideProtocol: the answer is an HTTP status, and a page.
        """
        act = self._next_act(name)
        if act.kind == "down":
            self._recorder.note(Unreachable(server=self._index, tag=arguments.get("tag")))
            raise ServerUnreachable("It cannot be reached.")
        call, connection = self._recorder.new_call(), self._connection
        self._recorder.note(Called(call=call, server=self._index, tool=name, arguments=arguments))
        try:
            if report is not None:
                await self._report(act, call, report)
            await asyncio.sleep(act.delay if act.kind != "late" else NEVER)
        except asyncio.CancelledError:
            self._recorder.note(Answered(call=call, outcome="cancelled"))  # `TraceIndex` tells which were late
            raise
        result, answered = answer(act, name, call, arguments.get("tag"), self._answering(act))
        if isinstance(result, ConnectionLost) and self._has_one_connection:
            answered = replace(answered, connection=f"{connection} at {asyncio.get_running_loop().time():g}")
            self._connection = max(self._connection, connection + 1)  # the next call opens another one
        self._recorder.note(answered)
        if isinstance(result, Exception):
            raise result
        return result

    def _answering(self, act: Act) -> Server:
        """Return the server as it answers: with the wire `negotiated`, a client that reads no documents gets none.

        What an act says in words of its own is sent as it is.
        """
        told = self._declaration
        none = told is not None and is_without_documents(told.extensions, told.experimental)
        none = none or self._scenario.setup.level == 1
        return replace(self._server, plain=True) if none and self._server.xmcp and act.sent is None else self._server

    async def _report(self, act: Act, call: int, send: SendReport) -> None:
        for one in act.reports:
            await asyncio.sleep(one.delay)
            for more in range(one.count):
                told = Reported(call=call, progress=one.progress + more, total=one.total, message=one.message)
                self._recorder.note(told)
                await send(told.progress, told.total, told.message)

    def change_tools(self, tools: Sequence[Tool]) -> None:
        """Have these tools from now on."""
        self._recorder.note(Listed(server=self._index, tools=self._list(tools)))

    def redeploy(self, tools: Sequence[Tool]) -> None:
        """Have these tools from now on, and know nothing of those it had before; be up, if it was not."""
        self._is_up.set()
        before = set(self._tools)
        self._unlisted = self._list(tools)
        self._gone = (self._gone | before) - set(self._tools)
        self._recorder.note(Redeployed(server=self._index, tools=self._unlisted))

    def _list(self, tools: Sequence[Tool]) -> list[Tool]:
        """Number the tools, and return them described: one of the setup keeps its number, and with it its acts."""
        numbers = [self._numbers.get(tool.name, 900 + place) for place, tool in enumerate(tools)]
        described = [replace(tool, description=_description(n)) for n, tool in zip(numbers, tools, strict=True)]
        self._tools = {tool.name: (n, tool) for n, tool in zip(numbers, described, strict=True)}
        return described

    def _next_act(self, name: str) -> Act:
        if name in self._gone:
            return Act("error", code="UNKNOWN_TOOL", text=f"Unknown tool: {name!r}")
        number = self._tools[name][0] if name in self._tools else -1
        acts = self._scenario.acts.get(number) or (OK,)
        act = acts[min(self._calls_of[number], len(acts) - 1)]
        self._calls_of[number] += 1
        return act


class ObservedApplication:
    """An application that answers as the scenario says."""

    def __init__(self, recorder: Recorder, scenario: Scenario) -> None:
        self._recorder, self._callbacks_fail = recorder, scenario.callbacks_fail
        self._approves = _last_repeated(scenario.approves)

    def receive(self, chat: str, event: Mapping[str, Any]) -> None:
        """Receive an event of a chat."""
        self._recorder.note(Told(chat=chat, event=json.loads(json.dumps(event))))

    def approve(self, chat: str, call_id: str) -> bool | None:
        """Return whether a call may be made; `None`: no answer comes."""
        approved = next(self._approves)
        if approved is None:
            return None
        self._recorder.note(Approved(chat=chat, call_id=call_id, answer=approved))
        return approved

    def on_display(self, history: Messages) -> None:
        """Run the callback of a display."""
        self._call_back("on_display", history)

    def on_error(self, history: Messages) -> None:
        """Run the callback of a failed call."""
        self._call_back("on_error", history)

    def _call_back(self, name: Literal["on_display", "on_error"], history: Messages) -> None:
        fails = self._callbacks_fail
        self._recorder.note(CalledBack(chat=_chat_of(history), name=name, history=copied(history), fails=fails))
        if fails:
            raise RuntimeError("the application's own fault")


def copied(objects: Sequence[Mapping[str, Any]]) -> list[Json]:
    """Return a deep copy of objects of JSON, such as messages or tools."""
    copy: list[Json] = json.loads(json.dumps([dict(one) for one in objects]))
    return copy


def _chat_of(messages: Messages, scripts: Mapping[str, ChatScript] = {}, *, has_tools: bool = True) -> str:
    """Return the chat whose query is the newest one, or whose marker is the last in any.

    A request without tools can be one beside the chat that quotes the query: it belongs to the chat only if its newest
    query is nothing else.

    Raises:
        NoSuchChat: no query has a marker.
    """
    queries = [text_of(message).strip() for message in messages if message.get("role") == "user"]
    marks = [mark for query in queries for mark in _MARKED.findall(query)]
    if queries and (found := _MARKED.findall(queries[-1])):
        script = scripts.get(found[-1])
        if script is not None and script.query.strip() == queries[-1]:
            return script.name
    if not marks or not has_tools:
        raise NoSuchChat
    return str(marks[-1])


def _description(number: int) -> str:
    """Return the description by which the model recognizes a tool, under any name that the client offers it."""
    return f"tool {number}"


def described(setup: Setup) -> Setup:
    """Return a setup whose tools have the descriptions that the servers of a scenario give them."""
    tools = [replace(tool, description=_description(number)) for number, tool in enumerate(setup.tools)]
    return replace(setup, tools=tools)


def _offered_name(number: int, tools: Sequence[Mapping[str, Any]]) -> str:
    functions = [function_of(tool) for tool in tools]
    offered = (f for f in functions if is_said_in(_description(number), str(f.get("description", ""))))
    return next((str(f.get("name")) for f in offered), f"missing_{number}")


def _last_repeated(answers: Sequence[bool | None]) -> Iterator[bool | None]:
    yield from answers
    while True:
        yield answers[-1]
