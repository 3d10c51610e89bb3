"""Conversations in files: snapshots of spec section 10.5, which only their owner can read."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

from xmcp.chat.untrusted_text import printable
from xmcp.cli.named_files import reason_of
from xmcp.client.conversation import FORMAT

LARGEST: Final = 256 * 1024 * 1024
"""Maximum size of a file that is read, in bytes."""


class NotSaved(ValueError):
    """A file that cannot be written or read; the message says which, and why."""


def write_snapshot(path: Path, snapshot: dict[str, Any]) -> None:
    """Write a snapshot, whole or not at all. A file of something else stays as it is.

    Raises:
        NotSaved: it cannot be written, or there is another file.
    """
    shown = printable(str(path))
    if path.exists() and not _is_snapshot(path):
        raise NotSaved(f"{shown} is not a saved conversation: choose another name.")
    beside = path.with_name(f".{path.name}.{uuid4().hex[:8]}")
    try:
        try:
            with open(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
                json.dump(snapshot, file, ensure_ascii=False, indent=1)
                file.write("\n")
            beside.replace(path)
        finally:
            with suppress(OSError):
                beside.unlink()
    except OSError as error:
        raise NotSaved(f"{shown} cannot be written: {reason_of(error)}.") from error


def read_snapshot(path: Path) -> str:
    """Return the text of a snapshot, for `Conversation.resume`.

    Raises:
        NotSaved: it cannot be read.
    """
    shown = printable(str(path))
    try:
        with path.open("rb") as file:
            read = file.read(LARGEST + 1)
        if len(read) > LARGEST:
            raise NotSaved(f"{shown} has more than {LARGEST // 1024**2} MiB.")
        return read.decode("utf-8")
    except OSError as error:
        raise NotSaved(f"{shown} cannot be read: {reason_of(error)}.") from error
    except UnicodeDecodeError as error:
        raise NotSaved(f"{shown} is not a saved conversation: it is no text.") from error


def _is_snapshot(path: Path) -> bool:
    try:
        value = json.loads(read_snapshot(path))
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict) and value.get("format") == FORMAT
