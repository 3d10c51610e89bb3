"""Judge one of the clients in virtual time, in which no scenario has to be waited for.

`python -m unseen_clients.in_virtual_time PACKAGE NAME [SCENARIO]` writes the ids that it breaks in all scenarios that
`xmcp check client` runs, or in one, as a JSON list.
"""

from __future__ import annotations

import importlib
import json
import sys

from support.ai_client_adapter import observe

from xmcp_conformance.profiles.client.drawn_scenarios import SEED, drawn_scenarios
from xmcp_conformance.profiles.client.drawn_themes import ABOUT
from xmcp_conformance.profiles.client.judge import violations
from xmcp_conformance.profiles.client.scenarios import SCENARIOS


def main() -> None:
    """Change the reference client as the entry says, and judge it."""
    package, name, *only = sys.argv[1:]
    entries = {entry.name: entry for entry in importlib.import_module(f"{package}.entries").ENTRIES}
    entries[name].change()
    scenarios = {**SCENARIOS, **drawn_scenarios(len(ABOUT), SEED)}
    broken: set[str] = set()
    for scenario in map(scenarios.__getitem__, only or scenarios):
        try:
            broken.update(one.requirement for one in violations(observe(scenario)))
        except AssertionError:
            continue  # a call that it left behind: that is seen over HTTP
    json.dump(sorted(broken), sys.stdout)


main()
