"""Run one of the clients: `python -m unseen_clients_third NAME`."""

from unseen_clients.adapter import main

from unseen_clients_third.entries import ENTRIES

main(ENTRIES)
