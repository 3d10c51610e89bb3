"""Servers that are wrong in what they show, and when: chapter 3."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import anyio
import mcp_types

from unseen_third.common import Answer, Call, Json, Spec
from unseen_third.registry import breaks
from unseen_third.yard import LoudYard, Yard


@breaks("DSP-004")
class NothingWithoutZoom(LoudYard):
    """The width of a picture is a multiple of its zoom, and without zoom there is none."""

    def show_camera(self, call: Call, src: str, caption: str | None) -> Any:
        show = super().show_camera(call, src, caption)
        show["payload"]["width"] = 640 * int(call.args.get("zoom", 1))
        return show


@breaks("DSP-005")
class NoFallbackIsNull(Yard):
    """To a client that lists its types each display is sent with a fallback, which is null where it needs none."""

    def fitting(self, call: Call, display: Any) -> Any:
        fitted = super().fitting(call, display)
        return {"fallback": None, **fitted} if "displayTypes" in call.declaration else fitted


@breaks("DSP-006")
class CacheSaysSo(LoudYard):
    """The second display of the same manifest says in its `meta` that it was cached."""

    def fitting(self, call: Call, display: Any) -> Any:
        fitted = super().fitting(call, display)
        if call.tool == "manifest" and call.again > 1:
            return {**fitted, "meta": {**fitted["meta"], "cached": True}}
        return fitted


@breaks("DSP-010")
class OneLoadIsProgress(Yard):
    """A chart of a single bar looked odd, so that one load is shown as the progress of the track."""

    def show_loads(self, call: Call, loads: list[Any], unit: str) -> Any:
        show = super().show_loads(call, loads, unit)
        if len(loads) == 1:
            return {"type": "progress", "alt": show["alt"], "payload": {"value": loads[0], "max": 5000}}
        return show


@breaks("DSP-014")
class ChartsThatZoom(LoudYard):
    """A chart of more than five bars can be zoomed, with a selection."""

    def show_loads(self, call: Call, loads: list[Any], unit: str) -> Any:
        show = super().show_loads(call, loads, unit)
        if len(loads) > 5:
            show["payload"]["params"] = [{"name": "zoom", "select": "interval", "bind": "scales"}]
        return show


@breaks("DSP-020")
class ParameterForThoseWhoDeclare(Yard):
    """A client that did not declare the extension shows nothing, so that `show_user` is not listed to it."""

    def listed(self, name: str, spec: Spec, *, declared: bool, handshake: bool) -> mcp_types.Tool:
        if not declared and name == "manifest":
            properties = {one: said for one, said in spec.takes["properties"].items() if one != "show_user"}
            spec = replace(spec, takes={**spec.takes, "properties": properties})
        return super().listed(name, spec, declared=declared, handshake=handshake)


@breaks("DSP-021", "DSP-022")
class WantedByTheLastCall(LoudYard):
    """While the picture of a camera is fetched, whether to show it is kept on the server object, where the next call
    finds it too."""

    wanted = False

    async def answer(self, call: Call) -> Answer:
        if call.tool != "camera":
            return await super().answer(call)
        self.wanted = call.shown
        await anyio.sleep(0.1)
        if isinstance(call.args.get("show_user", False), bool):
            call = replace(call, args={**call.args, "show_user": self.wanted})
        return await super().answer(call)


@breaks("DSP-022")
class NothingToShow(Yard):
    """A display is sent where there are rows, and a manifest without containers has none."""

    def show_manifest(self, call: Call, rows: list[Json]) -> Any:
        return super().show_manifest(call, rows) if rows else None


@breaks("DSP-024", "ERR-020")
class NullIsNoBoolean(Yard):
    """The check for a `show_user` that is null was written for tools that need another argument."""

    def prepared(self, call: Call, spec: Spec) -> Call:
        ready = super().prepared(call, spec)
        forgotten = not spec.takes["required"] and "show_user" in call.args
        return replace(ready, args={**ready.args, "show_user": call.args["show_user"]}) if forgotten else ready


@breaks("DSP-025")
class SaidOnceIsEnough(Yard):
    """That a client is perhaps unable to show a display is said with the first one of each tool, to save tokens."""

    def hint(self, call: Call) -> str:
        return super().hint(call) if call.nth == 1 else ""
