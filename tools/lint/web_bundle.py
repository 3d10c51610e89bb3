"""Compare the files of `<xmcp-display>` that the wheel ships with what their sources in reference/web give.

    python -m tools.lint.web_bundle            compiles and builds the sources, and compares
    python -m tools.lint.web_bundle --write    writes the files

The same sources and packages give the same bytes, so that a changed source beside an old file is told.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from tools import ROOT
from tools.node_packages import Packages, node

SOURCES = ROOT / "reference" / "web"
BUILT = ROOT / "reference" / "xmcp" / "render" / "web"
FILES = ("xmcp_display.js", "mcp_app.html", "THIRD_PARTY_NOTICES")
PACKAGES = Packages(SOURCES, "They build the element that draws displays in pages.")


def compiled() -> None:
    """Check the types of the sources.

    Raises:
        SystemExit: the compiler found a fault; its words are the message.
    """
    _run("tsc", PACKAGES.script("typescript/bin/tsc"), "-p", str(SOURCES))


def build(folder: Path) -> None:
    """Write the files into a folder.

    Raises:
        SystemExit: they cannot be built; the message says why.
    """
    _run("esbuild", str(SOURCES / "build.mjs"), "--out", str(folder))


def stale(folder: Path) -> list[str]:
    """Return the names of the shipped files that are not those of a folder."""
    return [name for name in FILES if (BUILT / name).read_bytes() != (folder / name).read_bytes()]


def _run(name: str, *arguments: str) -> None:
    done: subprocess.CompletedProcess[str] = node(*arguments, cwd=SOURCES, timeout=300)
    if done.returncode:
        sys.exit(f"{name} failed:\n{done.stdout}{done.stderr}")


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.lint.web_bundle",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--write", action="store_true", help="write the files")
    arguments = parser.parse_args()
    PACKAGES.install()
    compiled()
    if arguments.write:
        build(BUILT)
        return
    with tempfile.TemporaryDirectory() as folder:
        build(Path(folder))
        if names := ", ".join(stale(Path(folder))):
            sys.exit(f"Not what reference/web gives: {names}. Run `python -m tools.lint.web_bundle --write`.")


if __name__ == "__main__":
    main()
