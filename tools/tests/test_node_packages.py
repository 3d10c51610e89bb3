"""npm packages count as installed when npm has written that all of them are."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tools.node_packages import Packages


@pytest.fixture
def packages(tmp_path: Path) -> Packages:
    (tmp_path / "package.json").write_text(json.dumps({"dependencies": {"one": "1.0.0"}}))
    unpacked = tmp_path / "node_modules" / "one"
    unpacked.mkdir(parents=True)
    (unpacked / "package.json").write_text(json.dumps({"version": "1.0.0"}))
    return Packages(tmp_path, "A test needs them.")


def written(packages: Packages, version: str) -> None:
    text = json.dumps({"packages": {"node_modules/one": {"version": version}}})
    (packages.folder / "node_modules" / ".package-lock.json").write_text(text)


def test_an_installation_that_was_cut_short_is_none(packages: Packages) -> None:
    assert not packages.installed()


@pytest.mark.parametrize(("version", "installed"), [("1.0.0", True), ("0.9.0", False)])
def test_the_versions_that_npm_has_written_count(packages: Packages, version: str, installed: bool) -> None:
    written(packages, version)
    assert packages.installed() is installed


def test_what_npm_could_not_write_to_its_end_counts_for_nothing(packages: Packages) -> None:
    (packages.folder / "node_modules" / ".package-lock.json").write_text('{"packages": {')
    assert not packages.installed()
