"""The programs of `examples/`, which are in no package, and what a model asks of their server of displays."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from support.scripted_model import ChatServer, Reply

ROOT = Path(__file__).resolve().parents[3]
EXAMPLES = ROOT / "examples"
SERVE = f"{sys.executable} -m xmcp serve {EXAMPLES / 'display_server.py'} --transport stdio"
MARKUP = "<img src=x onerror=\"document.title='broken'\">"
"""A text that a page which takes it for HTML would run."""


def program(path: Path) -> ModuleType:
    """Import a program."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(path.parent))  # as Python does for a program; the page's has a module beside it
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(path.parent))
    return module


def shows(server: ChatServer, name: str, **arguments: Any) -> Reply:
    """Return an answer of the model: a text, and a call with these arguments."""
    return server.reply.streamed("Here: ", [("c0", name, json.dumps(arguments))])


def events_in(stream: str) -> list[dict[str, Any]]:
    """Return the events in a response of server-sent events."""
    return [json.loads(line.removeprefix("data: ")) for line in stream.splitlines() if line.startswith("data: ")]
