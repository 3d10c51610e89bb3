"""Run one of the clients: `python -m unseen_clients_fifteenth NAME`."""

from unseen_clients.adapter import main

from unseen_clients_fifteenth.entries import ENTRIES

main(ENTRIES)
