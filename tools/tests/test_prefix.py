"""The prefix of XMCP's names: spelled where the list says, nowhere else, and changed by one command."""

from __future__ import annotations

import json
import shutil

import pytest

from tools.lint import prefix
from xmcp_models.registry import EXTENSION_ID, PREFIX


@pytest.fixture
def root(tmp_path, monkeypatch):
    """A repository with one file that may spell the prefix, and one that takes it from what is generated."""
    monkeypatch.setattr(prefix, "SPELLED_IN", ("schemas/names.json", "spec/*.md"))
    for folder in ("schemas", "spec", "code", "generated", ".git"):
        (tmp_path / folder).mkdir()
    shutil.copy(prefix.ROOT / prefix.NAMES, tmp_path / prefix.NAMES)
    (tmp_path / "spec" / "1.md").write_text(f"A server announces `{EXTENSION_ID}`.", encoding="utf-8")
    (tmp_path / "spec" / "2.md").write_text("Nothing.", encoding="utf-8")
    (tmp_path / "code" / "a.py").write_text("from xmcp_models.registry import EXTENSION_ID", encoding="utf-8")
    for written_by_others in ("generated/a.py", ".git/index", "CHANGELOG.md"):
        (tmp_path / written_by_others).write_text(f"{PREFIX} {prefix.NOT_OURS}", encoding="utf-8")
    return tmp_path


def test_this_repository_spells_the_prefix_only_where_the_list_says():
    assert list(prefix.faults(prefix.ROOT)) == []


def test_a_file_that_spells_it_elsewhere_is_named(root):
    assert list(prefix.faults(root)) == []
    (root / "code" / "a.py").write_text(f"KEY = '{PREFIX}tool'", encoding="utf-8")
    (root / "README.md").write_text(prefix.NOT_OURS, encoding="utf-8")
    assert sorted(fault.partition(":")[0] for fault in prefix.faults(root)) == ["README.md", "code/a.py"]


def test_a_pattern_of_the_list_without_use_is_named(root):
    (root / "spec" / "1.md").write_text("Nothing more.", encoding="utf-8")
    (fault,) = prefix.faults(root)
    assert fault.startswith("spec/*.md: does not spell the prefix")


@pytest.mark.parametrize("owned", [True, False])
def test_one_command_rewrites_every_file_of_the_list(root, owned):
    prefix.rewrite(root, "org.example/", owned=owned)
    assert (root / "spec" / "1.md").read_text(encoding="utf-8") == "A server announces `org.example/tool-response`."
    names = json.loads((root / prefix.NAMES).read_text(encoding="utf-8"))
    assert (names["prefix"], names["owned"], prefix.is_owned(root)) == ("org.example/", owned, owned)
    assert list(prefix.faults(root)) == []


@pytest.mark.parametrize("new", ["org.example", "example/", "org.Example/", "org.example/x/", "../a.b/", ""])
def test_what_is_no_prefix_is_refused_and_nothing_is_written(root, new):
    before = (root / "spec" / "1.md").read_text(encoding="utf-8")
    with pytest.raises(ValueError, match="a reversed domain name"):
        prefix.rewrite(root, new, owned=False)
    assert (root / "spec" / "1.md").read_text(encoding="utf-8") == before


def test_no_release_is_made_with_a_prefix_that_nobody_owns(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["prefix", "--release"])
    monkeypatch.setattr(prefix, "is_owned", lambda _: False)
    with pytest.raises(SystemExit, match="nobody owns the prefix"):
        prefix.main()
    monkeypatch.setattr(prefix, "is_owned", lambda _: True)
    prefix.main()
    assert capsys.readouterr().out == ""
