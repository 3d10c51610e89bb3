"""Write files of the repository into the Markdown pages that show them, so that a code host shows them too.

A page names the file in a comment, and the fenced block right below it holds the file:

    <!-- example: schemas/examples/valid/tool_response/markup-as-text.xml -->
    ```xml
    <tool_response …
    ```

`python -m tools.generate` writes what stands between the fences. An author writes the comment and an empty block.

A page can also show a section of another page, which then stands between the comment and the next heading; the API page
has tables of names (`api_names`):

    <!-- section: conformance/vectors/README.md#Tagged values -->
"""

from __future__ import annotations

import difflib
import itertools
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from tools import ROOT
from tools.generate import api_names
from tools.generate.sources import COMMAND

MARK: Final = re.compile(r"<!-- example: (?P<path>\S+) -->")
"""The line above the block of a file; the path is relative to the root of the repository."""
_SECTION: Final = re.compile(r"<!-- section: (?P<path>[^#\s]+)#(?P<heading>.+) -->")
"""The line above the text of a section, which is named by its heading."""
_HEADING: Final = re.compile(r"#+ (?P<text>.+)")
_PAGES: Final = ("README.md", "spec/*.md", "docs/**/*.md")
_FENCE: Final = "```"


def embed(text: str, read: Callable[[str], str]) -> str:
    """Return a page with the files that it names; `read` returns the text of the file at a path.

    Raises:
        ValueError: A mark has no fenced block below it, its file cannot be shown between fences, or there is no such
            section. The message begins with the number of the line.
    """
    lines = _embedded(text.split("\n"), read)
    return "\n".join(_with_sections(list(lines), read))


def _with_sections(lines: list[str], read: Callable[[str], str]) -> Iterator[str]:
    rest = iter(enumerate(lines, 1))
    for number, line in rest:
        yield line
        if not (mark := _SECTION.fullmatch(line)):
            continue
        section = _section(read(mark["path"]).split("\n"), mark["heading"])
        if not section:
            raise ValueError(f"{number}: {mark['path']} has no section {mark['heading']!r}")
        yield from ("", *section, "")
        after = next((one for _, one in rest if _HEADING.fullmatch(one)), None)
        if after is not None:
            yield after


def _section(lines: list[str], heading: str) -> list[str]:
    """Return the lines below a heading, up to the next one, without empty lines around them; empty if there is none."""
    rest = iter(lines)
    found = any((match := _HEADING.fullmatch(line)) and match["text"] == heading for line in rest)
    below = itertools.takewhile(lambda line: not _HEADING.fullmatch(line), rest) if found else ()
    return "\n".join(below).strip("\n").split("\n") if found else []


def _embedded(lines: list[str], read: Callable[[str], str]) -> Iterator[str]:
    rest = iter(enumerate(lines, 1))
    for number, line in rest:
        yield line
        if not (mark := MARK.fullmatch(line)):
            if MARK.search(line):
                raise ValueError(f"{number}: the comment that names an example must be a line of its own")
            continue
        _, opening = next(rest, (0, ""))
        if not opening.startswith(_FENCE):
            raise ValueError(f"{number}: there must be a fenced block right below this comment; write an empty one")
        for _, old in rest:
            if old == _FENCE:
                break
        else:
            raise ValueError(f"{number + 1}: no line below ends this block with {_FENCE}")
        shown = read(mark["path"]).removesuffix("\n")
        if any(one.startswith(_FENCE) for one in shown.split("\n")) or "\r" in shown:
            raise ValueError(f"{number}: {mark['path']} has a fence or a carriage return, which no block can show")
        yield opening
        yield from shown.split("\n")
        yield _FENCE


def update(*, check: bool) -> None:
    """Bring the examples in every page up to date; with `check`, only compare.

    Raises:
        SystemExit: A page cannot be written; or `check` is set and a page is out of date: prints the differences first.
    """
    report: list[str] = []
    for path, old, new in _pages(ROOT):
        if old == new:
            continue
        name = str(path.relative_to(ROOT))
        if check:
            report += difflib.unified_diff(
                old.splitlines(), new.splitlines(), f"committed/{name}", f"generated/{name}", lineterm=""
            )
        else:
            path.write_text(new, encoding="utf-8", newline="")
            print(f"wrote the examples in {name}")
    if report:
        print("\n".join(report))
        sys.exit(f"\nExamples in pages are out of date: run `{COMMAND}` and commit what it writes.")


def _pages(root: Path) -> Iterator[tuple[Path, str, str]]:
    """Yield each page: its path, its text, and the text that it has to have."""

    def read(name: str) -> str:
        return (root / name).read_bytes().decode("utf-8")

    for path in sorted(path for pattern in _PAGES for path in root.glob(pattern)):
        old = path.read_bytes().decode("utf-8")
        if not (MARK.search(old) or _SECTION.search(old) or api_names.MARK in old):
            continue
        try:
            yield path, old, api_names.with_names(embed(old, read))
        except (ValueError, OSError) as error:
            sys.exit(f"{path.relative_to(root)}: {error}")
