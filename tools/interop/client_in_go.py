"""Build the adapter in Go of `examples/client_adapter`, and let the suite drive the small client in it.

    python -m tools.interop.client_in_go --go PATH     PATH is the `go` command

Exits with 1 if it cannot be built, or breaks something in the scenario that its client, which knows no tools, can do.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

ADAPTER: Final = Path(__file__).parents[2] / "examples" / "client_adapter" / "adapter.go"
SCENARIO: Final = "a plain answer to an earlier conversation"


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m tools.interop.client_in_go")
    parser.add_argument("--go", required=True, help="the `go` command")
    go = parser.parse_args().go
    with tempfile.TemporaryDirectory() as scratch:
        program, path = Path(scratch, "adapter"), Path(scratch, "report.json")
        # Offline: the program has no dependency, and `go` would look for a newer toolchain.
        environment = {**os.environ, "GOTOOLCHAIN": "local", "GOPROXY": "off"}
        built = subprocess.run([go, "build", "-o", str(program), str(ADAPTER)], env=environment)
        if built.returncode:
            sys.exit(f"{ADAPTER.name} cannot be built")
        suite = [
            sys.executable,
            "-m",
            "xmcp",
            "check",
            "client",
            str(program),
            "--scenario",
            SCENARIO,
            "--json",
            str(path),
        ]
        done = subprocess.run(suite, capture_output=True, text=True)
        report = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    statuses = [row["status"] for row in report.get("requirements", ())]
    if done.returncode or "pass" not in statuses:
        sys.exit(f"{ADAPTER.name} is not right:\n{done.stdout}{done.stderr}")
    print(f"✓ {ADAPTER.name}: {statuses.count('pass')} sentences obeyed in {SCENARIO}")


if __name__ == "__main__":
    main()
