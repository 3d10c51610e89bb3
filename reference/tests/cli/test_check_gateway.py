"""`xmcp check gateway`: the demo conforms, a wrong gateway is told what it breaks, and what is no gateway is said."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from click.testing import CliRunner, Result

from xmcp.cli.check import check
from xmcp_conformance.profiles.client.command.hosting import Host
from xmcp_conformance.reports import case_json, ndjson
from xmcp_conformance.wrong.gateways.chunks import IsNeverDone
from xmcp_conformance.wrong.gateways.miniature import Miniature
from xmcp_conformance.wrong.gateways.runs import RepeatsTheKeyOfTheCaller


def run(*arguments: str) -> Result:
    return CliRunner().invoke(check, ["gateway", *arguments])


@contextmanager
def served(app: Any) -> Iterator[str]:
    """Serve an application in another thread."""
    loop, host = asyncio.new_event_loop(), Host()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        asyncio.run_coroutine_threadsafe(host.serve(app), loop).result(30)
        yield host.url
        asyncio.run_coroutine_threadsafe(host.close(), loop).result(30)
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(30)
        loop.close()


def test_a_gateway_that_conforms_is_said_to_and_every_report_is_written(tmp_path: Path) -> None:
    names = ("json", "events", "html", "junit", "sarif", "markdown")
    files = {name: tmp_path / f"report.{name}" for name in names}
    options = [word for name, path in files.items() for word in (f"--{name}", str(path))]
    with served(Miniature().app) as url:
        done = run(url, *options, "--prompt", "hello")
    assert done.exit_code == 0, done.output
    assert f"a gateway by chats: {url}" in done.output
    assert "CONFORMS (14 cases)" in done.output
    assert "No run was cancelled: --long-prompt" in done.output
    report = json.loads(files["json"].read_text())
    jsonschema_rs.validator_for(json.loads(case_json.SCHEMA.read_text())).validate(report)
    assert (report["profile"], report["peer"], report["conforms"]) == ("gateway", url, True)
    events = jsonschema_rs.validator_for(json.loads(ndjson.SCHEMA.read_text()))
    for line in files["events"].read_text().splitlines():
        events.validate(json.loads(line))
    assert all(path.read_text() for path in files.values())


def test_a_fault_is_told_with_its_sentence_and_what_was_asked_for() -> None:
    with served(IsNeverDone().app) as url:
        done = run(url, "--prompt", "hello", "--chat-path", "")
    assert done.exit_code == 1, done.output
    assert "✗ XMCP-STR-031 (section 7.5)" in done.output
    assert "hello, as chunks with usage" in done.output
    assert "DOES NOT CONFORM" in done.output


def test_a_key_that_a_gateway_repeats_is_a_fault_and_is_in_no_report(tmp_path: Path) -> None:
    path = tmp_path / "events.ndjson"
    header = "Authorization: Bearer key-that-nobody-sees"
    with served(RepeatsTheKeyOfTheCaller().app) as url:
        done = run(url, "--prompt", "hello", "--header", header, "--events", str(path), "--verbose")
    assert done.exit_code == 1
    assert "✗ XMCP-REC-045" in done.output
    assert "nobody-sees" not in done.output + path.read_text()


def test_the_port_of_the_model_is_given_back_and_a_gateway_that_does_not_ask_it_is_told() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with served(Miniature().app) as url:
        for _ in range(2):
            done = run(url, "--serve-model", str(port))
            assert done.exit_code == 1, done.output
            assert "NOT SHOWN TO CONFORM" in done.output
            assert "the gateway did not ask the suite's model" in done.output


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        ([], 2, "Missing argument 'URL'"),
        (["localhost:8080"], 2, "`localhost:8080` is not an http or https address"),
        (["ftp://u:secret@host/"], 2, "is not an http or https address"),
        (["http://[::1"], 2, "is not an http or https address"),
        (["http://127.0.0.1:1", "--quiet", "--verbose"], 2, "exclude each other"),
        (["http://127.0.0.1:1", "--tool", "add"], 2, "are for --serve-model"),
        (["http://127.0.0.1:1", "--serve-model", "9", "--arguments", "{}"], 2, "--arguments is for --tool NAME"),
        (["http://127.0.0.1:1", "--serve-model", "9", "--tool", "a", "--arguments", "[]"], 2, "no JSON object"),
        (["http://127.0.0.1:1", "--serve-model", "9", "--prompt", "hi"], 2, "has prompts of its own"),
        (["http://127.0.0.1:1", "--body", '{"input": "hi"}'], 2, "the word PROMPT is missing"),
        (["http://127.0.0.1:1", "--chat-path", "chat"], 2, "`chat` does not begin with /"),
        (["http://127.0.0.1:1", "--resume-path", "/events"], 2, "the word RUN is missing"),
        (["http://127.0.0.1:1", "--header", "no colon"], 2, "write the name, a colon and the value"),
        (["http://127.0.0.1:1"], 3, "nothing accepts connections there"),
        (["http://u:secret@127.0.0.1:1/?key=secret"], 3, "nothing accepts connections there"),
    ],
)
def test_what_cannot_be_judged_is_said_in_a_sentence(arguments: list[str], code: int, says: str) -> None:
    done = run(*arguments)
    assert done.exit_code == code, done.output
    assert says in " ".join(done.output.split()), done.output
    assert "Traceback" not in done.output
    assert "secret" not in done.output


def test_a_port_for_the_model_that_is_taken_is_named() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = run("http://127.0.0.1:1", "--serve-model", str(port))
    assert done.exit_code == 2
    assert f"port {port} cannot be taken" in done.output
