"""A stand-in for the Gemini CLI: an executable that answers a script, and keeps what it was asked."""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from support.vendors import gemini_program
from support.vendors.stand_in import halves
from xmcp.chat.usage import Usage
from xmcp.providers import GeminiCLIProvider
from xmcp.providers.contract import Answer, Asked, BreaksOff, Feature, Hangs, Raw, Said, Scripted

MODEL = "gemini-test"


class GeminiCLI:
    """The Gemini CLI, as a `Vendor` of the contract."""

    lacks: frozenset[Feature] = frozenset(
        {
            "content_filter",
            "ids",
            "images",
            "images_in_results",
            "length",
            "models",
            "reasoning",
            "shown_reasoning",
            "refusals",
            "max_tokens",
            "sampling",
            "stop",
            "tools",
        }
    )
    models: tuple[str, ...] = ()
    malformed: tuple[Raw, ...] = ()
    provider: GeminiCLIProvider

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.executable = self.folder / "gemini"
        program = f"{sys.executable} -S {gemini_program.__file__} {self.folder}"
        self.executable.write_text(f'#!/bin/sh\nexec {program} "$@"\n')
        self.executable.chmod(0o755)
        self.answers(Answer("ok"))

    async def __aenter__(self) -> GeminiCLI:
        self.provider = GeminiCLIProvider(str(self.executable), MODEL)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.provider.aclose()
        shutil.rmtree(self.folder)

    def answers(self, *answers: Scripted) -> None:
        """See `Vendor.answers`."""
        self.acts(*map(_act, answers))

    def acts(self, *acts: dict[str, Any]) -> None:
        """Say what the program does (see `gemini_program`)."""
        (self.folder / "script.json").write_text(json.dumps(acts))

    @property
    def requests(self) -> list[dict[str, Any]]:
        """What the program was asked, as it was."""
        found = sorted(self.folder.glob("asked-*.json"), key=lambda path: int(path.stem.split("-")[1]))
        return [json.loads(path.read_text("utf-8")) for path in found]

    @property
    def asked(self) -> list[Asked]:
        """See `Vendor.asked`."""
        return [
            Asked(one["model"], (*_system(one["system"]), *map(_said, one["prompt"].splitlines()[1:])), {}, {})
            for one in self.requests
        ]

    @property
    def hanging(self) -> list[int]:
        """Processes of runs that hang and were not ended."""
        found = [pid for path in self.folder.glob("pids-*.json") for pid in json.loads(path.read_text())]
        return [pid for pid in found if _runs(pid)]

    @property
    def left(self) -> int:
        """See `Vendor.left`."""
        return len(list(self.folder.glob("pids-*.json"))) if not self.hanging else 0


def _act(scripted: Scripted) -> dict[str, Any]:
    match scripted:
        case Answer():
            return {"text": halves(scripted.text), "result": {"status": "success", "stats": stats(scripted.usage)}}
        case BreaksOff():
            return {"text": [scripted.text], "dies": True}
        case Hangs():
            return {"text": [scripted.text], "hangs": True}
    raise NotImplementedError(scripted)


def stats(usage: Usage) -> dict[str, Any]:
    """Return the statistics of a run."""
    tokens = {
        "total_tokens": (usage.input_tokens or 0) + (usage.output_tokens or 0),
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "cached": usage.cached_tokens,
        "input": (usage.input_tokens or 0) - (usage.cached_tokens or 0),
    }
    return {**tokens, "duration_ms": 423, "tool_calls": 0, "models": {MODEL: tokens}}


def _system(text: str) -> list[Said]:
    return [] if text == "You are a helpful assistant." else [Said("system", text)]


def _said(line: str) -> Said:
    message = json.loads(line)
    return Said(message["role"], message["content"])


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (ProcessLookupError, FileNotFoundError):
        return False
    return state != "Z"
