"""Run one of the clients: `python -m unseen_clients_second NAME`."""

from unseen_clients.adapter import main

from unseen_clients_second.entries import ENTRIES

main(ENTRIES)
