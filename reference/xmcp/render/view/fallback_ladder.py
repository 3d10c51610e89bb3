"""The fallback ladder: from an envelope to the `View` that is shown (spec section 3.6).

The payload in its own form if the type is known and the payload fits; else the `fallback` (at most the third), else
`alt`, else a string payload as text, else the payload as JSON. A notice says that the type was not supported. No
envelope, however broken, leads to an empty view.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import takewhile
from typing import Any, TypeAlias

from xmcp.render.view import content
from xmcp.render.view.content import CannotShow, View
from xmcp.render.view.limits import FALLBACKS, GROUP_DEPTH, GROUP_ITEMS, MESSAGE
from xmcp.render.view.payloads import READERS, read
from xmcp.render.view.room import Fitted, Room
from xmcp.render.view.untrusted import is_blank, label
from xmcp.render.view.vega_lite_charts import chart_title, read_chart
from xmcp.render.view.wording import first_of

Envelope: TypeAlias = Mapping[str, Any]


def plan(envelope: object) -> View:
    """Return what to show for `envelope`: a decoded display, possibly invalid, or any other value."""
    return _plan(envelope if isinstance(envelope, Mapping) else {"payload": envelope}, 1, Room())


def _plan(envelope: Envelope, depth: int, room: Room) -> View:
    title = _words(envelope, "title")
    chain = tuple(_chain(envelope))
    refusals: list[str] = []
    for link in chain:
        kind = link.get("type")
        try:
            found, left_out = _read(link, depth, room)
        except CannotShow as refusal:
            refusals.append(f"unsupported display type {_quoted(kind)}: {refusal}")
            continue
        title = _words(link, "title") or title or (chart_title(link.get("payload")) if kind == "chart" else None)
        refused = (f"{refusals[0]}; showing its fallback",) if refusals else ()
        alt = _words(link, "alt")
        if alt and isinstance(found, content.Chart):
            alt, left_out = room.words(alt, MESSAGE)
        return View(found, rendered_as=str(kind), title=title, notices=(*refused, *left_out), alt=alt)
    last = _last_steps(chain)
    found, left_out = room.fitted(last.content)
    return replace(last, content=found, title=title, notices=(refusals[0], *left_out))


def _chain(envelope: Envelope) -> Iterator[Envelope]:
    """Yield the envelope and the fallbacks below it."""
    for _ in range(FALLBACKS + 1):
        yield envelope
        below = envelope.get("fallback")
        if not isinstance(below, Mapping):
            return
        envelope = below


def _read(envelope: Envelope, depth: int, room: Room) -> Fitted:
    kind = envelope.get("type")
    if kind == "group":
        return _group(envelope.get("payload"), depth, room)
    if kind == "chart":
        return room.fitted(read_chart(envelope.get("payload")))
    if not isinstance(kind, str) or kind not in READERS:
        raise CannotShow("this renderer does not know it")
    found = read(kind, envelope.get("payload"))
    if isinstance(found, content.Image):
        found = replace(found, alt=found.alt or _words(envelope, "alt"))
    return room.fitted(found)


def _group(payload: object, depth: int, room: Room) -> Fitted:
    if depth > GROUP_DEPTH:
        raise CannotShow(f"groups are nested more than {GROUP_DEPTH} deep")
    if not isinstance(payload, list) or not all(isinstance(item, Mapping) for item in payload):
        raise CannotShow("the payload is not a list of envelopes")
    if len(payload) > GROUP_ITEMS:
        raise CannotShow(f"a group has at most {GROUP_ITEMS} displays, this one has {len(payload):,}")
    views = tuple(_plan(item, depth + 1, room) for item in takewhile(lambda _: room.has_part(), payload))
    notice = () if len(views) == len(payload) else (first_of(len(views), len(payload), "displays"),)
    return content.Group(views), notice


def _last_steps(chain: tuple[Envelope, ...]) -> View:
    alts = (alt for link in chain if (alt := _words(link, "alt")))
    payloads = (payload for link in chain if (payload := _words(link, "payload")))
    if alt := next(alts, None):
        return View(content.Text(alt), rendered_as="alt")
    if payload := next(payloads, None):
        return View(content.Text(payload), rendered_as="text")
    return View(content.Json(chain[0].get("payload", chain[0])), rendered_as="json")


def _words(envelope: Envelope, key: str) -> str | None:
    value = envelope.get(key)
    return value if isinstance(value, str) and not is_blank(value) else None


def _quoted(kind: object) -> str:
    return f'"{label(kind, 64)}"' if isinstance(kind, str) else "(none)"
