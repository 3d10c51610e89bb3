"""A server that is wrong only on some occasions is wrong on those alone; `nox -s matrix` judges all of them."""

from __future__ import annotations

import pytest

from xmcp_conformance.profiles.server.options import Options
from xmcp_conformance.wrong import kill_matrix
from xmcp_conformance.wrong.expected import Expectations, Expected
from xmcp_conformance.wrong.kill_matrix import Tried, remembered, reported
from xmcp_conformance.wrong.registry import server_mutants
from xmcp_conformance.wrong.servers.conditional import CONDITIONS, Conditional, Occasion, WrongAnswers
from xmcp_conformance.wrong.servers.miniature import Miniature, Negotiated

FEW = Options(examples=2)
MUTANTS = server_mutants()


@pytest.fixture(scope="module", autouse=True)
def _remembered():
    with remembered():
        yield


@pytest.mark.parametrize("right", [Miniature, Negotiated])
async def test_a_mutant_whose_condition_never_holds_is_right(right):
    server = Conditional(MUTANTS["XMCP-RSP-001"](), lambda _: False)
    server.wire = server.right.wire = right.wire
    assert await reported(server, FEW) == ()
    assert not server.differed


@pytest.mark.parametrize(
    ("requirement", "condition"),
    [
        ("XMCP-MCP-004", "only in a text alone"),
        ("XMCP-RSP-020", "only in texts of 4,000 characters or more"),
        ("XMCP-TOL-001", "only in the handshake era"),
        ("XMCP-TOL-002", "only from the second listing on"),
        ("XMCP-RSP-001", "only where refused for maximum alone"),
        ("XMCP-RSP-001", "only where refused for maxLength alone"),
    ],
)
async def test_a_wrong_server_that_once_escaped_is_found(requirement, condition):
    server = Conditional(MUTANTS[requirement](), CONDITIONS[condition])
    assert await reported(server, Options(examples=2, calls=60), direct=True) == (requirement,)


@pytest.mark.parametrize(
    ("found_alone", "found_whole", "runs", "verdict"),
    [
        (("XMCP-ERR-020",), (), [True], "killed"),
        ((), ("XMCP-ERR-020",), [True, False], "killed"),
        (("XMCP-ERR-021",), ("XMCP-ERR-020", "XMCP-ERR-021"), [True, False], "collateral"),
    ],
)
async def test_what_some_tools_alone_do_not_show_is_judged_by_a_whole_run(
    monkeypatch, found_alone, found_whole, runs, verdict
):
    alone = []

    async def wrong_answers(*_):
        return {**dict.fromkeys(CONDITIONS, WrongAnswers()), "always": WrongAnswers({1}, {"echo"})}

    async def run(server, options, *, direct):
        server.differed.add(1)
        alone.append(options.include == ("echo",))
        return found_alone if alone[-1] else found_whole

    monkeypatch.setattr(kill_matrix, "_wrong_answers", wrong_answers)
    monkeypatch.setattr(kill_matrix, "reported", run)
    tried = await kill_matrix.try_mutant("XMCP-ERR-020", FEW)
    assert alone == runs
    assert [one.verdict for one in tried if one.condition == "always"] == [verdict]


def test_a_listing_that_is_wrong_is_judged_by_a_whole_run():
    wrong = WrongAnswers()
    wrong.add(1, Occasion("text", handshake=False, tool="echo"), beyond_tools=False)
    assert wrong.tools == {"echo"}
    wrong.add(2, Occasion("listing", handshake=False, tool="card"), beyond_tools=True)
    wrong.add(3, Occasion("text", handshake=False, tool="echo"), beyond_tools=False)
    assert (wrong.answers, wrong.tools) == ({1, 2, 3}, set())


async def test_a_call_of_a_tool_that_is_not_there_is_judged_by_a_whole_run():
    tried = await kill_matrix.try_mutant("XMCP-ERR-022", FEW)
    assert [one.verdict for one in tried if one.condition == "always"] == ["killed"]


def called(server: Conditional, *calls: tuple[str, dict[str, object]], handshake: bool = False) -> list[bool]:
    """Return of each call whether its answer was wrong."""
    wrong = []
    for name, arguments in calls:
        before = len(server.differed)
        server.call(name, arguments, declared=True, handshake=handshake)
        wrong.append(len(server.differed) > before)
    return wrong


AGAIN = [("echo", {"text": "a"}), ("echo", {"text": "b"}), ("echo", {"text": "a"}), ("echo", {})]


@pytest.mark.parametrize(
    ("condition", "wrong"),
    [
        ("always", [True, True, True, True]),
        ("only in the handshake era", [False, False, False, False]),
        ("only in the second call of a tool", [False, True, False, False]),
        ("only when the same call comes again", [False, False, True, False]),
        ("only in errors", [False, False, False, True]),
        ("only where refused for required alone", [False, False, False, True]),
        ("only of the tool card", [False, False, False, False]),
    ],
)
def test_a_condition_says_which_answers_are_wrong(condition, wrong):
    assert called(Conditional(MUTANTS["XMCP-RSP-001"](), CONDITIONS[condition]), *AGAIN) == wrong


@pytest.mark.parametrize(
    ("condition", "arguments"),
    [
        ("only with hostile text in a later string", {"person": {"name": ""}, "tags": [], "remark": "<"}),
        ("only with hostile text in a nested member", {"person": {"name": "&"}, "tags": []}),
        ("only with hostile text in an array item", {"person": {"name": ""}, "tags": ["<"]}),
        ("only with hostile text as a map key", {"person": {"name": ""}, "tags": [], "labels": {"<": ""}}),
        ("only with hostile text in a refused call", {"person": {"name": "<"}, "tags": ["a", "a"]}),
        ("only with an optional argument", {"person": {"name": ""}, "tags": [], "remark": ""}),
        ("only in texts of 4,000 characters or more", {"person": {"name": "a" * 4000}, "tags": []}),
    ],
)
def test_a_condition_knows_the_places_of_arguments(condition, arguments):
    server = Conditional(MUTANTS["XMCP-RSP-001"](), CONDITIONS[condition])
    assert called(server, ("form", {"person": {"name": "a"}, "tags": []}), ("form", arguments)) == [False, True]


def test_a_reason_for_what_is_found_is_stale():
    missed = Tried("XMCP-RSP-001", "always", "survived")
    found = Tried("XMCP-RSP-001", "always", "killed", ("XMCP-RSP-001",))
    known = Expectations((Expected("XMCP-RSP-*", "always", "a reason"),))
    assert list(known.faults([missed], complete=True)) == []
    assert [fault.partition(":")[0] for fault in known.faults([found], complete=True)] == ["stale"]
    assert [fault.partition(":")[0] for fault in Expectations(()).faults([missed], complete=True)] == ["survived"]


def test_a_condition_that_no_run_reaches_is_told():
    tried = [Tried("XMCP-RSP-001", "always", "not reached"), Tried("XMCP-RSP-002", "always", "not reached")]
    assert list(Expectations(()).faults(tried, complete=True)) == ["not reached by any mutant: always"]
