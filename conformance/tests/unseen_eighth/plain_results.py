"""Wrong in plain results."""

from __future__ import annotations

import json
from typing import Any

from unseen_eighth.kit import PREFIX, Answer, Call, Failure, Json
from unseen_eighth.observatory import NegotiatedObservatory, PlainObservatory, block
from unseen_eighth.registry import breaks


@breaks("MCP-020")
class LineOfTheLog(PlainObservatory):
    """Cuts the text of a failure to the eighty characters of a line of its log; its `_meta` has the whole message."""

    def text_blocks(self, call: Call, outcome: Answer | Failure) -> list[Any]:
        if isinstance(outcome, Failure):
            return [block(f"{outcome.code}: {self.legal(outcome.message)}"[:80])]
        return super().text_blocks(call, outcome)


@breaks("MCP-021", "DSP-001")
class EncodedTwice(PlainObservatory):
    """Sends a chart as a text that is JSON, since the helper of that tool had encoded it before."""

    def plain_meta(self, call: Call, outcome: Answer | Failure) -> Json:
        meta = super().plain_meta(call, outcome)
        if call.tool == "light_curve" and outcome.display is not None:
            meta[f"{PREFIX}display"] = json.dumps(meta[f"{PREFIX}display"])
        return meta


@breaks("MCP-022")
class NotYetAFailure(NegotiatedObservatory):
    """Sets no `isError` in plain results for failures that go away by themselves, since a retry is still to come."""

    def failed(self, call: Call, outcome: Answer | Failure) -> bool:
        passing = isinstance(outcome, Failure) and outcome.retryable and not call.documents
        return not passing and super().failed(call, outcome)


@breaks("MCP-024")
class OnlyWhatIsTrue(PlainObservatory):
    """Leaves `retryable` out of a failure as JSON where it is false, since that is what its absence means in XML."""

    def plain_error(self, call: Call, failure: Failure) -> Json:
        said = super().plain_error(call, failure)
        return {name: one for name, one in said.items() if name != "retryable" or one}


@breaks("MCP-025", "TOL-021")
class FilledInForNewOnes(NegotiatedObservatory):
    """Forgets the JSON about what it filled in after a handshake; the block that names the parameters is there."""

    def plain_meta(self, call: Call, outcome: Answer | Failure) -> Json:
        meta = super().plain_meta(call, outcome)
        return {key: one for key, one in meta.items() if not call.handshake or key != f"{PREFIX}server_populated"}


@breaks("MCP-047")
class ChartsHaveNoWords(PlainObservatory):
    """Sends the words for pictures and tables to the person, and none for charts, which its own client can draw."""

    def alt(self, call: Call, display: Any) -> str:
        return "" if display is not None and display["type"] == "chart" else super().alt(call, display)


@breaks("MCP-048")
class NothingToName(PlainObservatory):
    """Sends no block about what it filled in where all of it is secret, since there is no value to write."""

    def more_blocks(self, call: Call, outcome: Answer | Failure) -> list[Any]:
        blocks = super().more_blocks(call, outcome)
        nothing = isinstance(outcome, Answer) and outcome.filled is not None and not outcome.filled["values"]
        return blocks[1:] if nothing else blocks


@breaks("MCP-023", "MCP-020")
class DocumentsForOldOnes(NegotiatedObservatory):
    """Sends documents to each client after a handshake, as before there was a declaration."""

    def gets_documents(self, call: Call) -> bool:
        return call.handshake or super().gets_documents(call)
