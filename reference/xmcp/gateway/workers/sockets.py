"""The Unix sockets of the processes of a gateway, in a folder that only their user can enter."""

from __future__ import annotations

import os
import shutil
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from xmcp.gateway.workers.place import WorkerPlace

_LONGEST_PATH: Final = 103
"""Bytes of the path of a socket: 104 with its end on macOS and the BSDs, 108 on Linux."""


class PathTooLong(ValueError):
    """The folder for temporary files has too long a name for sockets; the message says what to do."""


class FolderGone(OSError):
    """The folder was removed while the gateway ran; the message says what to do."""


@contextmanager
def sockets_folder(count: int) -> Iterator[Path]:
    """Make the folder for so many workers, and remove it after the block.

    Raises:
        PathTooLong: sockets in it could not be bound.
    """
    folder = Path(tempfile.mkdtemp(prefix="xmcp-"))  # of mode 0700
    try:
        longest = os.fsencode(WorkerPlace(count - 1, count, folder).metrics_socket_of(count - 1))
        if len(longest) > _LONGEST_PATH:
            raise PathTooLong(
                f"The folder for temporary files, {folder.parent}, has too long a name for Unix sockets "
                f"({len(longest)} of {_LONGEST_PATH} bytes). Set TMPDIR to a shorter one, such as /tmp."
            )
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def bound(path: Path) -> socket.socket:
    """Return a Unix socket at a path; one that a process before this one has left there is replaced.

    Raises:
        FolderGone: the folder of all sockets is not there any more.
    """
    path.unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX)
    try:
        listener.bind(str(path))
    except OSError as error:
        listener.close()
        if isinstance(error, FileNotFoundError):
            told = f"{path.parent} is gone, through which the processes reach each other. Start the gateway again."
            raise FolderGone(told) from None
        raise
    return listener


def leave_folder(place: WorkerPlace) -> None:
    """Remove the sockets of a worker whose parent is gone; the last one removes the folder, in place of the parent."""
    for path in (place.socket_of(place.number), place.metrics_socket_of(place.number)):
        path.unlink(missing_ok=True)
    if not any(place.folder.glob("*.sock")):
        shutil.rmtree(place.folder, ignore_errors=True)
