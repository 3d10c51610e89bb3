"""Write the wire vectors and the examples of schemas/ into one file that needs no checkout and no Python.

    python -m tools.generate.export_vectors              write dist/xmcp-vectors-<version>.json and its .sha256
    python -m tools.generate.export_vectors --out DIR    write them to the folder DIR

`sha256sum -c xmcp-vectors-<version>.json.sha256` checks the file. The same checkout always gives the same bytes.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from pathlib import Path
from typing import Any

import yaml

from tools import ROOT
from xmcp_conformance.profiles.codec.vector_checks import Refused
from xmcp_conformance.wrong.codecs.miniature_codec import MiniatureCodec

VECTORS = ROOT / "conformance" / "vectors" / "wire.json"
EXAMPLES = ROOT / "schemas" / "examples"
REGISTRY = ROOT / "spec" / "requirements.yaml"


def reads(document: bytes) -> bool:
    """Return True if a reader that follows the specification accepts the document."""
    try:
        MiniatureCodec().decode(document)
    except Refused:
        return False
    return True


def examples(root: Path) -> list[dict[str, Any]]:
    """Return the files of `valid/<kind>/` and `invalid/<kind>/` below `root`, sorted by path."""
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
    """Return the content of the file as ASCII, so that a lone surrogate stays the escape that it is in the source."""
    content = {"format": "xmcp-vectors", "version": version, "wire": wire, "examples": shown}
    return json.dumps(content, indent=1) + "\n"


def write(out: Path) -> Path:
    """Write the file and its checksum.

    Args:
        out: The folder to write to; it is created if it does not exist.

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
    """Run the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.generate.export_vectors",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--out", type=Path, default=ROOT / "dist", metavar="DIR", help="folder to write to (dist/)")
    path = write(parser.parse_args().out)
    print(f"{path}\n{path}.sha256")


if __name__ == "__main__":
    main()
