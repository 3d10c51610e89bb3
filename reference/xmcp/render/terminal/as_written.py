"""Texts as the file of a console writes them, before they are laid out.

A file whose encoding has no `→` writes `->` (xmcp.cli.narrow_encodings), or what its error handler says. A line that
was laid out for one character would then be longer than the terminal is wide, and lose its end.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from functools import partial
from typing import Any, Final, TypeAlias

from rich.console import Console

from xmcp.render.view import View, content, wording
from xmcp.render.view.limits import TABLE_ROWS
from xmcp.render.view.untrusted import visible

Written: TypeAlias = Callable[[str], str]

_ADDRESSES: Final = {content.File: "uri", content.Image: "src"}
"""The member that is an address, which is checked as it was sent."""


def as_it_is(text: str) -> str:
    """Return the text: the file has a character for each of its own."""
    return text


def writing(console: Console) -> Written:
    """Return what makes a text that of the console's file; `as_it_is` if the file writes every text so."""
    errors = getattr(console.file, "errors", None)
    if errors in (None, "strict") or console.encoding.startswith("utf"):
        return as_it_is
    return partial(_written, console.encoding, errors)


def _written(encoding: str, errors: str, text: str) -> str:
    return visible(text).encode(encoding, errors).decode(encoding, "replace")


def view_as_written(view: View, written: Written) -> View:
    """Return a view with every text but those of Markdown, whose signs have a meaning, as it is written."""
    if written is as_it_is:
        return view
    if isinstance(view.content, content.Json):  # as deep as it was sent
        source, notice = wording.json_text(view.content)
        view = replace(view, content=content.Code(source, None), notices=(*view.notices, *filter(None, [notice])))
    changed: View = _members(view, written)
    return changed


def _members(value: Any, written: Written) -> Any:
    address = _ADDRESSES.get(type(value))
    names = [field.name for field in fields(value) if field.name != address]
    return replace(value, **{name: _value(getattr(value, name), written) for name in names})


def _value(value: Any, written: Written) -> Any:
    match value:
        case str():
            return written(value)
        case View():
            return view_as_written(value, written)
        case content.Markdown():
            return value
        case content.Table(rows=rows):
            shown = [tuple(_cell(cell, written) for cell in row) for row in rows[:TABLE_ROWS]]
            return replace(_members(replace(value, rows=()), written), rows=(*shown, *[()] * (len(rows) - len(shown))))
        case tuple():
            return tuple(_value(one, written) for one in value)
        case _ if is_dataclass(value):
            return _members(value, written)
    return value


def _cell(cell: object, written: Written) -> object:
    return written(wording.scalar(cell) or "") if isinstance(cell, str | list | dict) else cell
