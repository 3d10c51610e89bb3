"""The Gemini CLI as a stand-in: run as a program, with the name of the folder that says what it does.

`script.json` there is a list of what it is to do, one for each run, the last one for all further ones; what it was
asked goes to `asked-N.json`, and the process ids of a run that hangs to `pids-N.json`. Needs only the standard library.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

NOISE = "Loaded cached credentials."


def main(folder: Path, arguments: list[str]) -> int:
    """Answer once."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--output-format", choices=["text", "json", "stream-json"], required=True)
    parser.add_argument("--extensions", required=True)
    parser.add_argument("--allowed-mcp-server-names", required=True)
    parser.add_argument("--model", default="auto")
    options = parser.parse_args(arguments)
    assert options.output_format == "stream-json"
    if os.environ.get("GEMINI_CLI_TRUST_WORKSPACE") != "true":
        sys.stderr.write("\x1b[31mGemini CLI is not running in a trusted directory.\x1b[0m\n")
        return 55
    number = _number(folder)
    script = json.loads((folder / "script.json").read_text("utf-8"))
    act = script[min(number, len(script) - 1)]
    if act.get("hangs"):
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
        (folder / f"new-{number}").write_text(json.dumps([os.getpid(), child.pid]))
        (folder / f"new-{number}").rename(folder / f"pids-{number}.json")
    if not act.get("reads", True):
        return _act(act, folder, number, options.model, "")
    prompt = sys.stdin.buffer.read().decode()
    assert prompt
    assert not prompt.startswith("/"), "a command"
    assert "@" not in prompt, "a file to read"
    asked = {
        "model": options.model,
        "system": Path(os.environ["GEMINI_SYSTEM_MD"]).read_text("utf-8"),
        "prompt": prompt,
        "directory": os.getcwd(),
        "settings": json.loads(Path(".gemini/settings.json").read_text("utf-8")),
        "files": sorted(os.listdir(".")),
        "temporary": os.environ["TMPDIR"],
    }
    written = folder / f"begun-{number}"
    written.write_text(json.dumps(asked), "utf-8")
    written.rename(folder / f"asked-{number}.json")
    return _act(act, folder, number, options.model, prompt)


def _number(folder: Path) -> int:
    number = 0
    while True:
        try:
            os.close(os.open(folder / f"run-{number}", os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            number += 1
        else:
            return number


def _act(act: dict[str, Any], folder: Path, number: int, model: str, prompt: str) -> int:
    sys.stderr.write(act.get("stderr", "Ripgrep is not available. Falling back to GrepTool.\n"))
    sys.stderr.flush()
    if "raw" in act:
        _out(act["raw"] * act.get("times", 1))
    if act.get("sleeper"):
        # Another process has the same output, as a server that the CLI has started.
        subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    if "text" in act:
        _out(f"{NOISE}\n")
        _say("init", session_id="s", model=model)
        _say("message", role="user", content=prompt)
        for piece in act["text"]:
            _say("message", role="assistant", content=piece, delta=True)
    if act.get("hangs"):
        time.sleep(60)
    if act.get("dies"):
        sys.stdout.flush()
        os.kill(os.getpid(), signal.SIGKILL)
    if "result" in act:
        _say("result", **act["result"])
    if act.get("lingers"):
        time.sleep(60)
    return int(act.get("code", 0))


def _say(kind: str, **members: Any) -> None:
    _out(json.dumps({"type": kind, "timestamp": "2026-11-29T04:24:52.903Z", **members}, ensure_ascii=False) + "\n")


def _out(text: str) -> None:
    sys.stdout.buffer.write(text.encode("utf-8", "surrogatepass"))
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))
