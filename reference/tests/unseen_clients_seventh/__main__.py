"""Run one of the clients: `python -m unseen_clients_seventh NAME`."""

from unseen_clients.adapter import main

from unseen_clients_seventh.entries import ENTRIES

main(ENTRIES)
