"""Servers whose failures go wrong (chapter 4)."""

from __future__ import annotations

import mcp_types

from unseen.desk import TEXT, Answer, Call, Desk, Failure, Json, Negotiated, closed
from unseen.registry import breaks


class _Line(Desk):
    """One more tool, `dial`, which fails now and then; `dialled` counts the calls that it was run for."""

    dialled = 0

    def tools(self) -> dict[str, Json]:
        return {**super().tools(), "dial": closed(["number"], number=TEXT)}

    def do_dial(self, call: Call) -> Answer:
        self.dialled += 1
        self.fail(self.dialled)
        return Answer("Connected.")

    def fail(self, nth: int) -> None:
        """Raise the failure of the nth call, if it has one."""
        raise NotImplementedError


@breaks("ERR-001", "MCP-002")
class EmptyApology(Desk):
    """A key that is empty is answered by a guard clause from before there were errors: with `isError`, and the apology
    in `llm_output`."""

    def do_lookup(self, call: Call) -> Answer:
        return super().do_lookup(call) if call.arguments["key"] else Answer("Error: no key was given.")

    def is_error(self, call: Call, outcome: Answer | Failure) -> bool:
        return super().is_error(call, outcome) or (isinstance(outcome, Answer) and outcome.text.startswith("Error: no"))


@breaks("ERR-002", "RSP-006", "MCP-024")
class ExceptionNames(Negotiated):
    """A key of more than 64 characters raises an exception of the database, whose name becomes the code:
    `DataError.StringTooLong`."""

    def do_lookup(self, call: Call) -> Answer:
        if len(call.arguments["key"]) > 64:
            raise Failure("DataError.StringTooLong", "The key is too long.", category="invalid_input")
        return super().do_lookup(call)


@breaks("ERR-005")
class ExhaustedQuota(_Line):
    """After two answers of `RATE_LIMIT` the quota is exhausted: that error is not retryable, and keeps the wait."""

    def fail(self, nth: int) -> None:
        if nth < 3:
            raise Failure("RATE_LIMIT", "The line is busy.", retryable="true", retry_after_ms="20")
        raise Failure("QUOTA_EXCEEDED", "No more calls today.", retry_after_ms="86400000")


@breaks("ERR-006", "MCP-024")
class KeyErrors(Negotiated):
    """The message is the argument of Python's `KeyError`, the key: an empty key or one of spaces is no
    message."""

    def do_lookup(self, call: Call) -> Answer:
        if call.arguments["key"].strip():
            return super().do_lookup(call)
        raise Failure("NOT_FOUND", call.arguments["key"].strip())


@breaks("ERR-007", "MCP-024", "ERR-021")
class DottedPaths(Negotiated):
    """The pointers of nested arguments are paths as JavaScript writes them: `person.address.city`, `items[0]`."""

    def pointer(self, path: list[str]) -> str:
        if len(path) < 2:
            return super().pointer(path)
        return "".join(f"[{step}]" if step.isdigit() else f".{step}" for step in path).lstrip(".")


@breaks("ERR-007", "MCP-024")
class SqlDates(_Line):
    """The end of a limit is written as SQL writes a time, `2026-01-02 03:04:05`: in the first answer of a busy line."""

    def fail(self, nth: int) -> None:
        if nth > 1:
            return
        meta = {"limit": {"scope": "server", "reset_at": "2026-01-02 03:04:05"}, "side_effects": "none"}
        raise Failure("RATE_LIMIT", "The line is busy.", meta, retryable="true", retry_after_ms="20")


@breaks("ERR-008", "RSP-006")
class Reference(Desk):
    """Behind the `meta` of an unforeseen failure a template repeats the id in words."""

    def error(self, call: Call, failure: Failure) -> str:
        words = f"</meta> (reference {(failure.meta or {}).get('error_id')})</error>"
        written = super().error(call, failure)
        return written.replace("</meta></error>", words) if failure.code == "INTERNAL" else written


@breaks("ERR-010")
class AliasCategory(_Line):
    """A busy line answers with the alias `RATE_LIMITED` and a category that fits neither it nor `RATE_LIMIT`."""

    def fail(self, nth: int) -> None:
        if nth > 1:
            return
        raise Failure(
            "RATE_LIMITED", "The line is busy.", retryable="true", retry_after_ms="20", category="unavailable"
        )


@breaks("ERR-011")
class LastSeats(Desk):
    """The code of the author for eight seats, the most that the schema allows, has no category; that for seven has."""

    def do_reserve(self, call: Call) -> Answer:
        if call.arguments["seats"] == 8:
            raise Failure("X_ACME_NO_BUS", "A bus cannot be reserved.")
        return super().do_reserve(call)


@breaks("ERR-022")
class OpenCircuit(Desk):
    """Calls of tools that do not exist count for the circuit breaker: the second one is answered with
    `CIRCUIT_OPEN`."""

    strangers = 0

    def unknown(self, call: Call) -> Failure:
        failure = super().unknown(call)
        self.strangers += 1
        if self.strangers == 1:
            return failure
        return Failure("CIRCUIT_OPEN", "Too many failures.", retryable="true", retry_after_ms="1000")


@breaks("ERR-030")
class LoggedOnce(Negotiated):
    """A failure is logged once: the same failure a second time has no `error_id`."""

    failed = 0

    def unforeseen(self, call: Call, error: Exception) -> Failure:
        failure = super().unforeseen(call, error)
        self.failed += 1
        return failure if self.failed == 1 else Failure("INTERNAL", failure.message, {"side_effects": "unknown"})


@breaks("ERR-032")
class FileNames(Desk):
    """Keys are files: one of more than 255 bytes is answered with the operating system's message, which has the path
    in the container."""

    def do_lookup(self, call: Call) -> Answer:
        if len(call.arguments["key"].encode()) <= 255:
            return super().do_lookup(call)
        raise Failure("INVALID_ARGUMENT", "[Errno 36] File name too long: '/app/data/entries/7f/index.json'")


@breaks("MCP-001")
class NoteFirst(Desk):
    """The block for the user is put before the document: in the notes that are urgent, which have one."""

    def blocks(self, call: Call, document: str, outcome: Answer | Failure) -> list[mcp_types.ContentBlock]:
        return super().blocks(call, document, outcome)[::-1]
