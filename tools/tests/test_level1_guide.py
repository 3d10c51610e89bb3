"""The suite accepts the JSON of the guide "Level 1 in one file"; the session `level1` checks its programs."""

import json
import re
from typing import Any

import pytest

from tools import ROOT
from tools.generate.embedded_examples import MARK
from xmcp_conformance.profiles.server.catalogue import ListedTool
from xmcp_conformance.profiles.server.checks.displays import show_user_parameter
from xmcp_conformance.profiles.server.checks.required_form import RequiredForm
from xmcp_conformance.profiles.server.checks.tool_metadata import metadata_schema
from xmcp_conformance.profiles.server.exchange import Exchange, Intent, ToolCall
from xmcp_conformance.profiles.server.judge import exchange_observations
from xmcp_conformance.reader.schemas import validator
from xmcp_models.registry import DISPLAY_META_KEY, ERROR_CODES, EXTENSION_ID

GUIDE = (ROOT / "docs/guides/level-1.md").read_text(encoding="utf-8")
BLOCKS: list[dict[str, Any]] = [json.loads(block) for block in re.findall(r"```json\n(.*?)```", GUIDE, re.DOTALL)]
RESULTS = [block for block in BLOCKS if "content" in block]
(LISTED,) = [block for block in BLOCKS if "inputSchema" in block]
TOOL = ListedTool("sales", LISTED["inputSchema"], LISTED["_meta"], read_only=True, has_output_schema=False)


@pytest.mark.parametrize("result", RESULTS, ids=["success", "failure", "display"])
def test_each_result_conforms(result):
    arguments = {"region": "EMEA", "show_user": DISPLAY_META_KEY in result["_meta"]}
    intent = Intent.INVALID if result.get("isError") else Intent.VALID
    refused = ("/region",) if intent is Intent.INVALID else ()
    exchange = Exchange(ToolCall(TOOL, "sales", arguments, intent, refused), result=result)
    observations = list(exchange_observations(exchange, ["1.0"], RequiredForm.PLAIN, declared=False))
    assert len(observations) >= 5
    assert [one for one in observations if not one.ok] == []


def test_the_listed_display_tool_conforms():
    observations = [*metadata_schema(TOOL), *show_user_parameter(TOOL)]
    assert observations
    assert all(one.ok for one in observations)


def test_the_announcement_is_valid():
    (announced,) = [block[EXTENSION_ID] for block in BLOCKS if EXTENSION_ID in block]
    assert validator("announcement").is_valid(announced)
    assert announced["wire"] == "plain"


def test_each_code_has_the_category_of_the_registry():
    said = [
        *re.findall(r"`([A-Z_]+)`\s\(`([a-z_]+)`\)", GUIDE),
        *re.findall(r"\| `([A-Z_]+)` \| `([a-z_]+)` \|", GUIDE),
    ]
    assert len(said) >= 11
    assert {code: ERROR_CODES[code]["category"] for code, _ in said} == dict(said)


def test_the_guide_shows_the_programs_that_the_session_judges() -> None:
    programs = ("python/server.py", "typescript/xmcp.ts", "typescript/server.ts", "go/xmcp.go", "go/shop.go")
    assert [mark["path"] for mark in MARK.finditer(GUIDE)] == [f"examples/level1/{name}" for name in programs]


def test_no_block_of_code_in_a_page_is_an_include_mark_which_a_code_host_would_show() -> None:
    for page in sorted((ROOT / "docs").rglob("*.md")):
        blocks = re.findall(r"^```.*?^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
        assert not [block for block in blocks if "8<" in block], page
