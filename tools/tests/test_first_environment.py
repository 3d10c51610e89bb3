"""What `uv run xmcp …` installs in a fresh clone is small, and is all that the commands need."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from collections.abc import Iterable
from importlib.metadata import distribution, packages_distributions
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tools import ROOT

MEGABYTE = 1_000_000
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())
OF_A_USER = PROJECT["project"]["dependencies"]

IMPORT_WITHOUT = """
import sys
from importlib import import_module

class Absent:
    def find_spec(name, path=None, target=None):
        if name.partition(".")[0] in sys.argv[2].split():
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Absent)
import_module(sys.argv[1])
"""


def closure(requirements: Iterable[str]) -> set[str]:
    """The distributions that these requirements bring, by their names; all of them are installed here."""
    found: set[tuple[str, str]] = set()
    waiting = [Requirement(text) for text in requirements]
    while waiting:
        requirement = waiting.pop()
        name = canonicalize_name(requirement.name)
        for extra in ("", *requirement.extras):
            if (name, extra) in found:
                continue
            found.add((name, extra))
            needed = map(Requirement, distribution(name).requires or [])
            waiting += [need for need in needed if need.marker is None or need.marker.evaluate({"extra": extra})]
    return {name for name, _ in found}


def size(name: str) -> int:
    """Bytes of the files of a distribution, without compiled modules: these depend on who installed it."""
    files = [file for file in distribution(name).files or [] if file.suffix != ".pyc"]
    return sum(path.stat().st_size for file in files if (path := file.locate()).is_file())  # type: ignore[attr-defined]


def default_requirements() -> list[str]:
    groups = PROJECT["dependency-groups"]
    return [*OF_A_USER, *(text for group in PROJECT["tool"]["uv"]["default-groups"] for text in groups[group])]


def test_the_environment_of_the_first_command_is_small() -> None:
    sizes = {name: size(name) for name in closure(default_requirements())}
    assert sizes["fastmcp-slim"] > MEGABYTE, "the files of the packages were not found"
    largest = sorted(sizes, key=sizes.__getitem__, reverse=True)[:5]
    assert sum(sizes.values()) < 150 * MEGABYTE, f"the largest are {largest}"


COMMANDS = ("xmcp.cli.check", "xmcp.cli.demo", "xmcp.cli.see", "xmcp.cli.serve", "xmcp.cli.type_bindings")


@pytest.mark.slow
@pytest.mark.parametrize("module", [*COMMANDS, "xmcp.client", "xmcp.server", "xmcp.samples.sales"])
def test_every_command_can_be_imported_without_the_packages_that_only_developers_have(module: str) -> None:
    present = {*closure(OF_A_USER), "xmcp"}
    homes = packages_distributions().items()
    absent = [name for name, of in homes if not present & {str(canonicalize_name(home)) for home in of}]
    assert {"pytest", "numpy", "nox"} <= set(absent)
    command = [sys.executable, "-c", IMPORT_WITHOUT, module, " ".join(absent)]
    run = subprocess.run(command, check=False, capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stderr
