"""Clients that were written without a look at the suite: twelve wrong ones, and four that are odd but right.

Run one as `PYTHONPATH=reference/tests python -m unseen_clients NAME`; `entries` has the names.
"""
