"""Files in messages of the chat format: read for other formats, or refused where a vendor does not take them."""

from __future__ import annotations

import binascii
from base64 import b64decode
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from xmcp.chat.errors import ProviderError
from xmcp.chat.messages import Message


class File(NamedTuple):
    """A file as it stands in a message."""

    name: str
    media_type: str
    data: str
    """Base64."""

    @property
    def url(self) -> str:
        """The file as a data: URL."""
        return f"data:{self.media_type};base64,{self.data}"

    def text(self, vendor: str) -> str:
        """Return the file's text.

        Raises:
            ProviderError: it is not text in UTF-8.
        """
        try:
            return b64decode(self.data, validate=True).decode("utf-8")
        except (binascii.Error, ValueError):
            raise refused(vendor, f"{self.media_type} that is not UTF-8", "Save it as UTF-8") from None


def file_of(part: Any, vendor: str) -> File | None:
    """Return the file in a part of a message; `None` if the part is something else.

    Raises:
        ProviderError: its content is not in the message, as where one vendor keeps it under an id.
    """
    if not isinstance(part, Mapping) or part.get("type") != "file":
        return None
    file = part.get("file")
    url = file.get("file_data") if isinstance(file, Mapping) else None
    head, comma, data = url.partition(",") if isinstance(url, str) else ("", "", "")
    if not (comma and head.startswith("data:") and head.endswith(";base64")):
        raise refused(vendor, "whose content is not in the message", "Pass it as a FilePart")
    name = file.get("filename") if isinstance(file, Mapping) else None
    return File(name if isinstance(name, str) and name else "file", head[len("data:") :].partition(";")[0], data)


def refuse_files(messages: Sequence[Message], vendor: str) -> None:
    """Refuse a request with a file, for a format that has no way to send one.

    Raises:
        ProviderError: there is a file in one of the messages.
    """
    for message in messages:
        content = message.get("content")
        if isinstance(content, list | tuple) and any(file_of(part, vendor) for part in content):
            raise refused(vendor, "at all", "Pass its text, or ask another model")


def refused(vendor: str, what: str, remedy: str) -> ProviderError:
    """Return the failure of a request with a file that `vendor` does not take."""
    return ProviderError(
        f"The conversation has a file, and {vendor} takes no files {what}. {remedy}.",
        provider=vendor,  # of no category: the next model may take it
    )
