"""Judge a gateway by chats: what is asked for, in which order, and what the checks are given of it."""

from __future__ import annotations

import asyncio
import math
import re
from collections.abc import Awaitable, Iterator, Mapping, Sequence
from typing import Any, Final

import httpx2

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
from .exchange import EVENTS, Answer, Exchange, Late, NotJudged, answer_to, client_of, exchange
from .options import PROMPT, RUN, Options, with_word
from .scripted_model import Said, ScriptedModel
from .seen import Answered, Cancelled, Chunked, Completed, Misplaced, Resumed, Seen, Streamed, Whole
from .told import Place, Told, object_in, told

PROFILE: Final = "gateway"
_SECRET: Final = re.compile(r"auth|cookie|key|secret|token", re.IGNORECASE)
_LEAST_SECRET: Final = 8
"""Minimum number of characters of a credential that is searched for: a shorter one can occur by chance."""
_CANCELLED_AFTER: Final = 4
"""Number of events of the long chat after which it is cancelled."""
_STUCK_SECONDS: Final = 10.0
"""How long a run that was cancelled may go on, beyond the time of the options, before the suite leaves it."""
_MOST_LATE: Final = 3
"""Maximum number of answers that are waited for in vain."""
_MOST_NAMED: Final = 8
"""Maximum number of tools that a message names."""
_NOT_THERE: Final = (404, 405)


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
            await _Visit(client, options, emit, name, model).pay()
        except _GivenUp:
            emit(Shortcoming(name, f"{_MOST_LATE} answers did not come in time, and no more were asked for"))
    emit(RunEnded(name))


class _GivenUp(Exception):
    """Too many answers were late."""


class _Visit:
    def __init__(
        self, client: httpx2.AsyncClient, options: Options, emit: Emit, name: str, model: ScriptedModel | None
    ) -> None:
        self._client = client
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
        paths, prompts = self._options.paths, self._options.prompts
        if not await self._answers():
            return
        if paths.chat:
            for prompt in prompts.calling:
                await self._case(f"{quoted(prompt)}, as events", self._streamed(prompt))
                await self._case(f"{quoted(prompt)}, in one piece", self._whole(prompt))
            await self._resume()
            for prompt in prompts.failing:
                await self._case(f"{quoted(prompt)}, as events", self._failing(prompt))
            if prompts.long:
                await self._case(f"{quoted(prompts.long)}, cancelled", self._cancelled(prompts.long))
        if paths.openai:
            await self._case("a model", self._choose_model())
            for prompt in (*prompts.calling, *prompts.failing):
                may_fail = prompt in prompts.failing
                for usage in (True, False):
                    what = f"{quoted(prompt)}, as chunks {'with' if usage else 'without'} usage"
                    await self._case(what, self._chunked(prompt, usage=usage, may_fail=may_fail))
                await self._case(f"{quoted(prompt)}, as a completion", self._completed(prompt, may_fail=may_fail))
            await self._case("a wrong request for a completion", self._wrong())
        self._say_what_is_missing()

    async def _answers(self) -> bool:
        """Return whether anything answers at all: if not, one sentence says so, and no other is needed."""
        try:
            await answer_to(self._client, "GET", "/", self._options.seconds)
        except NotJudged as fault:
            if "cannot be reached" in str(fault):
                self._emit(NotReached(self._name, "http", f"The gateway {fault}."))
                return False
        return True

    async def _case(self, case: str, trying: Awaitable[Sequence[Seen]]) -> None:
        try:
            for seen in await trying:
                self._judge(case, seen)
        except NotJudged as fault:
            self._not_judged(case, fault)

    def _not_judged(self, case: str, fault: NotJudged) -> None:
        self._emit(NotReached(case, "http", f"The gateway {fault}."))
        self._late += isinstance(fault, Late)
        if self._late == _MOST_LATE:
            raise _GivenUp

    async def _tried(self, case: str, asking: Awaitable[Answer]) -> Answer | None:
        """Return an answer; `None` if there is none that can be judged, which is said."""
        try:
            return await asking
        except NotJudged as fault:
            self._not_judged(case, fault)
            return None

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
        asked = self._mark()
        answer = self._result(await self._ask_chat(prompt, EVENTS), self._options.paths.chat, "--chat-path")
        seen = Streamed(answer, self._wrote(asked))
        calls = any(event.type == "tool.started" for event in seen.events)
        if self._first is None or (calls and not self._called):
            self._first = seen
        self._called |= calls
        return [seen]

    async def _failing(self, prompt: str) -> list[Seen]:
        answer = await self._ask_chat(prompt, EVENTS)
        if answer.refused:
            self._note(f"The chat `{quoted(prompt)}` was refused (status {answer.status}) before it had any event.")
            return []
        seen = Streamed(answer)
        if seen.events and seen.events[-1].type == "run.finished":
            self._note(f"The chat `{quoted(prompt)}` did not fail.")
        return [seen]

    async def _whole(self, prompt: str) -> list[Seen]:
        path = self._options.paths.chat
        answer = self._result(await self._ask_chat(prompt, "application/json"), path, "--chat-path")
        run = object_in(answer.raw.decode(errors="replace"))[0].get("run_id")
        if not isinstance(run, str) or self._options.paths.resume == "":
            return [Whole(answer, [])]
        events = await self._events_of(run)
        found = [] if events.refused else [told(event) for event in events.events]
        self._other = next((event.place for event in found if event.place is not None), None)
        return [Whole(answer, found)]

    async def _resume(self) -> None:
        events = [] if self._first is None else self._first.events
        places = [event.place for event in events if event.place is not None]
        if not places or not events[-1].is_last:
            return  # the checks of the stream say what is wrong with it
        run, first, last = events[0].member("run_id", str) or places[0].run, places[0], places[-1]
        answer = await self._tried("the events after the first", self._events_of(run, str(first)))
        if answer is None:
            return
        if answer.status in _NOT_THERE:
            path = self._options.paths.resume
            self._emit(Shortcoming(self._name, f"no run could be read again at {path}; --resume-path names the path"))
            return
        self._judge("the events after the first", Resumed(events, first, answer))
        for what, place in (("half of them", places[len(places) // 2]), ("the last", last)):
            case = f"the events after {what}"
            if (answer := await self._tried(case, self._events_of(run, str(place)))) is not None:
                self._judge(case, Resumed(events, place, answer))
        for id_, why in self._misplaced(last):
            case = f"the events after an id {why}"
            if (answer := await self._tried(case, self._events_of(run, id_))) is not None:
                self._judge(case, Misplaced(id_, why, answer))

    def _misplaced(self, last: Place) -> Iterator[tuple[str, str]]:
        yield "no-event", "which is no id of an event"
        yield f"{last.run}:{last.attempt}:{last.seq + 1000}", "which comes after the last event"
        yield f"{last.run}:{last.attempt + 1}:1", "of an attempt that never was"
        if self._other is not None and self._other.run != last.run:
            yield str(self._other), "of another run"

    async def _cancelled(self, prompt: str) -> list[Seen]:
        loop = asyncio.get_running_loop()
        options, rest = self._options, None
        async with self._chat(prompt, EVENTS) as under_way:
            events: list[Told] = []
            cancelled_at = math.inf
            try:
                async with asyncio.timeout(None) as patience:
                    async for sent in under_way.events():
                        events.append(told(sent))
                        place = events[0].place
                        if rest is None and place is not None:
                            rest = asyncio.create_task(self._events_of(place.run, str(place)))
                        if len(events) == _CANCELLED_AFTER and place is not None and not events[-1].is_last:
                            if not await self._cancel(place.run):
                                return await _none(rest)
                            cancelled_at = loop.time()
                            patience.reschedule(cancelled_at + options.cancel_seconds + _STUCK_SECONDS)
                waited = loop.time() - cancelled_at
            except TimeoutError:
                waited = math.inf
            answer = self._result(under_way.answer, options.paths.chat, "--chat-path")
        return await self._judged_cancel(answer, events, rest, waited, cancelled_at)

    async def _judged_cancel(
        self,
        answer: Answer,
        events: list[Told],
        rest: asyncio.Task[Answer] | None,
        waited: float,
        cancelled_at: float,
    ) -> list[Seen]:
        if cancelled_at == math.inf:
            self._note("The long chat ended before it could be cancelled: --long-prompt names one that takes longer.")
            await _none(rest)
            return [Streamed(answer)]
        seen: list[Seen] = [Cancelled(answer, waited=waited, grace=self._options.cancel_seconds)]
        if waited < self._options.cancel_seconds and events[-1].type == "run.finished":
            self._note(
                "The long chat ended by itself when it was cancelled: --long-prompt names one that takes longer."
            )
        if waited == math.inf or rest is None:
            await _none(rest)
        else:
            again = await rest
            place = events[0].place
            if again.status not in _NOT_THERE and place is not None:
                seen.append(Resumed(events, place, again))
        return seen

    async def _cancel(self, run: str) -> bool:
        path = self._options.paths.cancel.replace(RUN, run)
        answer = await answer_to(self._client, "POST", path, self._options.seconds)
        if answer.refused:
            self._emit(Shortcoming(self._name, f"no run could be cancelled at {path}; --cancel-path names the path"))
        return not answer.refused

    async def _events_of(self, run: str, after: str | None = None) -> Answer:
        headers = {"accept": EVENTS, **({} if after is None else {"last-event-id": after})}
        path = self._options.paths.resume.replace(RUN, run)
        return await answer_to(self._client, "GET", path, self._options.seconds, headers=headers)

    def _chat(self, prompt: str, accept: str) -> Any:
        body = with_word(self._options.body, PROMPT, prompt)
        path, seconds = self._options.paths.chat, self._options.seconds
        return exchange(self._client, "POST", path, seconds, body=body, headers={"accept": accept})

    async def _ask_chat(self, prompt: str, accept: str) -> Answer:
        under_way: Exchange
        async with self._chat(prompt, accept) as under_way:
            return await under_way.whole()

    # The API of OpenAI

    _chosen = ""

    async def _choose_model(self) -> list[Seen]:
        self._chosen = self._options.model
        if not self._chosen:
            path = self._options.paths.openai.replace("/chat/completions", "/models")
            answer = self._result(await answer_to(self._client, "GET", path, self._options.seconds), path, "--model")
            listed = object_in(answer.raw.decode(errors="replace"))[0].get("data")
            ids = [one.get("id") for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
            self._chosen = next((one for one in ids if isinstance(one, str)), "")
            if not self._chosen:
                raise NotJudged(f"lists no model at {path}; --model names one")
        return []

    async def _chunked(self, prompt: str, *, usage: bool, may_fail: bool) -> list[Seen]:
        asked = self._mark()
        options = {"stream_options": {"include_usage": True}} if usage else {}
        answer = await self._complete(self._question(prompt, stream=True, **options))
        if not may_fail:
            self._result(answer, self._options.paths.openai, "--openai-path")
        return [Chunked(answer, usage, self._counts(asked, may_fail=may_fail))]

    async def _completed(self, prompt: str, *, may_fail: bool) -> list[Seen]:
        asked = self._mark()
        answer = await self._complete(self._question(prompt))
        if not may_fail:
            self._result(answer, self._options.paths.openai, "--openai-path")
        return [Completed(answer, model_counts=self._counts(asked, may_fail=may_fail))]

    async def _wrong(self) -> list[Seen]:
        answer = await self._complete({"model": self._chosen or "any", "messages": "no list"})
        if answer.status in _NOT_THERE:
            return []  # the chats say that there is nothing
        return [Completed(answer, "a request whose `messages` are no list")]

    def _question(self, prompt: str, **more: Any) -> Mapping[str, Any]:
        return {"model": self._chosen or "any", "messages": [{"role": "user", "content": prompt}], **more}

    async def _complete(self, body: Mapping[str, Any]) -> Answer:
        return await answer_to(self._client, "POST", self._options.paths.openai, self._options.seconds, body=body)

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

    def _result(self, answer: Answer, path: str, option: str) -> Answer:
        """Return an answer that is a result.

        Raises:
            NotJudged: it is none.
        """
        if answer.status in (401, 403):
            raise NotJudged(
                f"refuses the caller (status {answer.status}); --header 'Authorization: Bearer …' says who asks"
            )
        if answer.status in _NOT_THERE:
            raise NotJudged(f"has nothing at {path} (status {answer.status}); {option} names the right one")
        if answer.refused or 300 <= answer.status < 400:
            raise NotJudged(f"answers with {answer}")
        return answer

    def _note(self, text: str) -> None:
        self._emit(Noted(self._name, text))

    def _say_what_is_missing(self) -> None:
        options, model = self._options, self._model
        if model is not None and not model.answers:
            self._emit(Shortcoming(self._name, "the gateway did not ask the suite's model"))
        elif model is not None and not any(one.calls for one in model.answers):
            names = ", ".join(f"`{quoted(name)}`" for name in model.offered[:_MOST_NAMED]) or "none"
            self._emit(Shortcoming(self._name, f"the suite's model was offered no tool that it can call, but {names}"))
        elif options.paths.chat and not self._called:
            self._emit(Shortcoming(self._name, "no tool was called; --prompt says what makes the model call one"))
        if options.paths.chat and not options.prompts.failing:
            self._note("No run was made to fail: --failing-prompt says what does, or --serve-model.")
        if options.paths.chat and not options.prompts.long:
            self._note("No run was cancelled: --long-prompt says what takes long, or --serve-model.")


async def _none(rest: asyncio.Task[Answer] | None) -> list[Seen]:
    """End a request that is not needed, and return nothing."""
    if rest is not None:
        rest.cancel()
        await asyncio.gather(rest, return_exceptions=True)
    return []
