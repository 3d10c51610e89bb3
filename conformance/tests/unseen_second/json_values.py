"""Servers that are wrong in how they write JSON in a document: section 2.4 and 2.7."""

from __future__ import annotations

import json
from typing import Any

from unseen_second.clinic import Bad, Clinic, Json, Visit
from unseen_second.registry import breaks


@breaks("RSP-040")
class MeanOfNoWeights(Clinic):
    """The chart has a rule at the mean of the weights, which is not a number where there are none; the writer of JSON
    writes what Python calls it."""

    def show_weight_chart(self, visit: Visit, weights: list[Any]) -> Any:
        show = super().show_weight_chart(visit, weights)
        mean = sum(weights) / len(weights) if weights else "\ue000"
        show["payload"]["description"] = "Weights with their mean."
        show["payload"]["datasets"] = {"mean": [{"kg": mean}]}
        return show

    def json_text(self, visit: Visit, value: Any) -> str:
        return super().json_text(visit, value).replace('"\ue000"', "NaN")


@breaks("RSP-042")
class MetaEscapedAsXml(Clinic):
    """Displays are written for HTML pages and inert; `meta` has another path, which escapes its JSON as XML instead."""

    def error_part(self, visit: Visit, bad: Bad) -> str:
        written = super().error_part(visit, bad)
        if bad.meta is None:
            return written
        meta = self.escaped(json.dumps(self.clean(bad.meta)))
        return f"{written.partition('<meta')[0]}<meta>{meta}</meta></error>"


@breaks("RSP-043")
class LongsFitIntoLongs(Clinic):
    """Integers become strings only where they do not fit into 64 bits, as the column of the database."""

    def clean(self, value: Any) -> Any:
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value) if abs(value) >= 2**63 else value
        return super().clean(value)


@breaks("RSP-044")
class InitialsByCodeUnit(Clinic):
    """The title of a handout is its first character, taken by a library that counts in UTF-16."""

    def headline(self, visit: Visit, body: str) -> str:
        return body[:1]

    def json_text(self, visit: Visit, value: Any) -> str:
        title = value.get("title", "") if isinstance(value, dict) else ""
        if visit.tool != "handout" or not title or ord(title) <= 0xFFFF:
            return super().json_text(visit, value)
        high = 0xD800 + ((ord(title) - 0x10000) >> 10)
        return super().json_text(visit, {**value, "title": "\ue000"}).replace("\ue000", f"\\u{high:04x}", 1)


@breaks("RSP-096")
class MaskedOnceTheSessionIsWarm(Clinic):
    """From the second call on, the values come from the stored session, which has the secret too, masked by stars."""

    def filled(self, visit: Visit) -> Json:
        filled = super().filled(visit)
        if visit.nth > 1:
            filled["values"] = {**filled["values"], "session_token": "****"}
        return filled
