"""Run one of the clients: `python -m unseen_clients_fourth NAME`."""

from unseen_clients.adapter import main

from unseen_clients_fourth.entries import ENTRIES

main(ENTRIES)
