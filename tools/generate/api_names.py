"""Write what each name of the API page is into the page itself, for whoever reads it in a clone or on a code host.

A line such as `::: xmcp.client.ai_client.AIClient` is replaced only on the site, by the signature and the docstring of
the name. An author writes a mark where the names of a section are to be listed:

    <!-- names -->

`python -m tools.generate` writes the table below it: the names of the section, each with the first line of its
docstring.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from itertools import takewhile
from typing import Final

import griffe

from tools import ROOT

MARK: Final = "<!-- names -->"
_ENTRY: Final = re.compile(r"::: (?P<path>[\w.]+)")
_HEADING: Final = "## "
_FOLDERS: Final = ("reference", "conformance")
"""Where the packages lie that have entries."""


def with_names(text: str) -> str:
    """Return a page with the table of names below each of its marks.

    Raises:
        ValueError: a name has no docstring.
    """
    return "\n".join(_filled(text.split("\n")))


def _filled(lines: list[str]) -> Iterator[str]:
    rest = iter(enumerate(lines, 1))
    for number, line in rest:
        yield line
        if line != MARK:
            continue
        for _, old in rest:
            if not old:
                break
        yield "| name | what it is |"
        yield "|---|---|"
        section = takewhile(lambda one: not one.startswith(_HEADING), lines[number:])
        for entry in filter(None, map(_ENTRY.fullmatch, section)):
            path = entry["path"]
            yield f"| `{path.rpartition('.')[2]}` | {sentence(path).replace('|', '&#124;')} |"
        yield ""


def sentence(path: str) -> str:
    """Return the first line of the docstring of the name at a path, such as `xmcp.client.ai_client.AIClient`.

    Raises:
        ValueError: there is none.
    """
    module, _, name = path.rpartition(".")
    found = _read(module).members.get(name)
    if found is None or found.docstring is None:
        raise ValueError(f"{path} has no docstring, and docs/api.md lists what each name is")
    return found.docstring.value.partition("\n\n")[0].replace("\n", " ")


@cache
def _read(module: str) -> griffe.Module:
    """Return a module as griffe reads it; nothing is imported."""
    path = "/".join(module.split("."))
    places = (ROOT / folder / file for folder in _FOLDERS for file in (f"{path}.py", f"{path}/__init__.py"))
    file = next(place for place in places if place.exists())
    return griffe.visit(module, file, file.read_text(encoding="utf-8"))
