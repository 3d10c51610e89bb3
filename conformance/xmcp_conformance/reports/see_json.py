"""The picture of a server as JSON; its shape is `see.schema.json` beside this file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from xmcp_conformance.hosts.answers import Answer
from xmcp_conformance.hosts.picture import Picture, Seen, SeenCase, SeenTool
from xmcp_conformance.hosts.rules import Host

SCHEMA: Final = Path(__file__).with_name("see.schema.json")
FORMAT: Final = 1
MOST_CHARACTERS: Final = 100_000
"""Maximum number of characters of a text, and of a result as JSON: a longer text is cut, a longer result left out."""


def to_dict(pictures: Sequence[Picture]) -> dict[str, Any]:
    """Return the pictures as JSON values: the hosts once, then each server."""
    first = pictures[0]
    return {
        "format": FORMAT,
        "tokens": {"counted_by": first.tokenizer.name, "exact": first.tokenizer.exact},
        "hosts": [_host(host) for host in first.hosts],
        "servers": [_server(picture) for picture in pictures],
    }


def _host(host: Host) -> dict[str, Any]:
    return {
        "name": host.name,
        "title": host.title,
        "version": host.version,
        "date": host.date,
        "status": host.status,
        "evidence": list(host.evidence),
        "note": host.note,
    }


def _server(picture: Picture) -> dict[str, Any]:
    visit = picture.visit
    return {
        "server": visit.server,
        "transport": visit.transport,
        "protocol_version": visit.protocol_version,
        "announces_xmcp": visit.announces,
        "tools": [_tool(tool) for tool in picture.tools],
        "tools_left_out": visit.left_out,
        "note": visit.note,
        "findings": [
            {
                "kind": finding.kind,
                "what": finding.what,
                "tools": list(finding.tools),
                "hosts": [host.name for host in finding.hosts],
            }
            for finding in picture.findings
        ],
    }


def _tool(tool: SeenTool) -> dict[str, Any]:
    return {
        "name": tool.tool.name,
        "exists": tool.tool.exists,
        "not_called": tool.tool.not_called,
        "calls": [_case(case) for case in tool.cases],
    }


def _case(case: SeenCase) -> dict[str, Any]:
    return {
        "arguments": case.case.arguments,
        "why": case.case.title,
        "answer": _answer(case.case.plain),
        "answer_to_xmcp": _answer(case.case.declared) if case.case.declared is not None else None,
        "hosts": [_seen(seen) for seen in case.seen],
    }


def _answer(answer: Answer) -> dict[str, Any]:
    size = len(json.dumps(answer.result))
    return {"result": answer.result if size <= MOST_CHARACTERS else None, "characters": size, "failure": answer.failure}


def _seen(seen: Seen) -> dict[str, Any]:
    shown = seen.shown
    return {
        "host": seen.host.name,
        "model": {
            "form": shown.form,
            "text": shown.text[:MOST_CHARACTERS],
            "characters": len(shown.text),
            "images": shown.images,
            "tokens": seen.tokens,
        },
        "person": list(shown.person) if seen.host.person else None,
        "lost": list(shown.lost),
        "leaked": list(shown.leaked),
        "misled": list(shown.misled),
        "unknown": list(shown.unknown),
        "examples": dict(shown.examples),
    }
