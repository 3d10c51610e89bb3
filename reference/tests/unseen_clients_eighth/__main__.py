"""Run one of the clients: `python -m unseen_clients_eighth NAME`."""

from unseen_clients.adapter import main

from unseen_clients_eighth.entries import ENTRIES

main(ENTRIES)
