"""llm: its command line, with a model of extra-openai-models.yaml; what it shows is what a person sees."""

import asyncio
import json
import os
import re
import sys
import tempfile
from pathlib import Path

import loop

PROGRAM = Path(sys.executable).with_name("llm")
FUNCTION = 'def my_clock() -> str:\n    "Return the time."\n    return "noon"\n'


def configure(folder, asked):
    """Write the model and its key into the folder of the program."""
    listed = {
        "model_id": "m",
        "model_name": asked["model"],
        "api_base": asked["url"],
        "api_key_name": "xmcp",  # without it no key is sent, whatever `--key` says
        "supports_tools": True,
        "supports_schema": True,
    }
    Path(folder, "extra-openai-models.yaml").write_text(json.dumps([listed]))  # JSON is YAML
    Path(folder, "keys.json").write_text(json.dumps({"xmcp": asked["key"]}))


async def chat(asked, question, told):
    """Have one chat."""
    with tempfile.TemporaryDirectory() as folder:
        configure(folder, asked)
        words = ["-m", "m", "--usage", "--no-log"]
        words += [] if asked["stream"] else ["--no-stream"]
        words += ["--functions", FUNCTION, "--td"] if asked["does"] == "own tools" else []
        words += ["--schema", "sum int"] if asked["does"] == "structured" else []
        out, err, code = await run(folder, [*words, question])
    told["text"] = out.removesuffix("\n")
    if asked["does"] == "structured" and not code:
        told["text"] = json.dumps(json.loads(out), separators=(",", ":"))
    told["ran"] = re.findall(r"Tool call: (\w+)", err)
    if used := re.search(r"Token usage: ([\d,]+) input, ([\d,]+) output", err):
        told["usage"] = [int(number.replace(",", "")) for number in used.groups()]
    if code:
        status = re.search(r"Error code: (\d+)", err)
        error = {"type": f"exit code {code}", "status": int(status[1]) if status else None, "text": err}
        told["error"] = error


async def run(folder, words):
    """Return what the program writes to its two outputs, and its exit code."""
    pipe = asyncio.subprocess.PIPE
    environment = {**os.environ, "LLM_USER_PATH": folder}
    # Without an end of its standard input it would wait for more of the question there.
    process = await asyncio.create_subprocess_exec(
        PROGRAM, *words, stdin=asyncio.subprocess.DEVNULL, stdout=pipe, stderr=pipe, env=environment
    )
    try:
        out, err = await asyncio.wait_for(process.communicate(), 60)
    finally:
        if process.returncode is None:
            process.kill()
    return out.decode(), err.decode(), process.returncode


loop.serve(chat)
