"""Write the tables of the web view: what `xmcp.render.view` knows as data, and the shapes of the payloads.

They come from the schemas and from the constants of the Python view, so that both renderers decide alike.
"""

from __future__ import annotations

import difflib
import json
import sys
from collections.abc import Iterator
from typing import Any, Final

from tools import ROOT
from tools.generate.sources import COMMAND
from xmcp.render.view import chart_profile, limits, links, markdown, payload_shapes, untrusted, wording
from xmcp.render.view.languages import LANGUAGES
from xmcp_models import registry

TARGET: Final = ROOT / "reference" / "web" / "src" / "view" / "tables.generated.ts"
NOTE: Final = f"Generated from schemas/ and xmcp/render/view by `{COMMAND}`. Do not edit: change them and run it again."


def update(*, check: bool) -> None:
    """Bring the tables up to date; with `check`, only compare.

    Raises:
        SystemExit: `check` is set and they are out of date; prints the differences first.
    """
    name = TARGET.relative_to(ROOT).as_posix()
    fresh = written()
    committed = TARGET.read_text(encoding="utf-8") if TARGET.exists() else ""
    if fresh == committed:
        print(f"{name}: as schemas/ and xmcp/render/view say")
    elif check:
        lines = difflib.unified_diff(committed.splitlines(), fresh.splitlines(), "committed", "generated", lineterm="")
        print("\n".join(lines))
        sys.exit(f"\n{name} is out of date: run `{COMMAND}` and commit what it writes.")
    else:
        TARGET.write_text(fresh, encoding="utf-8")
        print(f"wrote {name}")


def written() -> str:
    """Return the text of the module."""
    parts = [f'/** {NOTE} */\n\nimport type {{ Shapes }} from "./shapes.ts";\n']
    for name, value, kind, doc in _tables():
        text = _literal(value)
        parts.append(
            f"/** {doc} */\nexport const {name}{f': {kind}' if kind else ''} = {text}{'' if kind else ' as const'};\n"
        )
    return "\n".join(parts)


def _tables() -> Iterator[tuple[str, Any, str, str]]:
    """Yield name, value, TypeScript type (empty: the narrowest) and description of each table."""
    numbers = {name: value for name, value in vars(limits).items() if name.isupper() and isinstance(value, int)}
    yield "LIMITS", numbers, "", "How much is read and drawn: limits.py."
    yield "ROOM", limits.ROOM, "", "What the parts of a display share."
    yield "LEAST", limits.LEAST, "", "What each part has of it, however much stands before it."
    classes = {name: getattr(untrusted, name) for name in ("BIDI", "JOINERS", "HIDDEN", "BLANK")}
    doc = "Characters, as the inside of a class with the flag `u`: "
    for name, ranges in classes.items():
        yield name, character_class(ranges), "", f"{doc}{name}."
    yield "UNFIT", _composed(character_class(links.UNFIT), classes), "string", f"{doc}UNFIT."
    yield (
        "LANGUAGES",
        LANGUAGES,
        "Readonly<Record<string, string>>",
        "The languages whose source text is coloured, by every name.",
    )
    words = {name: value for name, value in vars(wording).items() if name.isupper() and isinstance(value, str)}
    yield "WORDS", words, "", "Words that a person reads: wording.py."
    yield "LEVELS", dict(wording.LEVELS), "", "The name of each notification level."
    yield "MARKDOWN_DEEPEST", markdown.DEEPEST, "", "Levels of nesting below which a Markdown parser drops words."
    yield "MARKS", chart_profile.MARKS, "Readonly<Record<string, string>>", "What each mark of Vega-Lite is drawn as."
    yield "BY_VALUE", chart_profile.BY_VALUE, "readonly string[]", "Orders of categories by their values."
    yield "CHART", chart_profile.SHAPES, "Shapes", "The shapes of a chart that is drawn: chart_profile.py."
    yield "DISPLAY_META_KEY", registry.DISPLAY_META_KEY, "", "Where the `_meta` of a result has its display."
    yield "ERROR_META_KEY", registry.ERROR_META_KEY, "", "Where the `_meta` of a plain result has its error."
    yield "PAYLOADS", payload_shapes.SHAPES, "Shapes", "The shape of the payload of each display type."


class _Expression(str):
    """JavaScript."""

    __slots__ = ()


def _composed(text: str, classes: dict[str, untrusted.Ranges]) -> _Expression:
    """Return a character class with the names of those that it contains: a browser loads each of them once."""
    text = json.dumps(text)
    for name, ranges in classes.items():
        text = text.replace(json.dumps(character_class(ranges))[1:-1], f'" + {name} + "')
    return _Expression(text.replace(' + "" + ', " + "))


def _literal(value: Any) -> str:
    """Return a value as JavaScript; each member of an object has a line of its own."""
    if isinstance(value, _Expression):
        return value
    if not isinstance(value, dict):
        return json.dumps(value)
    return "{\n" + "".join(f"  {json.dumps(name)}: {json.dumps(member)},\n" for name, member in value.items()) + "}"


def character_class(ranges: untrusted.Ranges) -> str:
    """Return ranges of code points as the inside of a JavaScript character class."""
    return "".join(f"\\u{{{low:x}}}" + (f"-\\u{{{high:x}}}" if high > low else "") for low, high in ranges)
