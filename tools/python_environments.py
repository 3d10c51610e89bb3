"""Install packages from PyPI into environments of their own, because the dependencies of some exclude each other's."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

INSTALL_SECONDS: Final = 900.0


def environment(folder: Path, requirements: Sequence[str]) -> Path:
    """Install `requirements` below `folder`, unless they are there; return the Python of the environment.

    Raises:
        SystemExit: that failed; the message holds the output of uv.
    """
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    if not python.exists():
        _uv("venv", "--quiet", str(folder))
    _uv("pip", "install", "--quiet", "--python", str(python), *requirements)
    return python


def version_in(python: Path, package: str) -> str:
    """Return the version of a package in the environment of `python`.

    Raises:
        subprocess.CalledProcessError: it is not installed there.
    """
    shown = f"from importlib.metadata import version; print(version({package!r}))"
    return subprocess.run([python, "-c", shown], capture_output=True, text=True, check=True).stdout.strip()


def _uv(*arguments: str) -> None:
    program = shutil.which("uv")
    if program is None:
        sys.exit("`uv` is not on PATH; install it with `pip install uv`, then run this again.")
    command = [program, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=INSTALL_SECONDS, check=False)
    if done.returncode:
        sys.exit(f"`uv {' '.join(arguments)}` failed:\n{done.stdout}{done.stderr}")
