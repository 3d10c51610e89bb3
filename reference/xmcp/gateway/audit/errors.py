"""Why a database cannot be used for the audit store."""

from __future__ import annotations


class AuditError(Exception):
    """The database cannot be used. The message says which, why, and what to do; it has no credentials."""


class ConversationRunning(Exception):
    """A run of the conversation goes on, so that it cannot be deleted."""
