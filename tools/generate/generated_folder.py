"""Write the folder `generated/` from `schemas/` and the requirement registry, or compare it with what is committed."""

from __future__ import annotations

import difflib
import filecmp
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from tools import ROOT
from tools.generate import mcp_requirements, typescript
from tools.generate.python_package import write_python_package
from tools.generate.sources import COMMAND

TARGET = ROOT / "generated"


def generate(out: Path) -> None:
    """Write everything to the folder `out`, which must not exist."""
    write_python_package(out / "python" / "xmcp_models")
    typescript.write_typescript(out / "typescript")
    mcp_requirements.write(out / "requirements")
    write_vectors(out)


def write_vectors(out: Path) -> None:
    """Write the packed vectors to `out`, by the schemas that were just written there.

    Raises:
        SystemExit: the examples cannot be read; the message holds the output.
    """
    # In a process of its own: this one has the schemas from before, and they decide what a reader accepts.
    command = (sys.executable, "-m", "tools.generate.export_vectors", "--described", "--out", str(out / "vectors"))
    paths = {"PYTHONPATH": str(out / "python")}
    done = subprocess.run(command, cwd=ROOT, env={**os.environ, **paths}, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"the vectors cannot be packed:\n{done.stdout}{done.stderr}")


def update(*, check: bool) -> None:
    """Bring `generated/` up to date; with `check`, only compare.

    Raises:
        SystemExit: `check` is set and `generated/` is out of date; prints the differences first.
    """
    typescript.NODE_PACKAGES.install()
    bring_up_to_date(generate, COMMAND, check=check)


def bring_up_to_date(write: Callable[[Path], None], command: str, *, check: bool) -> None:
    """Bring the folders of `generated/` that `write` writes up to date; with `check`, only compare.

    Args:
        write: Writes to a folder that does not exist yet.
        command: What a person runs to write them.
        check: Whether to compare only.

    Raises:
        SystemExit: `check` is set and a folder is out of date; prints the differences first.
    """
    with tempfile.TemporaryDirectory() as scratch:
        fresh = Path(scratch) / "generated"
        write(fresh)
        folders = sorted(path.name for path in fresh.iterdir())
        shown = ", ".join(f"{TARGET.name}/{name}" for name in folders)
        report = [line for name in folders for line in differences(fresh / name, TARGET / name)]
        if not report:
            print(f"{shown}: as schemas/ and spec/requirements.yaml say")
            return
        if check:
            print("\n".join(report))
            sys.exit(f"\ngenerated/ is out of date: run `{command}` and commit what it writes.")
        for name in folders:
            shutil.rmtree(TARGET / name, ignore_errors=True)
            shutil.copytree(fresh / name, TARGET / name)
        print(f"wrote {shown}")


def differences(fresh: Path, committed: Path) -> list[str]:
    """Return what generating again would change, as lines: names of files, and unified diffs."""
    old, new = _files(committed), _files(fresh)
    report = [f"not generated any more: {name}" for name in sorted(old.keys() - new.keys())]
    report += [f"missing: {name}" for name in sorted(new.keys() - old.keys())]
    for name in sorted(old.keys() & new.keys()):
        if not filecmp.cmp(old[name], new[name], shallow=False):
            report += difflib.unified_diff(
                old[name].read_text(encoding="utf-8").splitlines(),
                new[name].read_text(encoding="utf-8").splitlines(),
                f"committed/{name}",
                f"generated/{name}",
                lineterm="",
            )
    return report


def _files(folder: Path) -> dict[str, Path]:
    return {
        str(path.relative_to(folder)): path
        for path in sorted(folder.rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts
    }
