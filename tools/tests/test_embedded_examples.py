"""Pages hold the files that they show: filled in by the generators, compared by the check, damaged by nothing."""

import pytest

from tools import ROOT
from tools.generate import embedded_examples
from tools.generate.embedded_examples import MARK, embed

FILES = {"a.json": '{"a": 1}\n', "empty.txt": "", "fence.md": "```\n", "two.py": "a = 1\n\n\nb = 2\n"}
FILES["separator.json"] = '"a\u2028b\x85c"\n'


def page(path, block="```json\n```\n"):
    return f"Before.\n\n<!-- example: {path} -->\n{block}\nAfter.\n"


def test_the_file_takes_the_place_of_what_stood_between_the_fences():
    fresh = embed(page("a.json"), FILES.__getitem__)
    assert fresh == page("a.json", '```json\n{"a": 1}\n```\n')
    assert embed(page("a.json", '```json\n{\n"b": 2\n```\n'), FILES.__getitem__) == fresh
    assert embed(fresh, FILES.__getitem__) == fresh


def test_what_follows_the_language_and_every_blank_line_stays():
    block = '```python title="two.py"\n{}```\n'
    assert embed(page("two.py", block.format("")), FILES.__getitem__) == page("two.py", block.format(FILES["two.py"]))


def test_only_a_line_feed_ends_a_line():
    block = f"```json\n{FILES['separator.json']}```\n"
    assert embed(page("separator.json", block), FILES.__getitem__) == page("separator.json", block)


def test_a_page_without_marks_stays_as_it_is():
    text = "A line.\n\n```json\n{}\n```\n"
    assert embed(text, FILES.__getitem__) == text


SOURCE = "# Title\n\nIntroduction.\n\n## Rows\n\n| a |\n|---|\n\nMore.\n\n## Other\n\nElse.\n"


def test_a_section_of_another_page_stands_below_its_mark() -> None:
    page = "Before.\n\n<!-- section: a.md#Rows -->\n\nold\n\n## After\n\nIts text.\n"
    new = "Before.\n\n<!-- section: a.md#Rows -->\n\n| a |\n|---|\n\nMore.\n\n## After\n\nIts text.\n"
    assert embed(page, {"a.md": SOURCE}.__getitem__) == new
    assert embed(new, {"a.md": SOURCE}.__getitem__) == new


def test_a_section_can_end_a_page() -> None:
    page = embed("<!-- section: a.md#Other -->\n", {"a.md": SOURCE}.__getitem__)
    assert page == "<!-- section: a.md#Other -->\n\nElse.\n"
    assert embed(page, {"a.md": SOURCE}.__getitem__) == page


def test_a_section_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ValueError, match=r"1: a\.md has no section 'Row'"):
        embed("<!-- section: a.md#Row -->\n", {"a.md": SOURCE}.__getitem__)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (page("a.json", "Text."), r"3: there must be a fenced block"),
        (page("a.json", "\n```json\n```\n"), r"3: there must be a fenced block"),
        ("<!-- example: a.json -->", r"1: there must be a fenced block"),
        (page("a.json", "```json\n"), r"4: no line below ends this block"),
        (page("fence.md"), r"3: fence.md has a fence"),
        ("See <!-- example: a.json -->", r"1: the comment that names an example must be a line of its own"),
    ],
)
def test_a_mark_that_cannot_be_filled_is_refused_with_its_line(text, message):
    with pytest.raises(ValueError, match=message):
        embed(text, FILES.__getitem__)


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """A repository with one page, in the place of this one."""
    monkeypatch.setattr(embedded_examples, "ROOT", tmp_path)
    (tmp_path / "spec").mkdir()
    (tmp_path / "a.json").write_text(FILES["a.json"])
    (tmp_path / "spec" / "01-a.md").write_text(page("a.json"))
    return tmp_path


def test_a_page_that_is_out_of_date_fails_the_check_with_the_command_that_helps(repository, capsys):
    before = (repository / "spec" / "01-a.md").read_text()
    with pytest.raises(SystemExit, match="uv run nox -s generate"):
        embedded_examples.update(check=True)
    assert '+{"a": 1}' in capsys.readouterr().out
    assert (repository / "spec" / "01-a.md").read_text() == before
    embedded_examples.update(check=False)
    embedded_examples.update(check=True)
    (repository / "a.json").write_text("{}\n")
    with pytest.raises(SystemExit, match="out of date"):
        embedded_examples.update(check=True)


def test_a_file_that_does_not_exist_is_named_with_its_page(repository):
    (repository / "a.json").unlink()
    with pytest.raises(SystemExit, match=r"spec/01-a\.md: .*a\.json"):
        embedded_examples.update(check=False)


def test_every_page_of_this_repository_holds_its_examples():
    embedded_examples.update(check=True)
    assert any(MARK.search(path.read_text(encoding="utf-8")) for path in (ROOT / "docs").rglob("*.md"))
