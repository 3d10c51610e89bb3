"""OpenAI's chat completions: chunks of a stream, and a completion in one piece.

What official and other clients demand of it: one id in all chunks; the role first; exactly one last chunk, with a
`finish_reason` or an `error`; `usage` only if it was asked for; `tool_calls` for tools of the client's own and for none
that run inside, because clients would run them again; no named events, which break three of seven clients; what is not
text only in the root of chunks without choices.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from xmcp.gateway.encoders.error_shape import failure_body
from xmcp.gateway.encoders.framing import DONE, data_line
from xmcp.gateway.grants import Profile
from xmcp.gateway.runs.events import RunEvent
from xmcp.gateway.runs.state import BETWEEN_STEPS, RunState
from xmcp.render.markdown import to_markdown

_FINISH: Final[Mapping[str, str]] = {
    "max_turns": "length",
    "timeout": "length",
    "length": "length",
    "content_filter": "content_filter",
    "tool_calls": "tool_calls",
}
"""By stop reason; all others are `stop`."""

BEGINS_AGAIN: Final = "\n\n*(The answer broke off. It begins again.)*\n\n"
"""Text that was sent cannot be recalled."""

EXTENSION_EVENTS: Final = frozenset(
    {"step.started", "step.finished", "tool.started", "tool.progress", "tool.finished", "display", "notice", "usage"}
    | {"stream.reset", "approval.required", "approval.answered"}
)
"""What the profile `xmcp` says beside the text."""


def completion_id(run_id: str) -> str:
    """Return the id of the completion of a run."""
    return f"chatcmpl-{run_id}"


class ChunkEncoder:
    """Encodes one run as chunks.

    Args:
        usage: Whether the caller asked for `stream_options.include_usage`.
        profile: What is said beside the text.
        answer_alone: Whether the content is the answer and nothing that was said or shown before it. Only at its end it
            is known which text that is, so that it comes in one piece.
    """

    def __init__(self, *, usage: bool, profile: Profile, answer_alone: bool = False) -> None:
        self._usage = usage
        self._profile = profile
        self._answer_alone = answer_alone
        self._head: dict[str, Any] = {}
        self._step: int | None = None
        """The step of the last text; `None` before the first."""

    def encode(self, event: RunEvent) -> bytes:
        """Return the chunks for an event, each as a server-sent event."""
        return b"".join(data_line(chunk) for chunk in self._chunks(event)) + (DONE if event.is_last else b"")

    def _chunks(self, event: RunEvent) -> Iterator[dict[str, Any]]:
        data = event.data
        match event.type:
            case "run.started":
                self._begin(event.run_id, data["model"], data["created"])
                yield self._delta({"role": "assistant", "content": ""})
            case "snapshot":
                # In place of events that are not kept any more.
                self._begin(event.run_id, data["model"], data["created"])
                segments = [one.get("text") or one.get("display") for one in data["segments"]]
                segments = [] if self._answer_alone else segments
                yield self._delta({"role": "assistant", "content": _content(segments, self._profile)})
                if segments:
                    self._step = data["step"] if isinstance(segments[-1], str) else 0
            case "text.delta" | "stream.reset" | "display" if self._answer_alone:
                pass
            case "text.delta":
                yield self._delta({"content": self._separated(data["step"], data["text"])})
            case "reasoning.delta" if self._profile != "none":
                yield self._delta({"reasoning_content": data["text"]})
            case "stream.reset" if self._profile != "xmcp":
                yield self._delta({"content": BEGINS_AGAIN})
            case "display" if self._profile != "xmcp":
                yield self._delta({"content": self._separated(0, as_markdown(data["envelope"]))})
            case "run.finished":
                if self._answer_alone and data["answer"]:
                    yield self._delta({"content": data["answer"]})
                for place, call in enumerate(data.get("tool_calls", ())):
                    yield self._delta({"tool_calls": [{"index": place, **_call(call)}]})
                yield self._delta({}, _FINISH.get(data["stop_reason"], "stop"))
                if self._usage:
                    yield {**self._head, "choices": [], "usage": usage_of(data["usage"])}
            case "run.error" | "run.cancelled" | "run.interrupted":
                yield failure_body(data)
            case _:
                pass
        if event.type in EXTENSION_EVENTS:
            yield from self._beside_the_text(event)

    def _beside_the_text(self, event: RunEvent) -> Iterator[dict[str, Any]]:
        if self._profile == "xmcp":
            told = {"type": event.type, "seq": event.seq, "data": event.data}
            yield {**self._head, "choices": [], "xmcp": told, **self._no_usage_yet}
        elif self._profile == "openwebui" and (status := _status_line(event)) is not None:
            yield {**self._head, "choices": [], "event": {"type": "status", "data": status}, **self._no_usage_yet}

    def _begin(self, run_id: str, model: str, created: int) -> None:
        self._head = {
            "id": completion_id(run_id),
            "object": "chat.completion.chunk",
            "created": created,
            "model": model,
        }

    @property
    def _no_usage_yet(self) -> dict[str, None]:
        return {"usage": None} if self._usage else {}

    def _separated(self, step: int, text: str) -> str:
        """Return a text with a blank line before it if the last one was of another step; 0 is for displays."""
        apart = self._step is not None and step != self._step
        self._step = step
        return BETWEEN_STEPS + text if apart else text

    def _delta(self, delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}
        return {**self._head, "choices": [choice], **self._no_usage_yet}


def _call(call: Mapping[str, Any]) -> dict[str, Any]:
    """Return a call that is left to the client."""
    return {
        "id": call["call_id"],
        "type": "function",
        "function": {"name": call["tool"], "arguments": call["text"]},
    }


def usage_of(usage: Mapping[str, Any]) -> dict[str, Any]:
    """Return the usage of a run, which is the sum of all its requests to models; 0 where a vendor gave no count."""
    sent, written = usage.get("input_tokens") or 0, usage.get("output_tokens") or 0
    return {
        "prompt_tokens": sent,
        "completion_tokens": written,
        "total_tokens": sent + written,
        "prompt_tokens_details": {"cached_tokens": usage.get("cached_tokens") or 0},
        "completion_tokens_details": {"reasoning_tokens": usage.get("reasoning_tokens") or 0},
    }


def _content(segments: Sequence[str | Mapping[str, Any]], profile: Profile) -> str:
    """Return the message in one piece; displays are Markdown where the caller does not get them otherwise."""
    shown = (
        one if isinstance(one, str) else as_markdown(one)
        for one in segments
        if isinstance(one, str) or profile != "xmcp"
    )
    return BETWEEN_STEPS.join(shown)


def as_markdown(envelope: Mapping[str, Any]) -> str:
    """Return a display as a text, for callers who do not get it otherwise."""
    return to_markdown(envelope).rstrip("\n")


def _status_line(event: RunEvent) -> dict[str, Any] | None:
    """Return what Open WebUI shows in its line of status, as its event emitter takes it."""
    data = event.data
    match event.type:
        case "tool.started":
            return {"description": f"{data['tool']} …", "done": False}
        case "tool.progress":
            return {"description": f"{data['tool']}: {data.get('text') or data['progress']}", "done": False}
        case "tool.finished":
            how = "" if data["status"] == "ok" else ", with an error"
            return {"description": f"{data['tool']} done in {data['ms'] / 1000:.1f} s{how}", "done": True}
        case _:
            return None


def whole(run_id: str, state: RunState, profile: Profile, *, answer_alone: bool = False) -> dict[str, Any]:
    """Return the completion of a finished run in one piece; `answer_alone` as for `ChunkEncoder`."""
    content = state.answer or "" if answer_alone else _content(state.segments, profile)
    message: dict[str, Any] = {"role": "assistant", "content": content, "refusal": None, "annotations": []}
    if state.tool_calls:
        message |= {"content": content or None, "tool_calls": [_call(call) for call in state.tool_calls]}
    finish = _FINISH.get(state.stop_reason or "", "stop")
    completion: dict[str, Any] = {
        "id": completion_id(run_id),
        "object": "chat.completion",
        "created": state.created,
        "model": state.model,
        "choices": [{"index": 0, "message": message, "finish_reason": finish, "logprobs": None}],
        "usage": usage_of(state.usage or {}),
    }
    if profile == "xmcp":
        completion["xmcp"] = {"displays": state.displays, "tools_used": state.tools_used, "run_id": run_id}
    return completion
