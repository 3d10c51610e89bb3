"""Wrong servers: what is written of JSON in documents."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from unseen_fifth.instruments import BRIGHTEST, FormatNote, SkyTiles, StarDetails
from unseen_fifth.kit import Json, Problem, Success, integer, whole
from unseen_fifth.observatory import Negotiated, Observatory
from unseen_fifth.registry import breaks
from unseen_fifth.writers import Paper, portable


@breaks("RSP-041")
class TitleLast(Observatory):
    """A renderer wanted the title at the end of a table, so it is appended to the JSON, and nobody
    took out the first.
    """

    class _Paper(Paper):
        def display(self, display: Any) -> str:
            written = super().display(display)
            if display["type"] != "table":
                return written
            title = self.inert(self.json(portable(display["title"])))
            return written.removesuffix("}</display>") + f',"title":{title}}}</display>'

    paper = _Paper


@breaks("RSP-042")
class ArrowsInPlans(Negotiated):
    """Plans are written by a serialiser that takes care of what opens a tag and of references, and of nothing else."""

    class _Paper(Paper):
        def inert(self, written: str) -> str:
            safe = super().inert(written)
            if self.visit.tool != "observe_plan":
                return safe
            return safe.replace("\\u003e", ">").replace("]]>", "]]\\u003e")

    paper = _Paper


@breaks("RSP-043")
class NumberedStars(Observatory):
    """Facts are written without the step that makes texts of large numbers, because labels and values are small."""

    class _Paper(Paper):
        def display(self, display: Any) -> str:
            if display["type"] != "facts":
                return super().display(display)
            return self.element("display", {}, self.inert(self.json(whole(display))))

    paper = _Paper


class _EndOfCatalogue(StarDetails):
    def run(self) -> Success:
        if self.source_id > BRIGHTEST:
            meta = {"source_id": self.source_id, "last": BRIGHTEST}
            raise Problem("NOT_FOUND", "The catalogue ends before that star.", params=meta)
        return super().run()


@breaks("RSP-043")
class NumberedErrors(Negotiated):
    """The meta of an error has a writer of its own; a star beyond the end of the catalogue is in it as a number."""

    swapped = (_EndOfCatalogue,)

    class _Paper(Paper):
        def meta(self, problem: Problem) -> str:
            if not problem.meta:
                return ""
            lossy = {"lossy": "true"} if whole(problem.meta) != problem.meta else {}
            return self.element("meta", lossy, self.inert(self.json(whole(problem.meta))))

    paper = _Paper


@breaks("RSP-044")
class CodeUnits(Observatory):
    """Notes come with a list of their first forty characters for an index, taken apart into units of UTF-16."""

    class _Note(FormatNote):
        def run(self) -> Success:
            success = super().run()
            units = self.note.encode("utf-16-le", "surrogatepass")[:80]
            letters = [units[at : at + 2].decode("utf-16-le", "surrogatepass") for at in range(0, len(units), 2)]
            return replace(success, display={**success.display, "meta": {"observatory/letters": letters}})

    class _Paper(Paper):
        def display(self, display: Any) -> str:
            if self.visit.tool != "format_note":
                return super().display(display)
            return self.element("display", {}, self.inert(json.dumps(display)))

    swapped = (_Note,)
    paper = _Paper


@breaks("RSP-095")
class JoinedOverridden(Observatory):
    """The names of parameters that a caller tried to set are joined, as in the line of the log from which this came."""

    def said_of(self, tool: Any, forged: Json) -> Json:
        said = super().said_of(tool, forged)
        return {**said, "overridden": ", ".join(said["overridden"])} if forged else said


class _DeepTiles(SkyTiles):
    order = integer(0, 64, 3)

    def run(self) -> Success:
        tile: Json = {"tiles": 12}
        for order in reversed(range(self.order)):
            tile = {"order": order, "inside": [tile]}
        display = {"type": "json", "payload": tile}
        return Success(f"{self.order} levels of tiles.", display)


@breaks("RSP-081")
class DeepTiles(Observatory):
    """The tiles of the sky are one list in another, as deep as the caller likes, up to sixty-four levels."""

    swapped = (_DeepTiles,)
