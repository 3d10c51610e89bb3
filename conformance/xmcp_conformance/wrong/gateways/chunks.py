"""Gateways that speak the API of OpenAI in a wrong way (section 7.5)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Any

from xmcp_conformance.wrong.registry import breaks

from .miniature import ARGUMENTS, Json, Miniature, Run

_CALLS = [
    {"index": 0, "id": "c1", "type": "function", "function": {"name": "sales_summary", "arguments": str(ARGUMENTS)}}
]


@breaks("XMCP-STR-030", profile="gateway")
class PassesCallsOn(Miniature):
    """Writes the calls that it makes into its chunks."""

    def last(self, run: Run, *, usage: bool) -> Iterator[str]:
        yield self.chunk({**self.head(run), "choices": [self.choice({"tool_calls": _CALLS})]})
        yield from super().last(run, usage=usage)


@breaks("XMCP-STR-030", profile="gateway")
class PassesCallsOnInOnePiece(Miniature):
    """Writes the calls that it made into its completion."""

    def message(self) -> Json:
        return {**super().message(), "tool_calls": _CALLS}


@breaks("XMCP-STR-031", profile="gateway")
class StopsWithoutAnEnd(Miniature):
    """Ends the stream of a run that failed as if it were cut."""

    def last(self, run: Run, *, usage: bool) -> Iterator[str]:
        return super().last(run, usage=usage) if run.events[-1][0] == "run.finished" else iter(())


@breaks("XMCP-STR-031", profile="gateway")
class IsNeverDone(Miniature):
    """Leaves `[DONE]` out."""

    def done(self) -> Iterator[str]:
        return iter(())


@breaks("XMCP-STR-031", profile="gateway")
class CallsAFailureAnEnd(Miniature):
    """Ends a run that failed with a `finish_reason`."""

    def last(self, run: Run, *, usage: bool) -> Iterator[str]:
        if run.events[-1][0] == "run.finished":
            yield from super().last(run, usage=usage)
        else:
            yield self.chunk({**self.head(run), "choices": [self.choice({}, "stop")]})
            if usage:
                cost = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}
                yield self.chunk({**self.head(run), "choices": [], "usage": cost})


@breaks("XMCP-STR-031", profile="gateway")
class WritesAfterTheEnd(Miniature):
    """Writes text after the `finish_reason`."""

    def last(self, run: Run, *, usage: bool) -> Iterator[str]:
        yield from super().last(run, usage=usage)
        yield self.chunk({**self.head(run), "choices": [self.choice({"content": "Bye."})]})


@breaks("XMCP-STR-032", profile="gateway")
class PutsEventsBesideText(Miniature):
    """Puts events of the run into chunks with a choice."""

    def beside(self, chunk: Json, event: Json) -> Json:
        return {**super().beside(chunk, event), "choices": [self.choice({"content": ""})]}


@breaks("XMCP-STR-032", profile="gateway")
class PutsEventsIntoDeltas(Miniature):
    """Puts events of the run into what choices add."""

    def beside(self, chunk: Json, event: Json) -> Json:
        return {**chunk, "choices": [self.choice({"xmcp": event})]}


@breaks("XMCP-STR-032", profile="gateway")
class PutsNamesBesideText(Miniature):
    """Says of an event no more than its type."""

    def beside(self, chunk: Json, event: Json) -> Json:
        return super().beside(chunk, event["type"])


@breaks("XMCP-STR-033", profile="gateway")
class NamesItsEvents(Miniature):
    """Sends events of the run by their names between the chunks."""

    def last(self, run: Run, *, usage: bool) -> Iterator[str]:
        yield 'event: xmcp.notice\ndata: {"kind": "hello"}\n\n'
        yield from super().last(run, usage=usage)


@breaks("XMCP-STR-033", profile="gateway")
class ChangesItsId(Miniature):
    """Gives each chunk an id of its own."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._numbers = count()

    def head(self, run: Run) -> Json:
        return {**super().head(run), "id": f"chatcmpl-{next(self._numbers)}"}


@breaks("XMCP-STR-033", profile="gateway")
class CountsNoChoices(Miniature):
    """Leaves the index of choices out."""

    def choice(self, delta: Json, finish: str | None = None) -> Json:
        return {"delta": delta, "finish_reason": finish}


@breaks("XMCP-STR-033", profile="gateway")
class HasNoChoices(Miniature):
    """Leaves out an empty list of choices."""

    def chunk(self, value: Json) -> str:
        if "usage" in value:
            return super().chunk({name: one for name, one in value.items() if name != "created"})
        return super().chunk(value)


@breaks("XMCP-STR-034", profile="gateway")
class SaysDetails(Miniature):
    """Has errors in the form of a web framework."""

    def error(self, message: str) -> Json:
        return {"error": message}


@breaks("XMCP-STR-034", profile="gateway")
class SaysNoCode(Miniature):
    """Has errors without a code."""

    def error(self, message: str) -> Json:
        return {"error": {"message": message, "type": "server_error", "param": None}}


@breaks("XMCP-STR-034", profile="gateway")
class RefusesWithSuccess(Miniature):
    """Answers a wrong request with an error and the status 200."""

    def wrong_status(self) -> int:
        return 200


@breaks("XMCP-STR-035", profile="gateway")
class CountsUnasked(Miniature):
    """Says what a run cost to callers that did not ask."""

    def last(self, run: Run, *, usage: bool) -> Iterator[str]:
        return super().last(run, usage=True)


@breaks("XMCP-STR-035", profile="gateway")
class NeverCounts(Miniature):
    """Does not say what a run cost."""

    def last(self, run: Run, *, usage: bool) -> Iterator[str]:
        return super().last(run, usage=False)


@breaks("XMCP-STR-035", profile="gateway")
class CountsTheLastStep(Miniature):
    """Says what the last step cost."""

    def openai_usage(self) -> Json:
        return {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}


@breaks("XMCP-STR-035", profile="gateway")
class AddsWrong(Miniature):
    """Has a total that is no sum."""

    def openai_usage(self) -> Json:
        return {**super().openai_usage(), "total_tokens": 14}


@breaks("XMCP-REC-046", profile="gateway")
class ShowsBesideChunksWhatItFilledIn(Miniature):
    """Tells arguments beside its chunks that the model did not write."""

    def beside(self, chunk: Json, event: Json) -> Json:
        if event["type"] == "tool.started":
            event = {**event, "data": {**event["data"], "arguments": {**ARGUMENTS, "user_id": "u-17"}}}
        return super().beside(chunk, event)
