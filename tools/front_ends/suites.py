"""The suites of other people that judge an API of OpenAI's kind, and how their verdicts are read."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tools.front_ends.clients import NODE_PACKAGES
from tools.front_ends.gateway import KEYS, MODELS, Gateway, serving
from tools.front_ends.judge import Difference
from tools.node_packages import NODE_FOLDER
from tools.python_environments import environment

SECONDS: Final = 300.0
"""Time limit for a suite."""

Verdict = tuple[str, str, str]
"""The name of a test; its status, `passed` if it has no complaint; its words."""


@dataclass(frozen=True)
class Suite:
    """A suite: its version; how it is installed, into a folder; its arguments; how its report is read."""

    version: str
    install: Callable[[Path], Sequence[str]]
    arguments: Callable[[Gateway], Sequence[str]]
    verdicts: Callable[[Any], Iterable[Verdict]]

    async def run(self, name: str, folder: Path) -> tuple[list[Difference], list[str]]:
        """Have it judge a gateway; return its complaints, and the names of its tests.

        Raises:
            SystemExit: it could not be installed, or wrote no report; the message holds its output.
        """
        program = await asyncio.to_thread(self.install, folder)
        pipe = asyncio.subprocess.PIPE
        async with serving(folder) as gateway:
            command = [*program, *self.arguments(gateway)]
            process = await asyncio.create_subprocess_exec(*command, stdout=pipe, stderr=pipe)
            try:
                async with asyncio.timeout(SECONDS):
                    out, err = await process.communicate()
            finally:
                if process.returncode is None:
                    process.kill()
                    await process.wait()
        try:
            verdicts = [*self.verdicts(json.loads(out))]
        except (ValueError, KeyError) as error:
            sys.exit(f"{name} wrote no report ({error!r}):\n{out.decode()[-2000:]}{err.decode()[-2000:]}")
        complaints = [Difference(name, test, status, words) for test, status, words in verdicts if status != "passed"]
        return complaints, [*dict.fromkeys(test for test, _, _ in verdicts)]


def of_llm_comply(report: Mapping[str, Any]) -> Iterable[Verdict]:
    """Read llm-comply's report; its warnings are complaints, too."""
    for result in report["results"]:
        yield result["id"], result["status"], "; ".join(result.get("errors", ()))
        for warning in result.get("warnings", ()):
            yield result["id"], "warning", warning


def of_compatcanary(report: Mapping[str, Any]) -> Iterable[Verdict]:
    """Read compatcanary's report."""
    for result in report["results"]:
        yield result["id"], "passed" if result["status"] == "pass" else result["status"], result["summary"]


LLM_COMPLY: Final = "0.5.0"


def _llm_comply(folder: Path) -> Sequence[str]:
    python = environment(folder, [f"llm-comply=={LLM_COMPLY}"])
    return [str(python.with_name("llm-comply"))]


def _compatcanary(_folder: Path) -> Sequence[str]:
    NODE_PACKAGES.install()
    return [str(NODE_FOLDER / "node"), NODE_PACKAGES.script("compatcanary/src/cli.js")]


def _version(package: str) -> str:
    listed = json.loads((NODE_PACKAGES.folder / "package.json").read_text(encoding="utf-8"))
    version: str = listed["devDependencies"][package]
    return version


def _for_llm_comply(gateway: Gateway) -> Sequence[str]:
    key = ("--api-key", KEYS["front-end"])
    return ["--base-url", gateway.url, *key, "--model", MODELS[1], "--format", "openai-chat", "--json"]


def _for_compatcanary(gateway: Gateway) -> Sequence[str]:
    key = ("--api-key", KEYS["front-end"])
    return ["scan", "--base-url", gateway.url, *key, "--model", MODELS[0], "--profile", "chat", "--format", "json"]


SUITES: Final[Mapping[str, Suite]] = {
    "llm-comply": Suite(LLM_COMPLY, _llm_comply, _for_llm_comply, of_llm_comply),
    "compatcanary": Suite(_version("compatcanary"), _compatcanary, _for_compatcanary, of_compatcanary),
}
"""The suites by their names."""
