"""Gemini CLI: one process for each chat, with a home of its own.

It runs in this repository's environment; the fourth argument is the program.
"""

import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

SECONDS = 180.0


def main(server, model_url, names, program):
    """Run one chat for each tool."""
    settings = {
        "mcpServers": {"cases": {"httpUrl": server, "trust": True, "timeout": 60000}},
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "telemetry": {"enabled": False},
        "privacy": {"usageStatisticsEnabled": False},
        "general": {"disableAutoUpdate": True, "enableAutoUpdate": False},
    }

    def chat(name):
        with tempfile.TemporaryDirectory() as home:
            Path(home, ".gemini").mkdir()
            Path(home, ".gemini", "settings.json").write_text(json.dumps(settings))
            environment = {
                "PATH": os.environ["PATH"],
                "HOME": home,
                "GEMINI_API_KEY": "none",
                "GOOGLE_GEMINI_BASE_URL": model_url.removesuffix("/v1"),
                "GEMINI_CLI_TRUST_WORKSPACE": "true",
            }
            done = subprocess.run(
                [program, "--approval-mode", "yolo", "-m", "gemini-2.5-flash", "-p", f"#call {name}"],
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
