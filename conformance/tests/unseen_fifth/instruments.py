"""The tools of the observatory."""

from __future__ import annotations

import json
from typing import Any

from unseen_fifth.kit import Json, Param, Problem, Success, Tool, integer, legal, number, one_of, record, switch, text

STRING: Json = {"type": "string"}
NAMES = {"en": "altitude", "fr": "hauteur", "de": "Höhe", "ja": "高度"}
BRIGHTEST = 5853498713190525696


class ConeSearch(Tool):
    """List the stars near a position, a page at a time."""

    name = "cone_search"
    about = {"cacheable": True, "provides": "stars"}
    gives = record(
        "stars", "next_page", stars={"type": "array", "items": STRING}, next_page={"type": ["integer", "null"]}
    )

    ra = number(0, 360, needed=True)
    dec = number(-90, 90, needed=True)
    radius = Param({"type": "number", "exclusiveMinimum": 0, "maximum": 5, "default": 1}, default=1)
    band = Param({"type": ["string", "null"], "enum": ["G", "BP", "RP", None]}, default="G")
    limit = integer(1, 60, 4)
    page = integer(1, 3, 1)

    def run(self) -> Success:
        first = (self.page - 1) * self.limit
        stars = [
            f"star {BRIGHTEST - number} at {self.ra:.4f} {self.dec:+.4f}, {self.band} = {7 + number / 10:.1f}"
            for number in range(first, first + self.limit)
        ]
        following = self.page + 1 if self.page < 3 else None
        more = f"\nThere is a page {following}." if following else ""
        return Success("\n".join(stars) + more, data={"stars": stars, "next_page": following})


class StarDetails(Tool):
    """Say what is known of a star of the catalogue."""

    name = "star_details"
    about = {"display": True}

    source_id = Param(
        {"type": "integer", "minimum": 1, "maximum": 2**63 - 1, "examples": [BRIGHTEST]}, needed=True, cast=int
    )
    lang = one_of("en", "fr", "de", "ja")
    show_user = switch()

    def facts(self) -> Json:
        """Return what is known."""
        parallax = None if self.source_id % 2 else 768.5
        return {"source_id": self.source_id, "parallax": parallax, "variable": self.source_id % 3 == 0}

    def run(self) -> Success:
        if self.source_id < 1000:
            raise Problem("NOT_FOUND", f"There is no star {self.source_id}.", params={"source_id": self.source_id})
        found = "\n".join(f"{name}: {json.dumps(value)}" for name, value in self.facts().items())
        display = {"type": "facts", "title": f"Star {self.source_id}", "payload": self.facts()}
        return Success(f"{NAMES[self.lang]}: 41\n{found}", {**display, "meta": {"locale": self.lang}})


class ResolveName(Tool):
    """Repeat the name of an object as the catalogues have it."""

    name = "resolve_name"
    about = {"depends_on": []}

    object_name = text(5000, needed=True, examples=["M31", "Barnard's star", "\u212bngstr\xf6m 4\xb2"])
    catalogue = one_of("any", "messier")
    epoch = Param({"type": "string", "format": "date", "examples": ["2000-01-01"]})

    def run(self) -> Success:
        asked = self.object_name
        if self.catalogue == "messier" and not (asked[:1] == "M" and asked[1:].isdecimal()):
            raise Problem("NOT_FOUND", f"Messier has no '{asked}'.", params={"object_name": asked}, side_effects="none")
        return Success(f"{asked}\n(epoch {self.epoch or 'J2000'})")


TARGET: Json = {
    "oneOf": [
        record("by", "name", by={"const": "name"}, name={"type": "string", "minLength": 1, "maxLength": 300}),
        record(
            "by",
            "ra",
            "dec",
            by={"const": "position"},
            ra={"type": "number", "minimum": 0, "maximum": 360},
            dec={"type": "number", "minimum": -90, "maximum": 90},
        ),
    ],
    "examples": [{"by": "name", "name": "M31"}, {"by": "position", "ra": 10.68, "dec": 41.27}],
}
EXPOSURE = record(
    "filter",
    "seconds",
    filter={"enum": ["U", "B", "V", "R", "H/alpha"]},
    seconds={"type": "number", "minimum": 0.1, "maximum": 3600},
    count={"type": "integer", "minimum": 1, "maximum": 99},
)


class ObservePlan(Tool):
    """Lay out the exposures of a night."""

    name = "observe_plan"
    about = {"display": True, "depends_on": ["resolve_name"]}

    target = Param(TARGET, needed=True)
    exposures = Param({"type": "array", "items": EXPOSURE, "minItems": 1, "maxItems": 40}, needed=True)
    observers = Param({"type": "array", "items": {"type": "string", "maxLength": 500}, "maxItems": 6}, default=[])
    show_user = switch()

    def where(self) -> str:
        """Return the target in words."""
        target = self.target
        return str(target["name"]) if target["by"] == "name" else f"{target['ra']} {target['dec']}"

    def run(self) -> Success:
        rows = [[one["filter"], one["seconds"], int(one.get("count", 1))] for one in self.exposures]
        total = sum(seconds * count for _, seconds, count in rows)
        lines = [f"{count} × {seconds} s in {band}" for band, seconds, count in rows]
        who = f"\nObservers: {', '.join(self.observers)}" if self.observers else ""
        display = {
            "type": "table",
            "title": f"Plan for {self.where()}"[:200],
            "payload": {"columns": ["filter", {"key": "seconds", "type": "number"}, "count"], "rows": rows},
        }
        return Success(f"{self.where()}, {total:.1f} s:\n" + "\n".join(lines) + who, display)


class LightCurve(Tool):
    """Plot how bright a star was in one night after the other."""

    name = "light_curve"
    about = {"display": True}

    magnitudes = Param(
        {"type": "array", "maxItems": 200, "items": {"type": ["number", "null"], "minimum": -30, "maximum": 40}},
        needed=True,
    )
    unit = one_of("mag", "flux")
    show_user = switch()

    def run(self) -> Success:
        seen = [value for value in self.magnitudes if value is not None]
        values = [{"night": night + 1, "mag": value} for night, value in enumerate(self.magnitudes)]
        display = {
            "type": "chart",
            "title": f"Light curve ({self.unit})",
            "alt": f"A curve of {len(seen)} nights out of {len(values)}.",
            "payload": {
                "mark": "line",
                "data": {"values": values},
                "encoding": {
                    "x": {"field": "night", "type": "quantitative"},
                    "y": {"field": "mag", "type": "quantitative"},
                },
            },
        }
        span = f"between {min(seen)} and {max(seen)}" if seen else "unknown"
        return Success(f"{len(seen)} nights, {span} {self.unit}.", display)


class FindingChart(Tool):
    """Fetch a picture of the sky around an object."""

    name = "finding_chart"
    about = {"display": True}

    object_id = Param({"type": "string", "pattern": "^(M|NGC)[0-9]{1,4}$", "examples": ["M31", "NGC253"]}, needed=True)
    survey = one_of("optical", "infrared", "radio")
    size = integer(64, 1024, 256)
    show_user = switch()

    def source(self) -> str:
        """Return where the picture is."""
        return f"https://sky.example/cut?survey={self.survey}&object={self.object_id}"

    def run(self) -> Success:
        picture = {"src": self.source(), "width": self.size, "height": self.size, "mime": "image/png"}
        alt = f"{self.object_id} as the {self.survey} survey has it."
        display = {"type": "image", "id": f"chart-{self.object_id}", "alt": alt, "payload": picture}
        return Success(f"There is a picture of {self.object_id}, {self.size} pixels wide.", display)


class NightReport(Tool):
    """Report how the night is."""

    name = "night_report"
    about = {"display": True}

    dome = Param({"type": "string", "pattern": "^D[1-9]$", "examples": ["D1"]}, needed=True)
    seeing = Param({"type": ["number", "null"], "minimum": 0, "maximum": 20}, needed=True)
    remarks = text(1500, nullable=True)
    layout = one_of("metric", "facts", "dial", "group", "notification")
    show_user = switch()

    def display(self) -> Json:
        """Return the display in the layout that was asked for."""
        value = "unknown" if self.seeing is None else self.seeing
        metric: Json = {"type": "metric", "payload": {"label": f"Seeing in {self.dome}", "value": value, "unit": '"'}}
        said = {"Dome": self.dome, "Seeing": self.seeing, "Remarks": self.remarks}
        layouts: dict[str, Json] = {
            "metric": {**metric, "alt": f"A seeing of {value}. {self.remarks or ''}".strip()},
            "facts": {"type": "facts", "title": (self.remarks or "The night")[:200], "payload": said},
            "dial": {
                "type": "x-observatory-dial",
                "payload": {"from": 0, "to": 20, "at": self.seeing},
                "meta": {"observatory/colour": "red"},
                "fallback": {**metric, "fallback": {"type": "text", "payload": f"Seeing {value}"}},
            },
            "group": {"type": "group", "title": self.dome, "payload": [metric, {"type": "facts", "payload": said}]},
            "notification": {
                "type": "notification",
                "payload": {"message": f"Seeing {value}", "level": "warning" if (self.seeing or 0) > 3 else "info"},
            },
        }
        return layouts[self.layout]

    def run(self) -> Success:
        value = "unknown" if self.seeing is None else self.seeing
        said = f"\n{self.remarks}" if self.remarks else ""
        return Success(f"{self.dome}: seeing {value}.{said}", self.display())


class FormatNote(Tool):
    """Lay out a note of an observer."""

    name = "format_note"
    about = {"display": True, "xml_formatter": "NoteFormatter"}

    note = text(20000, needed=True)
    kind = one_of("text", "markdown", "html", "code", "json", "file")
    show_user = switch()

    def payload(self) -> Any:
        """Return the note in the shape that its kind demands."""
        size = len(legal(self.note).encode())
        shapes: Json = {
            "code": {"code": self.note, "language": "text", "filename": "note.txt"},
            "json": {"note": self.note.split("\n"), "length": len(self.note)},
            "file": {"uri": "https://sky.example/notes/1", "name": "note.txt", "mime": "text/plain", "size": size},
        }
        return shapes.get(self.kind, self.note)

    def run(self) -> Success:
        return Success(self.note, {"type": self.kind, "title": f"Note: {self.note[:40]}", "payload": self.payload()})


class ObservingLog(Tool):
    """Write an entry into the log of the night."""

    name = "observing_log"
    reads = False

    entry = text(5000, needed=True)
    author = text(80, nullable=True)

    def run(self) -> Success:
        return Success(f"{self.author or 'someone'} wrote: {self.entry}")


class MyTime(Tool):
    """List the time at the telescope of whoever asks."""

    name = "my_time"
    about = {"display": True, "server_populated": ["observer_id", "site", "token"]}

    semester = Param({"type": "string", "pattern": "^20[0-9]{2}[AB]$", "examples": ["2026A"]}, default="2026A")
    role = one_of("pi", "observer", "student")
    show_user = switch()

    def run(self) -> Success:
        hours = {"pi": 12, "observer": 6, "student": 2}[self.role]
        facts = [{"label": self.semester, "value": hours}, {"label": "Role", "value": self.role}]
        display = {"type": "facts", "title": "Your hours", "payload": facts}
        return Success(f"{self.filled['observer_id']} has {hours} hours as {self.role} in {self.semester}.", display)


class CheckRequest(Tool):
    """Say whether a request for time would be granted."""

    name = "check_request"

    program = Param({"type": "string", "pattern": "^P[0-9]{3}$", "examples": ["P101", "P900"]}, needed=True)
    start = Param({"type": "string", "format": "date-time", "examples": ["2026-05-01T21:30:00Z"]}, needed=True)
    hours = number(0, 40, default=1)
    priority = one_of("normal", "target_of_opportunity", "director", "backlog")
    lang = one_of("en", "fr", "de")

    def run(self) -> Success:
        closed = {
            "en": "The dome does not answer.",
            "fr": "La coupole ne répond pas.",
            "de": "Die Kuppel antwortet nicht.",
        }
        if self.priority == "target_of_opportunity":
            raise Problem(
                "UPSTREAM_UNAVAILABLE", closed[self.lang], wait_ms=2500, upstream_status=503, side_effects="none"
            )
        if self.priority == "director":
            raise Problem("X_OBSERVATORY_EMBARGO", "The director keeps this time.", category="permission_denied")
        if self.priority == "backlog":
            raise Problem("QUOTA_EXCEEDED", "The backlog is full.", recovery="ask_user", side_effects="none")
        if self.hours > 10:
            limit = {"scope": "program", "dimension": "hours", "max": 10}
            raise Problem("X_OBSERVATORY_TOO_LONG", "A night is shorter.", category="too_large", limit=limit)
        if self.program.startswith("P9"):
            raise Problem("CONFLICT", f"{self.program} has a night already.", params={"program": self.program})
        return Success(f"{self.program} can have {self.hours} h from {self.start}.")


class ExposureTime(Tool):
    """Say how long an exposure has to be."""

    name = "exposure_time"
    gives = record("seconds", "frames", seconds={"type": "number"}, frames={"type": "integer"})

    magnitude = number(-5, 30, needed=True)
    aperture_m = number(0, 40, needed=True)
    frames = integer(0, 20, 1)

    def run(self) -> Success:
        seconds = round(10 ** (self.magnitude / 10) / self.aperture_m**2, 3)
        each = round(seconds / self.frames, 3)
        data = {"seconds": seconds, "frames": self.frames}
        return Success(f"{seconds} s, {each} s in each of {self.frames} frames.", data=data)


class Ephemeris(Tool):
    """List where an object stands, hour by hour; this takes a moment."""

    name = "ephemeris"
    about = {"display": True, "cacheable": True}
    pause = 0.1

    object_id = Param({"type": "string", "pattern": "^(M|NGC)[0-9]{1,4}$", "examples": ["M13"]}, needed=True)
    hours = integer(0, 96, 6)
    lang = one_of("en", "fr", "de", "ja")
    show_user = switch()

    def run(self) -> Success:
        rows = [[f"{hour % 24:02}:00", 20 + hour % 60, (hour * 15) % 360] for hour in range(self.hours)]
        word = NAMES[self.lang]
        found = "\n".join(f"{at} {word} {high}°, {self.object_id} {round_}°" for at, high, round_ in rows)
        display = {
            "type": "table",
            "title": f"{self.object_id} ({word})",
            "alt": f"{self.hours} rows.",
            "payload": {"columns": ["at", word, "azimuth"], "rows": rows, "total_rows": len(rows)},
            "meta": {"locale": self.lang, "source": "almanac"},
        }
        return Success(found, display)


class ListFilters(Tool):
    """List the filters of a camera."""

    name = "list_filters"
    about = {"wrapped_in": "result", "cacheable": True}
    gives = record("result", result={"type": "array", "items": STRING})

    camera = one_of("wide", "narrow")

    def run(self) -> Success:
        filters = ["U", "B", "V", "R"] if self.camera == "wide" else ["H/alpha", "O III"]
        return Success(", ".join(filters), data={"result": filters})


class PageObserver(Tool):
    """Preview a message to an observer."""

    name = "page_observer"

    contact = Param(
        {
            "anyOf": [
                record("kind", "address", kind={"const": "email"}, address={"type": "string", "format": "email"}),
                record("kind", "number", kind={"const": "phone"}, number={"type": "string", "pattern": "^[+][0-9]+$"}),
            ],
            "examples": [{"kind": "email", "address": "ada@example.org"}, {"kind": "phone", "number": "+1613555"}],
        },
        needed=True,
    )
    message = text(500, nullable=True, default="Please come to the dome.")

    def run(self) -> Success:
        contact = self.contact
        aside = "The number is billed to the guest house." if contact["kind"] == "phone" else ""
        return Success(f"To {contact.get('address') or contact.get('number')}: {self.message}", aside=aside)


class SkyTiles(Tool):
    """Draw the nested tiles in which the sky is divided."""

    name = "sky_tiles"
    about = {"display": True}

    order = integer(0, 29, 3)
    show_user = switch()

    def run(self) -> Success:
        tile: Json = {"tiles": 12 * 4**self.order}
        for order in reversed(range(self.order)):
            tile = {"tiles": 12 * 4**order, "inside": tile}
        return Success(f"{12 * 4**self.order} tiles.", {"type": "json", "payload": tile})


class ObservatoryInfo(Tool):
    """Describe the observatory."""

    name = "observatory_info"

    def run(self) -> Success:
        info = {"name": "Hawk Hill", "altitude_m": 2410, "domes": ["D1", "D2", "D3"]}
        return Success(json.dumps(info), media="application/json")


TOOLS: tuple[type[Tool], ...] = (
    ConeSearch,
    StarDetails,
    ResolveName,
    ObservePlan,
    LightCurve,
    FindingChart,
    NightReport,
    FormatNote,
    ObservingLog,
    MyTime,
    CheckRequest,
    ExposureTime,
    Ephemeris,
    ListFilters,
    PageObserver,
    SkyTiles,
    ObservatoryInfo,
)
