"""Judge a gateway by chats: what it is asked for, in which order, and what the checks are given of it."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Iterator, Sequence
from typing import Any, Final

from xmcp_conformance.core.checks import run_all
from xmcp_conformance.core.events import (
    Emit,
    Noted,
    NotReached,
    Observed,
    RunEnded,
    RunStarted,
    Shortcoming,
    SuiteStarted,
)
from xmcp_conformance.core.requirements import registry
from xmcp_conformance.core.untrusted_text import quoted

from . import checks  # noqa: F401 - the import registers them
from .asking import NOT_THERE, Gateway, result
from .cancelled_chats import NotCancelled, NothingThere, cancelled
from .exchange import EVENTS, Answer, Late, NotJudged, client_of
from .options import Options
from .scripted_model import Said, ScriptedModel
from .seen import Answered, Chunked, Completed, Misplaced, Resumed, Seen, Streamed, Whole
from .told import GAP, Place

PROFILE: Final = "gateway"
_SECRET: Final = re.compile(r"auth|cookie|key|secret|token", re.IGNORECASE)
_LEAST_SECRET: Final = 8
"""Minimum number of characters of a credential that is searched for: a shorter one can occur by chance."""
_MOST_LATE: Final = 3
"""Maximum number of answers that are waited for in vain."""
_AT_ONCE: Final = 3
"""Number of chats that are asked for at the same time."""
_MOST_NAMED: Final = 8
"""Maximum number of tools that a message names."""


async def check(options: Options, emit: Emit, name: str, model: ScriptedModel | None = None) -> None:
    """Judge a gateway.

    Args:
        options: where it is, and what it is asked.
        emit: gets each event; what cannot be judged is one, `NotReached`.
        name: of the gateway, in reports.
        model: the suite's own model, if the gateway asks that.
    """
    emit(SuiteStarted(PROFILE, registry().version, {"strict": options.strict}))
    emit(RunStarted(name, name, "http"))
    async with client_of(options.url, options.headers) as client:
        try:
            await _Visit(Gateway(client, options), options, emit, name, model).pay()
        except _GivenUp:
            emit(Shortcoming(name, f"{_MOST_LATE} answers did not come in time, and no more were asked for"))
    emit(RunEnded(name))


class _GivenUp(Exception):
    """Too many answers were late."""


class _Visit:
    def __init__(self, gateway: Gateway, options: Options, emit: Emit, name: str, model: ScriptedModel | None) -> None:
        self._gateway = gateway
        self._options = options
        self._emit = emit
        self._name = name
        self._model = model
        self._first: Streamed | None = None
        """The first chat that called a tool, or the first one."""
        self._other: Place | None = None
        """An event of another run."""
        self._called = False
        self._late = 0

    async def pay(self) -> None:
        """Make all requests."""
        if not await self._gateway.is_there():
            reason = "The gateway cannot be reached: nothing accepts connections there."
            self._emit(NotReached(self._name, "http", reason))
            return
        if self._options.paths.chat:
            await self._runs()
        if self._options.paths.openai:
            await self._completions()
        self._say_what_is_missing()

    async def _runs(self) -> None:
        prompts = self._options.prompts
        for prompt in prompts.calling:
            await self._case(f"{quoted(prompt)}, as events", self._streamed(prompt))
            await self._case(f"{quoted(prompt)}, in one piece", self._whole(prompt))
        for prompt in prompts.calling[:1]:
            await self._case(f"{quoted(prompt)}, {_AT_ONCE} times at once", self._at_once(prompt))
        await self._resume()
        for prompt in prompts.failing:
            await self._case(f"{quoted(prompt)}, as events", self._failing(prompt))
        if prompts.long:
            await self._case(f"{quoted(prompts.long)}, cancelled", self._cancelled(prompts.long))

    async def _completions(self) -> None:
        prompts = self._options.prompts
        await self._case("a model", self._chosen())
        for prompt in (*prompts.calling, *prompts.failing):
            may_fail = prompt in prompts.failing
            for usage in (True, False):
                case = f"{quoted(prompt)}, as chunks {'with' if usage else 'without'} usage"
                await self._case(case, self._chunked(prompt, usage=usage, may_fail=may_fail))
            await self._case(f"{quoted(prompt)}, as a completion", self._completed(prompt, may_fail=may_fail))
        await self._case("a wrong request for a completion", self._wrong())

    async def _case(self, case: str, trying: Awaitable[Sequence[Seen]]) -> bool:
        """Judge what is seen; return whether anything could be."""
        try:
            for seen in await trying:
                self._judge(case, seen)
        except NotJudged as fault:
            self._emit(NotReached(case, "http", f"The gateway {fault}."))
            self._late += isinstance(fault, Late)
            if self._late == _MOST_LATE:
                raise _GivenUp from fault
            return False
        return True

    def _judge(self, case: str, seen: Seen) -> None:
        for one in (seen, Answered(seen.answer, tuple(self._credentials()))):
            for observation in run_all(PROFILE, one):
                self._emit(Observed(observation, self._name, case))

    def _credentials(self) -> Iterator[str]:
        sent = [value for name, value in self._options.headers if _SECRET.search(name)]
        known = [value.rpartition(" ")[2] for value in sent] + (self._model.credentials if self._model else [])
        yield from (one for one in known if len(one) >= _LEAST_SECRET)

    # The events of runs

    async def _streamed(self, prompt: str) -> list[Seen]:
        mark = self._mark()
        answer = self._chat_result(await self._gateway.whole_chat(prompt, EVENTS))
        seen = Streamed(answer, self._wrote(mark))
        calls = any(event.type == "tool.started" for event in seen.events)
        if self._first is None or (calls and not self._called):
            self._first = seen
        self._called |= calls
        return [seen]

    async def _whole(self, prompt: str) -> list[Seen]:
        answer = self._chat_result(await self._gateway.whole_chat(prompt, "application/json"))
        run = answer.json.get("run_id")
        if not isinstance(run, str):
            return [Whole(answer, [])]
        again = Streamed(await self._gateway.events_of(run))
        if again.answer.refused:
            return [Whole(answer, [])]
        self._other = next((event.place for event in again.events if event.place is not None), None)
        is_whole = [event.type for event in again.events[:1]] != [GAP]
        return [Whole(answer, again.events), *([again] if is_whole else [])]

    async def _at_once(self, prompt: str) -> list[Seen]:
        answers = await asyncio.gather(*(self._gateway.whole_chat(prompt, EVENTS) for _ in range(_AT_ONCE)))
        return [Streamed(self._chat_result(answer)) for answer in answers]

    async def _failing(self, prompt: str) -> list[Seen]:
        answer = await self._gateway.whole_chat(prompt, EVENTS)
        if answer.refused:
            self._note(f"The chat `{quoted(prompt)}` was refused (status {answer.status}) before it had any event.")
            return []
        seen = Streamed(answer)
        if seen.events and seen.events[-1].type == "run.finished":
            self._note(f"The chat `{quoted(prompt)}` did not fail.")
        return [seen]

    async def _cancelled(self, prompt: str) -> list[Seen]:
        try:
            return await cancelled(self._gateway, prompt, self._options)
        except NothingThere as fault:
            self._emit(Shortcoming(self._name, str(fault)))
        except NotCancelled as fault:
            self._note(str(fault))
        return []

    async def _resume(self) -> None:
        """Ask for the events of the first chat again, after some of them and after ids of none of them."""
        events = [] if self._first is None else self._first.events
        places = [event.place for event in events if event.place is not None]
        if self._first is None or not places or not events[-1].is_last:
            return  # the checks of the stream say what is wrong with it
        run = events[0].member("run_id", str) or places[0].run
        for what, place in (
            ("first", places[0]),
            ("one in the middle", places[len(places) // 2]),
            ("last", places[-1]),
        ):
            if not await self._case(f"the events after the {what}", self._resumed(self._first, run, place)):
                return
        for id_, why in self._misplaced(places[-1]):
            await self._case(f"the events after an id {why}", self._after_misplaced(run, id_, why))

    async def _resumed(self, first: Streamed, run: str, place: Place) -> list[Seen]:
        path = self._options.paths.resume
        answer = await self._gateway.events_of(run, str(place))
        if answer.status in NOT_THERE:
            raise NotJudged(f"has no run to be read again at {path}; --resume-path names the right one")
        return [Resumed(first.events, place, answer)]

    async def _after_misplaced(self, run: str, id_: str, why: str) -> list[Seen]:
        answer = await self._gateway.events_of(run, id_)
        return [Misplaced(id_, why, answer)]

    def _misplaced(self, last: Place) -> Iterator[tuple[str, str]]:
        yield "no-event", "which is no id of an event"
        yield f"{last.run}:{last.attempt}:{last.seq + 1000}", "which comes after the last event"
        yield f"{last.run}:{last.attempt + 1}:1", "of an attempt that never was"
        if self._other is not None and self._other.run != last.run:
            yield str(self._other), "of another run"

    def _chat_result(self, answer: Answer) -> Answer:
        return result(answer, self._options.paths.chat, "--chat-path")

    # The API of OpenAI

    async def _chosen(self) -> list[Seen]:
        await self._gateway.choose_model()
        return []

    async def _chunked(self, prompt: str, *, usage: bool, may_fail: bool) -> list[Seen]:
        mark = self._mark()
        asked: dict[str, Any] = {"stream_options": {"include_usage": True}} if usage else {}
        answer = await self._gateway.complete(_question(prompt), stream=True, **asked)
        answer, counts = self._completion(answer, may_fail=may_fail), self._counts(mark, may_fail=may_fail)
        return [Chunked(answer, usage, counts, self._wrote(mark))]

    async def _completed(self, prompt: str, *, may_fail: bool) -> list[Seen]:
        mark = self._mark()
        answer = self._completion(await self._gateway.complete(_question(prompt)), may_fail=may_fail)
        return [Completed(answer, model_counts=self._counts(mark, may_fail=may_fail))]

    async def _wrong(self) -> list[Seen]:
        answer = await self._gateway.complete("no list")
        if answer.status in NOT_THERE:
            return []  # the chats say that there is nothing
        return [Completed(answer, "a request whose `messages` are no list")]

    def _completion(self, answer: Answer, *, may_fail: bool) -> Answer:
        return answer if may_fail else result(answer, self._options.paths.openai, "--openai-path")

    # What is known of the suite's own model

    def _mark(self) -> int:
        return len(self._model.answers) if self._model else 0

    def _said(self, mark: int) -> list[Said]:
        """Return what the model answered since then; nothing where it was not asked, or is not the suite's."""
        return self._model.answers[mark:] if self._model else []

    def _wrote(self, mark: int) -> list[Any] | None:
        return [one.arguments for one in self._said(mark) if one.calls] or None

    def _counts(self, mark: int, *, may_fail: bool) -> tuple[int, int] | None:
        said = self._said(mark)
        if may_fail or not said:
            return None
        return sum(one.sent for one in said), sum(one.written for one in said)

    # What a person should know

    def _note(self, text: str) -> None:
        self._emit(Noted(self._name, text))

    def _say_what_is_missing(self) -> None:
        options, model = self._options, self._model
        if model is not None and not model.answers:
            self._emit(
                Shortcoming(
                    self._name,
                    "the gateway did not ask the suite's model: see its base_url, and who answers at this address",
                )
            )
        elif model is not None and not any(one.calls for one in model.answers):
            names = ", ".join(f"`{quoted(name)}`" for name in model.offered[:_MOST_NAMED]) or "none"
            self._emit(Shortcoming(self._name, f"the suite's model was offered no tool that it can call, but {names}"))
        elif options.paths.chat and not self._called:
            self._emit(Shortcoming(self._name, "no tool was called; --prompt says what makes the model call one"))
        if options.paths.chat and not options.prompts.failing:
            self._note("No run was made to fail: --failing-prompt says what does, or --serve-model.")
        if options.paths.chat and not options.prompts.long:
            self._note("No run was cancelled: --long-prompt says what takes long, or --serve-model.")


def _question(prompt: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": prompt}]
