"""The API page shows the default values of `AIClient`, and lists every public name of the client and of `testing`."""

from __future__ import annotations

import inspect
import re
from importlib import import_module

import griffe
import pytest

from tools import ROOT
from tools.generate.api_defaults import ApiDefaults
from tools.generate.api_names import MARK, with_names
from xmcp import AIClient

PAGE = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")


def test_a_default_that_the_code_takes_from_a_class_is_shown_as_its_value() -> None:
    loader = griffe.GriffeLoader(search_paths=[ROOT / "reference"], extensions=griffe.Extensions(ApiDefaults()))
    loader.load("xmcp.client.ai_client")
    shown = loader.modules_collection["xmcp.client.ai_client.AIClient.__init__"].parameters
    for name in ("max_turns", "tool_timeout", "display", "result_budget"):
        assert str(shown[name].default) == repr(inspect.signature(AIClient).parameters[name].default)
    assert not [parameter.name for parameter in shown if "." in str(parameter.default).strip("0123456789.")]


@pytest.mark.parametrize("package", ["xmcp", "xmcp.client", "xmcp.testing"])
def test_every_public_name_has_an_entry(package: str) -> None:
    entries = set(re.findall(r"^::: [\w.]+\.(\w+)$", PAGE, re.MULTILINE))
    assert set(import_module(package).__all__) <= entries


def test_every_entry_is_listed_with_what_it_is_for_readers_without_the_site() -> None:
    entries = re.findall(r"^::: [\w.]+\.(\w+)$", PAGE, re.MULTILINE)
    listed = re.findall(r"^\| `(\w+)` \| [A-Z`].+[.:] \|$", PAGE, re.MULTILINE)
    assert [name for name in entries if name not in listed] == []
    assert "| `AIClient` | A language model with the tools of any number of MCP servers. |" in PAGE
    assert with_names(PAGE) == PAGE


def test_a_section_lists_its_own_names_in_place_of_what_stood_there() -> None:
    page = (
        f"# A\n\n## B\n\n{MARK}\n| old |\n\nText.\n\n::: xmcp.client.sync.SyncAIClient\n    options:\n\n"
        "## C\n\n::: xmcp.client.ai_client.AIClient\n"
    )
    fresh = with_names(page)
    row = "| `SyncAIClient` | `AIClient` without `await`, for scripts and notebooks; it takes the same arguments. |"
    assert fresh == page.replace("| old |", f"| name | what it is |\n|---|---|\n{row}")
    assert with_names(fresh) == fresh
    with pytest.raises(ValueError, match=r"xmcp\.client\.sync\.Nobody has no docstring"):
        with_names(page.replace("SyncAIClient", "Nobody"))
