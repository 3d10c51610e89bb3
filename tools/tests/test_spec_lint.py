"""The linter of the specification, on fake chapters: each rule turns red when it is broken."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tools.lint import spec_lint as lint
from xmcp_conformance.core import checks
from xmcp_conformance.core.checks import checks_by_requirement

ROOT = Path(__file__).resolve().parents[2]

GOOD = """# 1. Title

## 1.1 Rules

- A thing MUST be round. [XMCP-ABC-001]
- A thing SHOULD be red. [XMCP-ABC-002]

It can be of any size.
"""
ENTRIES = [
    {
        "id": "XMCP-ABC-001",
        "level": "MUST",
        "role": "emitter",
        "section": "1.1",
        "quote": "A thing MUST be round.",
        "verified_by": ["server"],
    },
    {
        "id": "XMCP-ABC-002",
        "level": "SHOULD",
        "role": "emitter",
        "section": "1.1",
        "quote": "A thing SHOULD be red.",
        "excluded": "colour cannot be seen",
    },
]
EVIDENCE = lint.Evidence(checks={"XMCP-ABC-001"}, mutants={"XMCP-ABC-001"})


def text_faults(text: str) -> list[str]:
    return list(lint.lint_text({"c.md": text}, ROOT, "dev.ours/"))


def test_the_good_chapter_has_no_fault():
    assert text_faults(GOOD) == []
    assert list(lint.lint_registry({"c.md": GOOD}, ENTRIES)) == []
    assert list(lint.lint_evidence(ENTRIES, EVIDENCE)) == []


@pytest.mark.parametrize(
    ("before", "after", "fault"),
    [
        (" [XMCP-ABC-001]", "", "MUST outside a requirement"),
        ("It can be", "It MAY be", "MAY outside a requirement"),
        ("It can be", "It may be", "in lower case"),
        ("XMCP-ABC-002", "XMCP-ABC-001", "an id is never used twice"),
        ("MUST be round", "MUST be round and MUST be flat", "has the key words"),
        ("MUST be round", "is round", "has the key words []"),
        ("MUST be round", "SHALL be round", "has the key words"),
        ("It can be", "See `dev.other/tool`. It can be", "is not the one of schemas/names.json"),
        ("It can be of any size.", '```xml\n--8<-- "schemas/a.xml"\n```', "write <!-- example: PATH -->"),
        ("It can be of any size.", "<!-- example: schemas/may.xml -->\n```xml\n```", "may.xml does not exist"),
    ],
)
def test_a_fault_of_the_text_is_named(before, after, fault):
    assert before in GOOD
    faults = text_faults(GOOD.replace(before, after))
    assert len(faults) == 1
    assert fault in faults[0]
    assert faults[0].startswith("c.md:")


def test_code_and_exempt_sections_are_free():
    assert text_faults(GOOD + "\n```\nit may MUST\n```\n\nThe word `must` is code.\n") == []
    assert (
        text_faults(GOOD + "\n## 1.2 Words\n\n<!-- key words are explained here, not used -->\n\nMUST and may.\n") == []
    )


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"quote": "A thing MUST be square."}, "quote is stale"),
        ({"level": "SHOULD"}, "level is stale"),
        ({"section": "1.2"}, "section is stale"),
        ({"id": "XMCP-ABC-009"}, "stands in no chapter"),
    ],
)
def test_a_stale_registry_is_named(change, fault):
    faults = list(lint.lint_registry({"c.md": GOOD}, [{**ENTRIES[0], **change}, ENTRIES[1]]))
    assert any(fault in line for line in faults), faults


def test_a_sentence_that_the_registry_does_not_know_is_named():
    assert list(lint.lint_registry({"c.md": GOOD}, ENTRIES[:1])) == [
        "XMCP-ABC-002: stands in c.md and not in the registry"
    ]


def test_the_order_of_the_registry_is_that_of_the_text():
    assert list(lint.lint_registry({"c.md": GOOD}, ENTRIES[::-1])) == ["the registry is not in the order of the text"]


@pytest.mark.parametrize(
    ("evidence", "fault"),
    [
        (lint.Evidence(mutants={"XMCP-ABC-001"}), "claims `server`, and no check names it"),
        (lint.Evidence(checks={"XMCP-ABC-001"}), "claims `server`, and no mutant names it"),
        (lint.Evidence({"XMCP-ABC-001", "XMCP-ABC-002"}, {"XMCP-ABC-001"}), "XMCP-ABC-002: a check names it"),
        (lint.Evidence({"XMCP-ABC-001"}, {"XMCP-ABC-001"}, vectors={"XMCP-ABC-001"}), "a vector names it"),
        (
            lint.Evidence({"XMCP-ABC-001"}, {"XMCP-ABC-001"}, codec_checks={"XMCP-ABC-001"}),
            "a check of codecs names it",
        ),
        (
            lint.Evidence({"XMCP-ABC-001"}, {"XMCP-ABC-001"}, vectors={"XMCP-ZZZ-001"}),
            "XMCP-ZZZ-001: a vector names it and",
        ),
        (lint.Evidence({"XMCP-ABC-001"}, {"XMCP-ABC-001"}, documents={"XMCP-ABC-002"}), "neither `document` nor"),
        (
            lint.Evidence({"XMCP-ABC-001", "XMCP-ZZZ-001"}, {"XMCP-ABC-001"}),
            "XMCP-ZZZ-001: a check names it and the registry",
        ),
    ],
)
def test_a_requirement_without_its_evidence_is_named(evidence, fault):
    faults = list(lint.lint_evidence(ENTRIES, evidence))
    assert len(faults) == 1
    assert fault in faults[0]


def client_faults(**evidence):
    entries = [{**ENTRIES[0], "verified_by": ["client"]}, ENTRIES[1]]
    return list(lint.lint_evidence(entries, lint.Evidence(**evidence)))


def test_a_sentence_verified_by_clients_has_a_check_and_a_mutant():
    both = {"client_checks": {"XMCP-ABC-001"}, "client_mutants": {"XMCP-ABC-001"}}
    assert client_faults(**both) == []
    assert client_faults(client_mutants={"XMCP-ABC-001"}) == [
        "XMCP-ABC-001: claims `client`, and no check of clients names it"
    ]
    assert client_faults(client_checks={"XMCP-ABC-001"}) == [
        "XMCP-ABC-001: claims `client`, and no mutant of clients names it"
    ]


@pytest.mark.parametrize("kind", ["client_checks", "client_mutants"])
def test_a_check_or_mutant_of_clients_of_an_unknown_sentence_is_named(kind):
    both = {"client_checks": {"XMCP-ABC-001"}, "client_mutants": {"XMCP-ABC-001"}}
    faults = client_faults(**{**both, kind: {"XMCP-ABC-001", "XMCP-ZZZ-001"}})
    assert len(faults) == 1
    assert "XMCP-ZZZ-001" in faults[0]
    assert "the registry does not know it" in faults[0]


def test_the_checks_of_clients_are_those_of_the_suite_and_no_checks_of_servers():
    evidence = lint.evidence()
    assert evidence.client_checks == set(checks_by_requirement("client"))
    assert "XMCP-CLI-001" not in evidence.checks


WITH_A_CHECK = """
from xmcp_conformance.core.checks import check
from xmcp_conformance.core.observation import obeyed

@check("XMCP-ABC-001", profile="server")
def _round(thing):
    yield obeyed("XMCP-ABC-001")
"""
CHECK_DELETED = """
# XMCP-ABC-001: the check of this sentence was deleted; "XMCP-ABC-001" is left in a comment and in a text.
NOTE = "XMCP-ABC-001"
"""


@pytest.mark.parametrize(
    ("module", "faults"),
    [(WITH_A_CHECK, []), (CHECK_DELETED, ["XMCP-ABC-001: claims `server`, and no check names it"])],
)
def test_an_id_in_a_comment_is_no_evidence(module, faults, monkeypatch):
    monkeypatch.setattr(checks, "_CHECKS", [])
    exec(compile(module, "module.py", "exec"), {"__name__": "module"})
    evidence = lint.Evidence(checks=set(checks_by_requirement("server")), mutants={"XMCP-ABC-001"})
    assert list(lint.lint_evidence(ENTRIES, evidence)) == faults


def test_the_evidence_of_this_repository_comes_from_its_registries(monkeypatch):
    assert lint.evidence().checks
    monkeypatch.setattr(
        checks, "_CHECKS", [entry for entry in checks._CHECKS if "XMCP-MCP-002" not in entry.requirements]
    )
    assert "XMCP-MCP-002" not in lint.evidence().checks


@pytest.mark.parametrize(
    "entry", [{"excluded": "why", "verified_by": ["server"]}, {"excluded": ""}, {"verified_by": ["hope"]}]
)
def test_a_requirement_is_verified_or_excluded_with_a_reason(entry):
    bare = {key: value for key, value in ENTRIES[0].items() if key not in ("verified_by", "excluded")}
    assert list(lint.lint_evidence([{**bare, **entry}], EVIDENCE)) != []


def test_accept_takes_the_text_over_and_keeps_the_rest():
    registry = "# head\nversion: x\nrequirements:\n" + "".join(
        f"- {{id: {id_}, level: MAY, role: emitter, section: '9', quote: old, excluded: because}}\n"
        for id_ in ("XMCP-ABC-002", "XMCP-ABC-001")
    )
    fresh = lint.accept(registry, {"c.md": GOOD})
    assert fresh.startswith("# head\nversion: x\n")
    entries = lint.yaml.safe_load(fresh)["requirements"]
    assert list(lint.lint_registry({"c.md": GOOD}, entries)) == []
    assert {entry["excluded"] for entry in entries} == {"because"}


def test_this_repository_has_no_fault(capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["spec_lint.py"])
    lint.main()
    assert "verified by server checks" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("entry", "faults"),
    [
        ({"role": "server", "section": "6.2", "from_level": 1}, 0),
        ({"role": "reader", "section": "2.5", "from_level": 2}, 0),
        ({"role": "renderer", "section": "3.6"}, 0),
        ({"role": "client", "section": "11.3"}, 0),
        ({"role": "server", "section": "6.2"}, 1),
        ({"role": "client", "section": "6.4", "from_level": 3}, 1),
        ({"role": "client", "section": "11.3", "from_level": 1}, 1),
        ({"role": "renderer", "section": "3.6", "from_level": 1}, 1),
    ],
)
def test_a_sentence_has_a_level_where_there_are_levels(entry, faults):
    assert len(list(lint.lint_levels([{"id": "XMCP-ABC-001", **entry}]))) == faults


@pytest.mark.parametrize("name", [path for path in lint.chapters() if Path(path).name[:2] not in ("06", "12")])
def test_only_the_binding_and_the_summary_name_parts_of_mcp(name):
    words = ("isError", "structuredContent", "readOnlyHint", "idempotentHint", "inputSchema", "`_meta`", "tools/call")
    assert [word for word in words if word in lint.chapters()[name]] == []


def test_a_pending_sentence_has_neither_a_check_nor_a_reason():
    pending = [
        ENTRIES[0],
        {key: value for key, value in ENTRIES[1].items() if key != "excluded"} | {"status": "pending"},
    ]
    assert list(lint.lint_evidence(pending, EVIDENCE)) == []
    for wrong in ({"excluded": "why"}, {"verified_by": ["server"]}, {"status": "done"}):
        faults = list(lint.lint_evidence([ENTRIES[0], {**pending[1], **wrong}], EVIDENCE))
        assert any("pending" in fault for fault in faults)
