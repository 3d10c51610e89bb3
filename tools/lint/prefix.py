"""The prefix of the names that XMCP adds to MCP: the files that spell it, and the one command that changes it.

    python -m tools.lint.prefix                          exit 1 if another file spells it, or one of the list does not
    python -m tools.lint.prefix org.example/ --owned     write the prefix of a domain of the owners everywhere
    python -m tools.lint.prefix --release                exit 1 while nobody owns the prefix

It stands in `schemas/names.json`. Code takes it from what is generated from that; text and examples have to spell it.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).parents[2]
NAMES: Final = Path("schemas", "names.json")

SPELLED_IN: Final = (
    "schemas/names.json",
    "schemas/examples/valid/call_tool_result/*.json",
    "spec/12-on-one-page.md",
    "spec/05-tool-metadata.md",
    "spec/06-mcp-binding.md",
    "spec/requirements.yaml",
    "conformance/tests/unseen/desk.py",
    "docs/guides/from-fastmcp.md",
    "docs/guides/level-1.md",
    "docs/guides/server.md",
    "docs/guides/tutorial.md",
    "examples/level1/go/xmcp.go",
    "examples/level1/python/server.py",
    "examples/level1/typescript/server.*",
    "examples/level1/typescript/xmcp.ts",
    "reference/web/src/view/tables.generated.ts",
    "reference/xmcp/render/web/mcp_app.html",
    "tools/interop/expected_differences.json",
)
"""Every file that spells the prefix, as patterns."""

NOT_OURS: Final = "dev.x" + "mcp"
"""A prefix that earlier drafts had. Its domain is somebody else's."""

_ELSEWHERE: Final = frozenset({"generated", "dist", "site", "node_modules", "CHANGELOG.md"})
"""What is written by other programs, and the record of what the prefix was."""
_PREFIX: Final = re.compile(r"(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+[a-z0-9](?:[a-z0-9-]*[a-z0-9])?/")


def faults(root: Path) -> Iterator[str]:
    """Yield a line for each file that spells the prefix and is not listed, and for each that is and does not."""
    prefix = _names(root)["prefix"].rstrip("/")
    listed = {path for pattern in SPELLED_IN for path in root.glob(pattern)}
    for pattern in SPELLED_IN:
        if not any(prefix in _text(path) for path in root.glob(pattern)):
            yield f"{pattern}: does not spell the prefix; remove it from SPELLED_IN in tools/lint/prefix.py"
    for path in _files(root):
        text, name = _text(path), path.relative_to(root).as_posix()
        if NOT_OURS in text:
            yield f"{name}: {NOT_OURS} is the prefix of somebody else"
        if prefix in text and path not in listed:
            yield f"{name}: spells the prefix; take it from the generated constants, or add the file to SPELLED_IN"


def rewrite(root: Path, new: str, *, owned: bool) -> None:
    """Write the prefix `new` into every file of the list.

    Raises:
        ValueError: It is no reversed domain name with a slash at its end.
    """
    if not _PREFIX.fullmatch(new):
        raise ValueError(f"{new!r} is no prefix; it must be a reversed domain name and a slash, such as 'org.example/'")
    old = _names(root)["prefix"]
    for path in {path for pattern in SPELLED_IN for path in root.glob(pattern)}:
        text = path.read_text(encoding="utf-8")
        path.write_text(text.replace(old.rstrip("/"), new.rstrip("/")), encoding="utf-8")
    path = root / NAMES
    text = re.sub(r'"owned": (?:true|false)', f'"owned": {json.dumps(owned)}', path.read_text(encoding="utf-8"))
    path.write_text(text, encoding="utf-8")


def is_owned(root: Path) -> bool:
    """Tell whether the owners of this project own the domain of the prefix."""
    return _names(root)["owned"] is True


def _names(root: Path) -> dict[str, Any]:
    names: dict[str, Any] = json.loads((root / NAMES).read_text(encoding="utf-8"))
    return names


def _files(root: Path) -> Iterator[Path]:
    for top in sorted(root.iterdir()):
        if top.name in _ELSEWHERE or (top.name.startswith(".") and top.name != ".ci"):
            continue
        paths = sorted(top.rglob("*")) if top.is_dir() else [top]
        yield from (path for path in paths if path.is_file() and "__pycache__" not in path.parts)


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace")


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.lint.prefix", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("new", nargs="?", metavar="PREFIX", help="the new prefix, with the slash at its end")
    parser.add_argument("--owned", action="store_true", help="the owners of this project own the new prefix")
    parser.add_argument("--release", action="store_true", help="fail while nobody owns the prefix")
    arguments = parser.parse_args()
    if arguments.new is not None:
        try:
            rewrite(ROOT, arguments.new, owned=arguments.owned)
        except ValueError as error:
            parser.error(str(error))
        for command in (["tools.generate"], ["tools.lint.spec_lint", "--accept"], ["tools.generate"]):
            subprocess.run([sys.executable, "-m", *command], cwd=ROOT, check=True)
    if found := list(faults(ROOT)):
        sys.exit("\n".join(found))
    if arguments.release and not is_owned(ROOT):
        sys.exit(
            f"No release: nobody owns the prefix {_names(ROOT)['prefix']} yet, and a released prefix is for ever. "
            "Choose one of a domain that the owners have: python -m tools.lint.prefix PREFIX --owned"
        )


if __name__ == "__main__":
    main()
