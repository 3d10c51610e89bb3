"""Write the wire vectors and the examples of schemas/ into one file that needs no checkout and no Python.

`xmcp bindings --lang vectors` copies the same files from generated/vectors, with their schemas and instructions.

    python -m tools.generate.export_vectors              write dist/xmcp-vectors-<version>.json and its .sha256
    python -m tools.generate.export_vectors --out DIR    write them to the folder DIR

`sha256sum -c xmcp-vectors-<version>.json.sha256` checks the file. The same checkout always gives the same bytes.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import yaml

from tools import ROOT
from xmcp_conformance.profiles.codec.vector_checks import Refused, Response
from xmcp_conformance.wrong.codecs.miniature_codec import MiniatureCodec

FOLDER = ROOT / "conformance" / "vectors"
VECTORS = FOLDER / "wire.json"
DESCRIPTION = ("README.md", "export.schema.json", "wire.schema.json")
"""Files of FOLDER that say what the file is and how to run it."""
EXAMPLES = ROOT / "schemas" / "examples"
_DEFAULTS = {"version": "1.0", "truncated": False, "lossy": False}
REGISTRY = ROOT / "spec" / "requirements.yaml"


def reading(document: bytes) -> dict[str, Any]:
    """Return what a reader that follows the specification does with a document, as members of an example.

    `reads` says whether it accepts the document; `response` is what it then delivers, in the form of the vectors, and
    `error` the class of the fault otherwise.
    """
    try:
        response, _ = MiniatureCodec().decode(document)
    except Refused as refusal:
        return {"reads": False, "error": refusal.error_class}
    return {"reads": True, "response": _without_defaults(response)}


def _without_defaults(response: Response) -> Response:
    """Return a response without the members that have their default, as the vectors write it."""
    if error := response.get("error"):
        response = response | {"error": {name: value for name, value in error.items() if value is not None}}
    return {name: value for name, value in response.items() if value != _DEFAULTS.get(name)}


def examples(root: Path) -> list[dict[str, Any]]:
    """Return the files of `valid/<kind>/` and `invalid/<kind>/` below `root`, sorted by path."""
    return [
        {
            "kind": path.parent.name,
            "name": path.stem,
            "valid": path.parent.parent.name == "valid",
            **(reading(path.read_bytes()) if path.suffix == ".xml" else {}),
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


def describe(out: Path) -> None:
    """Copy the schemas of the file and the instructions to the folder `out`."""
    for name in DESCRIPTION:
        shutil.copy(FOLDER / name, out)


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.generate.export_vectors",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--out", type=Path, default=ROOT / "dist", metavar="DIR", help="folder to write to (dist/)")
    parser.add_argument("--described", action="store_true", help="write the schemas and the instructions too")
    arguments = parser.parse_args()
    path = write(arguments.out)
    if arguments.described:
        describe(arguments.out)
    print(f"{path}\n{path}.sha256")


if __name__ == "__main__":
    main()
