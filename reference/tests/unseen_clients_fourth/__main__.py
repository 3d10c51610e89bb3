"""Run one of the clients: `python -m unseen_clients_fourth NAME`."""

from __future__ import annotations

import sys

from unseen_clients import adapter

from unseen_clients_fourth.entries import ENTRIES


def main() -> None:
    """Change the reference client as the entry says, and let the suite drive it."""
    entries = {entry.name: entry for entry in ENTRIES}
    if len(sys.argv) != 2 or sys.argv[1] not in entries:
        sys.exit(f"usage: python -m unseen_clients_fourth NAME, with a NAME of: {', '.join(entries)}")
    entries[sys.argv[1]].change()
    adapter.main()


main()
