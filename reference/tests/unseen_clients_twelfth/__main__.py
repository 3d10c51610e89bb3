"""Run one of the clients: `python -m unseen_clients_twelfth NAME`."""

from unseen_clients.adapter import main

from unseen_clients_twelfth.entries import ENTRIES

main(ENTRIES)
