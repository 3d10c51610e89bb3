"""Mutants of chapter 4: failures that are reported wrongly."""

from __future__ import annotations

import traceback
from typing import Any

import mcp_types
from mcp import MCPError

from xmcp_conformance.wrong.registry import breaks

from .miniature import Failure, Json, Miniature


@breaks("XMCP-ERR-001", profile="server")
class FailsOutsideTheDocument(Miniature):
    """Answers a failed call with a JSON-RPC error."""

    def answer(self, name: str, arguments: Json, *, declared: bool) -> mcp_types.CallToolResult:
        if name == "busy" and not arguments:
            raise MCPError(code=-32000, message="Too many calls")
        return super().answer(name, arguments, declared=declared)


class _Busy(Miniature):
    """A miniature whose `busy` fails in its own way."""

    def busy_failure(self) -> Failure:
        return Failure("RATE_LIMIT", "Too many calls; wait a moment.", self.busy(), {"side_effects": "none"})

    def run(self, name: str, arguments: Json) -> tuple[str, Any]:
        if name == "busy":
            raise self.busy_failure()
        return super().run(name, arguments)


@breaks("XMCP-ERR-002", profile="server")
class WritesCodesInLowerCase(_Busy):
    """Uses a code that does not match the pattern."""

    def busy_failure(self) -> Failure:
        return Failure("rate limit", "Too many calls.", self.busy())


@breaks("XMCP-ERR-003", profile="server")
class SaysYes(Miniature):
    """Writes `retryable="yes"`."""

    def busy(self) -> dict[str, str]:
        return {**super().busy(), "retryable": "yes"}


@breaks("XMCP-ERR-004", profile="server")
class SaysSoon(Miniature):
    """Writes a retry delay that is not a number."""

    def busy(self) -> dict[str, str]:
        return {**super().busy(), "retry_after_ms": "soon"}


@breaks("XMCP-ERR-005", profile="server")
class AsksToWaitForNothing(Miniature):
    """Says how long to wait before a retry that it says is useless."""

    def busy(self) -> dict[str, str]:
        return {**super().busy(), "retryable": "false"}


@breaks("XMCP-ERR-006", profile="server")
class SaysNothing(_Busy):
    """Leaves the message empty."""

    def busy_failure(self) -> Failure:
        return Failure("RATE_LIMIT", " ", self.busy())


@breaks("XMCP-ERR-007", profile="server")
class InventsASideEffect(_Busy):
    """Writes a reserved member of `meta` with a value that the schema does not allow."""

    def busy_failure(self) -> Failure:
        return Failure("RATE_LIMIT", "Too many calls.", self.busy(), {"side_effects": "some"})


@breaks("XMCP-ERR-008", profile="server")
class PutsTheMessageLast(Miniature):
    """Goes on with the message after `meta`."""

    def error(self, failure: Failure) -> str:
        return super().error(failure).replace("</meta>", "</meta> Sorry.")


@breaks("XMCP-ERR-010", profile="server")
class MixesUpCategories(Miniature):
    """Writes another category for a registered code."""

    def busy(self) -> dict[str, str]:
        return {**super().busy(), "category": "timeout"}


@breaks("XMCP-ERR-011", profile="server")
class DoesNotSayWhatKindOfFault(Miniature):
    """Uses a code of its own without a category."""

    def vendor(self) -> dict[str, str]:
        return {}


@breaks("XMCP-ERR-020", profile="server")
class RefusesWithAnotherCode(Miniature):
    """Answers arguments that do not fit with a code of its own choice."""

    def refuse(self, name: str, arguments: Json) -> None:
        try:
            super().refuse(name, arguments)
        except Failure as failure:
            raise Failure("INVALID_ARGUMENT", failure.message, meta=failure.meta) from None


@breaks("XMCP-ERR-021", profile="server")
class DoesNotSayWhichArgument(Miniature):
    """Refuses without naming the argument."""

    def refused(self, fields: list[Json]) -> Any:
        return {"side_effects": "none"}


@breaks("XMCP-ERR-022", profile="server")
class CallsAnUnknownToolNotFound(Miniature):
    """Answers the call of an unknown tool with another code."""

    def unknown(self, name: str) -> Failure:
        return Failure("NOT_FOUND", "There is no such tool.")


@breaks("XMCP-ERR-030", profile="server")
class GivesNoErrorId(Miniature):
    """Leaves nothing to find an unforeseen failure by."""

    def unforeseen(self, error: Exception) -> Failure:
        return Failure("INTERNAL", "The tool failed.")


@breaks("XMCP-ERR-031", profile="server")
class SendsTheStackTrace(Miniature):
    """Sends the stack trace of an unforeseen failure."""

    def unforeseen(self, error: Exception) -> Failure:
        return Failure("INTERNAL", "".join(traceback.format_exception(error)), meta={"error_id": self.error_id()})


@breaks("XMCP-ERR-032", profile="server")
class TellsWhereItLives(Miniature):
    """Names a file of the server in the message."""

    def unforeseen(self, error: Exception) -> Failure:
        return Failure("INTERNAL", "Cannot open /srv/app/data/sales.db", meta={"error_id": self.error_id()})
