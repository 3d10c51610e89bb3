"""Displays that try to run, fetch, hide or forge something, or to cost more than their length, by what they try."""

from __future__ import annotations

from typing import Any, Final

_MARKUP: Final = (
    "<script>window.ran = 1</script><img src=x onerror='window.ran = 1'><svg onload='window.ran = 1'></svg>"
)
_ATTRIBUTE: Final = "\"' onmouseover='window.ran = 1' x=\"</title></style></textarea>"
_HIDDEN: Final = "\u202egnp.exe\u2066\u200b\x1b[31m\x1b]8;;https://evil.example\x07\x00\x9b2J\ud800"
_ALL: Final = f"{_MARKUP}{_ATTRIBUTE}{_HIDDEN}<!-- --><![CDATA[ ]]>&amp;&#x6A;"
_LINKS: Final = (
    *("javascript:window.ran=1", "JaVaScRiPt:window.ran=1", "java&#10;script:x", "&#x6A;avascript:x", "vbscript:x"),
    *("data:text/html,<script>window.ran=1</script>", "\x01javascript:x", "//evil.example", "\\\\evil.example"),
    *("https:evil.example", "/\\evil.example", "https:///evil.example", "https://bank.example@evil.example"),
    *(
        "..//evil.example",
        "file:///etc/passwd",
        "https://b\u0430nk.example/",
        "https://ex\nample.com",
        "blob:x",
        "#a",
        "a",
    ),
)


def _chart(**members: Any) -> dict[str, Any]:
    spec = {
        "mark": "bar",
        "data": {"values": [{"a": "x", "n": 1}]},
        "encoding": {"x": {"field": "a"}, "y": {"field": "n"}},
    }
    return {"type": "chart", "payload": spec | members}


def _nested(depth: int) -> dict[str, Any]:
    envelope: dict[str, Any] = {"type": "text", "payload": "deep"}
    for _ in range(depth):
        envelope = {"type": "group", "payload": [envelope]}
    return envelope


def _fallbacks(depth: int) -> dict[str, Any]:
    envelope: dict[str, Any] = {"type": "text", "payload": "deep"}
    for _ in range(depth):
        envelope = {"type": "x-a-b", "payload": {}, "fallback": envelope}
    return envelope


_ROW: Final = {"a": _ALL, _ALL: 1}

HOSTILE: Final[dict[str, Any]] = {
    "markup in text": {"type": "text", "payload": _ALL, "title": _ALL},
    "markup in markdown": {"type": "markdown", "payload": f"# {_ALL}\n\n{_ALL}\n\n```{_ALL}\n{_ALL}\n```\n\n`{_ALL}`"},
    "html blocks in markdown": {
        "type": "markdown",
        "payload": "<style>*{display:none}</style>\n\n<div style='position:fixed;inset:0'>over all</div>\n\n"
        "<iframe srcdoc='<script>parent.ran=1</script>'></iframe>\n\n<form action=https://evil.example><input></form>",
    },
    "links": {"type": "markdown", "payload": "\n\n".join(f"[words]({one}) [ref][r] <{one}>" for one in _LINKS)},
    "link by reference": {"type": "markdown", "payload": "[a][1]\n\n[1]: javascript:window.ran=1 'title'"},
    "link titles": {"type": "markdown", "payload": f'[a](https://example.com "{_ATTRIBUTE}")'},
    "another address as words": {"type": "markdown", "payload": "[https://bank.example](https://evil.example/a)"},
    "pictures": {
        "type": "markdown",
        "payload": "![a](https://evil.example/p.png) ![b][p] ![c](data:image/svg+xml,x)\n\n[p]: https://evil.example/q.png",
    },
    "image by address": {"type": "image", "payload": {"src": "https://evil.example/p.png", "alt": _ALL}},
    "image of svg": {"type": "image", "payload": "data:image/svg+xml,<svg onload='window.ran=1'/>", "alt": _ALL},
    "image of SVG in capitals": {"type": "image", "payload": "DATA:IMAGE/SVG+XML,<svg onload='window.ran=1'/>"},
    "image of html": {"type": "image", "payload": {"src": "data:text/html,<script>window.ran=1</script>"}},
    "image that ends its attribute": {"type": "image", "payload": 'data:image/png,"onerror="window.ran=1'},
    "chart with an address": _chart(data={"url": "https://evil.example/data.json"}),
    "chart with parameters": _chart(
        params=[{"name": "p", "expr": "window.ran=1"}], transform=[{"calculate": "1", "as": "b"}]
    ),
    "chart with expressions": _chart(
        encoding={
            "x": {"field": "a", "axis": {"labelExpr": "window.ran=1"}},
            "y": {"field": "n", "value": {"signal": "x"}},
        }
    ),
    "chart with a link": _chart(
        encoding={"x": {"field": "a"}, "y": {"field": "n"}, "href": {"value": "javascript:window.ran=1"}}
    ),
    "chart with pictures": _chart(mark={"type": "image", "url": "https://evil.example/p.png"}),
    "chart with pictures in a layer": _chart(layer=[{"mark": "image"}]),
    "chart whose field is a program": _chart(
        data={"values": [{"d'];x=1;//": _ALL, "n": 1}]},
        encoding={"x": {"field": "d'];x=1;//", "title": _ALL}, "y": {"field": "n", "title": _ALL}},
    ),
    "chart with markup everywhere": _chart(
        data={"values": [{"a": _ALL, "n": 1, "s": _ALL}, {"a": "b", "n": 2, "s": "t"}]},
        encoding={
            "x": {"field": "a", "title": _ALL},
            "y": {"field": "n", "title": _ALL},
            "color": {"field": "s", "title": _ALL},
        },
        title=_ALL,
    ),
    "lines with markup everywhere": _chart(
        mark="line",
        data={"values": [{"a": _ALL, "n": 1, "s": _ALL}, {"a": "b", "n": 2, "s": "t"}]},
        encoding={"x": {"field": "a", "title": _ALL}, "y": {"field": "n", "title": _ALL}, "color": {"field": "s"}},
    ),
    "slices with markup everywhere": _chart(
        mark="arc",
        data={"values": [{"a": _ALL, "n": 1}, {"a": "b", "n": 2}]},
        encoding={
            "theta": {"field": "n", "type": "quantitative", "title": _ALL},
            "color": {"field": "a", "title": _ALL},
        },
    ),
    "grid with markup everywhere": _chart(
        mark="rect",
        data={"values": [{"a": _ALL, "b": _ALL, "n": 1}]},
        encoding={
            "x": {"field": "a", "type": "ordinal", "title": _ALL},
            "y": {"field": "b", "type": "ordinal", "title": _ALL},
            "color": {"field": "n", "type": "quantitative", "title": _ALL},
        },
    ),
    "chart a billion pixels wide": _chart(width=1e9, height=1e9),
    "chart of numbers beyond all measure": _chart(data={"values": [{"a": "x", "n": 1e308}, {"a": "y", "n": -1e308}]}),
    "chart of not a number": _chart(data={"values": [{"a": "x", "n": float("nan")}, {"a": "y", "n": float("inf")}]}),
    "chart of 5,000 categories": _chart(data={"values": [{"a": f"c{n}", "n": n} for n in range(5000)]}),
    "chart of 100,000 rows": _chart(data={"values": [{"a": 1, "n": 1}] * 100_000}),
    "table with markup everywhere": {
        "type": "table",
        "payload": {"columns": [_ALL, {"key": "b", "title": _ALL}], "rows": [[_ALL, _ALL]], "caption": _ALL},
    },
    "table of objects": {"type": "table", "payload": [_ROW]},
    "table of 100,000 rows": {"type": "table", "payload": [{"n": n} for n in range(100_000)]},
    "table of 5,000 columns": {"type": "table", "payload": [{f"c{n}": n for n in range(5000)}]},
    "table with names of objects": {"type": "table", "payload": [{"__proto__": 1, "constructor": 2, "toString": 3}]},
    "groups 200 deep": _nested(200),
    "group of 5,000": {"type": "group", "payload": [{"type": "text", "payload": "x"}] * 5000},
    "fallbacks 50 deep": _fallbacks(50),
    "hidden characters": {"type": "notification", "payload": _HIDDEN, "title": _HIDDEN},
    "markup in a notification": {"type": "notification", "payload": {"message": _ALL, "level": "error"}},
    "html": {"type": "html", "payload": _ALL, "alt": _ALL},
    "a type with the name of a method": {"type": "constructor", "payload": {"__proto__": {"a": 1}}, "alt": _ALL},
    "a type of markup": {"type": _ALL, "payload": {_ALL: [_ALL]}},
    "file by a program": {"type": "file", "payload": {"uri": "javascript:window.ran=1", "name": _ALL, "mime": _ALL}},
    "file with a user name": {"type": "file", "payload": {"uri": "https://bank.example@evil.example/f", "name": "f"}},
    "facts": {"type": "facts", "payload": {_ALL: _ALL}},
    "metric": {"type": "metric", "payload": {"label": _ALL, "value": _ALL, "unit": _ALL, "delta": _ALL}},
    "code": {"type": "code", "payload": {"code": _ALL, "language": _ALL, "filename": _ALL}},
    "json": {"type": "json", "payload": {_ALL: [_ALL] * 3}},
    "json 60 deep": {"type": "json", "payload": [[[[[[[[[[{"a": [[[[[[[[[[1]]]]]]]]]]}]]]]]]]]]]},
    "emphasis": {"type": "markdown", "payload": "*a " * 20_000},
    "brackets": {"type": "markdown", "payload": "![[]()" * 5_000},
    "quotations": {"type": "markdown", "payload": "\n".join([">" * 30 + " x"] * 500)},
    "a list 400 deep": {"type": "markdown", "payload": "\n".join("  " * n + "- x" for n in range(400))},
    "combining marks": {"type": "text", "payload": "a" + "\u0301" * 5000, "title": "a" + "\u0301" * 190},
    "no payload": {"type": "table"},
    "nothing": {},
    "a number as type": {"type": 1, "payload": "x"},
    "rows of null": {"type": "table", "payload": {"columns": ["a"], "rows": [None, None]}},
    "empty": {"type": "table", "payload": [], "title": " "},
}
"""Displays by what they try. Each of them is shown as something, and nothing of it happens."""
