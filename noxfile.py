"""Every check of this repository, by name. `uv run nox` runs all of them but `bench` and `mcp_conformance`.

The sessions use the environment that `uv run` made: one environment, installed once.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import nox

# The sessions find the programs of the environment that nox itself runs in, activated or not.
os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"

nox.options.default_venv_backend = "none"
nox.options.sessions = ["lint", "types", "generate_check", "typescript", "spec", "docs", "conformance", "tests"]


@nox.session
def tests(session: nox.Session) -> None:
    """Tests of the reference implementation, the suite and the tools; arguments go to pytest."""
    session.run("pytest", "-n", "auto", "--dist", "worksteal", *session.posargs)


@nox.session
def lint(session: nox.Session) -> None:
    """Style, and who may import whom."""
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("lint-imports", "--no-cache")


@nox.session
def types(session: nox.Session) -> None:
    """mypy --strict over the three packages."""
    session.run("mypy")


@nox.session
def generate(session: nox.Session) -> None:
    """Write generated/ from schemas/ and the requirement registry."""
    session.run("python", "tools/generate.py")


@nox.session
def generate_check(session: nox.Session) -> None:
    """Fail where generated/ is not what the generators write."""
    session.run("python", "tools/generate.py", "--check")


@nox.session
def typescript(session: nox.Session) -> None:
    """Compile the generated TypeScript under --strict, and send every example through it."""
    session.run("python", "tools/typescript_check.py")


@nox.session
def spec(session: nox.Session) -> None:
    """Hold chapters, registry, checks, mutants and vectors against each other and against the manifest."""
    session.run("python", "tools/spec_lint.py")


@nox.session
def vectors(session: nox.Session) -> None:
    """Write the vectors of a release into dist/, with their checksum."""
    session.run("python", "tools/export_vectors.py", *session.posargs)


@nox.session
def docs(session: nox.Session) -> None:
    """Build the site; a broken link fails. `nox -s docs -- serve` shows it while you write."""
    environment = {"NO_MKDOCS_2_WARNING": "1"}
    if session.posargs == ["serve"]:
        session.run("mkdocs", "serve", env=environment)
    else:
        session.run("mkdocs", "build", "--strict", "--quiet", env=environment)


@nox.session
def conformance(session: nox.Session) -> None:
    """Judge the bundled sample server over stdio and HTTP, in both protocol eras."""
    session.run("xmcp", "check", *session.posargs)


@nox.session
def mcp_conformance(session: nox.Session) -> None:
    """Hold XMCP against bare FastMCP with MCP's own conformance package, and call tools with the Inspector."""
    session.run("python", "tools/mcp_conformance.py")


@nox.session
def bench(session: nox.Session) -> None:
    """Measure the codec, the server and the client against named floors in one run, as ratios."""
    session.run("python", "tools/bench.py", *session.posargs)
