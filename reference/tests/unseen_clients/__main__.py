"""Run one of the clients: `python -m unseen_clients NAME`."""

from unseen_clients.adapter import main
from unseen_clients.entries import ENTRIES

main(ENTRIES)
