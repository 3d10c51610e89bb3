"""Harbour offices that get the binding to MCP wrong."""

from __future__ import annotations

from typing import Any

import mcp_types as types
from mcp.server.context import ServerRequestContext
from unseen_eighth.kit import Answer, Call, Failure, Json

from unseen_fourteenth.harbour import Harbour, NegotiatedHarbour, PlainHarbour
from unseen_fourteenth.registry import breaks


@breaks("MCP-014", "MCP-051")
class CountsCharacters(NegotiatedHarbour):
    """Compares the number of characters of a document, and not that of its bytes, with `maxBytes`."""

    def too_large(self, call: Call, text: str) -> bool:
        most = self.room(call.client)
        return most is not None and len(text) > most


@breaks("MCP-051", "ERR-020")
class LargeWhateverFailed(Harbour):
    """Answers with `RESULT_TOO_LARGE` also where it is the document of an error that would be too large."""

    def shortened(self, failure: Failure) -> Failure:
        return Failure("RESULT_TOO_LARGE", "The answer is longer than this client takes.")


@breaks("MCP-015")
class LooksInOnePlace(NegotiatedHarbour):
    """Looks for the declaration under `extensions` only, in both eras."""

    def declared(self, ctx: ServerRequestContext[Any, Any]) -> Json:
        said = ctx.session.client_capabilities
        found = super().declared(ctx)
        return found if said is not None and said.extensions else {}


@breaks("MCP-050")
class DocumentsWithPictures(NegotiatedHarbour):
    """Sends documents to a client that set `documents` to `false` where an answer has a display."""

    def success(self, call: Call, answer: Answer) -> types.CallToolResult:
        if call.client and answer.display is not None:
            call.documents = True
        return super().success(call, answer)


@breaks("MCP-042")
class SaysItOfSuccesses(PlainHarbour):
    """Says version and form in the results that succeeded only."""

    def failure(self, call: Call, failure: Failure) -> types.CallToolResult:
        result = super().failure(call, failure)
        result.meta = {name: one for name, one in (result.meta or {}).items() if not name.endswith("/result")}
        return result


@breaks("MCP-044", "RSP-020")
class RepeatsTheNote(Harbour):
    """Adds the words for the person alone to the text for the model when the moorings are asked for again."""

    def success(self, call: Call, answer: Answer) -> types.CallToolResult:
        if call.times > 1 and answer.aside:
            answer.text = f"{answer.text}\n{answer.aside}"
        return super().success(call, answer)


@breaks("MCP-049")
class DataForEverybody(NegotiatedHarbour):
    """Sends structured content to clients that declared nothing when a display was asked for."""

    def structured(self, call: Call, of: Answer | Failure) -> Json | None:
        if isinstance(of, Answer) and of.display is not None:
            return of.data
        return super().structured(call, of)


@breaks("VER-001", "VER-002")
class ReadsAnyVersion(NegotiatedHarbour):
    """Takes any version that a client declared for one that it emits, also one of the next major version."""

    def client(self, declared: Json) -> Json:
        return declared if declared.get("versions") else {}
