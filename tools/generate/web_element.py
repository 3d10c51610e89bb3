"""Build the custom element `<xmcp-display>` from reference/web into the package that the wheel ships.

    python -m tools.generate.web_element            # after a change in reference/web
    python -m tools.generate.web_element --check    # fail if the built files are not those of the sources

The built files are committed, so that nobody who installs the package needs Node.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from tools import ROOT
from tools.node_packages import Packages, node

SOURCES = ROOT / "reference" / "web"
BUILT = ROOT / "reference" / "xmcp" / "render" / "web"
PURPOSE = "They build and check the custom element <xmcp-display>."


def check_types(sources: Path = SOURCES) -> None:
    """Compile the sources under `tsc --strict`, without output.

    Raises:
        SystemExit: They do not compile; the message is that of the compiler.
    """
    done = node(str(sources / "node_modules" / "typescript" / "bin" / "tsc"), "-p", ".", cwd=sources)
    if done.returncode:
        sys.exit(f"The sources of the web element do not compile:\n{done.stdout}{done.stderr}")


def build(out: Path, sources: Path = SOURCES) -> None:
    """Build the files of the package into the folder `out`.

    Raises:
        SystemExit: The sources cannot be built; the message is that of esbuild.
    """
    done = node("build.mjs", "--out", str(out), cwd=sources)
    if done.returncode:
        sys.exit(f"The web element cannot be built:\n{done.stdout}{done.stderr}")


def outdated(sources: Path = SOURCES) -> list[str]:
    """Return the names of the committed files that are not what these sources build."""
    with tempfile.TemporaryDirectory() as folder:
        build(Path(folder), sources)
        return [path.name for path in sorted(Path(folder).iterdir()) if not _is_committed(path)]


def _is_committed(built: Path) -> bool:
    committed = BUILT / built.name
    return committed.is_file() and committed.read_bytes() == built.read_bytes()


def main(arguments: list[str]) -> None:
    """Build the files, or with `--check` compare them."""
    Packages(SOURCES, PURPOSE).install()
    check_types()
    if arguments == ["--check"]:
        if old := outdated():
            sys.exit(f"Not what reference/web builds: {', '.join(old)}. Run `uv run nox -s web_element`.")
    elif arguments:
        sys.exit(f"`--check` or nothing, not `{' '.join(arguments)}`")
    else:
        build(BUILT)


if __name__ == "__main__":
    main(sys.argv[1:])
