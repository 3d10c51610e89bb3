"""An installed wheel has what a checkout has: `xmcp bindings` writes the same files from both."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tools import ROOT
from xmcp.cli.type_bindings import LANGUAGES

RUN = """
import sys
sys.path.insert(0, sys.argv.pop(1))
import xmcp.cli, xmcp_models
print(xmcp.cli.__file__, xmcp_models.__file__)
xmcp.cli.main()
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the content of a wheel that was just built, as in site-packages."""
    out = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(out)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, timeout=300)
    [wheel] = out.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(out / "installed")
    return out / "installed"


def bindings(root: Path, language: str, out: Path) -> dict[str, bytes]:
    command = [sys.executable, "-c", RUN, str(root), "bindings", "--lang", language, "--out", str(out)]
    done = subprocess.run(command, cwd=out.parent, check=True, capture_output=True, text=True, timeout=300)
    modules = [Path(path) for path in done.stdout.splitlines()[0].split()]
    assert all(path.is_relative_to(root) for path in modules)
    return {path.relative_to(out).as_posix(): path.read_bytes() for path in out.rglob("*") if path.is_file()}


@pytest.mark.slow
@pytest.mark.parametrize("language", LANGUAGES)
def test_bindings_from_a_wheel_are_those_of_the_checkout(installed: Path, tmp_path: Path, language: str) -> None:
    from_checkout = bindings(ROOT, language, tmp_path / "checkout")
    assert bindings(installed, language, tmp_path / "wheel") == from_checkout
    assert from_checkout


@pytest.mark.slow
def test_a_wheel_holds_what_a_web_page_loads(installed: Path) -> None:
    code = "import sys; sys.path.insert(0, sys.argv[1]); from xmcp.render.web import SCRIPT; print(SCRIPT)"
    command = [sys.executable, "-c", code, str(installed)]
    done = subprocess.run(command, cwd=installed.parent, check=True, capture_output=True, text=True, timeout=60)
    script = Path(done.stdout.strip())
    assert script == installed / "xmcp" / "render" / "web" / "xmcp_display.js"
    assert script.read_bytes() == (ROOT / "reference" / "xmcp" / "render" / "web" / "xmcp_display.js").read_bytes()
    beside = ("THIRD_PARTY_NOTICES", "xmcp_display_vega.js", "xmcp_display_vega_worker.js")
    assert all(script.with_name(name).is_file() for name in beside)


@pytest.mark.slow
def test_a_wheel_holds_the_packages_and_nothing_else(installed: Path) -> None:
    packages = {path.name for path in installed.iterdir() if not path.name.endswith(".dist-info")}
    assert packages == {"xmcp", "xmcp_models", "xmcp_conformance"}
    assert not list(installed.rglob("tests"))
