"""Run one of the clients: `python -m unseen_clients_eleventh NAME`."""

from unseen_clients.adapter import main

from unseen_clients_eleventh.entries import ENTRIES

main(ENTRIES)
