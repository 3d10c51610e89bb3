"""The faults in the JSON report of an earlier run, with the calls that showed them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

import jsonschema_rs

from xmcp_conformance.core.past_call import PastCall
from xmcp_conformance.core.schema_faults import fault_in_words

SCHEMA: Final = Path(__file__).with_name("report.schema.json")
_LARGEST: Final = 100_000_000
"""Maximum size of a report, in bytes."""


@dataclass(frozen=True, slots=True)
class PastFault:
    """A sentence that a tool broke; `call` is `None` where no single call showed it, or it was not kept."""

    requirement: str
    tool: str
    said: str
    seen: str
    expected: str
    call: PastCall | None


def past_faults(path: Path) -> list[PastFault]:
    """Return the faults of a report, in its order.

    Raises:
        ValueError: the file is no report; the message says what is wrong.
        OSError: it cannot be read.
    """
    if path.stat().st_size > _LARGEST:
        raise ValueError(f"`{path}` has more than {_LARGEST:,} bytes")
    try:
        raw = json.loads(path.read_text(encoding="utf-8-sig"))
        fault = next(_form().iter_errors(raw), None)
    except (ValueError, RecursionError):  # not UTF-8, not JSON, or nested too deeply
        raise ValueError(f"`{path}` is not JSON, as `xmcp check server --json` writes it") from None
    if fault is not None:
        raise ValueError(f"`{path}` is no report of `xmcp check server --json` ({fault_in_words(fault)})")
    found: list[PastFault] = []
    for requirement in raw["requirements"]:
        for one in requirement.get("faults", ()):
            request = one.get("request")
            call = (
                PastCall(**request, protocol_version=one["protocol_version"], client=one["client"]) if request else None
            )
            found.append(PastFault(requirement["id"], one["tool"], one["call"], one["seen"], one["expected"], call))
    return found


@cache
def _form() -> jsonschema_rs.Draft202012Validator:
    return jsonschema_rs.Draft202012Validator(json.loads(SCHEMA.read_text(encoding="utf-8")), mask="this")
