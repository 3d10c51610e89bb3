"""Servers that are wrong in how they fail: chapter 4."""

from __future__ import annotations

from typing import Any

from unseen_third.common import Call, Fault, Json, Node, Spec
from unseen_third.registry import breaks
from unseen_third.yard import LoudYard, Yard


@breaks("ERR-003")
class BooleansOfPython(LoudYard):
    """The attribute `retryable` is written with `str`, which begins with a capital letter."""

    def error_node(self, call: Call, fault: Fault) -> Node:
        node = super().error_node(call, fault)
        if fault.retryable is not None:
            node.attrs["retryable"] = str(fault.retryable)
        return node


@breaks("ERR-004")
class SecondsTimesThousand(Yard):
    """The wait is kept in seconds with a fraction, and multiplied for the document."""

    def error_node(self, call: Call, fault: Fault) -> Node:
        node = super().error_node(call, fault)
        if fault.wait_ms is not None:
            node.attrs["retry_after_ms"] = str(fault.wait_ms / 1000 * 1000.0)
        return node


@breaks("ERR-007", "MCP-024")
class TraceBesideTheId(LoudYard):
    """An error that nobody foresaw has the id of its trace in `meta`, next to the id of the error."""

    def unforeseen(self, call: Call, error: Exception) -> Fault:
        fault = super().unforeseen(call, error)
        return Fault(fault.code, fault.message, {**(fault.meta or {}), "trace_id": "4bf92f3577b34da6"})


@breaks("ERR-010")
class NotFoundIsBadInput(Yard):
    """A commodity that has no tariff is the fault of the caller, and the category says so."""

    def no_tariff(self, call: Call, commodity: str) -> Fault:
        fault = super().no_tariff(call, commodity)
        return Fault(fault.code, fault.message, fault.meta, category="invalid_input")


@breaks("ERR-020")
class MissingHasItsOwnCode(Yard):
    """The registry has a code for arguments that are missing, so that they are refused with it."""

    def refusal(self, call: Call, fields: list[Json]) -> Fault:
        fault = super().refusal(call, fields)
        missing = any(one["reason"] == "Required" for one in fields)
        return Fault("MISSING_ARGUMENT", fault.message, fault.meta) if missing else fault


@breaks("ERR-020")
class ExtrasInsideAreIgnored(Yard):
    """The models of nested objects ignore members that they do not know, although their schemas forbid them."""

    def misfits(self, call: Call, spec: Spec) -> list[Json]:
        fields = super().misfits(call, spec)
        return [one for one in fields if one["reason"] != "AdditionalProperties" or one["pointer"].count("/") == 1]


@breaks("ERR-021")
class PointersFromTheModel(LoudYard):
    """Each nested object is checked by a model of its own, whose pointers begin there and not at the arguments."""

    def pointer(self, path: list[str]) -> str:
        return super().pointer(path[-1:])


@breaks("ERR-022")
class NamesAreCheckedFirst(Yard):
    """The name of a tool is checked by a pattern before it is looked up, and one with a dash is no good argument."""

    def unknown(self, call: Call) -> Fault:
        if call.tool.replace("_", "").isalnum() and call.tool.islower():
            return super().unknown(call)
        return Fault("INVALID_ARGUMENT", "The name of a tool has small letters and underscores.")


@breaks("ERR-030")
class ShortErrorsForPlainClients(Yard):
    """An error as JSON keeps of its `meta` what a model can use: fields, limits, help and what it was about."""

    def error_member(self, call: Call, fault: Fault) -> Json:
        member = super().error_member(call, fault)
        kept: Any = {name: item for name, item in member.pop("meta", {}).items() if name != "error_id"}
        return {**member, "meta": kept} if kept else member


@breaks("ERR-032")
class AddressWithTheKey(LoudYard):
    """The message about the service with the rates has the address that was asked, with the key in it."""

    def rates_down(self, call: Call) -> Fault:
        fault = super().rates_down(call)
        message = "GET https://rates.example/v1/express?api_key=sk-live-7Qm2Zx81LrTn4Vb said 503."
        return Fault(fault.code, message, fault.meta, retryable=True, wait_ms=fault.wait_ms)


@breaks("ERR-031", "ERR-032")
class StackOfTheEngine(Yard):
    """Gauges are computed by a script, and where that fails its stack is the message."""

    def unforeseen(self, call: Call, error: Exception) -> Fault:
        fault = super().unforeseen(call, error)
        stack = (
            "\n    at divide (file:///srv/yard/dist/gauge.js:41:17)\n    at async Yard.call (node:internal/yard:88:5)"
        )
        return Fault(fault.code, f"RangeError: the ratio is not finite{stack}", fault.meta)
