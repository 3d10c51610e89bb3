"""The dashboard and the alerts: their files are in order, and a real Prometheus has an answer to each of their queries.

There is no Grafana here: what it would refuse of the file is checked by its structure only.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
import subprocess
from collections.abc import Iterator
from contextlib import AsyncExitStack
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner
from support.clock import never
from support.gateways import Served, served, until
from support.prometheus_server import Prometheus, program, prometheus
from support.scripted_model import ScriptedModel, asks

import xmcp.gateway
from xmcp.chat.completions import Completion
from xmcp.chat.errors import ErrorCategory, ProviderError
from xmcp.chat.usage import Usage
from xmcp.cli.gateway import gateway as command
from xmcp.gateway.audit import AuditLog, AuditMiddleware
from xmcp.gateway.metrics.exposed import exposed
from xmcp.gateway.metrics.merged import Merged, readings
from xmcp.gateway.tenant_cache import TenantCache
from xmcp.gateway.workers.sockets import sockets_folder
from xmcp.http_listening import listen
from xmcp.storage import MemoryCache

FOLDER = Path(xmcp.gateway.__file__).parent / "dashboards"
RULES = FOLDER / "rules.yml"
DASHBOARD: dict[str, Any] = json.loads((FOLDER / "grafana.json").read_text(encoding="utf-8"))
PANELS: list[dict[str, Any]] = DASHBOARD["panels"]
ALERTS: list[dict[str, Any]] = yaml.safe_load(RULES.read_text(encoding="utf-8"))["groups"][0]["rules"]
PER_SERIES = ("XmcpGatewayDown", "XmcpWorkerDown", "XmcpWorkerRestarts")
"""Alerts about one process; the others are about a gateway, however many processes it has."""
OF_ONE_PROCESS = [alert for alert in ALERTS if "xmcp_worker_" not in alert["expr"]]
USED = Usage(70, 30, 10, reasoning_tokens=5)
KEYS: dict[str, Any] = {
    "keys": [{"name": "a", "tenant": "acme", "hash": f"sha256:{hashlib.sha256(b'xmcp_a').hexdigest()}"}]
}
A = {"authorization": "Bearer xmcp_a"}


def queries() -> Iterator[str]:
    """Yield each query of the dashboard, with a time in place of Grafana's variable."""
    for panel in PANELS:
        for target in panel.get("targets", ()):
            yield target["expr"].replace("$__rate_interval", "1m")


def test_the_dashboard_is_one_that_grafana_can_load() -> None:
    assert DASHBOARD["schemaVersion"] >= 36
    assert DASHBOARD["uid"] == "xmcp-gateway"
    assert [(one["name"], one["type"], one["query"]) for one in DASHBOARD["templating"]["list"]] == [
        ("datasource", "datasource", "prometheus")
    ]
    assert len({panel["id"] for panel in PANELS}) == len(PANELS)
    source = {"type": "prometheus", "uid": "${datasource}"}
    for panel in PANELS:
        if panel["type"] == "row":
            continue
        assert panel["title"]
        assert panel["fieldConfig"]["defaults"]["unit"], panel["title"]
        assert panel["datasource"] == source
        assert [target["refId"] for target in panel["targets"]] == [*"ABCDEF"[: len(panel["targets"])]]
        assert all(target["datasource"] == source for target in panel["targets"])


def test_no_panel_lies_over_another() -> None:
    for panel in PANELS:
        at = panel["gridPos"]
        assert 0 <= at["x"] < at["x"] + at["w"] <= 24, panel["title"]
    for one, other in combinations([panel["gridPos"] for panel in PANELS], 2):
        apart_x = one["x"] + one["w"] <= other["x"] or other["x"] + other["w"] <= one["x"]
        apart_y = one["y"] + one["h"] <= other["y"] or other["y"] + other["h"] <= one["y"]
        assert apart_x or apart_y, (one, other)


def test_the_command_writes_both_files_and_leaves_what_is_there(tmp_path: Path) -> None:
    done = CliRunner().invoke(command, ["dashboards", str(tmp_path / "new")])
    assert done.exit_code == 0, done.output
    assert (tmp_path / "new" / "rules.yml").read_bytes() == RULES.read_bytes()
    assert (tmp_path / "new" / "grafana.json").read_bytes() == (FOLDER / "grafana.json").read_bytes()
    (tmp_path / "new" / "rules.yml").write_text("mine")
    again = CliRunner().invoke(command, ["dashboards", str(tmp_path / "new")])
    assert again.exit_code == 1
    assert (tmp_path / "new" / "rules.yml").read_text() == "mine"


async def provoke(gateway: Served) -> None:
    """Make happen what is counted: chats that end in each way, tools, costs, refusals, streams that are left."""
    async with gateway.http(headers=A) as http:
        for said in ("tools", "tools", "fail"):
            await http.post("/chat", json={"input": said})
        events = {"accept": "text/event-stream"}
        async with http.stream("POST", "/chat", json={"input": "wait"}, headers=events) as stream:
            pieces = stream.aiter_bytes()
            await anext(pieces)
            assert (await http.post("/chat", json={"input": "one too many"})).status_code == 429
        await until(lambda: not gateway.gateway.runs.running)
        assert (await http.get("/nothing")).status_code == 404


def script(request: Any) -> Any:
    """Answer by what was asked."""
    last = request.messages[-1]
    if last["role"] == "tool":
        return Completion("done", usage=USED)
    match last["content"]:
        case "tools":
            return Completion("", asks(("price", {"of": "tea"}), "fail").tool_calls, "tool_calls", USED)
        case "fail":
            return ProviderError("slow down", category=ErrorCategory.RATE_LIMIT, provider="p")
        case _:
            return [never]


@pytest.mark.parametrize("workers", [0, 2], ids=["one process", "two workers"])
async def test_a_prometheus_has_data_for_every_query_of_the_dashboard_and_of_the_alerts(
    tmp_path: Path, workers: int
) -> None:
    program("prometheus")
    config = {**KEYS, "runs": {"max_running": 1, "max_waiting": 0, "client_gone_seconds": 0.0}}
    async with AsyncExitStack() as exits:
        folder = exits.enter_context(sockets_folder(2))
        sockets = [folder / f"{number}.sock" for number in range(workers)]
        logs = [await AuditLog.open(tmp_path / f"{number}.db") for number in range(len(sockets) or 1)]
        gateways = []
        for log, at in zip(logs, sockets or [True], strict=True):
            exits.push_async_callback(log.aclose)
            options: dict[str, Any] = {"price": lambda *_: 0.5, "cache_read_only": True, "metrics": at}
            options["breaker_threshold"] = 100
            stores: dict[str, Any] = {"audit": log, "middleware": [AuditMiddleware(log)]}
            cache = TenantCache(MemoryCache())
            made = served(ScriptedModel(then=script), config, cache=cache, **options, **stores)
            gateways.append(await exits.enter_async_context(made))
        for gateway in gateways:

            @gateway.shop.mcp.tool(annotations={"readOnlyHint": True})
            def price(of: str) -> int:
                """Price of something."""
                return 7

            await gateway.gateway.refresh_tools()

        async def of_workers() -> Merged:
            return Merged(await readings(sockets), [0, 0])

        def ask(work: Any) -> Any:
            return asyncio.to_thread(work)

        url = gateways[0].metrics_url
        if workers:
            url = exits.enter_context(exposed(exits.enter_context(listen("127.0.0.1", 0)), of_workers))
        target = url.removeprefix("http://").removesuffix("/metrics")
        server = exits.enter_context(prometheus(tmp_path, target, RULES))
        await ask(lambda: server.wait_for("xmcp_build_info"))
        for _ in range(2):
            for gateway, log in zip(gateways, logs, strict=True):
                await provoke(gateway)
                await log.flush()
            await ask(server.wait_for_readings)
        nothing = await ask(lambda: without_data(server, ALERTS if workers else OF_ONE_PROCESS))
        alerts = await ask(lambda: server.query("ALERTS"))
        servers = next(panel for panel in PANELS if panel["title"] == "Tool servers")["targets"][0]["expr"]
        up = await ask(lambda: server.query(servers))
    assert nothing == []
    assert {one["metric"]["alertname"] for one in alerts} <= {"XmcpChatsFail"}
    assert up[0]["value"][1] == "1"


def without_data(server: Prometheus, alerts: list[dict[str, Any]]) -> list[str]:
    """Return the expressions that give nothing, or no number."""
    # What an alert compares with its limit.
    compared = [re.sub(r" [<>] [0-9.]+$", "", alert["expr"]) for alert in alerts]
    return [
        expression
        for expression in (*queries(), *compared)
        if not any(one["value"][1] != "NaN" for one in server.query(expression))
    ]


@pytest.mark.parametrize("alert", ALERTS, ids=lambda alert: str(alert["alert"]))
def test_each_alert_says_what_it_is_and_what_to_do(alert: dict[str, Any]) -> None:
    assert alert["labels"]["severity"] in ("critical", "warning")
    assert alert["annotations"].keys() == {"summary", "description"}
    guide = (Path(__file__).parents[3] / "docs" / "guides" / "gateway-production.md").read_text(encoding="utf-8")
    assert f"`{alert['alert']}`" in guide


def test_each_alert_fires_when_it_should_and_not_before(tmp_path: Path) -> None:
    checked = subprocess.run([program("promtool"), "check", "rules", str(RULES)], capture_output=True, check=False)
    assert checked.returncode == 0, checked.stderr
    done = '{surface="chat", model="m", outcome="finished"}'
    broken = '{surface="chat", model="m", outcome="error"}'
    bucket = "xmcp_time_to_first_event_seconds_bucket"
    bad = {
        "XmcpGatewayDown": {'up{job="xmcp-gateway", instance="i"}': "0x30"},
        "XmcpChatsFail": {f"xmcp_runs_total{done}": "0+90x30", f"xmcp_runs_total{broken}": "0+10x30"},
        "XmcpAnswersBeginLate": {
            f'{bucket}{{model="m", le="20.48"}}': "0+1x30",
            f'{bucket}{{model="m", le="40.96"}}': "0+100x30",
            f'{bucket}{{model="m", le="+Inf"}}': "0+100x30",
        },
        "XmcpToolServerDown": {'xmcp_server_up{server="shop"}': "0x30"},
        "XmcpStoreDown": {'xmcp_backend_up{backend="redis"}': "0x30"},
        "XmcpRecordsLost": {'xmcp_audit_dropped_total{reason="disk"}': "0x20 5x10"},
        "XmcpWorkerDown": {'xmcp_worker_up{worker="0"}': "1x30", 'xmcp_worker_up{worker="1"}': "0x30"},
        "XmcpWorkerRestarts": {'xmcp_worker_restarts_total{worker="1"}': "0+1x30"},
    }
    good = {
        "XmcpGatewayDown": {'up{job="xmcp-gateway", instance="i"}': "1x30"},
        "XmcpChatsFail": {f"xmcp_runs_total{done}": "0+99x30", f"xmcp_runs_total{broken}": "0+1x30"},
        "XmcpAnswersBeginLate": {
            f'{bucket}{{model="m", le="20.48"}}': "0+99x30",
            f'{bucket}{{model="m", le="40.96"}}': "0+100x30",
            f'{bucket}{{model="m", le="+Inf"}}': "0+100x30",
        },
        "XmcpToolServerDown": {'xmcp_server_up{server="shop"}': "1x30"},
        "XmcpStoreDown": {'xmcp_backend_up{backend="redis"}': "1x30"},
        "XmcpRecordsLost": {'xmcp_audit_dropped_total{reason="disk"}': "5x30"},
        "XmcpWorkerDown": {'xmcp_worker_up{worker="0"}': "1x30", 'xmcp_worker_up{worker="1"}': "1x26 0x1 1x3"},
        "XmcpWorkerRestarts": {'xmcp_worker_restarts_total{worker="1"}': "0x20 1x10"},
    }
    assert bad.keys() == good.keys() == {alert["alert"] for alert in ALERTS}
    tests = [fires(name, series, True) for name, series in bad.items()]
    tests += [fires(name, series, False) for name, series in good.items()]
    # What all workers say together is one alert, and not one for each.
    together = {name: series for name, series in bad.items() if name not in PER_SERIES}
    tests += [fires(name, in_two_workers(series), True) for name, series in together.items()]
    tests += [fires(name, in_two_workers(series), False) for name, series in good.items() if name in together]
    file = tmp_path / "tests.yml"
    file.write_text(json.dumps({"rule_files": [str(RULES)], "evaluation_interval": "1m", "tests": tests}))
    ran = subprocess.run([program("promtool"), "test", "rules", str(file)], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr


def in_two_workers(series: dict[str, str]) -> dict[str, str]:
    """Return the series as two workers have them."""
    return {name.replace("{", f'{{worker="{n}", ', 1): values for name, values in series.items() for n in range(2)}


def fires(name: str, series: dict[str, str], expected: bool) -> dict[str, Any]:
    """Return a test of promtool that an alert fires after 28 minutes, or does not."""
    alert = next(one for one in ALERTS if one["alert"] == name)
    count = {"expr": f'count(ALERTS{{alertname="{alert["alert"]}", alertstate="firing"}})', "eval_time": "28m"}
    samples = [{"labels": "{}", "value": 1}] if expected else []
    return {
        "interval": "1m",
        "input_series": [{"series": name, "values": values} for name, values in series.items()],
        "promql_expr_test": [{**count, "exp_samples": samples}],
    }
