"""The tutorial: each command of the page says what the page says, on the files as they are at that step."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

PAGE = Path(__file__).resolve().parents[3] / "docs/guides/tutorial.md"
BLOCK = re.compile(r'^```(\w+)(?: title="([^"]+)")?\n(.*?)^```', re.MULTILINE | re.DOTALL)


def blocks() -> Iterator[tuple[str, str, str]]:
    """Yield the language, the title and the text of each block of the page."""
    for found in BLOCK.finditer(PAGE.read_text("utf-8")):
        yield found[1], found[2] or "", found[3]


def changed(text: str, difference: str) -> str:
    """Return a text after a difference, each side of which is in it once."""
    lines = [line or " " for line in difference.splitlines()]
    old = "".join(f"{line[1:]}\n" for line in lines if line[0] in " -")
    new = "".join(f"{line[1:]}\n" for line in lines if line[0] in " +")
    assert text.count(old) == 1, old
    return text.replace(old, new)


def run(command: str, folder: Path) -> str:
    """Return what a command says, in words, and its exit code as the page writes it."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "COLUMNS": "200", "PYTHONUTF8": "1", "NO_COLOR": "1"}
    done = subprocess.run(command, shell=True, cwd=folder, env=environment, capture_output=True, text=True, timeout=300)
    return " ".join(f"{done.stdout} {done.stderr} exit code {done.returncode}".split())


def test_each_command_says_what_the_page_says(tmp_path: Path) -> None:
    ran, said = 0, ""
    for language, title, text in blocks():
        file = tmp_path / title
        if language == "diff":
            file.write_text(changed(file.read_text("utf-8"), text), "utf-8")
        elif title:
            file.write_text(text, "utf-8")
        elif language == "sh":
            said = run(text, tmp_path)
            ran += 1
        else:
            assert language == "text"
            for line in text.splitlines():
                assert " ".join(line.split()) in said, f"{line!r} is not in: {said}"
    assert ran == 9
