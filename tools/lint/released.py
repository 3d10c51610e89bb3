"""What counts in each released version of the specification: written once, when it is released, and never changed.

python -m tools.lint.released     add the version of the registry, with the sentences that are verified today; once
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import yaml

from tools import ROOT

RELEASED: Final = Path("spec", "released.yaml")
Released = Mapping[str, list[str]]
"""The ids that count, by version."""


def read(root: Path = ROOT) -> Released:
    """Return what counts in each released version."""
    found: Released = yaml.safe_load((root / RELEASED).read_text(encoding="utf-8"))
    return found


def later(version: str, entries: Iterable[Mapping[str, Any]], released: Released) -> set[str]:
    """Return the ids whose check came after the release of a version; none while it is not released."""
    if version not in released:
        return set()
    return _verified(entries) - set(released[version])


def faults(entries: Iterable[Mapping[str, Any]], released: Released) -> Iterator[str]:
    """Yield a line for each sentence that counts in a released version and is verified by nothing any more."""
    verified = _verified(entries)
    for version, ids in released.items():
        for id_ in ids:
            if id_ not in verified:
                yield f"{id_}: it counts in the released version {version}, and nothing verifies it any more"


def with_version(text: str, version: str, entries: Iterable[Mapping[str, Any]]) -> str:
    """Return the text of the file with a version more.

    Raises:
        ValueError: the version is a draft, or is there.
    """
    released = yaml.safe_load(text)
    if version in released or version.endswith("draft"):
        raise ValueError(f"{version} is {'released' if version in released else 'a draft'}")
    head = "".join(line for line in text.splitlines(keepends=True) if line.startswith("#"))
    return head + yaml.safe_dump({**released, version: sorted(_verified(entries))}, sort_keys=False)


def _verified(entries: Iterable[Mapping[str, Any]]) -> set[str]:
    return {entry["id"] for entry in entries if entry.get("verified_by")}


def main() -> None:
    """Command line."""
    registry = yaml.safe_load((ROOT / "spec" / "requirements.yaml").read_text(encoding="utf-8"))
    path = ROOT / RELEASED
    if registry["version"] in read():
        print(f"{registry['version']} is in {RELEASED} already: what counts in it stays")
        return
    try:
        text = with_version(path.read_text(encoding="utf-8"), registry["version"], registry["requirements"])
    except ValueError as error:
        sys.exit(f"nothing is added to {RELEASED}: {error}")
    path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
