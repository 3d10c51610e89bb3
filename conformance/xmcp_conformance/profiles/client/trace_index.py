"""An index of a trace: its chats, their turns, the calls in them, and the attempts at servers. Facts only.

Nothing here judges the client; the checks do. What the trace does not show is `None`.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

from xmcp_conformance.core.histories import Message, answers_after, calls_of

from .messages import arguments_of, function_of, same, tag_of, text_of
from .name_resolution import ToolKey, is_legal, key_of, may_be_renamed, may_name, resolve, shows
from .trace import (
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
    Redeployed,
    Reported,
    Said,
    Told,
    Tool,
    Trace,
    Unreachable,
    is_without_documents,
)
from .trace_model import NEVER, Attempt, Chat, ModelCall, Turn, error_of, gives_text


class TraceIndex:
    """The chats, turns, calls and attempts of a trace.

    Raises:
        KeyError: a record names a chat, a request or a call that never began.
    """

    def __init__(self, trace: Trace) -> None:
        self.setup = trace.setup
        self.records = trace.records
        self.instant = trace.precision
        self.chats: dict[str, Chat] = {}
        self.attempts: list[Attempt] = []
        self._asked: dict[int, tuple[int, Asked]] = {}
        self._by_tag: dict[str | None, list[ModelCall]] = defaultdict(list)
        self._running: dict[int, Attempt] = {}
        self.called_by: dict[str, ToolKey] = {}
        """The tool that was first called, by the name that the model wrote."""
        self._read_chats()
        self._read_attempts()
        self._resolve_names()
        self._find_sources()

    @cached_property
    def own_tools(self) -> set[str]:
        """The names of the client's own tools; in the setup they may lack the underscores."""
        return {f"__{name.strip('_')}__" for name in self.setup.meta_tools}

    @cached_property
    def known_tools(self) -> list[Tool]:
        """Every tool that a server has or had, each time as it was described then."""
        lists = [r.tools for r in self.records if isinstance(r, (Listed, Redeployed))]
        return [*self.setup.tools, *(tool for tools in lists for tool in tools)]

    @cached_property
    def renamed(self) -> set[ToolKey]:
        """The tools that can have another name than their full one because that is taken."""
        return may_be_renamed(self.setup, self.own_tools, self.known_tools)

    def may_name(self, name: str, tool: Tool) -> bool:
        """Return whether a conforming client can have offered the tool under this name."""
        return may_name(self.setup, name, tool, self.renamed)

    @cached_property
    def calls(self) -> list[ModelCall]:
        """The calls of the model in order, without those whose attempts can also belong to equal calls."""
        return [call for call in self.all_calls if not call.unclear]

    @cached_property
    def all_calls(self) -> list[ModelCall]:
        """The calls of the model in all chats, in order."""
        turns = sorted((turn for chat in self.chats.values() for turn in chat.turns), key=lambda turn: turn.said_at)
        return [call for turn in turns for call in turn.calls]

    @cached_property
    def turns(self) -> list[Turn]:
        """The turns with calls, of all chats."""
        return [turn for chat in self.chats.values() for turn in chat.turns if turn.calls]

    def time(self, at: int) -> float:
        """Return the time of a record, in seconds."""
        return math.inf if at == NEVER else self.records[at].time

    def tools_at(self, at: int) -> list[Tool]:
        """Return the tools of all servers, as each server had last listed them before a record.

        Lists in which tools depend on each other in a circle do not count.
        """
        used = {server: tools for listed_at, server, tools, circle in self._lists if listed_at < at and not circle}
        return [tool for server in sorted(used) for tool in used[server]]

    def refused_at(self, at: int) -> list[Tool]:
        """Return the tools of each server that was reached and whose last list before a record has a circle."""
        last: dict[int, Sequence[Tool]] = {}
        for listed_at, server, tools, in_a_circle in self._lists:
            if listed_at < at and (listed_at >= 0 or self.setup.servers[server].reachable):
                last[server] = tools if in_a_circle else ()
        return [tool for tools in last.values() for tool in tools]

    @property
    def starts_incomplete(self) -> bool:
        """Whether a client starts without the tools of a server, which is away or whose tools are in a circle."""
        return not all(server.reachable for server in self.setup.servers) or bool(self.refused_at(0))

    @cached_property
    def _lists(self) -> list[tuple[int, int, Sequence[Tool], bool]]:
        """Each list: the index of its record (-1 for the first), its server, its tools, whether it has a circle."""
        lists: list[tuple[int, int, Sequence[Tool]]] = [
            (-1, server, [tool for tool in self.setup.tools if tool.server == server])
            for server in range(len(self.setup.servers))
        ]
        lists += [(self.used_from[at], r.server, r.tools) for at, r in enumerate(self.records) if isinstance(r, Listed)]
        return [(at, server, tools, has_circle(tools)) for at, server, tools in lists]

    def tools_within_limit_at(self, at: int) -> list[Tool]:
        """Return `tools_at` without those that come after as many as the client offers of one server."""
        limit = self.setup.max_tools_per_server
        seen: Counter[int] = Counter()
        kept = []
        for tool in self.tools_at(at):
            seen[tool.server] += 1
            if limit is None or seen[tool.server] <= limit:
                kept.append(tool)
        return kept

    def lists_between(self, first: int, last: int) -> list[tuple[int, Listed]]:
        """Return the lists that servers sent between two records."""
        return [(at, r) for at, r in enumerate(self.records[first:last], first) if isinstance(r, Listed)]

    def sends_documents(self, attempt: Attempt) -> bool:
        """Return whether the result of an attempt has to be a document, by what its server says."""
        plain = attempt.answered is not None and attempt.answered.plain
        return self.setup.servers[attempt.server].xmcp and not plain

    def attempts_at(self, server: int) -> list[Attempt]:
        """Return the attempts at one server."""
        return [attempt for attempt in self.attempts if attempt.server == server]

    def running(self, at: int) -> int:
        """Return how many calls were running on the servers before a record."""
        return sum(a.at < at and self.goes_on(a, at) for a in self.attempts if a.called is not None)

    def goes_on(self, attempt: Attempt, at: int) -> bool:
        """Return whether an attempt had not ended at a record.

        One without an answer had when its time was over, or at the same time: its server can learn of that late.
        """
        over = min(attempt.ended, attempt.begun + self.setup.tool_timeout)
        return at < attempt.ended_at and (attempt.was_answered or self.time(at) < over - self.instant)

    @cached_property
    def used_from(self) -> dict[int, int]:
        """The record after which each list counts, by the index of the list."""
        known: dict[int, set[str | None]] = defaultdict(set)
        for tool in self.known_tools:
            known[tool.server].add(tool.description)
        lists = ((at, one) for at, one in enumerate(self.records) if isinstance(one, Listed))
        return {at: self._used_from(at, one, known[one.server]) for at, one in lists}

    def _used_from(self, at: int, listed: Listed, known: set[str | None]) -> int:
        """Return the record after which a list counts: a request at the same time can still have the one before."""
        new = {tool.description for tool in listed.tools}
        gone = known - new - {None}
        for later in range(at + 1, len(self.records)):
            record = self.records[later]
            if record.time > listed.time + self.instant:
                break
            if isinstance(record, Asked):
                offered = {function_of(tool).get("description") for tool in record.tools}
                if offered & gone or (self.setup.max_tools_per_server is None and new - offered - {None}):
                    at = later
        return at

    def may_share(self, call: ModelCall) -> bool:
        """Return whether an equal call was running whose answer a cache can have given to this call too."""
        return self.setup.cache and any(
            a.call is not None and a.call is not call and a.call.tag == call.tag
            for a in self.attempts
            if a.at < call.turn.next_at and a.ended_at > call.turn.said_at
        )

    def approval_of(self, call: ModelCall) -> Approved | None:
        """Return the application's answer to the request to approve a call; `None` where it was not asked."""
        # The model's id counts only where the client's is not known: the client may use it for another call.
        id_ = call.id or call.raw_id
        for at, approved in call.turn.chat.approvals:
            if id_ and approved.call_id == id_ and call.turn.said_at < at < call.turn.next_at:
                return approved
        return None

    def _read_chats(self) -> None:
        for at, record in enumerate(self.records):
            match record:
                case ChatBegan():
                    self.chats[record.chat] = Chat(record.chat, at, record, self.instant)
                case Asked():
                    self.chats[record.chat].asks.append((at, record))
                    self._asked[record.ask] = (at, record)
                    self._follow(self.chats[record.chat], at, record, record.messages)
                case Said():
                    self._read_answer(at, record)
                case Told():
                    self.chats[record.chat].received.append((at, record))
                case Approved():
                    self.chats[record.chat].approvals.append((at, record))
                case CalledBack():
                    self.chats[record.chat].callbacks.append((at, record))
                case Cancelled():
                    self.chats[record.chat].cancelled_at, self.chats[record.chat].cancelled = at, record
                case ChatEnded():
                    chat = self.chats[record.chat]
                    chat.ended_at, chat.ended = at, record
                    self._follow(chat, at, record, record.history)

    def _read_answer(self, at: int, said: Said) -> None:
        chat = self.chats[said.chat]
        if said.failed:
            chat.failed.append((at, said))
            return
        asked_at, asked = self._asked[said.ask]
        turn = Turn(chat, len(chat.turns) + 1, asked_at, asked, at, said)
        names = {function_of(tool).get("name") for tool in asked.tools}
        for place, raw in enumerate(said.calls):
            name, written = raw.get("name", ""), raw.get("arguments", "")
            arguments = arguments_of(written)
            tag = tag_of(written, arguments)
            meta = name in self.own_tools and name in names
            call = ModelCall(turn, place, raw.get("id", ""), name, written, arguments, tag, name in names, meta)
            turn.calls.append(call)
            self._by_tag[tag].append(call)
        chat.turns.append(turn)

    @staticmethod
    def _follow(chat: Chat, at: int, record: Asked | ChatEnded, messages: Sequence[Message]) -> None:
        """Set the ids and results of a turn's calls, as the history after the turn has them."""
        if not chat.turns or chat.turns[-1].next is not None:
            return
        turn = chat.turns[-1]
        turn.next_at, turn.next, turn.messages = at, record, messages
        if not turn.calls:
            return
        turn.at = next((i for i in reversed(range(len(messages))) if calls_of(messages[i])), None)
        if turn.at is None:
            return
        written = calls_of(messages[turn.at])
        if _times(written, messages) <= _times(written, turn.asked.messages):
            turn.at = None  # it is the message of an earlier turn, which the request for this one had: ids can repeat
            return
        names = [(entry.get("function") or {}).get("name") for entry in written]
        # A name that no vendor accepts, or that the model made up, can be another one in the history (section 11.11).
        pairs = zip(names, turn.calls, strict=False)
        expected = [name if is_legal(call.name) and call.offered else call.name for name, call in pairs]
        if len(names) != len(turn.calls) or expected != [call.name for call in turn.calls]:
            turn.at = None
            return
        answers = {m.get("tool_call_id"): text_of(m) for m in reversed(answers_after(messages, turn.at))}
        for call, entry in zip(turn.calls, written, strict=True):
            call.id = str(entry.get("id") or "")
            call.content = answers.get(call.id)

    def _as_read(self, answered: Answered, server: int, declared: Declared | None) -> Answered:
        """Return an answer as its client has to read it: one without documents cannot read a document (section 6.4)."""
        told = declared is not None and is_without_documents(declared.extensions, declared.experimental)
        is_result = answered.outcome in ("ok", "error") and answered.protocol_error is None
        is_document = is_result and self.setup.servers[server].xmcp and not answered.plain and answered.readable
        if not is_document or not (told or self.setup.level == 1):
            return answered
        read_as = Answered(call=answered.call, time=answered.time, outcome=answered.outcome, for_user=answered.for_user)
        why = "the client reads no documents"
        return replace(read_as, text=answered.document or answered.text, readable=False, why_unreadable=why)

    def _read_attempts(self) -> None:
        declared: dict[int, Declared] = {}
        answers = {record.call: record for record in self.records if isinstance(record, Answered)}
        for at, record in enumerate(self.records):
            match record:
                case Called():
                    attempt = Attempt(at, record.time, record.server, record)
                    self._running[record.call] = attempt
                    self._assign(attempt, record.arguments.get("tag"), answers.get(record.call))
                case Unreachable():
                    attempt = Attempt(at, record.time, record.server, None, ended_at=at, ended=record.time)
                    self._assign(attempt, record.tag, None)
                case Reported():
                    self._running[record.call].reports.append((at, record))
                case Declared():
                    declared[record.server] = record
                case Answered():
                    attempt = self._running[record.call]
                    read_as = self._as_read(record, attempt.server, declared.get(attempt.server))
                    attempt.ended_at, attempt.ended, attempt.answered = at, record.time, read_as
                    if (
                        record.outcome == "cancelled"
                        and record.time - attempt.begun >= self.setup.tool_timeout - self.instant
                    ):
                        attempt.answered = replace(
                            record, outcome="late"
                        )  # the time-out was over, even if the server was still working

    def _assign(self, attempt: Attempt, tag: Any, answer: Answered | None) -> None:
        """Set the call of an attempt: of calls with one tag the one to which all that is known of it fits.

        Where several fit, they are marked as unclear, unless they are equal calls that share one attempt.
        """
        self.attempts.append(attempt)
        known = [call for call in self._by_tag.get(tag, ()) if call.turn.said_at < attempt.at]
        waiting = [call for call in known if call.turn.next_at > attempt.at] or known
        if not waiting:
            return
        fits = self._fitting(waiting, attempt)
        there = [t for t in self.tools_at(attempt.at) if t.server == attempt.server and attempt.tool in ("", t.name)]
        again = [c for c in fits if len(c.attempts) < self.setup.max_attempts and c.is_unfinished]
        new = [c for c in fits if not c.attempts]
        # With a cache, an equal call waits for the next attempt of this one and makes none itself.
        shared = self.setup.cache and any(t.cacheable or (t.read_only and self.setup.cache_read_only) for t in there)
        could = (again + new if shared else new + again) or fits
        if shared:  # any of equal calls is the one that is made (section 11.5)
            could = [c for c in could if _is_told_to_start(c)] or could
        candidates = [c for c in could if answer is not None and _says(c, answer)] or could
        attempt.call = candidates[0]
        names = {c.name for c in candidates}
        if len(candidates) > 1 and (not shared or len(names) > 1) and candidates[0].arguments is not None:
            for one in fits:
                one.unclear = True
        attempt.call.attempts.append(attempt)
        if attempt.called is not None and (not attempt.call.unclear or len({c.name for c in fits}) == 1):
            self.called_by.setdefault(attempt.call.name, (attempt.server, attempt.tool))

    def _fitting(self, calls: list[ModelCall], attempt: Attempt) -> list[ModelCall]:
        """Return the calls of which an attempt can be; evidence that speaks against all of them is ignored."""
        tools = [t for t in self.known_tools if t.server == attempt.server and attempt.tool in ("", t.name)]
        key = (attempt.server, attempt.tool)
        elsewhere = {*self.setup.params}
        for tool in tools:
            elsewhere |= {*(tool.input_schema.get("properties") or {})} if tool.depends_on else set()

        def may_name_it(call: ModelCall) -> bool:
            return call.offered and any(self.may_name(call.name, tool) for tool in tools)

        def has_arguments(call: ModelCall) -> bool:
            return call.arguments is not None

        def has_these_arguments(call: ModelCall) -> bool:
            given, written = attempt.arguments, call.arguments or {}
            names = {*given, *written} - elsewhere
            return attempt.called is None or all(
                n in given and n in written and same(given[n], written[n]) for n in names
            )

        def has_no_other_tool(call: ModelCall) -> bool:
            return attempt.called is None or self.called_by.get(call.name, key) == key

        def shows_it(call: ModelCall) -> bool:
            return any(shows(self.setup, call.turn.asked, call.name, tool) for tool in tools)

        def has_begun(call: ModelCall) -> bool:
            return _may_have_begun(call, attempt)

        def has_not_ended(call: ModelCall) -> bool:
            return not _has_ended(call, attempt)

        evidence = (may_name_it, has_arguments, has_these_arguments, has_no_other_tool, shows_it)
        for holds in (*evidence, has_begun, has_not_ended):
            calls = [call for call in calls if holds(call)] or calls
        return calls

    def _resolve_names(self) -> None:
        for call in self.all_calls:
            if call.offered and not call.meta:
                asked_at, asked = call.turn.asked_at, call.turn.asked
                call.tool = resolve(self.setup, asked, call.name, self.tools_at(asked_at), self.called_by, self.renamed)

    def _find_sources(self) -> None:
        """Set `source` of each call that was answered without an attempt: the answer that it was given."""
        for call in self.calls:
            if call.attempts or call.meta or call.reply is None:
                continue
            before = [a for a in self.attempts if a.was_answered and a.ended_at < call.turn.next_at]
            alike = [a for a in before if a.answered is not None and _says(call, a.answered)]
            own = [a for a in alike if call.tool and key_of(call.tool) == (a.server, a.tool)]
            if own or (alike and call.succeeded):
                call.source = (own or alike)[-1].answered


def _times(calls: Sequence[Mapping[str, Any]], messages: Sequence[Message]) -> int:
    """Return how many messages have just these calls."""
    wanted = _as_written(calls)
    return sum(_as_written(calls_of(message)) == wanted for message in messages)


def _as_written(calls: Sequence[Mapping[str, Any]]) -> list[tuple[Any, Any, Any]]:
    functions = [function_of(call) for call in calls]
    return [(c.get("id"), f.get("name"), f.get("arguments")) for c, f in zip(calls, functions, strict=True)]


def _may_have_begun(call: ModelCall, attempt: Attempt) -> bool:
    """Return whether the events allow that a call had begun at an attempt."""
    if not call.id or not any(one.event.get("type") == "tool_started" for _, one in call.turn.chat.received):
        return True
    begun = [one for _, one in call.turn.chat.received if one.event.get("call_id") == call.id]
    return any(
        one.event.get("type") == "tool_started" and one.time <= attempt.begun + call.turn.chat.instant for one in begun
    )


def _has_ended(call: ModelCall, attempt: Attempt) -> bool:
    """Return whether the events say that a call had ended before an attempt."""
    latest = attempt.begun - call.turn.chat.instant
    told = [one for _, one in call.turn.chat.received if call.id and one.event.get("call_id") == call.id]
    return any(one.event.get("type") in ("tool_error", "tool_result") and one.time < latest for one in told)


def _is_told_to_start(call: ModelCall) -> bool:
    return any(event.get("type") == "tool_started" for _, event in call.turn.chat.events(call))


def _says(call: ModelCall, answer: Answered) -> bool:
    """Return whether the model got this answer of a server as the result of the call."""
    if call.reply is None:
        return False
    if call.reply.error is not None:
        return answer.outcome == "error" and call.reply.error.message == error_of(answer).get("message")
    return answer.outcome == "ok" and gives_text(answer, call.reply.llm_output)


def has_circle(tools: Sequence[Tool]) -> bool:
    """Return whether a tool of one list depends on itself through others. A tool that names itself does not count."""
    before = {tool.name: {name for name in tool.depends_on if name != tool.name} for tool in tools}
    for start in before:
        reached: set[str] = set()
        queue = [start]
        for name in queue:
            new = before.get(name, set()) - reached
            reached |= new
            queue += new
        if start in reached:
            return True
    return False
