"""Servers that are wrong in what they say of their tools, and in parameters that they fill in: chapter 5."""

from __future__ import annotations

from dataclasses import replace

import mcp_types

from unseen_third.common import Answer, Call, Json, Spec, with_meta
from unseen_third.registry import breaks
from unseen_third.yard import LoudYard, Yard


@breaks("TOL-002")
class NoticesAreTextInTheHandshake(LoudYard):
    """An older description of the notices, from before they had displays, is still listed in the handshake era."""

    def listed(self, name: str, spec: Spec, *, declared: bool, handshake: bool) -> mcp_types.Tool:
        if handshake and name == "notice":
            spec = with_meta({name: spec}, name, display=None)[name]
        return super().listed(name, spec, declared=declared, handshake=handshake)


@breaks("TOL-021")
class OverriddenIsNamedOnce(LoudYard):
    """A parameter for which the caller sent a value is named in `overridden`, and therefore nowhere else."""

    def filled(self, call: Call) -> Json:
        filled = super().filled(call)
        kept = {name: value for name, value in filled["values"].items() if name not in call.forged}
        return {**filled, "values": kept}


@breaks("TOL-023")
class DepotOfTheCaller(Yard):
    """The report of what was filled in is right, but the tool reads the depot from the arguments first."""

    def my_gate_passes(self, call: Call) -> Answer:
        answer = super().my_gate_passes(call)
        depot = call.forged.get("depot")
        return replace(answer, text=f"2 passes for {depot}.") if depot else answer


@breaks("TOL-024")
class SecretsAreNoDefaults(LoudYard):
    """Only parameters whose values are disclosed are set aside before validation; the key is refused as unknown."""

    def prepared(self, call: Call, spec: Spec) -> Call:
        ready = super().prepared(call, spec)
        if "gate_key" not in ready.forged:
            return ready
        forged = {name: value for name, value in ready.forged.items() if name != "gate_key"}
        return replace(ready, args={**ready.args, "gate_key": ready.forged["gate_key"]}, forged=forged)


@breaks("TOL-030")
class HintsForThoseWhoDeclare(Yard):
    """The annotations of tools are made together with the metadata for clients that declared the extension, and are
    missing for others."""

    def listed(self, name: str, spec: Spec, *, declared: bool, handshake: bool) -> mcp_types.Tool:
        listed = super().listed(name, spec, declared=declared, handshake=handshake)
        return listed if declared else listed.model_copy(update={"annotations": None})
