"""Codex: `codex exec`, one process for each chat, with a configuration of its own in a temporary folder.

It runs in this repository's environment; the fourth argument is the program.
"""

import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

SECONDS = 120.0


def main(server, model_url, names, program):
    """Run one chat for each tool."""
    with tempfile.TemporaryDirectory() as home, tempfile.TemporaryDirectory() as work:
        provider = f'name = "stand-in"\nbase_url = {json.dumps(model_url)}\nwire_api = "responses"\n'
        Path(home, "config.toml").write_text(
            'model = "gpt-5"\nmodel_provider = "standin"\n'
            f"[model_providers.standin]\n{provider}[mcp_servers.cases]\nurl = {json.dumps(server)}\n"
        )
        environment = {**os.environ, "CODEX_HOME": home}
        options = ["exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "-C", work]

        def chat(name):
            done = subprocess.run(
                [program, *options, f"#call {name}"],
                env=environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=SECONDS,
                check=False,
            )
            if done.returncode:
                print(f"{name}: {done.stderr.strip()[-300:]}", flush=True)

        with ThreadPoolExecutor(2) as pool:
            list(pool.map(chat, names))


if __name__ == "__main__":
    main(*map(json.loads, sys.argv[1:]))
