"""Run one of the clients: `python -m unseen_clients_fifth NAME`."""

from unseen_clients.adapter import main

from unseen_clients_fifth.entries import ENTRIES

main(ENTRIES)
