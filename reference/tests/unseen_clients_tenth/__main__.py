"""Run one of the clients: `python -m unseen_clients_tenth NAME`."""

from unseen_clients.adapter import main

from unseen_clients_tenth.entries import ENTRIES

main(ENTRIES)
