"""Run one of the clients: `python -m unseen_clients_sixteenth NAME`."""

from unseen_clients.adapter import main

from unseen_clients_sixteenth.entries import ENTRIES

main(ENTRIES)
