"""Compare what a model heard with what the data says that it hears. Pure."""

from __future__ import annotations

import re
from typing import Final

from tools.hosts.cases import CASES
from tools.hosts.stand_in_model import Heard
from xmcp_conformance.hosts.answers import Answer
from xmcp_conformance.hosts.presentation import Shown, present
from xmcp_conformance.hosts.rules import Host

NEAR: Final = 2_000
"""Characters that a limit may be exceeded by: the host writes a note about what it left out."""

# What differs from run to run, or stands in a message of its own beside an image.
_CHANGING: Final = (
    (re.compile(r"Wall time: [\d.]+ seconds"), "Wall time: 0.0100 seconds"),
    (re.compile(r"\b(File|See file) [0-9a-f]{6}\b"), r"\1 000000"),
    (re.compile(r'"args":\{\}'), '"args":{…}'),
    (re.compile(r"\[SYSTEM: Binary content [^\]]*\]"), ""),
    (re.compile(r"</?pyai:tool_result[^>]*>"), ""),
    (re.compile(r"(\(\w+/\w+), \d+ bytes"), r"\1"),
    (
        re.compile(r'"stack": "Traceback \(most recent call last\):(?:[^"\\]|\\.)*"'),
        '"stack": "Traceback (most recent call last): …"',
    ),
)


def differences(host: Host, version: str, heard: dict[str, Heard]) -> list[str]:
    """Return a line for each case in which the data is wrong, and one where it is of another version."""
    lines = [] if version == host.version else [f"the data is of {host.version}, this is {version}"]
    for name, result in CASES.items():
        shown, got = present(Answer(name, result), host), heard.get(name)
        wrong = _difference(shown, got, host)
        lines += [f"{name}: {wrong}"] if wrong else []
    return lines


def _difference(shown: Shown, got: Heard | None, host: Host) -> str:
    fails = shown.form.startswith("exception")
    if got is None:
        return "" if fails else "the model heard nothing"
    if fails:
        return f"the model heard {got.text[:200]!r}, the data says that the host fails"
    if got.images != shown.images:
        return f"the model got {got.images} images, the data says {shown.images}"
    limit = host.model.most_characters
    if limit is not None and any(word.startswith("all but") for word in shown.lost):
        near = abs(len(got.text) - (host.model.preview or limit)) < NEAR
        return "" if near else f"the model heard {len(got.text)} characters, the data says {limit}"
    if shown.unknown:
        return ""
    said, expected = _plain(got.text), _plain(shown.text)
    return "" if said == expected else f"the model heard {said[:300]!r}, the data says {expected[:300]!r}"


def _plain(text: str) -> str:
    """Return a text without what changes, with single spaces: how texts are split into parts is not compared."""
    for pattern, same in _CHANGING:
        text = pattern.sub(same, text)
    return " ".join(text.split())
