"""Checks that unseen wrong clients asked for still catch them: of each kind of fault, one client in one scenario.

`unseen_clients/judge_all.py` judges all of the clients in all scenarios, which takes too long for every run.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
CAUGHT = [
    ("fifth", "failures-of-others-as-documents", "MCP-010", "a failure of another server that looks like a document"),
    ("fifth", "names-of-members-tell-nothing", "MCP-045", "a member that is named like what only the person sees"),
    ("fifth", "looks-for-the-document", "MCP-012", "a document behind a picture"),
    (
        "fifth",
        "rewritten-documents-get-the-offered-name",
        "CLI-003",
        "a document of a named server beside a large display",
    ),
    ("fifth", "nobody-approved-it-in-time", "CLI-004", "a chat runs out of time before an approval"),
    ("fifth", "text-before-half-a-call-is-lost", "CLI-116", "a chat is cancelled in the middle of a call"),
    (
        "sixth",
        "a-time-out-takes-the-others-along",
        "CLI-055",
        "a call waits for an equal one whose chat runs out of time",
    ),
    ("sixth", "lists-displays-up-to-the-first-gap", "DSP-042", "displays of a turn that the end of the time cut off"),
    ("sixth", "the-first-failure-names-the-chat", "CLI-133", "models fail for different reasons"),
    ("sixth", "broken-calls-cost-nothing", "CLI-115", "an answer breaks off in the middle of a call"),
    ("sixth", "the-cache-needs-no-approval", "CLI-080", "an approval and a cache"),
    ("sixth", "definitions-stay", "CLI-082", "a parameter of the application behind a reference"),
    ("sixth", "what-the-cache-answers-has-started", "REC-006", "a display from the cache ends a chat"),
    ("seventh", "the-last-turn-ends-with-max-turns", "CLI-071", "the time is over in the last turn"),
    ("seventh", "nothing-to-take-back", "CLI-075", "an answer breaks off after a part of a call alone"),
    ("seventh", "a-refused-probe-proves-nothing", "CLI-045", "a probe is answered with a protocol error"),
    (
        "eighth",
        "a-failure-keeps-what-was-filled-in",
        "CLI-003",
        "a failure that only the flag names, and what the server filled in",
    ),
    ("eighth", "a-refused-question-is-asked", "CLI-013", "a question above the limit of calls"),
    (
        "eighth",
        "what-is-not-declared-is-the-model-s",
        "CLI-083",
        "a value of the application that a tool does not take",
    ),
    ("eighth", "asks-the-breaker-before-the-slot", "CLI-043", "calls wait for a slot while a breaker opens"),
    ("eighth", "blocks-come-last", "CLI-063", "blocks and displays of one turn"),
    ("eighth", "a-reference-is-always-small", "DSP-040", "a display whose title is too long for a reference"),
    ("eighth", "an-error-is-warning-enough", "RSP-072", "a display that is none beside an error"),
    ("eighth", "mends-the-order-in-place", "CLI-001", "tool messages in another order than the calls"),
    ("ninth", "fit-by-type", "CLI-036", "values that fit by their types alone"),
    ("ninth", "cut-at-last-underscores", "CLI-093", "names with underscores at named servers"),
    ("ninth", "unknown-cached-tokens-are-zero", "REC-010", "what the vendor counted"),
    ("ninth", "audience-of-texts-only", "MCP-045", "texts in embedded resources"),
    ("tenth", "sends-the-defaults-of-the-schema", "CLI-012", "a schema with defaults"),
    ("thirteenth", "depends-on-offered-names", "TOL-012", "dependencies at a named server"),
    ("thirteenth", "probe-has-to-succeed", "CLI-045", "a probe is answered with an error of the tool"),
    ("twelfth", "cache-sorts-lists", "CLI-051", "arguments that programs take for equal, and a cache"),
    (
        "tenth",
        "caches-by-what-the-model-wrote",
        "CLI-051",
        "another value of the application in the next chat, and a cache",
    ),
    ("tenth", "leaves-out-names-that-models-refuse", "CLI-090", "names that a model does not take"),
    ("tenth", "reports-the-text-for-the-model", "REC-006", "texts in embedded resources"),
    ("tenth", "takes-silence-for-not-retryable", "MCP-040", "failures of other servers in their own words"),
]


@pytest.mark.parametrize(("set_", "name", "broken", "scenario"), CAUGHT, ids=[name for _, name, *_ in CAUGHT])
def test_a_wrong_client_breaks_its_sentence_in_the_scenario_about_it(
    set_: str, name: str, broken: str, scenario: str
) -> None:
    command = [sys.executable, "-m", "unseen_clients.in_virtual_time", f"unseen_clients_{set_}", name, scenario]
    done = subprocess.run(command, env={**os.environ, "PYTHONPATH": str(TESTS)}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert f"XMCP-{broken}" in json.loads(done.stdout)
