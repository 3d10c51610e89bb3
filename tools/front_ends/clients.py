"""The clients that chat through the gateway: what to install, in which version, and what each can do."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tools.node_packages import NODE_FOLDER, Packages
from tools.python_environments import environment, version_in

DRIVERS: Final = Path(__file__).with_name("drivers")
NODE_PACKAGES: Final = Packages(Path(__file__).with_name("npm"), "They are front ends that chat through the gateway.")
ALL: Final = frozenset({"chat", "own tools", "structured"})


@dataclass(frozen=True)
class Installed:
    """A client that can run: its version, and the command of its driver."""

    version: str
    command: tuple[str, ...]


@dataclass(frozen=True)
class PythonClient:
    """A package of PyPI in an environment of its own.

    Attributes:
        package: Its name.
        version: The version that was tried.
        driver: A file of `DRIVERS`.
        extra: Of the package.
        can: What it does: `chat`, `own tools`, `structured` answers.
        at_once: How many chats at the same time are asked of it at most.
    """

    package: str
    version: str
    driver: str
    extra: str = ""
    can: frozenset[str] = ALL
    at_once: int = 20

    def install(self, folder: Path, *, newest: bool = False) -> Installed:
        """Install it below `folder`, in its `version` or the `newest`.

        Raises:
            SystemExit: that failed; the message holds the output of uv.
        """
        pin = "" if newest else f"=={self.version}"
        python = environment(folder, [f"{self.package}{self.extra}{pin}", *(["--upgrade"] if newest else [])])
        return Installed(version_in(python, self.package), (str(python), str(DRIVERS / self.driver)))


@dataclass(frozen=True)
class NodeClient:
    """A package of `NODE_PACKAGES`, whose package.json has its version; `driver` is the argument of clients.mjs."""

    package: str
    driver: str
    can: frozenset[str] = ALL
    at_once: int = 20

    @property
    def version(self) -> str:
        """The version that was tried."""
        listed = json.loads((NODE_PACKAGES.folder / "package.json").read_text(encoding="utf-8"))
        version: str = listed["devDependencies"][self.package]
        return version

    def install(self, folder: Path, *, newest: bool = False) -> Installed:  # noqa: ARG002
        """Install all packages of `NODE_PACKAGES`, in the versions of package.json.

        Raises:
            SystemExit: npm failed; the message says what to do.
        """
        NODE_PACKAGES.install()
        node = str(NODE_FOLDER / ("node.exe" if os.name == "nt" else "node"))
        return Installed(self.version, (node, str(NODE_PACKAGES.folder / "clients.mjs"), self.driver))


Client = PythonClient | NodeClient

CLIENTS: Final[Mapping[str, Client]] = {
    "openai-python": PythonClient("openai", "3.57.0", "openai_client.py"),
    "openai-node": NodeClient("openai", "openai"),
    "ai-sdk": NodeClient("ai", "aiSdk"),
    "langchain-openai": PythonClient("langchain-openai", "1.7.4", "langchain_client.py"),
    "litellm": PythonClient("litellm", "1.110.2", "litellm_client.py"),
    "pydantic-ai": PythonClient("pydantic-ai-slim", "2.68.0", "pydantic_ai_client.py", "[openai]"),
    "openai-agents": PythonClient("openai-agents", "0.24.0", "openai_agents_client.py"),
    "instructor": PythonClient("instructor", "1.17.0", "instructor_client.py", can=frozenset({"structured"})),
    "llm": PythonClient("llm", "0.36", "llm_client.py", at_once=4),
}
"""The clients by their names."""
