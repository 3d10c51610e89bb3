"""A codec behind a command is judged as one in this process is; whatever the command does, it is bounded and ends."""

from __future__ import annotations

import json
import math
import os
import resource
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from itertools import islice
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from codec_program import FAULTS
from left_processes import left
from unseen_codecs.codecs import CODECS

from xmcp_conformance.core.events import Event, NotReached, RunStarted
from xmcp_conformance.profiles.codec import command
from xmcp_conformance.profiles.codec.altered_documents import altered
from xmcp_conformance.profiles.codec.check_command import DIRECTIONS, _check_drawn, check_command
from xmcp_conformance.profiles.codec.combined_responses import combined_responses
from xmcp_conformance.profiles.codec.command import SCHEMA, CodecUnavailable, CommandCodec
from xmcp_conformance.profiles.codec.generated import Drawn, drawn, halved, smallest
from xmcp_conformance.profiles.codec.refused_responses import beyond_a_schema, refused_responses
from xmcp_conformance.profiles.codec.rules_beyond_schemas import rules_beyond_schemas
from xmcp_conformance.profiles.codec.schemas_as_read import schemas_as_read
from xmcp_conformance.profiles.codec.tagged_values import needed, tagged
from xmcp_conformance.profiles.codec.vector_checks import CodecFault, check_codec
from xmcp_conformance.profiles.codec.vectors import Vector, load, shipped, untagged
from xmcp_conformance.reports.case_report import VECTORS, CaseReport
from xmcp_conformance.wrong.codecs import wrong_codecs
from xmcp_conformance.wrong.codecs.miniature_codec import MiniatureCodec
from xmcp_models.registry import ERROR_CODES

ALL = [vector for vector in load(shipped()) if vector.direction in DIRECTIONS]
PROGRAM = Path(__file__).with_name("codec_program.py")
PROTOCOL: dict[str, Any] = json.loads(SCHEMA.read_text())


def command_of(*words: str) -> list[str]:
    return [sys.executable, str(PROGRAM), *words]


FEW = ALL[:35]


def report_on(words: Sequence[str], vectors: Sequence[Vector] = ALL, **options: Any) -> CaseReport:
    report = CaseReport(VECTORS)
    check_command(words, vectors, report.add, **options)
    return report


def broken(report: CaseReport) -> dict[str, list[str]]:
    return {
        name: sorted({f.observation.requirement for f in case.faults})
        for name, case in report.seen.items()
        if case.faults
    }


@pytest.mark.parametrize("name", ["MiniatureCodec", "NaiveCdataWriter", "Utf16Codec", "LineEndsByPieceReader"])
def test_a_codec_behind_a_command_is_judged_as_it_is_in_this_process(name: str) -> None:
    report = report_on(command_of(name))
    codec = getattr(wrong_codecs, name, MiniatureCodec)()
    expected = {one.id: sorted({o.requirement for o in check_codec(one, codec) if not o.ok}) for one in ALL}
    assert broken(report) == {name: ids for name, ids in expected.items() if ids}
    assert (report.peer, len(report.seen), report.notes) == (name, len(ALL), [])
    assert report.exit_code == (1 if broken(report) else 0)


@pytest.mark.parametrize(
    ("fault", "seen"),
    [
        ("ends", "the command ended with 1; it wrote to stderr: out of cheese"),
        ("hangs", "no answer within 1 s"),
        ("talks", "a line that is no JSON: `Hello!\\n`"),
        ("another id", "the answer to the request 11, where 10 was asked"),
        ("no member", "the answer `{}`: "),
        ("floods", "an answer of more than 64 MiB, which is not read"),
    ],
)
def test_a_fault_is_that_of_one_vector_and_the_others_are_run(fault: str, seen: str) -> None:
    # Only one that hangs is to run out of time, however slow the machine is.
    seconds = 1.0 if fault == "hangs" else 60.0
    report = report_on(command_of("MiniatureCodec", fault), FEW, answer_timeout=seconds)
    faulty = [case for case in report.seen.values() if case.faults]
    assert (len(report.seen), len(faulty)) == (len(FEW), 3 if fault != "talks" else len(faulty))
    assert faulty[0].faults[0].observation.seen.startswith(seen), faulty[0].faults[0]
    assert report.exit_code == 1


def test_a_command_that_ends_again_and_again_is_not_started_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "_MOST_STARTS", 3)
    report = report_on(command_of("MiniatureCodec", "ends"), ALL[:60])
    seen = [fault.observation.seen for case in report.seen.values() for fault in case.faults]
    assert {said.partition(";")[0] for said in seen} == {"the command ended with 1"}
    assert [event.reason.partition(";")[0] for event in report.not_judged] == ["it ended, or had to be ended, 3 times"]
    assert report.exit_code == 3
    assert len(report.seen) < 60, "the rest is not judged, and no fault of theirs"


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["no-such-command-anywhere"], "the command does not exist or cannot be run; check the spelling and PATH"),
        ([sys.executable, "-c", "print('hi')"], "a line that is no JSON: `hi\\n`"),
        ([sys.executable, "-c", "pass"], "the command ended with 0"),
        ([sys.executable, "-c", "raise KeyError(1)"], "the command ended with 1; it wrote to stderr: KeyError: 1"),
        ([sys.executable, "-c", "import time; time.sleep(60)"], "no answer within 1 s"),
        ([sys.executable, "-c", "print('{\"protocol\": 2}')"], 'the answer `{"protocol": 2}`: '),
        ([sys.executable, "-c", "print('NaN')"], "a line that is no JSON: `NaN\\n`"),
    ],
)
def test_what_does_not_speak_the_protocol_is_said_in_a_sentence(words: list[str], why: str) -> None:
    report = report_on(words, start_timeout=1.0 if "sleep" in words[-1] else 20.0)
    assert report.exit_code == 3
    assert [event.reason[: len(why)] for event in report.not_judged] == [why]
    assert report.seen == {}


def test_the_codec_is_not_asked_for_what_it_did_not_name(tmp_path: Path) -> None:
    program = PROGRAM.read_text().replace('"directions": ["encode", "decode", "stream"]', '"directions": ["encode"]')
    path = tmp_path / "encoder.py"
    path.write_text(program.replace("VALUES = ", "VALUES = [] and "))
    report = report_on([sys.executable, str(path), "MiniatureCodec"])
    assert report.exit_code == 0
    assert {note.partition("the codec did not name ")[2] for note in report.notes} >= {
        "the direction `decode`.",
        "the direction `stream`.",
        "values of the kind `float`.",
        "values of the kind `surrogates`.",
    }
    assert {vector.direction for vector in ALL if vector.id in report.seen} == {"encode"}


@pytest.mark.skipif(not hasattr(os, "killpg"), reason="groups of processes are POSIX")
@pytest.mark.parametrize("fault", ["stays", "forks"])
def test_no_process_is_left(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    mark = f"codec-{time.monotonic_ns()}"
    monkeypatch.setenv("MARK", mark)
    monkeypatch.setattr(command, "_STOP_SECONDS", 0.5)
    with CommandCodec(command_of("MiniatureCodec", fault)) as codec:
        assert codec.encode({"tool_name": "t", "llm_output": "x"})
    assert left(mark) == []


def test_all_that_is_said_has_the_form_of_the_protocol(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[dict[str, Any]] = []
    ask = command._Running.ask

    def kept(self: Any, request: dict[str, Any], *more: Any) -> dict[str, Any]:
        asked.append(request)
        return ask(self, request, *more)

    monkeypatch.setattr(command._Running, "ask", kept)
    report_on(command_of("MiniatureCodec"))
    assert {request["command"] for request in asked} == {"start", "encode", "decode"}
    assert any("pieces" in request for request in asked)
    request_form = jsonschema_rs.Draft202012Validator({**PROTOCOL, "anyOf": [{"$ref": "#/$defs/request"}]})
    for request in [*asked, {"command": "stop"}]:
        request_form.validate(json.loads(json.dumps(request)))


def test_a_codec_that_is_right_is_right_for_what_is_drawn_too() -> None:
    vectors = [vector for one in islice(drawn(7), 400) for vector in one.vectors()]
    assert [str(one) for vector in vectors for one in check_codec(vector, MiniatureCodec()) if not one.ok] == []
    again = [vector for one in islice(drawn(7), 400) for vector in one.vectors()]
    assert vectors == again


@pytest.mark.parametrize(
    "some",
    [altered, beyond_a_schema, combined_responses, halved, refused_responses, rules_beyond_schemas, schemas_as_read],
)
def test_what_is_altered_does_not_blame_a_codec_that_is_right(some: Callable[[int], Iterator[Vector]]) -> None:
    vectors = [*islice(some(7), 1_500)]
    assert [str(one) for vector in vectors for one in check_codec(vector, MiniatureCodec()) if not one.ok] == []
    assert vectors == [*islice(some(7), 1_500)]


def test_each_alteration_has_its_turn_in_what_a_run_judges() -> None:
    vectors = [*islice(altered(20261121), 2_000)]
    refusals = Counter(vector.expect["error"] for vector in vectors if "error" in vector.expect)
    assert set(refusals) == {
        *("NOT_WELL_FORMED", "DTD", "ENCODING", "SCHEMA", "VERSION", "BAD_JSON", "BAD_ENVELOPE", "LIMIT"),
    }
    assert min(refusals.values()) >= 10
    assert sum(vector.expect.get("warnings", 0) for vector in vectors) >= 10
    assert len({vector.requirements for vector in vectors}) >= 14


@pytest.mark.parametrize(
    ("name", "directions"),
    [
        ("NaiveCdataWriter", {"encode"}),
        ("PlainJsonWriter", {"encode"}),
        ("StrippingReader", {"decode", "stream"}),
        ("LineEndsByPieceReader", {"stream"}),
        ("AssigningCodec", {"encode", "decode", "stream"}),
    ],
)
def test_a_wrong_codec_is_found_by_what_is_drawn_and_the_fault_is_made_small(name: str, directions: set[str]) -> None:
    codec = getattr(wrong_codecs, name)()
    fails: dict[str, Drawn] = {}
    for one in islice(drawn(20261121), 600):
        for vector in one.vectors():
            if not all(seen.ok for seen in check_codec(vector, codec)):
                fails.setdefault(vector.direction, one)
    assert set(fails) == directions
    for direction, one in fails.items():
        small = smallest(one, lambda tried: not all(seen.ok for seen in check_codec(tried, codec)), direction)
        assert not all(seen.ok for seen in check_codec(small, codec))
        asked = {name: value for name, value in small.case.items() if name not in ("sentences", "expect")}
        assert len(json.dumps(asked)) < 500, asked


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("BlockwiseEscapes", "XMCP-RSP-023"),
        ("QuoteEndsString", "XMCP-RSP-080"),
        ("DisplayAnywhere", "XMCP-RSP-066"),
        ("CategorySaysRetryable", "XMCP-ERR-015"),
        ("GuessedTimeout", "XMCP-ERR-013"),
        ("LineEndsPerPiece", "XMCP-RSP-071"),
    ],
)
def test_a_fault_in_what_is_drawn_is_told_by_its_own_sentence(name: str, sentence: str) -> None:
    codec = CODECS[name]()
    vectors = [vector for one in islice(drawn(20261121), 500) for vector in one.vectors()]
    seen = [one.requirement for vector in vectors for one in check_codec(vector, codec) if not one.ok]
    assert sentence in seen
    assert set(seen) <= {sentence, "XMCP-RSP-071"}


def test_an_error_that_is_no_object_is_a_fault_like_any_other() -> None:
    class Listing(MiniatureCodec):
        def decode(self, document: Any, **options: Any) -> Any:
            response, warnings = super().decode(document, **options)
            return response | {"error": list(response["error"].items())}, warnings

    one = next(one for one in drawn(1) if "error" in one.arguments["response"])
    vector = next(vector for vector in one.vectors() if vector.direction == "decode")
    (fault,) = check_codec(vector, Listing())
    assert (fault.ok, fault.requirement, fault.seen[:9]) == (False, "XMCP-RSP-067", '{"error":')


def test_errors_with_codes_of_no_row_are_drawn_often_and_mostly_say_no_category() -> None:
    errors = [one for one in islice(drawn(3), 300, 3_000) if "error" in one.arguments["response"]]
    of_no_row = [one for one in errors if one.arguments["response"]["error"]["code"] not in ERROR_CODES]
    assert 0.25 < len(of_no_row) / len(errors) < 0.45
    documents = [
        vector.case["document"] for one in of_no_row for vector in one.vectors() if vector.direction == "decode"
    ]
    assert sum(" category=" not in document for document in documents) / len(documents) > 0.35


@pytest.mark.parametrize("seed", [1, 2, 3, 4, 20261121])
def test_a_codec_that_guesses_a_category_from_the_code_is_found(seed: int) -> None:
    codec = CODECS["GuessedTimeout"]()
    vectors = (next(v for v in one.vectors() if v.direction == "decode") for one in islice(drawn(seed), 500))
    assert any(not one.ok for vector in vectors for one in check_codec(vector, codec))


def test_an_element_of_the_codecs_own_is_none_of_its_json() -> None:
    vector = next(one for one in ALL if one.id == "markup-in-json-is-written-as-json-escapes")
    assert [str(one) for one in check_codec(vector, CODECS["OddGenerous"]()) if not one.ok] == []


class Flaky(MiniatureCodec):
    """Is wrong once, and never again."""

    count = 0
    ends = 0

    def encode(self, response: Any, **options: Any) -> str:
        self.count += 1
        return super().encode({**response, "call_id": "x"} if self.count == 30 else response, **options)

    def lacks(self, _: Vector) -> str:
        return ""


def test_a_fault_that_does_not_come_back_is_told_all_the_same() -> None:
    report = CaseReport(VECTORS)
    report.add(RunStarted("flaky", "flaky"))
    codec: Any = Flaky()
    codec.name = "flaky"
    _check_drawn(codec, 60, 1, report.add)
    assert [name for name, case in report.seen.items() if case.faults] == ["drawn-30-encode"]


def test_a_command_that_one_text_ends_is_blamed_for_that_alone(tmp_path: Path) -> None:
    answers = '    return {"response": tagged(response)'
    program = PROGRAM.read_text().replace(answers, f'    sys.exit(3) if "é" in str(response) else 0\n{answers}')
    path = tmp_path / "ends.py"
    path.write_text(program)
    report = CaseReport(VECTORS)
    check_command([sys.executable, str(path), "MiniatureCodec"], [], report.add, examples=120)
    faulty = [name for name, case in report.seen.items() if case.faults]
    assert faulty
    assert not [name for name in faulty if name.endswith("-encode")]


FLOOD = """
import sys
for line in sys.stdin:
    while True:
        print('{"protocol": 1, "name": "f", "directions": ["encode"]}' + " " * 100_000)
"""


def test_lines_that_nobody_asked_for_are_not_kept() -> None:
    begun = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with CommandCodec([sys.executable, "-c", FLOOD]):
        time.sleep(1.0)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - begun < 50_000, "in KiB"


def test_an_interruption_while_the_command_starts_leaves_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[Any] = []

    def interrupted(self: Any, *_: Any) -> None:
        started.append(self._process)
        raise KeyboardInterrupt

    monkeypatch.setattr(command._Running, "ask", interrupted)
    with pytest.raises(KeyboardInterrupt), CommandCodec(command_of("MiniatureCodec")):
        pass
    assert [process.poll() is not None for process in started] == [True]


def test_the_report_shows_the_smallest_vector_of_a_drawn_fault() -> None:
    report = CaseReport(VECTORS)
    check_command(command_of("NaiveCdataWriter"), [], report.add, examples=60)
    faulty = next(case for case in report.seen.values() if case.faults)
    assert faulty.name.endswith("-encode")
    assert len(faulty.faults[0].observation.seen) < 200
    assert report.exit_code == 1


def test_values_are_tagged_and_come_back() -> None:
    value = {
        "n": [math.inf, 2**60, Decimal("1.50"), (1, 2), b"x", 1.5, None, True],
        "at": [datetime(2026, 1, 2, tzinfo=UTC), date(2026, 1, 2)],
        "keys": {1: "one"},
        "halves": "\ud83d\ude00",
        "half": "\ud800",
    }
    back = untagged(json.loads(json.dumps(tagged(value))))
    assert back == {**value, "n": [*value["n"][:3], (1, 2), *value["n"][4:]]}
    kinds = "float integer decimal tuple bytes datetime date pairs surrogates halves"
    assert needed(value) == set(kinds.split())
    assert needed({"a": [1, "😀", {"b": 1.5}]}) == set()


def test_each_fault_of_the_program_is_tried() -> None:
    assert set(FAULTS) == {"ends", "hangs", "talks", "another id", "no member", "floods", "stays", "forks"}


def test_a_command_that_cannot_be_judged_raises() -> None:
    with pytest.raises(CodecUnavailable, match="does not exist"), CommandCodec(["no-such-command-anywhere"]):
        pass
    events: list[Event] = []
    check_command(["no-such-command-anywhere"], ALL, events.append)
    assert isinstance(events[-1], NotReached)


def test_a_codec_that_is_asked_after_its_end_is_started_again() -> None:
    with CommandCodec(command_of("MiniatureCodec", "ends")) as codec:
        ended = 0
        for _ in range(25):
            try:
                codec.encode({"tool_name": "t", "llm_output": "x"})
            except CodecFault:
                ended += 1
        assert ended == 2


def floats(value: Any) -> Iterator[float]:
    if isinstance(value, float):
        yield value
    elif isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from floats(part)


def test_no_whole_number_is_drawn_that_some_languages_hold_as_a_float_alone() -> None:
    drawn_ones = [one for each in islice(drawn(20261121), 1500) for one in floats(each.arguments)]
    assert any(abs(one) > 1_000 for one in drawn_ones)
    assert not [one for one in drawn_ones if abs(one) > 2**53]
