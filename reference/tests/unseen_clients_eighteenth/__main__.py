"""Run one of the clients: `python -m unseen_clients_eighteenth NAME`."""

from unseen_clients.adapter import main

from unseen_clients_eighteenth.entries import ENTRIES

main(ENTRIES)
