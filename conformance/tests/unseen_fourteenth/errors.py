"""Harbour offices that get errors wrong."""

from __future__ import annotations

import traceback
from typing import Any

from unseen_eighth.kit import Call, Failure

from unseen_fourteenth.harbour import Harbour, NegotiatedHarbour, PlainHarbour
from unseen_fourteenth.registry import breaks


@breaks("ERR-006", "MCP-024")
class TheExceptionSaysIt(PlainHarbour):
    """Takes the message of a failure that nobody foresaw from the exception, which has none the second time."""

    def surprise(self, call: Call, error: Exception) -> Failure:
        failure = super().surprise(call, error)
        failure.message = "Not in the book of watches." if call.times == 1 else ""
        return failure


@breaks("ERR-007", "ERR-021", "MCP-024")
class FieldsByPointer(NegotiatedHarbour):
    """Writes `fields` as an object from pointers to messages where more than one argument is refused."""

    def check(self, call: Call, tool: Any) -> None:
        try:
            super().check(call, tool)
        except Failure as failure:
            fields = (failure.meta or {})["fields"]
            if len(fields) > 1:
                failure.meta = {"fields": {one["pointer"]: one["message"] for one in fields}}
            raise


@breaks("ERR-010")
class ForgetsTheAlias(PlainHarbour):
    """Looks categories up by the codes of the registry but not by their aliases, and writes `internal`."""

    def failure(self, call: Call, failure: Failure) -> Any:
        if failure.code == "RATE_LIMITED":
            failure.category = "internal"
        return super().failure(call, failure)


@breaks("ERR-011")
class NoCategoryOfItsOwn(Harbour):
    """Writes no `category` with a code of its own."""

    def error_attributes(self, failure: Failure) -> str:
        text = super().error_attributes(failure)
        return text.split(" category=")[0] if failure.code.startswith("X_") else text


@breaks("ERR-008", "RSP-006")
class HelpsAtTheEnd(Harbour):
    """Writes the link to a page that helps behind `meta`, where the error has one."""

    def error_element(self, call: Call, failure: Failure) -> str:
        text = super().error_element(call, failure)
        links = (failure.meta or {}).get("help", [])
        return text.replace("</error>", f" See {links[0]['url']}.</error>") if links else text


@breaks("ERR-030")
class IdInTheMessage(PlainHarbour):
    """Says the id of a failure that nobody foresaw at the end of the message, and not in `meta`."""

    def surprise(self, call: Call, error: Exception) -> Failure:
        failure = super().surprise(call, error)
        failure.message += f" (error id {(failure.meta or {})['error_id']})"
        failure.meta = None
        return failure


@breaks("ERR-031", "ERR-032")
class TracesInMeta(NegotiatedHarbour):
    """Puts the last frames of the stack into `params` of a failure that nobody foresaw, up to MCP 2025-11-25."""

    def surprise(self, call: Call, error: Exception) -> Failure:
        failure = super().surprise(call, error)
        if call.handshake:
            trace = "".join(traceback.format_exception(error))
            failure.meta = {**(failure.meta or {}), "params": {"detail": trace}}
        return failure


@breaks("ERR-032")
class NamesTheSocket(PlainHarbour):
    """Says in the message of an error by which path on its machine it tried to reach the pilots' station."""

    def failure(self, call: Call, failure: Failure) -> Any:
        if failure.code == "UPSTREAM_UNAVAILABLE":
            failure.message += " (connect: /var/lib/harbour/run/pilots.sock: no such file)"
        return super().failure(call, failure)
