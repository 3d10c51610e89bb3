"""Checksums of every file of a version of the specification: chapters, schemas, registries, examples, vectors.

`sha256sum -c spec/SHA256SUMS` at the root of the repository checks them. spec_lint.py compares them too, so that no
normative file changes or disappears unnoticed; with `--accept` it writes them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

MANIFEST = Path("spec", "SHA256SUMS")
_PARTS = (
    "spec/*.md",
    "spec/*.yaml",
    "schemas/**/*.xsd",
    "schemas/**/*.json",
    "schemas/**/*.xml",
    "conformance/vectors/*.json",
)


def checksums(root: Path) -> dict[str, str]:
    """Return the SHA-256 of each file in hexadecimal, by its path relative to `root`, sorted by path."""
    paths = {path for part in _PARTS for path in root.glob(part)}
    return {
        path.relative_to(root).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(paths, key=lambda path: path.relative_to(root).as_posix())
    }


def write(root: Path) -> None:
    """Write the manifest for the files as they are now."""
    lines = [f"{checksum}  {name}\n" for name, checksum in checksums(root).items()]
    (root / MANIFEST).write_text("".join(lines), encoding="utf-8")


def faults(root: Path) -> Iterator[str]:
    """Yield a line for each file that differs from the manifest."""
    lines = (root / MANIFEST).read_text(encoding="utf-8").splitlines()
    listed = {name: checksum for checksum, name in (line.split("  ", 1) for line in lines)}
    found = checksums(root)
    for name in sorted(listed.keys() | found.keys()):
        if name not in found:
            yield f"{name}: is listed in {MANIFEST}, but does not exist"
        elif name not in listed:
            yield f"{name}: exists, but is not listed in {MANIFEST}"
        elif listed[name] != found[name]:
            yield f"{name}: differs from its checksum in {MANIFEST}"
