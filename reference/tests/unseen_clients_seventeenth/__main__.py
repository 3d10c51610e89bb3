"""Run one of the clients: `python -m unseen_clients_seventeenth NAME`."""

from unseen_clients.adapter import main

from unseen_clients_seventeenth.entries import ENTRIES

main(ENTRIES)
