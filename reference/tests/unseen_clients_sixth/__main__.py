"""Run one of the clients: `python -m unseen_clients_sixth NAME`."""

from unseen_clients.adapter import main

from unseen_clients_sixth.entries import ENTRIES

main(ENTRIES)
