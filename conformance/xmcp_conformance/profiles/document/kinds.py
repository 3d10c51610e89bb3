"""Decide which format a file has, from its content, its name, and the user's option `--kind`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from xmcp_conformance.reader.schemas import names, schema

XML = "tool_response"
Role: TypeAlias = Literal["server", "client"]
"""Who wrote a document: some sentences bind servers alone."""
_SPACE = b" \t\r\n"
_NO_TEXT = b"\xef\xbb\xbf\xff\xfe\x00"  # bytes of byte order marks, and every second byte of ASCII in UTF-16


@dataclass(frozen=True, slots=True)
class FileName:
    """The name of a file, and its format if the user states one.

    Attributes:
        path: its path, as reports show it.
        kind: its format, if the user states it.
        folder: the name of its folder.
        suffix: its suffix in lower case, with the dot.
        role: who wrote it, if the user states it; else a server wrote each document in XML, and anybody the others.
    """

    path: str = ""
    kind: str | None = None
    folder: str = ""
    suffix: str = ""
    role: Role | None = None


class KindUnknown(Exception):
    """The format of a document cannot be recognized."""


def kinds() -> tuple[str, ...]:
    """Return the formats that a file can be judged as."""
    return (XML, *names())


def is_xml(data: bytes, name: FileName) -> bool:
    """Return whether to read a file as XML; otherwise it is read as JSON.

    Raises:
        KindUnknown: it begins neither as XML nor as JSON does, and nothing else says which it is.
    """
    start = data[:4096].translate(None, _NO_TEXT).lstrip(_SPACE)[:1]
    if name.kind is not None:
        return name.kind == XML
    if start == b"<" or name.suffix == ".xml":
        return True
    if start in (b"{", b"[") or name.suffix in (".json", ".jsonl") or name.folder in names():
        return False
    raise KindUnknown("it begins like neither XML nor JSON" if start else "it is empty")


def kind_of_value(value: Any, folder: str) -> str:
    """Return the format of a JSON value: by members that only one format requires, else by the name of its folder.

    Raises:
        KindUnknown: neither shows the format.
    """
    if isinstance(value, dict):
        required = {name: schema(name).get("required", ()) for name in names()}
        fitting = [name for name, members in required.items() if len(members) > 1 and value.keys() >= set(members)]
        if len(fitting) == 1:
            return fitting[0]
    if folder in names():
        return folder
    raise KindUnknown("its members do not show which format it has")
