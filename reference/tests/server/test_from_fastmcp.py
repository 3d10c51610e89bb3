"""The page for users of FastMCP: each example runs, and prints what the page says."""

from __future__ import annotations

import ast
import contextlib
import inspect
import io
import re
from pathlib import Path
from typing import Any

import pytest

PAGE = Path(__file__).resolve().parents[3] / "docs/guides/from-fastmcp.md"
PRINTS = re.compile(r"print\(.*\)  # (.*)$", re.MULTILINE)


@pytest.fixture(autouse=True, scope="module")
def documents_for_every_client() -> None:
    """The page shows servers as they are by default."""


async def test_the_examples_print_what_the_page_says() -> None:
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    names: dict[str, Any] = {"__name__": "page"}
    said = 0
    for block in blocks:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            code = compile(block, str(PAGE), "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
            ran = eval(code, names)
            if inspect.iscoroutine(ran):
                await ran
        wanted = PRINTS.findall(block)
        assert printed.getvalue().splitlines() == wanted
        said += len(wanted)
    assert said == 7
