"""Gateways that send the events of a run in a wrong way (section 7.4)."""

from __future__ import annotations

import json
from typing import Any, Final

from xmcp_conformance.wrong.registry import breaks

from .miniature import Draft, Miniature, Run

_SNAPSHOT: Final = {"status": "running", "segments": [], "tools_used": []}


@breaks("XMCP-STR-020", profile="gateway")
class AnswersWithAPage(Miniature):
    """Says that its events are a page."""

    native_type = "text/html"


@breaks("XMCP-STR-020", profile="gateway")
class NamesNoEvent(Miniature):
    """Leaves out the types of events."""

    def sent(self, run: Run, seq: int) -> str:
        return super().sent(run, seq).replace("event: notice\n", "").replace("event: tool.progress\n", "")


@breaks("XMCP-STR-020", profile="gateway")
class SendsTextAsData(Miniature):
    """Sends the data of a progress as text."""

    def sent(self, run: Run, seq: int) -> str:
        if run.events[seq - 1][0] == "tool.progress":
            return f"id: {self.id_of(run, seq)}\nevent: tool.progress\ndata: half of it\n\n"
        return super().sent(run, seq)


@breaks("XMCP-STR-020", profile="gateway")
class SendsHalfAnEvent(Miniature):
    """Begins another event, and ends the stream."""

    def end(self, run: Run) -> str:
        return "event: notice\ndata: {"


@breaks("XMCP-STR-021", profile="gateway")
class CountsFromNought(Miniature):
    """Counts its events from 0."""

    def id_of(self, run: Run, seq: int) -> str:
        return f"{run.id}:1:{seq - 1}"


@breaks("XMCP-STR-021", profile="gateway")
class LeavesTheAttemptOut(Miniature):
    """Has ids without the number of the attempt."""

    def id_of(self, run: Run, seq: int) -> str:
        return f"{run.id}:{seq}"


@breaks("XMCP-STR-021", profile="gateway")
class LeavesAPlaceOut(Miniature):
    """Leaves out the place 4."""

    def id_of(self, run: Run, seq: int) -> str:
        return f"{run.id}:1:{seq + (seq > 3)}"


@breaks("XMCP-STR-021", profile="gateway")
class NamesAnotherRun(Miniature):
    """Has ids of a run that no event names."""

    def id_of(self, run: Run, seq: int) -> str:
        return f"{run.id}x:1:{seq}"


@breaks("XMCP-STR-021", profile="gateway")
class MixesRuns(Miniature):
    """Has the id of the newest run in the events of all that are under way."""

    pause_seconds = 0.01

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._newest = ""
        self._sent: set[str] = set()

    def drafts(self, prompt: str, run: Run) -> list[Draft]:
        self._newest = run.id
        return super().drafts(prompt, run)

    def id_of(self, run: Run, seq: int) -> str:
        return super().id_of(run, seq) if run.id in self._sent else f"{self._newest}:1:{seq}"

    def end(self, run: Run) -> str:
        self._sent.add(run.id)
        return ""


@breaks("XMCP-STR-022", profile="gateway")
class SaysNothingOfAFailure(Miniature):
    """Ends the stream of a run that failed without a word."""

    def sent(self, run: Run, seq: int) -> str:
        return "" if run.events[seq - 1][0] == "run.error" else super().sent(run, seq)


@breaks("XMCP-STR-022", profile="gateway")
class EndsTwice(Miniature):
    """Ends a run that failed as finished too."""

    def sent(self, run: Run, seq: int) -> str:
        if run.events[seq - 1][0] != "run.error":
            return super().sent(run, seq)
        event = f"event: run.interrupted\ndata: {json.dumps(run.events[seq - 1][1])}\n\n"
        return f"{super().sent(run, seq)}id: {self.id_of(run, seq + 1)}\n{event}"


@breaks("XMCP-STR-022", profile="gateway")
class BeginsInTheMiddle(Miniature):
    """Does not say that a run has started."""

    def drafts(self, prompt: str, run: Run) -> list[Draft]:
        first, *rest = super().drafts(prompt, run)
        return [("notice", {"kind": "hello", **first[1]}), *rest]

    def whole(self, run: Run) -> dict[str, object]:
        return {**super().whole(run), "run_id": run.id}


@breaks("XMCP-STR-023", profile="gateway")
class RepeatsTheLastEvent(Miniature):
    """Sends the event again after which it is asked."""

    def stand_in(self, run: Run, after: int) -> tuple[str, int]:
        return "", max(0, after - 1)


@breaks("XMCP-STR-023", profile="gateway")
class ForgetsAnEvent(Miniature):
    """Sends one event less."""

    def stand_in(self, run: Run, after: int) -> tuple[str, int]:
        return "", after + (0 < after < len(run.events))


@breaks("XMCP-STR-023", profile="gateway")
class HasAGapAndNothingInItsPlace(Miniature):
    """Says that events are missing, and not what came of them."""

    def stand_in(self, run: Run, after: int) -> tuple[str, int]:
        return ("event: stream.gap\ndata: {}\n\n", after + 1) if 0 < after < len(run.events) else ("", after)


@breaks("XMCP-STR-023", profile="gateway")
class RepeatsWhatASnapshotHas(Miniature):
    """Sends events again that a snapshot stands for."""

    def stand_in(self, run: Run, after: int) -> tuple[str, int]:
        if not 0 < after < len(run.events) - 1:
            return "", after
        snapshot = f"event: snapshot\ndata: {json.dumps(_SNAPSHOT)}\n\n"
        return f"event: stream.gap\ndata: {{}}\n\nid: {self.id_of(run, after + 1)}\n{snapshot}", after


@breaks("XMCP-STR-024", profile="gateway")
class BeginsAgainForAnyId(Miniature):
    """Takes an id that it does not know for none."""

    def after(self, run: Run, id_: str | None) -> int | None:
        return super().after(run, id_) or 0


@breaks("XMCP-STR-024", profile="gateway")
class LooksAtTheNumberAlone(Miniature):
    """Takes the id of another run for one of this."""

    def after(self, run: Run, id_: str | None) -> int | None:
        number = (id_ or "").rpartition(":")[2]
        return super().after(run, None if id_ is None else self.id_of(run, int(number) if number.isdecimal() else -1))


@breaks("XMCP-STR-025", profile="gateway")
class GoesOn(Miniature):
    """Does not stop a run that is cancelled."""

    async def stop(self, run: Run) -> None:
        """Do nothing."""


@breaks("XMCP-STR-025", profile="gateway")
class CallsItAFailure(Miniature):
    """Ends a run that was cancelled as one that failed."""

    def sent(self, run: Run, seq: int) -> str:
        return super().sent(run, seq).replace("event: run.cancelled", "event: run.error")


@breaks("XMCP-STR-020", profile="gateway")
class ReadsAgainAsText(Miniature):
    """Says that the events of a run that is read again are text."""

    read_again_type = "text/plain"


@breaks("XMCP-STR-022", profile="gateway")
class ReadsAgainFromTheSecond(Miniature):
    """Leaves the first event out where a run is read again from its beginning."""

    def stand_in(self, run: Run, after: int) -> tuple[str, int]:
        return "", max(after, run.was_answered)


@breaks("XMCP-STR-022", profile="gateway")
class CutsWhatIsCancelled(Miniature):
    """Ends the stream of a run that was cancelled without a word."""

    def sent(self, run: Run, seq: int) -> str:
        return "" if run.events[seq - 1][0] == "run.cancelled" else super().sent(run, seq)
