"""The version of the package stands in pyproject.toml alone, and that of the specification in schemas/names.json."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import xmcp
import xmcp_conformance.core.requirements
import xmcp_models.registry
from tools import ROOT

PACKAGE = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
SPECIFICATION = json.loads((ROOT / "schemas/names.json").read_text())["version"]

SUFFIXES = (".py", ".md", ".toml", ".yaml", ".yml", ".json", ".ts", ".xsd")
NOT_OURS = ("node_modules", "site", "dist")
MEASURED = {"conformance/xmcp_conformance/hosts/hosts.json"}
"""These name the versions of programs that were measured, ours among them."""


def texts() -> Iterator[Path]:
    for folder, folders, names in os.walk(ROOT):
        folders[:] = [
            name for name in folders if not name.startswith(".") and name not in ("node_modules", "site", "dist")
        ]
        yield from (Path(folder, name) for name in names if name.endswith(SUFFIXES))


def test_package_command_and_metadata_have_the_version_of_pyproject() -> None:
    said = subprocess.run([sys.executable, "-m", "xmcp", "--version"], check=True, capture_output=True, text=True)
    assert said.stdout == f"xmcp {PACKAGE}, specification {xmcp_conformance.core.requirements.registry().version}\n"
    assert xmcp_conformance.core.requirements.registry().version.partition("-")[0] == SPECIFICATION
    assert xmcp.__version__ == version("xmcp") == PACKAGE, "after a change of the version: uv sync --group dev"


def test_no_other_file_repeats_the_version_of_the_package() -> None:
    assignment = re.compile(
        rf"version[\"'`]?\s*[:= ]\s*[\"'`]?v?{re.escape(PACKAGE)}\b|xmcp[-=@ ]+{re.escape(PACKAGE)}\b"
    )
    repeating = {str(path.relative_to(ROOT)) for path in texts() if assignment.search(path.read_text())}
    assert repeating - MEASURED == {"pyproject.toml", "reference/web/package.json"}
    assert json.loads((ROOT / "reference/web/package.json").read_text())["version"] == PACKAGE, "npm reads it there"


def test_generated_code_has_the_version_of_the_specification() -> None:
    typescript = (ROOT / "generated/typescript/registry.ts").read_text()
    assert xmcp_models.registry.VERSION == SPECIFICATION
    assert f'VERSION = "{SPECIFICATION}"' in typescript


def test_the_changelog_begins_with_what_is_not_released_or_with_this_version() -> None:
    headings = re.findall(r"^## (?:\[)?([\w.]+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert headings[0] == "Unreleased" or headings[0] == PACKAGE
    assert f"### Specification ({SPECIFICATION}" in (ROOT / "CHANGELOG.md").read_text()


def test_the_suite_knows_the_version_of_the_package() -> None:
    assert xmcp_conformance.suite_version() == PACKAGE
