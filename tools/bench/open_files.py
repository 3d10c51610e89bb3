"""The limit of open files of a process of the bench."""

from __future__ import annotations


def raise_limit() -> None:
    """Raise the limit as far as the system allows: a thousand waiting chats are as many connections."""
    import resource

    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
