"""The API page shows the default values of `AIClient`, and has every public name of the client and of `testing`."""

from __future__ import annotations

import inspect
import re
from importlib import import_module

import griffe
import pytest

from tools import ROOT
from tools.generate.api_defaults import ApiDefaults
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
