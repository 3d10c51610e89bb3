"""Run one of the clients: `python -m unseen_clients_ninth NAME`."""

from unseen_clients.adapter import main

from unseen_clients_ninth.entries import ENTRIES

main(ENTRIES)
