"""The page of the site that shows which wrong servers the suite finds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from xmcp_conformance.core.checks import checks_by_requirement
from xmcp_conformance.wrong.expected import Expectations
from xmcp_conformance.wrong.kill_matrix import Tried
from xmcp_conformance.wrong.registry import server_mutants


def page(tried: Sequence[Tried]) -> str:
    """Return the page, in Markdown."""
    return "\n".join(_lines(tried)) + "\n"


def _lines(tried: Sequence[Tried]) -> Iterator[str]:
    counts = Counter(one.verdict for one in tried)
    checks, mutants = checks_by_requirement("server"), server_mutants()
    yield from (
        "# Which wrong servers the suite finds",
        "",
        "Written by `nox -s matrix -- --write`. For each sentence that a server check verifies there is a *mutant*: a "
        "small server that breaks this sentence and no other. It breaks it always, and under one condition alone, such "
        "as in long texts or in one era, as real servers do: each of these is a wrong server. A wrong server is "
        "*found* if the suite reports its sentence and no other. A condition that never makes a difference in a run of "
        "the suite is not counted.",
        "",
        f"{sum(counts.values()) - counts['not reached']} wrong servers; {counts['killed']} are found, "
        f"{counts['survived']} are not, and with {counts['collateral']} another sentence is blamed.",
        "",
        "| sentence | checks | mutant | found | not found | blamed besides |",
        "|---|---|---|---|---|---|",
    )
    for requirement in dict.fromkeys(one.requirement for one in tried):
        of = [one for one in tried if one.requirement == requirement]
        names = ", ".join(dict.fromkeys(f"`{check.name.rpartition('.')[2]}`" for check in checks[requirement]))
        survived = _places(one.condition for one in of if one.verdict == "survived")
        besides = _places(
            f"{one.condition}: {', '.join(sorted({*one.reported} - {requirement})) or 'not its own'}"
            for one in of
            if one.verdict == "collateral"
        )
        killed = sum(1 for one in of if one.verdict == "killed")
        yield f"| {requirement} | {names} | `{mutants[requirement].__name__}` | {killed} | {survived} | {besides} |"
    yield from ("", "## What is not found, and why", "")
    for entry in Expectations().entries:
        yield f"- `{entry.requirement}`, {entry.condition}: {entry.reason}"
    yield _SHARED


_SHARED = """
## What the miniature shares with the checks

A fault in what both use is seen by neither, and no wrong server shows it:

- the validator of JSON Schema: the suite asks it whether arguments fit, and the miniature refuses by it;
- the generated constants (names of `_meta` members, codes and their categories), which the generators compare with the
  schemas;
- the MCP SDK on both sides of the connection: in this process an answer is never bytes, so only the runs over stdio and
  HTTP show what an encoder does to it;
- the expression for the code points that XML cannot carry, which is written in both from the same sentence of XML 1.0.
"""


def _places(said: Iterator[str]) -> str:
    return "<br>".join(sorted(said))
