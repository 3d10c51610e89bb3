"""Run one of the clients: `python -m unseen_clients_nineteenth NAME`."""

from unseen_clients.adapter import main

from unseen_clients_nineteenth.entries import ENTRIES

main(ENTRIES)
