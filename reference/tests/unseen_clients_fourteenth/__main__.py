"""Run one of the clients: `python -m unseen_clients_fourteenth NAME`."""

from unseen_clients.adapter import main

from unseen_clients_fourteenth.entries import ENTRIES

main(ENTRIES)
