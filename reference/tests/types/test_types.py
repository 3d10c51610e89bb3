"""What users of the package see of its types: mypy and pyright agree with the guide and with every public name.

Pyright comes as `basedpyright`, a wheel that holds its JavaScript and runs with the Node.js of another wheel; the
package `pyright` downloads what it runs. In the mode `strict` the two have the same rules.
"""

from __future__ import annotations

import ast
import importlib
import json
import re
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
MODULES = (
    *("xmcp", "xmcp.client", "xmcp.providers", "xmcp.render", "xmcp.render.notebook", "xmcp.storage", "xmcp.testing"),
    "xmcp.gateway.audit",
    "xmcp.xml_formatters",
)

Faults = set[tuple[str, int]]
"""The files and lines of faults."""

SURROUNDINGS = """\
from collections.abc import Callable
from typing import Any

from xmcp import AIClient, DisplayEnvelope


async def example(
    ai: AIClient, query: str, history: list[dict[str, Any]], show: Callable[[DisplayEnvelope], None]
) -> list[dict[str, Any]]:
"""


def streaming_example() -> str:
    """The example of the guide, in a function with what it takes for granted."""
    guide = (ROOT / "docs/guides/client.md").read_text(encoding="utf-8")
    _, _, section = guide.partition("\n## Streaming\n")
    code = re.search(r"```python\n(.*?)```", section, re.DOTALL)
    assert code is not None
    return SURROUNDINGS + textwrap.indent(code[1] + "return history\n", "    ")


def mypy(folder: Path) -> tuple[Faults, str]:
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", "--no-error-summary", "."]
    cache = ["--cache-dir", str(ROOT / ".mypy_cache" / "users")]
    done = subprocess.run([*command, *cache], cwd=folder, capture_output=True, text=True, timeout=600)
    lines = re.findall(r"^(\w+\.py):(\d+): error", done.stdout, re.MULTILINE)
    assert done.returncode == (1 if lines else 0), done.stdout + done.stderr
    return {(file, int(line)) for file, line in lines}, done.stdout


def pyright(folder: Path) -> tuple[Faults, str]:
    # A `match` that leaves out events is what readers of events write: new kinds are to be ignored.
    settings = {"typeCheckingMode": "strict", "reportMatchNotExhaustive": False, "include": ["."]}
    (folder / "pyrightconfig.json").write_text(json.dumps(settings))
    command = [sys.executable, "-m", "basedpyright", "--pythonpath", sys.executable, "--outputjson"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=600)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    report = json.loads(done.stdout)
    assert report["summary"]["filesAnalyzed"] == len([*folder.glob("*.py")])
    faults = report["generalDiagnostics"]
    return {(Path(one["file"]).name, one["range"]["start"]["line"] + 1) for one in faults}, json.dumps(faults, indent=1)


@pytest.mark.slow
@pytest.mark.timeout(1200)  # without a cache mypy reads FastMCP and the SDKs, which takes half a minute of a processor
@pytest.mark.parametrize("checker", [mypy, pyright], ids=lambda checker: checker.__name__)
def test_a_type_checker_agrees_with_the_guide_and_every_public_name_and_finds_the_mistakes(
    checker: Callable[[Path], tuple[Faults, str]], tmp_path: Path
) -> None:
    (tmp_path / "guide.py").write_text(streaming_example(), encoding="utf-8")
    for name in ("public_names.py", "mistakes.py"):
        (tmp_path / name).write_bytes((HERE / name).read_bytes())
    lines = (HERE / "mistakes.py").read_text(encoding="utf-8").splitlines()
    mistakes = {("mistakes.py", number) for number, line in enumerate(lines, 1) if line.endswith("# error")}
    faults, report = checker(tmp_path)
    assert faults == mistakes, report


def test_the_program_uses_every_public_name() -> None:
    tree = ast.parse((HERE / "public_names.py").read_text(encoding="utf-8"))
    imported = {
        (node.module, alias.name)
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module
        for alias in node.names
    }
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    homes: dict[str, set[str]] = {}
    for module in MODULES:
        for name in importlib.import_module(module).__all__:
            homes.setdefault(name, set()).add(module)
    missing = {name for name, modules in homes.items() if not any((module, name) in imported for module in modules)}
    assert missing == set(), "the program does not import these"
    assert set(homes) - used == set(), "the program does not use these"
