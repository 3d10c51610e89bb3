"""Which failed calls are made again and when, as pure functions; the engine's part is in test_policy.py."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from xmcp.client.calls import retry_policy
from xmcp.client.calls.retry_policy import RetryPolicy
from xmcp.client.tools.catalogue import Entry
from xmcp.wire import ErrorInfo

PLAIN = Entry("t", SimpleNamespace(), "t")  # type: ignore[arg-type]
READ_ONLY = Entry("t", SimpleNamespace(), "t", read_only=True)  # type: ignore[arg-type]
IDEMPOTENT = Entry("t", SimpleNamespace(), "t", idempotent=True)  # type: ignore[arg-type]
NONE, UNKNOWN = {"side_effects": "none"}, {"side_effects": "unknown"}


@pytest.mark.parametrize(
    ("entry", "error", "allowed"),
    [
        (PLAIN, ErrorInfo("DB_TIMEOUT", "m", True), False),
        (PLAIN, ErrorInfo("DB_TIMEOUT", "m", True, meta=UNKNOWN), False),
        (PLAIN, ErrorInfo("DB_TIMEOUT", "m", True, meta=NONE), True),
        (READ_ONLY, ErrorInfo("DB_TIMEOUT", "m", True), True),
        (IDEMPOTENT, ErrorInfo("DB_TIMEOUT", "m", True), True),
        (READ_ONLY, ErrorInfo("DB_TIMEOUT", "m", False, meta=NONE), False),
        (READ_ONLY, ErrorInfo("CIRCUIT_OPEN", "m", True, meta=NONE), False),
    ],
)
def test_only_what_is_retryable_and_cannot_do_harm_twice_is_tried_again(
    entry: Entry, error: ErrorInfo, allowed: bool
) -> None:
    assert retry_policy.allowed(error, entry) is allowed


@settings(deadline=None)  # a busy machine can stop anything for a moment
@given(st.integers(1, 50), st.none() | st.integers(0, 500_000), st.floats(0, 1))
def test_the_wait_grows_to_its_bound_is_jittered_and_never_less_than_the_server_asks(
    failures: int, hint: int | None, share: float
) -> None:
    policy = RetryPolicy(backoff_base=0.5, backoff_max=30)
    error = ErrorInfo("RATE_LIMIT", "m", True, hint)
    waited = retry_policy.wait(policy, failures, error, draw=lambda low, high: low + share * (high - low))
    assert waited >= (hint or 0) / 1000
    assert waited <= max(30, (hint or 0) / 1000)
    if not hint:
        assert waited == pytest.approx(share * min(0.5 * 2 ** (failures - 1), 30))


@pytest.mark.parametrize(
    ("attempt", "pause", "elapsed", "left", "ends"),
    [
        (1, 0.5, 0.1, None, False),
        (3, 0.5, 0.1, None, True),
        (1, 120.0, 0.0, None, False),
        (1, 120.1, 0.0, None, True),
        (1, 50.0, 100.0, None, True),
        (1, 1.0, 0.0, 1.0, True),
        (1, 0.9, 0.0, 1.0, False),
    ],
)
def test_attempts_waits_and_the_time_of_the_chat_bound_a_call(
    attempt: int, pause: float, elapsed: float, left: float | None, ends: bool
) -> None:
    assert retry_policy.ends(RetryPolicy(max_attempts=3, max_elapsed=140), attempt, pause, elapsed, left) is ends


def test_a_policy_is_written_as_a_mapping_too_and_a_wrong_one_is_refused_by_name() -> None:
    assert RetryPolicy.of({"max_attempts": 5, "backoff_base": 0.1}) == RetryPolicy(5, 0.1)
    assert RetryPolicy.of(None) == RetryPolicy()
    with pytest.raises(TypeError, match="max_attempts, backoff_base"):
        RetryPolicy.of({"attempts": 5})
    with pytest.raises(ValueError, match="max_attempts must be above 0"):
        RetryPolicy.of({"max_attempts": 0})
