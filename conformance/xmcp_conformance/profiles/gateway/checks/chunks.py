"""Checks of a run as chat completions of OpenAI (section 7.5)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from xmcp_conformance.core.checks import Observations, check
from xmcp_conformance.core.observation import broken, either
from xmcp_conformance.core.untrusted_text import quoted
from xmcp_conformance.profiles.gateway.exchange import EVENTS
from xmcp_conformance.profiles.gateway.seen import Chunk, Chunked, Completed, Seen
from xmcp_conformance.profiles.gateway.told import total

from .native_streams import schema_faults

_SAME: Final = ("id", "created", "model")
_ERROR: Final = ("message", "type", "param", "code")
_COUNTS: Final = ("prompt_tokens", "completion_tokens")


def _stream(seen: Seen) -> Chunked | None:
    return seen if isinstance(seen, Chunked) and not seen.answer.refused and seen.answer.streams else None


@check("XMCP-STR-030", profile="gateway")
def _no_inner_calls(seen: Seen) -> Observations:
    if (stream := _stream(seen)) is not None:
        for at, chunk in enumerate(stream.chunks):
            found = any(delta.get("tool_calls") for delta in chunk.deltas)
            if chunk.choices:
                yield either("XMCP-STR-030", not found, "`tool_calls` in a `delta`", "calls inside", where=at)
    elif isinstance(seen, Completed) and not seen.answer.refused and not seen.wrong:
        choices = seen.value.get("choices")
        messages = [one.get("message") for one in choices if isinstance(one, dict)] if isinstance(choices, list) else []
        found = any(isinstance(one, dict) and one.get("tool_calls") for one in messages)
        yield either("XMCP-STR-030", not found, "`tool_calls` in the message of a completion", "calls inside")


@check("XMCP-STR-031", profile="gateway")
def _ends(seen: Seen) -> Observations:
    if (stream := _stream(seen)) is None:
        return
    chunks = stream.chunks
    ends = [at for at, chunk in enumerate(chunks) if chunk.finishes or chunk.is_error]
    done = [at for at, chunk in enumerate(chunks) if chunk.is_done]
    expected = "one `finish_reason` or error"
    yield either("XMCP-STR-031", len(ends) == 1, f"{len(ends)} chunks with a `finish_reason`, or errors", expected)
    if ends:
        text = [at for at, chunk in enumerate(chunks) if any(delta.get("content") for delta in chunk.deltas)]
        ok = not text or text[-1] <= ends[-1]
        yield either("XMCP-STR-031", ok, "text after the `finish_reason` or the error", "none", where=ends[-1])
    seen_ = "no `[DONE]`" if not done else f"`[DONE]` {len(done)} times, or something after it"
    yield either("XMCP-STR-031", done == [len(chunks) - 1], seen_, "`[DONE]` once, as the last event")


@check("XMCP-STR-031", profile="gateway")
def _a_failure_is_no_end(seen: Seen) -> Observations:
    """Judge how a run ended of which its own events say that."""
    if (stream := _stream(seen)) is None:
        return
    lasts = [event.type for event in stream.told if event.is_last]
    if lasts and lasts[0] != "run.finished":
        finished = any(chunk.finishes for chunk in stream.chunks)
        yield either("XMCP-STR-031", not finished, f"a `finish_reason` of a run with `{lasts[0]}`", "an error")


@check("XMCP-STR-032", "XMCP-REC-001", profile="gateway")
def _events_beside_chunks(seen: Seen) -> Observations:
    if (stream := _stream(seen)) is None:
        return
    beside = [(at, chunk) for at, chunk in enumerate(stream.chunks) if "xmcp" in chunk.value]
    for (at, chunk), event in zip(beside, stream.told, strict=True):
        seen_ = "a member `xmcp` beside choices" if chunk.choices else f"a member `xmcp` that is {event.fault}"
        ok = chunk.choices == [] and not event.fault
        yield either("XMCP-STR-032", ok, seen_, "an event, in a chunk with an empty list of choices", where=at)
    for delta in (delta for chunk in stream.chunks for delta in chunk.deltas):
        if "xmcp" in delta:
            yield broken("XMCP-STR-032", "`xmcp` in a `delta`", "in the root of a chunk")
    yield from schema_faults(stream.told)


@check("XMCP-STR-033", profile="gateway")
def _are_chunks(seen: Seen) -> Observations:
    if not isinstance(seen, Chunked) or seen.answer.refused:
        return
    if not seen.answer.streams:
        yield broken("XMCP-STR-033", str(seen.answer), f"a stream of `{EVENTS}`")
        return
    half = "half an event, and then the end of the stream" if seen.answer.cut and seen.chunks else ""
    yield either("XMCP-STR-033", not (seen.answer.fault or half), seen.answer.fault or half, "events in UTF-8")
    first: Mapping[str, Any] | None = None
    for at, chunk in enumerate(seen.chunks):
        fault = _fault(chunk, first)
        yield either("XMCP-STR-033", not fault, fault, "a chunk, an error or `[DONE]`, without a name", where=at)
        if first is None and not fault and not chunk.is_done and not chunk.is_error:
            first = chunk.value


def _fault(chunk: Chunk, first: Mapping[str, Any] | None) -> str:
    """Return why an event is none of those that clients read; empty if it is one. `first` is the first chunk."""
    if chunk.event.name:
        return f"an event with the name `{quoted(chunk.event.name)}`"
    if chunk.is_done or chunk.is_error:
        return ""
    value = chunk.value
    if chunk.fault:
        return f"data that are {chunk.fault}"
    if value.get("object") != "chat.completion.chunk":
        return f"`object` {quoted(str(value.get('object')))}"
    for name, type_ in (("id", str), ("created", int), ("model", str), ("choices", list)):
        if not isinstance(value.get(name), type_):
            return f"`{name}` {quoted(str(value.get(name)))}"
    if first is not None and (other := next((name for name in _SAME if value[name] != first[name]), None)):
        return f"`{other}` {quoted(str(value[other]))} after {quoted(str(first[other]))}"
    for choice in chunk.choices or ():
        whole = (
            isinstance(choice, dict) and isinstance(choice.get("index"), int) and isinstance(choice.get("delta"), dict)
        )
        if not whole:
            return f"the choice {quoted(str(choice))}"
    return ""


@check("XMCP-STR-034", profile="gateway")
def _errors(seen: Seen) -> Observations:
    if isinstance(seen, Chunked):
        for at, chunk in enumerate(seen.chunks):
            if chunk.is_error:
                yield _error(chunk.value, at)
    if isinstance(seen, Completed) and seen.wrong and not seen.answer.refused:
        yield broken("XMCP-STR-034", f"{seen.answer}, for {seen.wrong}", "a status of 400 or above, and an error")
    elif isinstance(seen, Chunked | Completed) and seen.answer.refused:
        value = Completed(seen.answer).value
        yield _error(value, None) if value else broken("XMCP-STR-034", str(seen.answer), "an object with `error`")


def _error(value: Mapping[str, Any], at: int | None) -> Any:
    error = value.get("error")
    members = error if isinstance(error, dict) else {}
    ok = all(name in members for name in _ERROR) and isinstance(members.get("message"), str) and members["message"]
    expected = "an object with `message`, a text, and `type`, `param` and `code`"
    return either("XMCP-STR-034", bool(ok), f"the error {quoted(str(error))}", expected, where=at)


@check("XMCP-STR-035", profile="gateway")
def _usage(seen: Seen) -> Observations:
    if isinstance(seen, Completed) and not seen.answer.refused and not seen.wrong:
        yield from _counts(seen.value.get("usage"), seen.model_counts, None)
    if (stream := _stream(seen)) is None or not any(chunk.finishes for chunk in stream.chunks):
        return
    chunks = stream.chunks
    told = [at for at, chunk in enumerate(chunks) if chunk.value.get("usage") is not None]
    if not stream.usage:
        yield either("XMCP-STR-035", not told, "`usage` that nobody asked for", "none", where=next(iter(told), None))
        return
    finish = next(at for at, chunk in enumerate(chunks) if chunk.finishes)
    ok = len(told) == 1 and told[0] > finish and chunks[told[0]].choices == []
    seen_ = f"`usage` in {len(told)} chunks" + (
        ", beside choices or before the `finish_reason`" if len(told) == 1 else ""
    )
    yield either("XMCP-STR-035", ok, seen_, "in one, without choices, after the `finish_reason`")
    if len(told) == 1:
        records = [event.data for event in stream.told if event.type == "usage"]
        sums = total(records) if records else None
        counted = None if sums is None else (int(sums["input_tokens"] or 0), int(sums["output_tokens"] or 0))
        yield from _counts(chunks[told[0]].value.get("usage"), stream.model_counts or counted, told[0])


def _counts(usage: Any, expected: Sequence[int] | None, at: int | None) -> Observations:
    """Judge a usage; `expected` is what the model counted, if that is known."""
    members = usage if isinstance(usage, dict) else {}
    sent, written = (members.get(name) for name in _COUNTS)
    whole = isinstance(sent, int) and isinstance(written, int) and members.get("total_tokens") == sent + written
    told = f"the usage {quoted(str(usage))}"
    yield either("XMCP-STR-035", whole, told, "`prompt_tokens`, `completion_tokens` and their sum", where=at)
    if whole and expected is not None:
        right = f"{expected[0]} and {expected[1]}, the sums of all requests to models"
        yield either("XMCP-STR-035", (sent, written) == tuple(expected), told, right, where=at)
