"""opencode: `opencode run`, one process for each chat, with a configuration and a home of its own.

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
MODALITIES = {"input": ["text", "image"], "output": ["text"]}


def main(server, model_url, names, program):
    """Run one chat for each tool."""
    configuration = {
        "provider": {
            "standin": {
                "npm": "@ai-sdk/openai-compatible",
                "options": {"baseURL": model_url, "apiKey": "none"},
                "models": {
                    "scripted": {"name": "scripted", "tool_call": True, "attachment": True, "modalities": MODALITIES}
                },
            }
        },
        "mcp": {"cases": {"type": "remote", "url": server, "enabled": True}},
        "permission": "allow",
        "autoupdate": False,
        "share": "disabled",
    }

    def chat(name):
        with tempfile.TemporaryDirectory() as home:
            Path(home, "opencode.json").write_text(json.dumps(configuration))
            environment = {
                "PATH": os.environ["PATH"],
                "HOME": home,
                "OPENCODE_CONFIG": str(Path(home, "opencode.json")),
                "OPENCODE_DISABLE_MODELS_FETCH": "1",
            }
            done = subprocess.run(
                [program, "run", "-m", "standin/scripted", f"#call {name}"],
                cwd=home,
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
