"""Write the wire vectors and the examples of schemas/ into one file that needs no checkout and no Python.

    python tools/export_vectors.py              write dist/xmcp-vectors-<version>.json and its .sha256
    python tools/export_vectors.py --out DIR    write them there

`sha256sum -c xmcp-vectors-<version>.json.sha256` checks the file. The same checkout gives the same bytes.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from pathlib import Path
from typing import Any

import yaml

from xmcp_conformance.profiles.codec.vector_checks import Refused
from xmcp_conformance.wrong.codecs.miniature_codec import MiniatureCodec

ROOT = Path(__file__).resolve().parent.parent
VECTORS = ROOT / "conformance" / "vectors" / "wire.json"
EXAMPLES = ROOT / "schemas" / "examples"
REGISTRY = ROOT / "spec" / "requirements.yaml"


def reads(document: bytes) -> bool:
    """Whether a reader accepts a document."""
    try:
        MiniatureCodec().decode(document)
    except Refused:
        return False
    return True


def examples(root: Path) -> list[dict[str, Any]]:
    """The files of `valid/<kind>/` and `invalid/<kind>/` below `root`, in the order of their paths."""
    return [
        {
            "kind": path.parent.name,
            "name": path.stem,
            "valid": path.parent.parent.name == "valid",
            **({"reads": reads(path.read_bytes())} if path.suffix == ".xml" else {}),
            "text": path.read_bytes().decode("utf-8"),
        }
        for path in sorted(root.glob("*/*/*"), key=lambda path: path.relative_to(root).as_posix())
        if path.is_file()
    ]


def export(version: str, wire: dict[str, Any], shown: list[dict[str, Any]]) -> str:
    """The content of the file; ASCII, so that a lone surrogate stays the escape that it is."""
    content = {"format": "xmcp-vectors", "version": version, "wire": wire, "examples": shown}
    return json.dumps(content, indent=1) + "\n"


def write(out: Path) -> Path:
    """Write the file and its checksum.

    Args:
        out: the directory; it is made where it does not exist.

    Returns:
        The path of the file.
    """
    version = yaml.safe_load(REGISTRY.read_text(encoding="utf-8"))["version"]
    text = export(version, json.loads(VECTORS.read_text(encoding="utf-8")), examples(EXAMPLES)).encode("ascii")
    out.mkdir(parents=True, exist_ok=True)
    path = out / f"xmcp-vectors-{version}.json"
    path.write_bytes(text)
    checksum = f"{hashlib.sha256(text).hexdigest()}  {path.name}\n"
    path.with_name(f"{path.name}.sha256").write_bytes(checksum.encode("ascii"))
    return path


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=ROOT / "dist", metavar="DIR", help="where to write; default dist/")
    path = write(parser.parse_args().out)
    print(f"{path}\n{path}.sha256")


if __name__ == "__main__":
    main()
