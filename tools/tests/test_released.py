"""What counts in a released version: a check that came later is no failure before the next version."""

from __future__ import annotations

import pytest
import yaml

from tools.lint.released import faults, later, read, with_version
from tools.lint.spec_lint import REGISTRY

REGISTERED = yaml.safe_load(REGISTRY.read_text(encoding="utf-8"))
OLD, NEW = {"id": "XMCP-A-001", "verified_by": ["server"]}, {"id": "XMCP-A-002", "verified_by": ["client"]}
EXCLUDED = {"id": "XMCP-A-003", "excluded": "why"}


def test_of_a_version_that_is_not_released_everything_counts() -> None:
    assert later("1.0-draft", [OLD, NEW], {}) == set()
    assert later("1.1", [OLD, NEW], {"1.0": ["XMCP-A-001"]}) == set()


def test_what_was_verified_later_does_not_count() -> None:
    assert later("1.0", [OLD, NEW, EXCLUDED], {"1.0": ["XMCP-A-001"]}) == {"XMCP-A-002"}


def test_what_counted_is_verified_for_ever() -> None:
    (fault,) = faults([NEW, EXCLUDED], {"1.0": ["XMCP-A-001", "XMCP-A-002"]})
    assert fault.startswith("XMCP-A-001: it counts in the released version 1.0")


def test_a_release_adds_its_version_once_and_changes_no_other() -> None:
    first = with_version("# Head.\n{}\n", "1.0", [OLD, EXCLUDED])
    second = with_version(first, "1.1", [OLD, NEW])
    assert second.startswith("# Head.\n")
    assert yaml.safe_load(second) == {"1.0": ["XMCP-A-001"], "1.1": ["XMCP-A-001", "XMCP-A-002"]}
    for version, why in (("1.0", "released"), ("1.2-draft", "draft")):
        with pytest.raises(ValueError, match=why):
            with_version(second, version, [OLD])


def test_the_file_of_this_repository_is_right() -> None:
    assert list(faults(REGISTERED["requirements"], read())) == []
