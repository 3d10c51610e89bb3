"""Run the suite against every wrong server under every condition, and compare what it finds with what it has to find.

    python -m tools.matrix            runs all, and says what survives, what is blamed besides, and what changed
    python -m tools.matrix --write    writes the page docs/guides/proof.md, too
    python -m tools.matrix XMCP-RSP-022 XMCP-ERR-020    only these mutants; no page

`build/matrix.json` has everything. The exit code is 1 where the suite does not find a wrong server, or blames it for
something else, and `expected.py` has no reason for it; where a reason there is no longer needed; or where the page is
not what the run shows.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence

from tools import ROOT
from tools.matrix.page import page
from tools.matrix.run import run
from xmcp_conformance.core.checks import checks_by_requirement
from xmcp_conformance.wrong.expected import Expectations
from xmcp_conformance.wrong.kill_matrix import Tried
from xmcp_conformance.wrong.registry import server_mutants

PAGE = ROOT / "docs" / "guides" / "proof.md"
MATRIX = ROOT / "build" / "matrix.json"


def as_json(tried: Sequence[Tried]) -> dict[str, dict[str, object]]:
    """Return the matrix by requirement."""
    checks, mutants = checks_by_requirement("server"), server_mutants()
    rows: dict[str, dict[str, object]] = {}
    for requirement in dict.fromkeys(one.requirement for one in tried):
        of = [one for one in tried if one.requirement == requirement]
        rows[requirement] = {
            "checks": [check.name for check in checks.get(requirement, ())],
            "mutant": mutants[requirement].__name__,
            "killed": [one.condition for one in of if one.verdict == "killed"],
            "survived": [one.condition for one in of if one.verdict == "survived"],
            "collateral": {one.condition: one.reported for one in of if one.verdict == "collateral"},
            "not_reached": [one.condition for one in of if one.verdict == "not reached"],
        }
    return rows


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.matrix", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--write", action="store_true", help="write the page")
    parser.add_argument("requirements", nargs="*", metavar="REQUIREMENT")
    arguments = parser.parse_args()
    tried = run(arguments.requirements or server_mutants())
    MATRIX.parent.mkdir(exist_ok=True)
    MATRIX.write_text(json.dumps(as_json(tried), indent=1) + "\n", encoding="utf-8")
    complete = not arguments.requirements
    faults = list(Expectations().faults(tried, complete=complete))
    if complete:
        shown = page(tried)
        if arguments.write:
            PAGE.write_text(shown, encoding="utf-8")
        elif not PAGE.exists() or PAGE.read_text(encoding="utf-8") != shown:
            faults.append("docs/guides/proof.md is not what this run shows: python -m tools.matrix --write")
    print(*faults, sep="\n")
    reached = [one for one in tried if one.verdict != "not reached"]
    killed = sum(1 for one in reached if one.verdict == "killed")
    print(f"{len(reached)} wrong servers: {killed} found, {len(faults)} faults. {MATRIX.relative_to(ROOT)} has all.")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
