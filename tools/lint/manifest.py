"""What a version of the specification consists of, by checksum: chapters, schemas, registries, examples, vectors.

`spec/SHA256SUMS` is what `sha256sum -c` reads, run at the root of the repository. spec_lint.py compares, so that
nothing normative changes or goes without being looked at, and writes it with `--accept`.
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
    """SHA-256 in hexadecimal by path from `root`, in the order of the paths."""
    paths = {path for part in _PARTS for path in root.glob(part)}
    return {
        path.relative_to(root).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(paths, key=lambda path: path.relative_to(root).as_posix())
    }


def write(root: Path) -> None:
    """Take everything as it is."""
    lines = [f"{checksum}  {name}\n" for name, checksum in checksums(root).items()]
    (root / MANIFEST).write_text("".join(lines), encoding="utf-8")


def faults(root: Path) -> Iterator[str]:
    """What is not as the manifest has it, a line each."""
    lines = (root / MANIFEST).read_text(encoding="utf-8").splitlines()
    listed = {name: checksum for checksum, name in (line.split("  ", 1) for line in lines)}
    found = checksums(root)
    for name in sorted(listed.keys() | found.keys()):
        if name not in found:
            yield f"{name}: is in {MANIFEST} and gone"
        elif name not in listed:
            yield f"{name}: is not in {MANIFEST}"
        elif listed[name] != found[name]:
            yield f"{name}: is not as {MANIFEST} has it"
