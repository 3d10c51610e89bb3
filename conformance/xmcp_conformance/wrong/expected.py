"""Which wrong servers the suite is known not to find, or to blame for another sentence, each with the reason."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final

from .kill_matrix import Tried


@dataclass(frozen=True, slots=True)
class Expected:
    """Wrong servers by patterns of their requirement and condition, and why the suite does not find just them."""

    requirement: str
    condition: str
    reason: str

    def covers(self, tried: Tried) -> bool:
        """Return whether a wrong server is one of those."""
        return fnmatchcase(tried.requirement, self.requirement) and fnmatchcase(tried.condition, self.condition)


EXPECTED: Final[tuple[Expected, ...]] = (
    Expected(
        "XMCP-MCP-004",
        "only in texts of *,000 characters or more",
        "the error is one that the author of the tool built, who may send data with it: the server is right",
    ),
    Expected(
        "XMCP-MCP-053",
        "only for plain clients",
        "the sentence is about what a client is told that declared the extension: the server is right",
    ),
    Expected(
        "XMCP-MCP-051",
        "only after a refusal",
        "a fault that goes away when the same call is made again can be that of a tool that fails now and then",
    ),
    *(
        Expected(
            "XMCP-RSP-020",
            condition,
            "the sentence is about `llm_output`; what a text becomes in the message of an error is the server's affair",
        )
        for condition in ("only in errors", "only with hostile text in an error", "only of the tool missing")
    ),
    *(
        Expected(
            "XMCP-DSP-020",
            f"only {condition}",
            "the sentence is about the list of tools, which is right here: a call that is answered by another schema "
            "breaks another sentence, or none",
        )
        for condition in (
            "after 20 calls",
            "from the second call of a tool on",
            "when the same call comes again",
            "while another call is in flight",
            "after a refusal",
            "with show_user",
            "without show_user",
            "in errors",
            "beside a display",
            "in a text alone",
            "where refused for additionalProperties alone",
        )
    ),
    *(
        Expected(
            requirement,
            "only for plain clients",
            "what has no document at all for one kind of client is first of all not what the announcement says",
        )
        for requirement in ("XMCP-MCP-001", "XMCP-RSP-005")
    ),
)


@dataclass(frozen=True, slots=True)
class Expectations:
    """What is expected of the matrix."""

    entries: tuple[Expected, ...] = EXPECTED

    def faults(self, tried: Sequence[Tried], *, complete: bool) -> Iterator[str]:
        """Yield in words what is not as expected. `complete`: all was tried, so that an unused entry is stale."""
        missed = [one for one in tried if one.verdict in ("survived", "collateral")]
        if complete:
            never = dict.fromkeys(one.condition for one in tried)
            for one in tried:
                if one.verdict != "not reached":
                    never.pop(one.condition, None)
            missed += [Tried("", condition, "not reached") for condition in never]
        for one in missed:
            if not any(entry.covers(one) for entry in self.entries):
                yield _fault(one)
        for entry in self.entries if complete else ():
            if not any(entry.covers(one) for one in missed):
                yield f"stale: {entry.requirement} {entry.condition} ({entry.reason}): all of them are found"


def _fault(one: Tried) -> str:
    if one.verdict == "not reached":
        return f"not reached by any mutant: {one.condition}"
    reported = f": reported {', '.join(one.reported)}" if one.reported else ""
    return f"{one.verdict}: {one.requirement} {one.condition}{reported}"
