"""Wrong servers: displays."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from unseen_fifth.instruments import FindingChart, LightCurve, NightReport, ObservePlan
from unseen_fifth.kit import Json, Outcome, Success, Tool, Visit
from unseen_fifth.observatory import Negotiated, Observatory, Plain
from unseen_fifth.registry import breaks
from unseen_fifth.writers import Paper


@breaks("DSP-001")
class EmptyLeftOut(Negotiated):
    """Members of a display that are empty are left out to save space, also the one that is the display."""

    def adapted(self, visit: Visit, display: Json) -> Json:
        return {name: value for name, value in super().adapted(visit, display).items() if value}


class _OneRow(ObservePlan):
    def run(self) -> Success:
        success = super().run()
        payload = success.display["payload"]
        if len(payload["rows"]) > 1:
            return success
        return replace(success, display={**success.display, "payload": {**payload, "rows": payload["rows"][0]}})


@breaks("DSP-004")
class OneExposure(Observatory):
    """A query that finds one row gives the row and not a list of it, and so does the table of a plan."""

    swapped = (_OneRow,)


class _Position(ObservePlan):
    def run(self) -> Success:
        success = super().run()
        if self.target["by"] == "name":
            return success
        facts = {"target": self.target, "exposures": len(self.exposures)}
        return replace(success, display={"type": "facts", "title": "Plan", "payload": facts})


@breaks("DSP-004")
class PositionAsFact(Plain):
    """The plan for a position is shown as facts, and one of them is the position, an object."""

    swapped = (_Position,)


class _WholeName(ObservePlan):
    def run(self) -> Success:
        success = super().run()
        return replace(success, display={**success.display, "title": f"Plan for {self.where()[:200]}"})


@breaks("DSP-005")
class LongTitle(Observatory):
    """The name of a target is cut to the length of a title before the words are put in front of it."""

    swapped = (_WholeName,)


class _Grouped(NightReport):
    def display(self) -> Json:
        display = super().display()
        if self.layout != "group":
            return display
        marked = [{**one, "meta": {"source": "weather mast", "dome": self.dome}} for one in display["payload"]]
        return {**display, "payload": marked}


@breaks("DSP-006")
class MarkedChildren(Observatory):
    """In a group each display says of which dome it is, in a member of its meta that has no prefix."""

    swapped = (_Grouped,)


class _ProgressDial(NightReport):
    def display(self) -> Json:
        display = super().display()
        if self.layout != "dial":
            return display
        bar = {
            "type": "progress",
            "payload": {"at": self.seeing, "of": 20},
            "fallback": display["fallback"]["fallback"],
        }
        return {**display, "fallback": bar}


@breaks("DSP-010")
class ProgressBehindDial(Negotiated):
    """Where a renderer has no dial it is to draw a bar of progress, which some renderers know already."""

    swapped = (_ProgressDial,)


class _OldRadio(FindingChart):
    def source(self) -> str:
        source = super().source()
        return source.replace("https://", "http://") if self.survey == "radio" else source


@breaks("DSP-013", "DSP-004")
class OldRadioArchive(Observatory):
    """The archive of the radio survey has no certificate, so its pictures are linked without one."""

    swapped = (_OldRadio,)


class _FilteredCurve(LightCurve):
    def run(self) -> Success:
        success = super().run()
        if None not in self.magnitudes:
            return success
        gaps = {"transform": [{"filter": {"field": "mag", "valid": True}}]}
        return replace(success, display={**success.display, "payload": {**success.display["payload"], **gaps}})


@breaks("DSP-014")
class FilteredGaps(Negotiated):
    """Nights without a measurement are left in the data, and the chart is told to filter them."""

    swapped = (_FilteredCurve,)


@breaks("DSP-021", "DSP-022")
class SharedAlmanac(Observatory):
    """Answers of the almanac are kept by object, hours and language, and given to whoever asks for the same."""

    def __init__(self) -> None:
        super().__init__()
        self.kept: dict[str, Outcome] = {}

    async def perform(self, visit: Visit, tool: type[Tool]) -> Outcome:
        if tool.name != "ephemeris":
            return await super().perform(visit, tool)
        key = repr(sorted((name, value) for name, value in visit.args.items() if name != "show_user"))
        if key not in self.kept:
            self.kept[key] = await super().perform(visit, tool)
        return self.kept[key]


@breaks("DSP-022")
class EmptyTextLeftOut(Observatory):
    """A display without rows comes without a text, and an empty text is not worth an element."""

    class _Paper(Paper):
        def parts(self, outcome: Outcome) -> list[str]:
            parts = super().parts(outcome)
            bare = isinstance(outcome, Success) and outcome.display is not None and not outcome.text
            return parts[1:] if bare else parts

    paper = _Paper


@breaks("DSP-024")
class StrictPictures(Plain):
    """The tool for pictures checks its arguments before the server has taken out what is null."""

    def unset(self, visit: Visit, args: Json) -> Json:
        return args if visit.tool == "finding_chart" else super().unset(visit, args)


@breaks("DSP-025")
class HintInThreeLanguages(Negotiated):
    """The hint that a client is perhaps not able to show a display was translated; the German one is still to come."""

    HINTS: Any = {
        "en": "\n[Your application is perhaps not able to show the display.]",
        "fr": "\n[Votre application ne peut peut-être pas afficher la présentation (display).]",
        "ja": "\n[表示 (display) はアプリケーションで表示できない場合があります。]",
    }

    def hint(self, visit: Visit, args: Json) -> str:
        return str(self.HINTS.get(args.get("lang", "en"), ""))
