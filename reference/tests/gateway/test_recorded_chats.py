"""What a gateway remembers: chats over HTTP are in the audit store, with what the model read, and without secrets."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import click.testing
from support.audited_runs import rows
from support.gateways import served, until
from support.scripted_model import ScriptedModel, asks

from xmcp.chat.json_values import encode_json
from xmcp.cli.audit import audit
from xmcp.cli.gateway import gateway
from xmcp.cli.gateway_parts import gateway_of
from xmcp.gateway.audit import AuditLog, AuditMiddleware
from xmcp.gateway.audit.database import address_of
from xmcp.gateway.audit.reading import reading
from xmcp.gateway.audit.rebuild import model_calls
from xmcp.gateway.config_file import config_of
from xmcp.gateway.keys import digest, new_key
from xmcp.providers.scripted import ScriptedProvider, Turn

ADDS = [Turn(calls=[("add", {"a": 1, "b": 2})]), "It is 3."]


def recorded(database: Path, *words: str) -> object:
    done = click.testing.CliRunner().invoke(audit, [str(database), *words, "--json", "-"])
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


async def test_a_chat_over_http_is_recorded_with_what_the_model_read(tmp_path: Path) -> None:
    database = tmp_path / "audit.db"
    log = await AuditLog.open(database)
    model = ScriptedProvider([*ADDS, "Hello."])
    async with served(model, audit=log, middleware=[AuditMiddleware(log)]) as up, up.http() as http:
        asked = {"input": "1 + 2?", "session_id": "s-1"}
        answer = (await http.post("/chat", json=asked)).json()
        messages = [{"role": "user", "content": "hi"}]
        await http.post("/v1/chat/completions", json={"model": "assistant", "messages": messages})
        health = (await http.get("/health")).json()
    await log.aclose()
    assert health["audit"]["status"] == "ok"
    runs = recorded(database)["runs"]
    assert {run["surface"] for run in runs} == {"chat", "openai"}
    assert answer["run_id"] in {run["id"] for run in runs}
    shown = json.dumps(recorded(database, "replay", "s-1"))
    assert "1 + 2?" in shown
    assert "add" in shown


async def test_a_chat_with_a_tool_of_the_client_is_rebuilt_byte_for_byte_with_what_its_history_lacks(
    tmp_path: Path,
) -> None:
    database = tmp_path / "audit.db"
    log = await AuditLog.open(database)
    model = ScriptedModel(asks("ask_page", ("add", {"a": 1, "b": 2}), text="I ask."), "It is blue.")
    tools = [{"type": "function", "function": {"name": "ask_page", "parameters": {"type": "object"}}}]
    asked = {"model": "assistant", "tools": tools, "metadata": {"conversation_id": "s-1"}}
    async with served(model, observer=log, middleware=[AuditMiddleware(log)]) as up, up.http() as http:
        said = [{"role": "user", "content": "which?"}]
        first = (await http.post("/v1/chat/completions", json={**asked, "messages": said})).json()
        message = first["choices"][0]["message"]
        result = {"role": "tool", "tool_call_id": message["tool_calls"][0]["id"], "content": "blue"}
        await http.post("/v1/chat/completions", json={**asked, "messages": [*said, message, result]})
    await log.aclose()
    with reading(address_of(database)) as connection:
        calls = list(model_calls(connection))
    received = [
        ([encode_json(one).decode() for one in made.messages], made.tools.json.decode()) for made in model.requests
    ]
    assert [([*call.messages], call.tools) for call in calls] == received
    assert all(call.complete and not call.altered for call in calls)
    assert len(calls[1].messages) == 4
    assert {run["finish_reason"] for run in recorded(database)["runs"]} == {"tool_calls", "stop"}


async def test_who_approved_what_is_recorded(tmp_path: Path) -> None:
    database = tmp_path / "audit.db"
    log = await AuditLog.open(database)
    model = ScriptedModel(asks(("add", {"a": 1, "b": 2})), "It is 3.")
    config = {"chat": {"approve": ["add"]}}
    async with served(model, config, observer=log, middleware=[AuditMiddleware(log)]) as up, up.http() as http:
        chat = asyncio.create_task(http.post("/chat", json={"input": "x"}, headers={"accept": "text/event-stream"}))
        await until(lambda: up.gateway.runs.running and up.gateway.runs.running[0].state.approvals)
        (run,) = up.gateway.runs.running
        await http.post(f"/runs/{run.id}/input", json={"call_id": "c0", "approve": True})
        await chat
    await log.aclose()
    (answered,) = rows(database, "SELECT payload FROM events WHERE type = 'approval.answered'")
    assert json.loads(answered[0])["by"] == "local"
    assert len(rows(database, "SELECT payload FROM events WHERE type = 'approval.required'")) == 1


async def test_the_key_of_a_caller_is_in_no_record_and_is_not_kept_after_the_run(tmp_path: Path) -> None:
    database = tmp_path / "audit.db"
    key = new_key()
    log = await AuditLog.open(database)
    model = ScriptedProvider([Turn(calls=[("add", {"a": 1, "b": 2})]), f"You are {key}."])
    keys = [{"name": "k", "tenant": "t", "hash": f"sha256:{digest(key).hex()}"}]
    async with served(model, {"keys": keys}, audit=log, middleware=[AuditMiddleware(log)]) as up, up.http() as http:
        http.headers["authorization"] = f"Bearer {key}"
        asked = {"input": f"I am {key}", "session_id": f"of {key}"}
        assert (await http.post("/chat", json=asked)).status_code == 200
        (run,) = up.gateway.runs._runs.values()
        assert (run.caller.key_name, run.caller.key) == ("k", None)
    await log.aclose()
    written = b"".join(path.read_bytes() for path in tmp_path.glob("audit.db*"))  # noqa: ASYNC240
    assert b"I am [redacted]" in written
    assert key.encode() not in written
    (run,) = recorded(database)["runs"]
    assert run["session"] == "of [redacted]"


def test_a_database_that_cannot_be_used_is_said_before_anything_is_served(tmp_path: Path) -> None:
    wrong = tmp_path / "none" / "audit.db"
    done = click.testing.CliRunner().invoke(gateway, ["--provider", "demo", "--port", "0", "--audit", str(wrong)])
    assert done.exit_code == 1
    assert "[audit] database: " in done.output
    assert "Traceback" not in done.output


def test_no_record_has_the_keys_of_the_gateway_and_its_servers(tmp_path: Path) -> None:
    servers = {
        "web": {"url": "http://127.0.0.1:1/mcp", "headers": {"Authorization": "Bearer token-of-web"}},
        "own": {"command": "own", "env": {"OWN_TOKEN": "token-of-own", "MODE": "production"}},
    }
    keys = [{"name": "front", "tenant": "t", "env": "FRONT_KEY"}]
    config = config_of({"audit": {"database": str(tmp_path / "a.db")}, "servers": servers, "keys": keys}, "g.toml")
    environment = {"FRONT_KEY": "key-of-front", "OPENAI_API_KEY": "sk-of-vendor"}
    made = gateway_of(config, environment, provider="demo")
    secrets = made.audit._secrets
    assert sorted(secrets) == ["key-of-front", "sk-of-vendor", "token-of-own", "token-of-web"]


def test_secrets_of_servers_are_known_wherever_they_stand(tmp_path: Path) -> None:
    config = config_of({"audit": {"database": str(tmp_path / "a.db")}}, "g.toml")
    url = "http://user:pass%2Fword@127.0.0.1:1/mcp?api_key=of-query&page=two&Token=a%20b"
    made = gateway_of(config, {}, provider="demo", servers=[url])
    assert {"pass%2Fword", "pass/word", "of-query", "a b", "a%20b"} == set(made.audit._secrets)
    servers = {"web": {"url": "http://of-web@127.0.0.1:1/mcp"}}
    config = config_of({"audit": {"database": str(tmp_path / "a.db")}, "servers": servers}, "g.toml")
    assert gateway_of(config, {}, provider="demo").audit._secrets == ("of-web",)
