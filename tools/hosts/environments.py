"""Install each host that runs here into an environment of its own, because their dependencies exclude each other."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tools.node_packages import NODE_FOLDER, Packages
from tools.python_environments import environment, version_in

ROOT: Final = Path(__file__).parents[2]
DRIVERS: Final = Path(__file__).with_name("drivers")
NODE_PACKAGES: Final = Packages(Path(__file__).with_name("npm"), "They are hosts whose behaviour is measured.")


@dataclass(frozen=True)
class Installed:
    """A host that can run: its version, and the command of its driver, to which the arguments are added."""

    version: str
    command: tuple[str, ...]
    last_arguments: tuple[str, ...] = ()


@dataclass(frozen=True)
class PythonHost:
    """A library from PyPI: what to install, the package whose version counts, and its driver."""

    requirements: tuple[str, ...]
    package: str
    driver: str

    def install(self, folder: Path) -> Installed:
        """Install it below `folder`, unless it is there.

        Raises:
            SystemExit: that failed; the message holds the output of uv.
        """
        python = environment(folder, self.requirements)
        version = version_in(python, self.package)
        return Installed(version, (str(python), str(DRIVERS / self.driver)))


@dataclass(frozen=True)
class NodeHost:
    """A package of tools/hosts/npm: a library with a driver for Node, or a program with a driver in Python."""

    package: str
    driver: str
    program: str = ""

    def install(self, _folder: Path) -> Installed:
        """Install all packages of tools/hosts/npm, unless they are there.

        Raises:
            SystemExit: npm failed; the message says what to do.
        """
        NODE_PACKAGES.install()
        described = Path(NODE_PACKAGES.script(f"{self.package}/package.json"))
        version = json.loads(described.read_text(encoding="utf-8"))["version"]
        if self.program:
            program = json.dumps(NODE_PACKAGES.script(self.program))
            return Installed(version, (sys.executable, str(DRIVERS / self.driver)), (program,))
        node = str(NODE_FOLDER / ("node.exe" if os.name == "nt" else "node"))
        return Installed(version, (node, str(NODE_PACKAGES.folder / self.driver)))


@dataclass(frozen=True)
class OwnHost:
    """The client of this repository, in the environment that this runs in."""

    driver: str

    def install(self, _folder: Path) -> Installed:
        """Return it: it is installed."""
        from importlib.metadata import version

        return Installed(version("xmcp"), (sys.executable, str(DRIVERS / self.driver)))


RUN_HERE: Final[dict[str, PythonHost | NodeHost | OwnHost]] = {
    "pydantic-ai": PythonHost(("pydantic-ai-slim[openai,mcp]",), "pydantic-ai-slim", "pydantic_ai_host.py"),
    "openai-agents": PythonHost(("openai-agents",), "openai-agents", "openai_agents_host.py"),
    "langchain": PythonHost(
        ("langchain-mcp-adapters", "langchain", "langchain-openai"), "langchain-mcp-adapters", "langchain_host.py"
    ),
    "mcp-use": PythonHost(("mcp-use", "langchain-openai"), "mcp-use", "mcp_use_host.py"),
    "ai-sdk": NodeHost("ai", "ai_sdk.mjs"),
    "codex": NodeHost("@openai/codex", "codex_host.py", ".bin/codex"),
    # npm installs the program for each platform as a package of its own; this is the one for Linux.
    "opencode": NodeHost("opencode-ai", "opencode_host.py", "opencode-linux-x64/bin/opencode"),
    "gemini-cli": NodeHost("@google/gemini-cli", "gemini_host.py", ".bin/gemini"),
    "aiclient": OwnHost("aiclient_host.py"),
}
"""The hosts that this machine can run, by their names in hosts.json."""
