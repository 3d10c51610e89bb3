"""A small gateway that obeys the specification; each part that a variant can get wrong is a method of its own.

It has a script in the place of a client: the prompt says whether a run calls a tool, fails, or takes long.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, TypeAlias

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from xmcp_conformance.profiles.gateway.scripted_model import FAIL, LONG, Said, ScriptedModel

Json: TypeAlias = dict[str, Any]
Draft: TypeAlias = tuple[str, Json]
"""Type and data of an event."""

VENDORS_KEY: Final = "sk-of-the-vendor"
ARGUMENTS: Final = {"region": "EMEA"}
TABLE: Final = {"type": "table", "payload": [{"region": "EMEA", "sales": 42}]}
CALLED: Final = {"call_id": "c1", "tool": "sales_summary"}
TEXT: Final = "EMEA sold 42 units."
_FAILURE: Final = {
    "code": "UPSTREAM_UNAVAILABLE",
    "message": "The model fails.",
    "retryable": True,
    "category": "unavailable",
}
_CANCELLED: Final = {"code": "CANCELLED", "message": "It was cancelled.", "retryable": False, "category": "cancelled"}
_PIECES: Final = 80
_PAUSE_SECONDS: Final = 0.01
_LASTS: Final = ("run.finished", "run.error", "run.cancelled")


@dataclass
class Run:
    """A run: its events so far. `more` is set when there is another one."""

    id: str
    caller: str
    events: list[Draft] = field(default_factory=list)
    more: asyncio.Event = field(default_factory=asyncio.Event)
    task: asyncio.Task[None] | None = None
    was_answered: bool = False
    """Whether its caller got it in one piece."""

    @property
    def ended(self) -> bool:
        """Whether the last event is there."""
        return bool(self.events) and self.events[-1][0] in _LASTS

    def add(self, draft: Draft) -> None:
        """Tell one more event."""
        self.events.append(draft)
        more, self.more = self.more, asyncio.Event()
        more.set()


class Miniature:
    """A gateway that breaks nothing."""

    native_type: ClassVar[str] = "text/event-stream"
    read_again_type: ClassVar[str] = "text/event-stream"
    pause_seconds: ClassVar[float] = 0.0

    def __init__(self, model: ScriptedModel | None = None) -> None:
        self.runs: dict[str, Run] = {}
        self._model = model
        routes = [
            Route("/chat", self._chat, methods=["POST"]),
            Route("/runs/{run}/events", self._events, methods=["GET"]),
            Route("/runs/{run}/cancel", self._cancel, methods=["POST"]),
            Route("/v1/models", self._models, methods=["GET"]),
            Route("/v1/chat/completions", self._complete, methods=["POST"]),
        ]
        self.app = Starlette(routes=routes)

    # What a run comes to

    def drafts(self, prompt: str, run: Run) -> list[Draft]:
        """Return the events of a run, of the long one those before its text."""
        begin: list[Draft] = [("run.started", {"run_id": run.id, "model": "small"}), ("step.started", {"step": 1})]
        if prompt == LONG:
            return begin
        calling = [*begin, ("text.delta", {"step": 1, "text": "Let me look."}), *self.call()]
        if prompt == FAIL:
            return [*calling, ("step.finished", {"step": 1}), ("run.error", dict(_FAILURE))]
        return [
            *calling,
            ("step.finished", {"step": 1}),
            ("step.started", {"step": 2}),
            ("text.delta", {"step": 2, "text": TEXT[:9]}),
            ("text.delta", {"step": 2, "text": TEXT[9:]}),
            ("usage", self.usage_record(2)),
            ("step.finished", {"step": 2}),
            ("run.finished", {"stop_reason": "stop", "answer": self.final_answer(), "usage": self.total()}),
        ]

    def call(self) -> list[Draft]:
        """Return the events of the call, and the usage of the request that asked for it."""
        of = {"step": 1, **CALLED}
        return [
            ("usage", self.usage_record(1)),
            ("tool.started", {**of, "arguments": self.arguments()}),
            ("tool.progress", {**of, "progress": 1}),
            ("tool.finished", {**of, "status": "ok", "ms": 1.5, "text": "42 units"}),
            ("display", {**of, "envelope": TABLE}),
        ]

    def arguments(self) -> Json:
        """Return what `tool.started` says of the arguments."""
        return dict(ARGUMENTS)

    def usage_record(self, step: int) -> Json:
        """Return the usage of a request to the model."""
        known = {"input_tokens": 7, "output_tokens": 3, "cached_tokens": None, "cost_usd": None}
        of = {"session_id": None, "tenant_id": None, "provider": "scripted", "model": "small"}
        return {"step": step, **known, "timestamp": "2026-11-22T09:30:00Z", **of}

    def total(self) -> Json:
        """Return the usage of a run."""
        return {"input_tokens": 14, "output_tokens": 6, "cached_tokens": None, "cost_usd": None, "llm_calls": 2}

    def final_answer(self) -> str:
        """Return the answer of a run."""
        return TEXT

    # How it is sent

    def id_of(self, run: Run, seq: int) -> str:
        """Return the id of an event."""
        return f"{run.id}:1:{seq}"

    def sent(self, run: Run, seq: int) -> str:
        """Return an event as a server-sent event."""
        type_, data = run.events[seq - 1]
        return f"id: {self.id_of(run, seq)}\nevent: {type_}\ndata: {json.dumps(data)}\n\n"

    def begin(self) -> str:
        """Return what stands before the events of a stream."""
        return ": hello\r\n\r\n"

    def end(self, run: Run) -> str:
        """Return what stands after them."""
        return ""

    def after(self, run: Run, id_: str | None) -> int | None:
        """Return how many events a reader has, given the id of the last one; `None` if it is no such id."""
        if id_ is None:
            return 0
        seqs = [seq for seq in range(1, len(run.events) + 1) if self.id_of(run, seq) == id_]
        return seqs[0] if seqs else None

    def stand_in(self, run: Run, after: int) -> tuple[str, int]:
        """Return what is sent in the place of events that are not kept any more, and how many these are."""
        return "", after

    async def stop(self, run: Run) -> None:
        """Cancel a run."""
        if run.task is not None and not run.ended:
            run.task.cancel()
            run.add(("run.cancelled", dict(_CANCELLED)))

    # Answers in one piece

    def whole(self, run: Run) -> Json:
        """Return a run as one JSON object."""
        end = run.events[-1][1]
        return {
            "run_id": run.id,
            "status": run.events[-1][0].removeprefix("run."),
            "answer": end.get("answer"),
            "displays": [data["envelope"] for type_, data in run.events if type_ == "display"],
            "tools_used": [{**CALLED, "status": "ok", "ms": 1.5}],
            "usage": end.get("usage"),
            "stop_reason": end.get("stop_reason"),
        }

    def error(self, message: str) -> Json:
        """Return an error in the form of OpenAI."""
        return {"error": {"message": message, "type": "server_error", "param": None, "code": "failed"}}

    def wrong_status(self) -> int:
        """Return the status for a wrong request."""
        return 400

    def completion(self, run: Run) -> Json:
        """Return a run as a completion."""
        choice = {"index": 0, "message": self.message(), "finish_reason": "stop"}
        head = {**self.head(run), "object": "chat.completion"}
        return {**head, "choices": [choice], "usage": self.openai_usage()}

    def message(self) -> Json:
        """Return the message of a completion."""
        return {"role": "assistant", "content": TEXT}

    def openai_usage(self) -> Json:
        """Return the usage of a run as OpenAI has it."""
        return {"prompt_tokens": 14, "completion_tokens": 6, "total_tokens": 20}

    # Chunks

    def head(self, run: Run) -> Json:
        """Return what all chunks of a run have in common."""
        return {"id": f"chatcmpl-{run.id}", "object": "chat.completion.chunk", "created": 1, "model": "small"}

    def chunks(self, run: Run, *, usage: bool) -> Iterator[str]:
        """Yield the stream of a run."""
        head = self.head(run)
        yield self.chunk({**head, "choices": [self.choice({"role": "assistant", "content": ""})]})
        for seq, (type_, data) in enumerate(run.events, 1):
            if type_ == "text.delta":
                yield self.chunk({**head, "choices": [self.choice({"content": data["text"]})]})
            else:
                yield self.chunk(self.beside({**head, "choices": []}, {"type": type_, "seq": seq, "data": data}))
        yield from self.last(run, usage=usage)
        yield from self.done()

    def last(self, run: Run, *, usage: bool) -> Iterator[str]:
        """Yield how the stream says that the run ended."""
        if run.events[-1][0] != "run.finished":
            yield self.chunk(self.error("The model fails."))
            return
        yield self.chunk({**self.head(run), "choices": [self.choice({}, "stop")]})
        if usage:
            yield self.chunk({**self.head(run), "choices": [], "usage": self.openai_usage()})

    def beside(self, chunk: Json, event: Json) -> Json:
        """Return a chunk with an event of the run."""
        return {**chunk, "xmcp": event}

    def choice(self, delta: Json, finish: str | None = None) -> Json:
        """Return the choice of a chunk."""
        return {"index": 0, "delta": delta, "finish_reason": finish}

    def chunk(self, value: Json) -> str:
        """Return a chunk as a server-sent event."""
        return f"data: {json.dumps(value)}\n\n"

    def done(self) -> Iterator[str]:
        """Yield the end of the stream."""
        yield "data: [DONE]\n\n"

    # Requests

    async def _begin_run(self, prompt: str, request: Request) -> Run:
        run = Run(f"run_{len(self.runs) + 1}", request.headers.get("authorization", ""))
        self.runs[run.id] = run
        for draft in self.drafts(prompt, run):
            run.add(draft)
        if prompt == LONG:
            run.task = asyncio.create_task(self.write(run))
        elif self._model is not None:
            self._model.credentials[:] = [VENDORS_KEY]
            self._model.answers.append(Said(calls=True, arguments=ARGUMENTS))
            if prompt != FAIL:
                self._model.answers.append(Said())
        return run

    async def write(self, run: Run) -> None:
        """Write the long answer."""
        for number in range(_PIECES):
            await asyncio.sleep(_PAUSE_SECONDS)
            run.add(("text.delta", {"step": 1, "text": f"{number} "}))
        answer = "".join(f"{number} " for number in range(_PIECES))
        run.add(("step.finished", {"step": 1}))
        usage = {"input_tokens": None, "output_tokens": None, "cached_tokens": None, "llm_calls": 0}
        run.add(("run.finished", {"stop_reason": "stop", "answer": answer, "usage": usage}))

    async def _chat(self, request: Request) -> Response:
        run = await self._begin_run((await request.json())["input"], request)
        if "text/event-stream" in request.headers["accept"]:
            return self._stream(run, 0, self.native_type)
        run.was_answered = True
        return JSONResponse(self.whole(run))

    def _stream(self, run: Run, after: int, media_type: str) -> Response:
        async def events() -> AsyncIterator[str]:
            stand_in, seq = self.stand_in(run, after)
            yield self.begin() + stand_in
            while True:
                more = run.more
                while seq < len(run.events):
                    seq += 1
                    yield self.sent(run, seq)
                    await asyncio.sleep(self.pause_seconds)
                if run.ended:
                    break
                await more.wait()
            yield self.end(run)

        return StreamingResponse(events(), media_type=media_type)

    async def _events(self, request: Request) -> Response:
        run = self.runs[request.path_params["run"]]
        after = self.after(run, request.headers.get("last-event-id"))
        if after is None:
            return JSONResponse(self.error("That is no id of this run."), 400)
        return self._stream(run, after, self.read_again_type)

    async def _cancel(self, request: Request) -> Response:
        await self.stop(self.runs[request.path_params["run"]])
        return JSONResponse({})

    async def _models(self, _: Request) -> Response:
        return JSONResponse({"object": "list", "data": [{"id": "small", "object": "model"}]})

    async def _complete(self, request: Request) -> Response:
        body: Mapping[str, Any] = await request.json()
        if not isinstance(body["messages"], list):
            return JSONResponse(self.error("`messages` is no list."), self.wrong_status())
        run = await self._begin_run(body["messages"][-1]["content"], request)
        if not body.get("stream"):
            failed = run.events[-1][0] != "run.finished"
            return JSONResponse(self.error("The model fails."), 502) if failed else JSONResponse(self.completion(run))
        usage = bool(body.get("stream_options"))
        return StreamingResponse(iter(list(self.chunks(run, usage=usage))), media_type="text/event-stream")
