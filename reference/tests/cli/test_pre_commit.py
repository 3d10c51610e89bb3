"""The hooks of `.pre-commit-hooks.yaml`, run as pre-commit runs them."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

import pytest
import yaml
from support.checked import command_line

ROOT = Path(__file__).resolve().parents[3]
HOOKS = {hook["id"]: hook for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))}
GOOD = "<tool_response tool_name='a'><llm_output>a</llm_output></tool_response>"


def words(hook: str) -> list[str]:
    program, *rest = shlex.split(HOOKS[hook]["entry"])
    assert program == "xmcp"
    return rest


def test_documents_are_checked_where_the_project_says_which_files_are_some(tmp_path: Path) -> None:
    assert not re.search(HOOKS["xmcp-documents"]["files"], "a.json"), "package.json is no document"
    good, bad = tmp_path / "good.xml", tmp_path / "bad.xml"
    good.write_text(GOOD)
    bad.write_text(GOOD.replace("tool_name='a'", ""))
    assert command_line(*words("xmcp-documents"), str(good)).returncode == 0
    done = command_line(*words("xmcp-documents"), str(good), str(bad))
    assert (done.returncode, "XMCP-RSP-007" in done.stdout) == (1, True), done.stdout


@pytest.mark.slow
def test_a_server_is_checked_without_the_names_of_files(tmp_path: Path) -> None:
    assert HOOKS["xmcp-server"]["pass_filenames"] is False
    server = f"{shlex.quote(sys.executable)} -m xmcp_conformance.mutants XMCP-RSP-023"
    done = command_line(*words("xmcp-server"), server, "--calls", "6", "--connect-timeout", "120")
    assert (done.returncode, "XMCP-RSP-023" in done.stdout) == (1, True), done.stdout
