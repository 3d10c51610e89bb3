"""Build traces by hand: each method is one step of a conforming client. A fault is a step with other arguments."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, Final
from xml.sax.saxutils import escape, quoteattr

from xmcp_conformance.core.error_categories import CATEGORY_OF
from xmcp_conformance.profiles.client.trace import (
    Answered,
    Approved,
    Asked,
    Called,
    CalledBack,
    Cancelled,
    ChatBegan,
    ChatEnded,
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
    Trace,
    Unreachable,
)

Json = dict[str, Any]
RETRYABLE: Final = ("CONNECTION_FAILED", "TIMEOUT", "CIRCUIT_OPEN", "RATE_LIMIT")
"""Codes of errors that a client makes and that are retryable."""
NO_OBJECT: Final[Json] = {"fields": [{"pointer": "", "reason": "not_json", "message": "They are no object."}]}
"""What the error for arguments that are no object says of them."""
Messages = list[Json]
TABLE: Json = {"type": "table", "title": "Stock", "payload": [{"part": "bolt", "count": 7}]}

USAGE: Json = {
    "input_tokens": 9,
    "output_tokens": 3,
    "cached_tokens": None,
    "cost_usd": None,
    "provider": "openai",
    "timestamp": "2026-11-22T09:30:00Z",
    "session_id": "s",
    "tenant_id": None,
    "model": "m",
}


def tool(name: str = "search", *parameters: str, server: int = 0, **described: Any) -> Tool:
    """Return a tool with the parameter `tag` and further parameters of any type."""
    properties = {"tag": {"type": "string"}, **{parameter: {} for parameter in parameters}}
    schema = {"type": "object", "properties": properties}
    return Tool(**{"server": server, "name": name, "input_schema": schema, **described})


def call(
    name: str = "search", tag: str = "t1", *, id_: str | None = None, written: str | None = None, **arguments: Any
) -> dict[str, str]:
    """Return a call as a model writes it; its id is the tag unless another is given."""
    text = json.dumps({"tag": tag, **arguments}) if written is None else written
    return {"id": tag if id_ is None else id_, "name": name, "arguments": text}


def result(text: str | None = "found", display: Any = None, name: str = "search") -> str:
    """Return a document with a result."""
    body = "" if text is None else f"<llm_output>{escape(text)}</llm_output>"
    if display is not None:
        inert = json.dumps(display).replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
        body += f"<display>{inert}</display>"
    return f"<tool_response tool_name={quoteattr(name)}>{body}</tool_response>"


def error(
    code: str,
    message: str = "It failed.",
    retry_after_ms: int | None = None,
    name: str = "search",
    *,
    retryable: bool | None = None,
    meta: Json | None = None,
) -> str:
    """Return a document with an error, which is retryable if it has a wait, or a client's own is so by its code."""
    retryable = code in RETRYABLE if retryable is None else retryable
    wait = "" if retry_after_ms is None else f' retry_after_ms="{retry_after_ms}"'
    wait = f' retryable="true"{wait}' if retryable or wait else ""
    details = "" if meta is None else f"<meta>{json.dumps(meta)}</meta>"
    inner = f'<error code="{code}"{wait}>{escape(message)}{details}</error>'
    return f"<tool_response tool_name={quoteattr(name)}>{inner}</tool_response>"


def failure(code: str = "CONFLICT", message: str = "It failed.", *, retryable: bool = False, **more: Any) -> Json:
    """Return an error as `Answered` has it."""
    return {"code": code, "message": message, "retryable": retryable, **more}


def _told_error(code: str) -> Json:
    """Return the error of an event."""
    category = CATEGORY_OF.get(code, "internal")
    return {"code": code, "message": "It failed.", "retryable": True, "category": category}


class TraceBuilder:
    """Appends a record for each step, and keeps the history of each chat up to date.

    Args:
        tools: what the servers have.
        servers: the servers; by default one without a name.
        setup: further members of `Setup`.
    """

    def __init__(self, *tools: Tool, servers: Sequence[Server] = (Server(),), **setup: Any) -> None:
        self.setup = Setup(servers=servers, tools=tools, **setup)
        self.records: list[Record] = []
        self.histories: dict[str, Messages] = {}
        self.now = 0.0
        self._given: dict[str, Messages] = {}
        self._written: dict[str, tuple[str, dict[str, str]]] = {}
        self._answers: dict[str, str] = {}
        self._called: dict[int, str] = {}
        self._displays: dict[str, list[Any]] = {}
        self._told: defaultdict[str, list[Json]] = defaultdict(list)
        self._results: dict[str, Json] = {}
        self._texts: dict[str, str] = {}
        self._codes: dict[str, str] = {}
        self._tenants: dict[str, str | None] = {}
        self._last_codes: dict[str, str] = {}
        """The code of the last attempt that failed, by the id of the call."""
        self._own_usage: set[str] = set()
        """The chats whose events `usage` a trace tells itself."""

    @property
    def trace(self) -> Trace:
        """The trace so far."""
        return Trace(self.setup, list(self.records))

    def wait(self, seconds: float) -> None:
        """Let time pass."""
        self.now += seconds

    def begin(
        self,
        query: str = "How many?",
        *history: Json,
        chat: str = "a",
        tenant: str | None = None,
        events: bool = False,
    ) -> None:
        """The application begins a chat; `events`: it asks for its events."""
        self._tenants[chat] = tenant
        self._given[chat] = [dict(message) for message in history]
        self.histories[chat] = [*self._given[chat], {"role": "user", "content": query}]
        self._displays[chat] = []
        given = list(self._given[chat])
        self._note(ChatBegan(time=self.now, chat=chat, history=given, query=query, tenant=tenant, events=events))

    def ask(self, chat: str = "a", *, messages: Messages | None = None, tools: Sequence[Json] | None = None) -> None:
        """The client asks the model, by default with the history so far and every tool."""
        offered = [self.offer(one) for one in self.setup.tools if self.setup.servers[one.server].reachable]
        offered += [self.offer_as(name) for name in self.setup.meta_tools]
        self._note(
            Asked(
                time=self.now,
                chat=chat,
                ask=len(self.records),
                messages=list(self.histories[chat] if messages is None else messages),
                tools=offered if tools is None else tools,
            )
        )

    def offer(self, one: Tool, **schema: Any) -> Json:
        """Return a tool as the model sees it."""
        given = self.setup.servers[one.server].given_name
        name = f"{given}__{one.name}" if given else one.name
        properties = {n: s for n, s in one.input_schema.get("properties", {}).items() if n not in self.setup.params}
        return self.offer_as(name, **{"type": "object", "properties": properties, **schema})

    @staticmethod
    def offer_as(name: str, **schema: Any) -> Json:
        """Return a tool as the model sees it, under any name."""
        return {"type": "function", "function": {"name": name, "parameters": schema}}

    def say(self, text: str = "", *calls: Mapping[str, str], chat: str = "a", **said: Any) -> None:
        """The model answers."""
        last = max(at for at, r in enumerate(self.records) if isinstance(r, Asked) and r.chat == chat)
        asked = self.records[last]
        ask = asked.ask if isinstance(asked, Asked) else 0
        self._note(Said(time=self.now, chat=chat, ask=ask, text=text, calls=[dict(c) for c in calls], **said))
        if said.get("failed"):
            return
        message: Json = {"role": "assistant", "content": text}
        if calls:
            message["tool_calls"] = [
                {
                    "id": c["id"],
                    "type": "function",
                    "function": {"name": c["name"], "arguments": _object(c["arguments"])},
                }
                for c in calls
            ]
        self.histories[chat].append(message)
        for one in calls:
            self._written[one["id"]] = (chat, dict(one))

    def called(self, id_: str = "t1", *, server: int | None = None, name: str | None = None, **changed: Any) -> int:
        """A server gets a call with the model's arguments, except those in `changed`. Return the number of the call."""
        written = self._written[id_][1]
        place, own = self._tool(written["name"])
        number = len(self.records)
        arguments = {**json.loads(written["arguments"] or "{}"), **changed}
        arguments = {n: v for n, v in arguments.items() if v is not None}
        self._called[number] = id_
        where = place if server is None else server
        self._note(Called(time=self.now, call=number, server=where, tool=name or own, arguments=arguments))
        return number

    def report(self, number: int, progress: float, total: float | None = None, message: str | None = None) -> None:
        """A server reports how far a call is."""
        self._note(Reported(time=self.now, call=number, progress=progress, total=total, message=message))

    def answered(self, number: int, text: str | None = "found", **answer: Any) -> None:
        """A server answers with a result."""
        self._note(Answered(time=self.now, call=number, outcome="ok", text=text, **answer))
        self._answers[self._called[number]] = result(text, answer.get("display"))
        self._texts[self._called[number]] = text or ""
        if answer.get("display") is not None:
            self._displays[self._written[self._called[number]][0]].append(answer["display"])

    def failed(self, number: int, told: Json | None = None, **answer: Any) -> None:
        """A server answers with an error."""
        told = failure() if told is None else told
        self._note(Answered(time=self.now, call=number, outcome="error", error=told, **answer))
        self._answers[self._called[number]] = error(told["code"], told["message"], retryable=False)
        self._codes[self._called[number]] = self._last_codes[self._called[number]] = told["code"]

    def flagged(self, number: int, text: str = "Only five are left.", **answer: Any) -> None:
        """A server answers with a document without an error, in a result whose `isError` is true."""
        self._note(Answered(time=self.now, call=number, outcome="error", text=text, **answer))
        self._answers[self._called[number]] = error("TOOL_ERROR", text)

    def garbled(self, number: int) -> None:
        """A server that announced the extension answers with a text that is no document."""
        self._note(Answered(time=self.now, call=number, outcome="ok", text="<tool_response", readable=False))
        self._answers[self._called[number]] = error("INVALID_XML")

    def too_large(self, number: int) -> None:
        """A server answers with more than the client reads."""
        self._note(Answered(time=self.now, call=number, outcome="too_large"))
        self._answers[self._called[number]] = error("RESULT_TOO_LARGE")

    def outside(self, number: int, code: str, side_effects: str) -> None:
        """A server answers outside the protocol, with an HTTP status for example."""
        read_as = {"code": code, "retryable": code == "CONNECTION_FAILED", "side_effects": side_effects}
        self._note(Answered(time=self.now, call=number, outcome="outside", error=read_as))
        self._answers[self._called[number]] = error(code)

    def lost(self, number: int, **answer: Any) -> None:
        """The connection breaks."""
        self._note(Answered(time=self.now, call=number, outcome="lost", **answer))
        self._answers[self._called[number]] = error("CONNECTION_FAILED")
        self._last_codes[self._called[number]] = "CONNECTION_FAILED"

    def late(self, number: int) -> None:
        """There is no answer within the time-out, and the client cancels the call."""
        self._note(Answered(time=self.now, call=number, outcome="late"))
        self._answers[self._called[number]] = error("TIMEOUT")
        self._last_codes[self._called[number]] = "TIMEOUT"

    def cancelled(self, number: int) -> None:
        """The client cancels a call."""
        self._note(Answered(time=self.now, call=number, outcome="cancelled"))
        self._answers[self._called[number]] = error("CANCELLED")

    def unreachable(self, id_: str = "t1", **known: Any) -> None:
        """A server cannot be reached for a call."""
        tag = json.loads(self._written[id_][1]["arguments"]).get("tag")
        place, _ = self._tool(self._written[id_][1]["name"])
        self._note(Unreachable(time=self.now, server=place, tag=tag, **known))
        self._answers[id_] = error("CONNECTION_FAILED")
        self._last_codes[id_] = "CONNECTION_FAILED"

    def reply(self, id_: str = "t1", content: str | None = None, *, as_id: str | None = None) -> None:
        """The model gets the result of a call, by default the server's answer."""
        chat = self._written[id_][0]
        text = self._answers[id_] if content is None else content
        self.histories[chat].append({"role": "tool", "tool_call_id": as_id or id_, "content": text})

    def make(self, id_: str = "t1", text: str | None = "found", **answer: Any) -> None:
        """A call is made and answered, and the model gets the answer."""
        self.answered(self.called(id_), text, **answer)
        self.reply(id_)

    def tell(self, type_: str, *, chat: str = "a", **event: Any) -> None:
        """The application gets an event, by default with what happened in its members.

        Before it, the application gets what has to be told by then: the usage of the requests so far, unless the trace
        tells that of some itself, and at the end the text of each turn.
        """
        if type_ == "usage":
            self._own_usage.add(chat)
        if type_ in ("tool_call", "done", "failed") and chat not in self._own_usage:
            for _ in range(self._used(chat), len(self._said(chat))):
                self._note_event(chat, "usage")
        if type_ in ("done", "failed"):
            told = {one["turn"] for one in self._told[chat] if one["type"] == "llm_delta"}
            for turn, said in enumerate(self._said(chat), 1):
                if said.text and turn not in told:
                    self._note_event(chat, "llm_delta", turn=turn, text=said.text)
            self._results.get(chat, {}).get("usage", {}).update(self._sum(chat))
        self._note_event(chat, type_, **event)

    def _note_event(self, chat: str, type_: str, **event: Any) -> None:
        told: Json = {
            "type": type_,
            "turn": self._turn(chat),
            **self._members(type_, chat, event.get("call_id")),
            **event,
        }
        self._told[chat].append(told)
        self._note(Told(time=self.now, chat=chat, event=told))

    def _said(self, chat: str) -> list[Said]:
        """Return the answers of the model that came to their end."""
        return [one for one in self.records if isinstance(one, Said) and one.chat == chat and not one.failed]

    def _used(self, chat: str) -> int:
        return len(self._usages(chat))

    def _usages(self, chat: str) -> list[Json]:
        return [one["usage"] for one in self._told[chat] if one["type"] == "usage"]

    def _sum(self, chat: str) -> Json:
        """Return the usage of a chat: the sum of its records."""
        records = self._usages(chat)
        known = {
            name: [one[name] for one in records if one.get(name) is not None]
            for name in ("input_tokens", "output_tokens", "cached_tokens", "reasoning_tokens")
        }
        return {
            "llm_calls": len(records),
            **{name: sum(figures) if figures else None for name, figures in known.items()},
        }

    def _turn(self, chat: str) -> int:
        """Return the number of the turn now: the answers so far, and one more while a request is under way."""
        own = [r for r in self.records if isinstance(r, Asked | Said) and r.chat == chat]
        done = sum(isinstance(r, Said) and not r.failed for r in own)
        return done + ((bool(own) and isinstance(own[-1], Asked)) or (bool(own) and getattr(own[-1], "failed", False)))

    def _members(self, type_: str, chat: str, id_: str | None) -> Json:
        """Return the members of an event beside `type` and `turn`."""
        of_call: Json = {}
        if id_ in self._written:
            written = self._written[id_][1]
            of_call = {"tool_name": written["name"]}
            if type_ == "tool_call":
                return {**of_call, "arguments": json.loads(_object(written["arguments"])), "text": written["arguments"]}
        turn = None if id_ is not None else self._turn(chat)
        of = [one for one in self._told[chat] if one.get("call_id") == id_ and one["type"] == "retry"]
        before = [one for one in of if turn is None or one["turn"] == turn]
        code = self._codes.get(id_ or "", "CONFLICT")
        last = self._last_codes.get(id_ or "", "UPSTREAM_UNAVAILABLE")
        members: dict[str, Json] = {
            "retry": {"attempt": len(before) + 1, "wait_ms": 0, "error": _told_error(last)},
            "tool_result": {"text": self._texts.get(id_ or "", "")},
            "tool_error": {"error": {**_told_error(code), "retryable": code in RETRYABLE}},
            "tool_display": {"envelope": TABLE},
            "usage": {"usage": {**USAGE, "tenant_id": self._tenants.get(chat)}},
            "failed": {"error": _told_error("UPSTREAM_UNAVAILABLE"), "history": self.histories[chat]},
            "done": {"result": self._results.setdefault(chat, {})},
        }
        return {**of_call, **members.get(type_, {})}

    def approve(self, id_: str = "t1", answer: bool = True) -> None:
        """The client asks the application to approve a call."""
        chat = self._written[id_][0]
        self._note(Approved(time=self.now, chat=chat, call_id=id_, answer=answer))

    def call_back(self, *, fails: bool = False, chat: str = "a", history: Messages | None = None) -> None:
        """A callback of the application runs."""
        messages = [] if history is None else history
        self._note(CalledBack(time=self.now, chat=chat, name="on_display", history=messages, fails=fails))

    def declare(self, **declared: Any) -> None:
        """The first server learns what the client declares."""
        self._note(Declared(time=self.now, server=0, **declared))

    def list_tools(self, *tools: Tool, server: int = 0) -> None:
        """A server lists other tools."""
        self._note(Listed(time=self.now, server=server, tools=list(tools)))

    def redeploy(self, *tools: Tool, server: int = 0) -> None:
        """A server has other tools from now on, and announces nothing."""
        self._note(Redeployed(time=self.now, server=server, tools=list(tools)))

    def cancel(self, chat: str = "a") -> None:
        """The application cancels a chat."""
        self._note(Cancelled(time=self.now, chat=chat))

    def end(
        self, answer: str | None = None, stop: str = "stop", *, chat: str = "a", failure: Any = None, **ended: Any
    ) -> None:
        """A chat ends."""
        displays = ended.pop("displays", self._displays[chat])
        history = list(ended.pop("history", self.histories[chat]))
        done = self._results.setdefault(chat, {})  # the one in `done`, if that was told
        done |= {"answer": answer, "stop_reason": stop, "displays": list(displays), "history": history}
        done["display"] = displays[0] if displays else None
        done["usage"] = self._sum(chat)
        self._note(
            ChatEnded(
                time=self.now,
                chat=chat,
                result=None if failure else done,
                history=history,
                given=ended.pop("given", list(self._given[chat])),
                failure=failure,
            )
        )

    def finish(self, text: str = "Seven.", *, chat: str = "a") -> None:
        """The client asks the model again, the model answers, and the chat ends."""
        self.ask(chat)
        self.say(text, chat=chat)
        self.end(text, chat=chat)

    def _tool(self, name: str) -> tuple[int, str]:
        for one in self.setup.tools:
            given = self.setup.servers[one.server].given_name
            if name == (f"{given}__{one.name}" if given else one.name):
                return one.server, one.name
        return 0, name

    def _note(self, record: Record) -> None:
        self.records.append(record)


def _object(written: str) -> str:
    """Return the arguments as a history has them: an empty object where they are not one JSON object."""
    try:
        return written if isinstance(json.loads(written), dict) else "{}"
    except ValueError:
        return "{}"
