"""The default formatter: well-formed, complete, and no key or value can change the structure."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from xmcp.xml_formatters import NAMED_FORMATTERS, default_formatter

SAFE = ["a", "_", "A-b.c_1", "b2"]
UNSAFE = ["a b", "1", "", "xml", "XmlThing", "a:b", "é", "<k>", 'q"q', "a\nb", "-a", ".a", "a\t", "item key"]


@pytest.mark.parametrize("key", SAFE)
def test_a_safe_key_is_an_element(key: str) -> None:
    assert default_formatter({key: 1}) == f"<result>\n  <{key}>1</{key}>\n</result>"


@pytest.mark.parametrize("key", UNSAFE)
def test_any_other_key_is_an_attribute(key: str) -> None:
    (item,) = etree.fromstring(default_formatter({key: 1}))
    assert (item.tag, item.get("key"), item.text) == ("item", key, "1")


def test_the_level_indents_every_line() -> None:
    assert default_formatter({"a": [1]}, 2) == (
        "    <result>\n      <a>\n        <item>1</item>\n      </a>\n    </result>"
    )


@pytest.mark.parametrize(
    ("value", "text"), [(None, "null"), (True, "true"), (1, "1"), (1.5, "1.5"), ("", ""), ([], ""), ({}, "")]
)
def test_scalars_and_empty_values_are_one_line(value: Any, text: str) -> None:
    assert default_formatter(value) == f"<result>{text}</result>"


def test_a_value_that_contains_itself_is_refused() -> None:
    loop: list[Any] = []
    loop.append(loop)
    with pytest.raises(ValueError, match=r"[Cc]ircular"):
        default_formatter(loop)


XML_TEXT = st.text(
    st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\ufffe\uffff") | st.sampled_from("\t\n\r")
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | XML_TEXT,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(XML_TEXT | st.sampled_from([*SAFE, *UNSAFE]), inner, max_size=4)
    ),
    max_leaves=20,
)


def read(element: Any) -> Any:
    """The value an element stands for, with scalars as their text and empty containers as ''."""
    if len(element) == 0:
        return element.text or ""
    if all(child.tag == "item" and "key" not in child.attrib for child in element):
        return [read(child) for child in element]
    return {child.get("key", child.tag): read(child) for child in element}


def flat(value: Any) -> Any:
    """`value` as `read` can see it."""
    if isinstance(value, dict) and value:
        return {key: flat(entry) for key, entry in value.items()}
    if isinstance(value, list) and value:
        return [flat(entry) for entry in value]
    if isinstance(value, dict | list):
        return ""
    return (
        value
        if isinstance(value, str)
        else {None: "null", True: "true", False: "false"}.get(value, str(value))
        if not (isinstance(value, int) and not isinstance(value, bool))
        else str(value)
    )


@given(VALUES)
def test_every_value_can_be_read_back_from_the_structure(value: Any) -> None:
    def ambiguous(part: Any) -> bool:
        if isinstance(part, dict):
            return "item" in part or any(map(ambiguous, part.values()))
        return isinstance(part, list) and any(map(ambiguous, part))

    if not ambiguous(value):
        assert read(etree.fromstring(default_formatter(value))) == flat(value)


# ---- formatters with a name ----

ROWS = [{"id": 1, "name": "a|b", "open": True}, {"id": 2, "note": "x\r\ny", "name": None, "of": {"n": [1, None]}}]
TABLE = (
    "| id | name | open | note | of |\n"
    "| --- | --- | --- | --- | --- |\n"
    "| 1 | a\\|b | true |  |  |\n"
    '| 2 |  |  | x<br>y | {"n":[1,null]} |'
)


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (ROWS, TABLE),
        ({"total": 2, "hits": ROWS, "none": None}, f"total: 2\nnone: \n\nhits:\n\n{TABLE}"),
        ({"hits": ROWS}, f"hits:\n\n{TABLE}"),
        ([], "[]"),
        ([{}], "[{}]"),
        ([1, "é"], '[1,"é"]'),
        ([{"a": 1}, 2], '[{"a":1},2]'),
        ({"a": {"b": 1}}, '{"a":{"b":1}}'),
        (
            {"hits": [{f"c{n}": n} for n in range(6)], "rows": [{"a": 1}]},
            'hits: [{"c0":0},{"c1":1},{"c2":2},{"c3":3},{"c4":4},{"c5":5}]\n\nrows:\n\n| a |\n| --- |\n| 1 |',
        ),
    ],
)
def test_a_table_has_the_names_of_its_columns_once_and_other_data_is_json(data: Any, text: str) -> None:
    assert NAMED_FORMATTERS["table"](data, 0) == text


def test_rows_with_few_columns_in_common_cost_no_more_than_their_size() -> None:
    rows = [{f"c{n}": n} for n in range(3000)]
    for data in (rows, {"hits": rows}):
        assert len(NAMED_FORMATTERS["table"](data, 0)) < 2 * len(json.dumps(rows))
