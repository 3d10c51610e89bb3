"""Run one of the clients: `python -m unseen_clients_thirteenth NAME`."""

from unseen_clients.adapter import main

from unseen_clients_thirteenth.entries import ENTRIES

main(ENTRIES)
