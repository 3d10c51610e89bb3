"""The verdict of a report as a badge for a README: an SVG image, or the JSON that a badge service reads."""

from __future__ import annotations

import json
from html import escape
from typing import Final

from .summary import KNOWN_FAULTS, Summary

_GOOD, _KNOWN, _BAD = ("brightgreen", "#1a7f37"), ("yellow", "#9a6700"), ("red", "#cf222e")
_COLOURS: Final = {"CONFORMS": _GOOD, KNOWN_FAULTS: _KNOWN}
"""The colour of a verdict, in words of shields.io and as a number; that of any other is red."""
_MESSAGES: Final = {KNOWN_FAULTS: "known faults"}
_PER_CHARACTER: Final = 6.6
"""Width of a character of the typeface, in pixels: the text is stretched to it, whatever the machine has."""


def to_badge_json(summary: Summary) -> str:
    """Return the JSON of an endpoint badge of shields.io."""
    colour, _ = _COLOURS.get(summary.verdict, _BAD)
    return (
        json.dumps({"schemaVersion": 1, "label": _label(summary), "message": _message(summary), "color": colour}) + "\n"
    )


def to_badge_svg(summary: Summary) -> str:
    """Return the SVG."""
    label, message = _label(summary), _message(summary)
    _, colour = _COLOURS.get(summary.verdict, _BAD)
    left, right = (round(len(text) * _PER_CHARACTER) for text in (label, message))
    middle, width = left + 16, left + right + 32

    def text(x: int, long: int, said: str) -> str:
        return f'<text x="{x}" y="14" textLength="{long}" lengthAdjust="spacingAndGlyphs">{escape(said)}</text>'

    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="20" role="img" '
        f'aria-label="{escape(label)}: {escape(message)}"><title>{escape(label)}: {escape(message)}</title>'
        f'<clipPath id="round"><rect width="{width}" height="20" rx="3"/></clipPath><g clip-path="url(#round)">'
        f'<rect width="{middle}" height="20" fill="#444c56"/>'
        f'<rect x="{middle}" width="{width - middle}" height="20" fill="{colour}"/></g>'
        f'<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">{text(8, left, label)}'
        f"{text(middle + 8, right, message)}</g></svg>\n"
    )


def _label(summary: Summary) -> str:
    return f"XMCP {summary.specification}"


def _message(summary: Summary) -> str:
    """Return the verdict in a few words, with how many tools were seen where those are not all."""
    at_work = sum(tool.at_work for tool in summary.tools.values())
    part = f" ({at_work} of {len(summary.tools)} tools)" if at_work < len(summary.tools) else ""
    return _MESSAGES.get(summary.verdict, summary.verdict.lower()) + (part if not summary.exit_code else "")
