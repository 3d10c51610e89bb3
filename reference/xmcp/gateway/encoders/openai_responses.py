"""OpenAI's Responses API: the events of a stream, and a response in one piece.

What official and other clients demand of it: `response.created` first, with an empty output; every item added before
its parts, and its id the same to the end; `sequence_number` without a gap; exactly one last event. Before
`response.failed` there is an `error`, which has the error twice, as OpenAI documents it and as it sends it: half of the
clients take an answer that failed for a whole one without it.

A message is what the model says until it calls tools that run inside, so that the last one is its answer; displays are
shown before the text after them. Calls are those of the client's own tools. What is not text is the member `xmcp` of a
`keepalive`, which all clients leave alone, since they know it from OpenAI. An event of a type of our own, or a further
`response.in_progress`, breaks the helper of OpenAI's client in JavaScript.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, Literal

from xmcp.gateway.encoders.error_shape import failure_body
from xmcp.gateway.encoders.framing import named_event
from xmcp.gateway.encoders.openai_chat import BEGINS_AGAIN, EXTENSION_EVENTS, as_markdown
from xmcp.gateway.grants import Profile
from xmcp.gateway.runs.events import RunEvent
from xmcp.gateway.runs.response_ids import ItemKind, item_id, response_id
from xmcp.gateway.runs.state import BETWEEN_STEPS, RunState

_INCOMPLETE: Final[Mapping[str, str]] = {
    "max_turns": "max_output_tokens",
    "timeout": "max_output_tokens",
    "length": "max_output_tokens",
    "content_filter": "content_filter",
}
"""Why a response is not complete, by stop reason; by all others it is."""

Status = Literal["in_progress", "completed", "incomplete", "failed"]


class ResponseEncoder:
    """Encodes one run as the events of a response.

    Args:
        echo: What the response says again of the request.
        profile: What is said beside the text.
        answer_alone: Whether the text is the answer and nothing that was said or shown before it. Only at its end it is
            known which text that is, so that it comes in one piece.
    """

    def __init__(self, echo: Mapping[str, Any], profile: Profile, *, answer_alone: bool = False) -> None:
        self._echo = echo
        self._profile = profile
        self._answer_alone = answer_alone
        self._about: tuple[str, str, int] = "", "", 0
        """The run, its model, and when it began."""
        self._number = -1
        self._output: list[dict[str, Any]] = []
        """The items that are whole."""
        self._open: Literal["message", "reasoning"] | None = None
        """What is being written."""
        self._written: list[str] = []
        self._step = 0
        """The step of the last text; 0: it was a display."""

    def encode(self, event: RunEvent) -> bytes:
        """Return the events for an event, each as a server-sent event."""
        return b"".join(self._numbered(kind, data) for kind, data in self._events(event))

    def _numbered(self, kind: str, data: Mapping[str, Any]) -> bytes:
        self._number += 1
        return named_event(kind, {"type": kind, "sequence_number": self._number, **data})

    def _events(self, event: RunEvent) -> Iterator[tuple[str, dict[str, Any]]]:
        data = event.data
        match event.type:
            case "run.started" | "snapshot":
                self._about = event.run_id, data["model"], data["created"]
                yield "response.created", {"response": self._response("in_progress")}
                yield "response.in_progress", {"response": self._response("in_progress")}
                segments = () if self._answer_alone else data.get("segments", ())
                for place, one in enumerate(segments, start=1):
                    # In place of events that are not kept any more; all texts but the last are of earlier steps.
                    step = data["step"] if place == len(segments) else -place
                    yield from self._show(step, one["text"]) if "text" in one else self._display(one["display"])
            case "text.delta" | "stream.reset" | "display" if self._answer_alone:
                pass
            case "text.delta":
                yield from self._show(data["step"], data["text"])
            case "reasoning.delta" if self._profile != "none":
                yield from self._write("reasoning", data["text"])
            case "stream.reset" if self._profile != "xmcp":
                yield from self._write("message", BEGINS_AGAIN)
            case "display":
                yield from self._display(data["envelope"])
            case "run.finished":
                if self._answer_alone:
                    yield from self._write("message", data["answer"] or "")
                yield from self._close()
                for call in data.get("tool_calls", ()):
                    yield from self._call(call)
                reason = _INCOMPLETE.get(data["stop_reason"])
                kind: Status = "incomplete" if reason else "completed"
                whole = self._response(kind, usage=data["usage"], incomplete=reason)
                yield f"response.{kind}", {"response": whole}
            case "run.error" | "run.cancelled" | "run.interrupted":
                failure = failure_body(data)["error"]
                said = {name: failure[name] for name in ("code", "message", "param")}
                yield "error", {**said, "error": failure}
                yield "response.failed", {"response": self._response("failed", error=data)}
            case _:
                pass
        if event.type in EXTENSION_EVENTS and self._profile == "xmcp":
            told = {"type": event.type, "seq": event.seq, "data": event.data}
            yield "keepalive", {"xmcp": told}

    def _response(self, status: Status, **ended: Any) -> dict[str, Any]:
        unfinished = [self._item("incomplete")] if self._open is not None else []
        return {**_response(*self._about, status, [*self._output, *unfinished], **ended), **self._echo}

    def _show(self, step: int, text: str) -> Iterator[tuple[str, dict[str, Any]]]:
        """Say a text; what is said in another step, where a text was before, is a message of its own."""
        if self._open == "message" and self._step not in (0, step):
            yield from self._close(goes_on=True)
        yield from self._say(step, text)

    def _display(self, envelope: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
        if self._profile == "xmcp":
            return
        if self._open == "message" and self._step:
            yield from self._close(goes_on=True)
        yield from self._say(0, as_markdown(envelope), apart=True)

    def _say(self, step: int, text: str, *, apart: bool = False) -> Iterator[tuple[str, dict[str, Any]]]:
        if self._open == "message" and (apart or step != self._step):
            text = BETWEEN_STEPS + text
        self._step = step
        yield from self._write("message", text)

    def _write(self, kind: Literal["message", "reasoning"], text: str) -> Iterator[tuple[str, dict[str, Any]]]:
        if not text:
            return
        if self._open != kind:
            yield from self._close(goes_on=True)
            yield from self._begin(kind)
        self._written.append(text)
        if kind == "message":
            yield "response.output_text.delta", {**self._place, "content_index": 0, "delta": text, "logprobs": []}
        else:
            yield "response.reasoning_summary_text.delta", {**self._place, "summary_index": 0, "delta": text}

    def _begin(self, kind: Literal["message", "reasoning"]) -> Iterator[tuple[str, dict[str, Any]]]:
        self._open, self._written = kind, []
        item = self._item("in_progress")
        yield "response.output_item.added", {"output_index": len(self._output), "item": {**item, **_EMPTY[kind]}}
        if kind == "message":
            yield "response.content_part.added", {**self._place, "content_index": 0, "part": _text_part("")}
        else:
            added = {**self._place, "summary_index": 0, "part": _summary_part("")}
            yield "response.reasoning_summary_part.added", added

    def _close(self, *, goes_on: bool = False) -> Iterator[tuple[str, dict[str, Any]]]:
        """End what is being written. Where the answer `goes_on`, a text ends in a blank line: clients join them."""
        if self._open is None:
            return
        if goes_on and self._open == "message":
            yield from self._write("message", BETWEEN_STEPS)
        text = "".join(self._written)
        if self._open == "message":
            yield "response.output_text.done", {**self._place, "content_index": 0, "text": text, "logprobs": []}
            yield "response.content_part.done", {**self._place, "content_index": 0, "part": _text_part(text)}
        else:
            yield "response.reasoning_summary_text.done", {**self._place, "summary_index": 0, "text": text}
            part = {**self._place, "summary_index": 0, "part": _summary_part(text)}
            yield "response.reasoning_summary_part.done", part
        item = self._item("completed")
        yield "response.output_item.done", {"output_index": len(self._output), "item": item}
        self._output.append(item)
        self._open = None

    def _call(self, call: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
        place = len(self._output)
        item = _function_call(self._about[0], place, call)
        about = {"output_index": place, "item_id": item["id"]}
        begun = {**item, "arguments": "", "status": "in_progress"}
        yield "response.output_item.added", {"output_index": place, "item": begun}
        yield "response.function_call_arguments.delta", {**about, "delta": item["arguments"]}
        told = {"name": item["name"], "arguments": item["arguments"]}
        yield "response.function_call_arguments.done", {**about, **told}
        yield "response.output_item.done", {"output_index": place, "item": item}
        self._output.append(item)

    @property
    def _place(self) -> dict[str, Any]:
        return {"output_index": len(self._output), "item_id": self._item_id}

    @property
    def _item_id(self) -> str:
        kind: ItemKind = "msg" if self._open == "message" else "rs"
        return item_id(kind, self._about[0], len(self._output))

    def _item(self, status: Literal["in_progress", "completed", "incomplete"]) -> dict[str, Any]:
        """Return what is being written, as far as it is."""
        text = "".join(self._written)
        if self._open == "message":
            return _message(self._item_id, text, status)
        return {"type": "reasoning", "id": self._item_id, "summary": [_summary_part(text)], "status": status}


_EMPTY: Final[Mapping[str, Mapping[str, Any]]] = {"message": {"content": []}, "reasoning": {"summary": []}}
"""What an item that was added has no part of yet."""


def whole(
    run_id: str, state: RunState, echo: Mapping[str, Any], profile: Profile, *, answer_alone: bool = False
) -> dict[str, Any]:
    """Return the response of a run in one piece, as far as it has come; without reasoning.

    `answer_alone` as for `ResponseEncoder`.
    """
    texts = [*filter(None, [state.answer])] if answer_alone else _texts(state.segments, profile)
    output = [_message(item_id("msg", run_id, place), text, "completed") for place, text in enumerate(texts)]
    output += [_function_call(run_id, len(texts) + place, call) for place, call in enumerate(state.tool_calls)]
    reason = _INCOMPLETE.get(state.stop_reason or "")
    ended: Status = "incomplete" if reason else "completed"
    status: Status = {"running": "in_progress", "finished": ended}.get(state.status, "failed")
    about = run_id, state.model, state.created
    response = _response(*about, status, output, usage=state.usage, incomplete=reason, error=state.error)
    beside = {"displays": state.displays, "tools_used": state.tools_used, "run_id": run_id}
    return {**response, **echo, **({"xmcp": beside} if profile == "xmcp" else {})}


def _texts(segments: Sequence[str | Mapping[str, Any]], profile: Profile) -> Sequence[str]:
    """Return the texts of the messages."""
    texts: list[str] = []
    goes_on = False
    for one in segments:
        if isinstance(one, Mapping) and profile == "xmcp":
            continue
        text = one if isinstance(one, str) else as_markdown(one)
        if texts:
            texts[-1] += BETWEEN_STEPS
        if goes_on:
            texts[-1] += text
        else:
            texts.append(text)
        goes_on = not isinstance(one, str)
    return texts


def _response(
    run_id: str,
    model: str,
    created: int,
    status: Status,
    output: Sequence[Mapping[str, Any]],
    *,
    usage: Mapping[str, Any] | None = None,
    incomplete: str | None = None,
    error: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    failure = None if error is None else failure_body(error)["error"]
    return {
        "id": response_id(run_id),
        "object": "response",
        "created_at": created,
        "model": model,
        "status": status,
        "output": output,
        "error": None if failure is None else {"code": failure["code"], "message": failure["message"]},
        "incomplete_details": None if incomplete is None else {"reason": incomplete},
        "instructions": None,
        "metadata": {},
        "parallel_tool_calls": True,
        "temperature": None,
        "tool_choice": "auto",
        "tools": [],
        "top_p": None,
        "usage": None if usage is None else usage_of(usage),
    }


def usage_of(usage: Mapping[str, Any]) -> dict[str, Any]:
    """Return the usage of a run, which is the sum of all its requests to models; 0 where a vendor gave no count."""
    sent, written = usage.get("input_tokens") or 0, usage.get("output_tokens") or 0
    cache = {name: usage.get(name) or 0 for name in ("cached_tokens", "cache_write_tokens")}
    return {
        "input_tokens": sent,
        "input_tokens_details": cache,
        "output_tokens": written,
        "output_tokens_details": {"reasoning_tokens": usage.get("reasoning_tokens") or 0},
        "total_tokens": sent + written,
    }


def _message(name: str, text: str, status: str) -> dict[str, Any]:
    return {"type": "message", "id": name, "role": "assistant", "status": status, "content": [_text_part(text)]}


def _text_part(text: str) -> dict[str, Any]:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def _summary_part(text: str) -> dict[str, Any]:
    return {"type": "summary_text", "text": text}


def _function_call(run_id: str, place: int, call: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "function_call",
        "id": item_id("fc", run_id, place),
        "call_id": call["call_id"],
        "name": call["tool"],
        "arguments": call["text"],
        "status": "completed",
    }
