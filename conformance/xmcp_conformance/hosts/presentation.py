"""From a server's answer and the rule of a host to what the model and the person get: the pure function `present`."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from xml.sax.saxutils import escape

from xmcp_models.registry import ERROR_META_KEY

from .answers import Answer, for_model_only, for_user_only
from .described_errors import error_in
from .leaks import LONGEST_EXCERPT, leaks
from .rules import DROPPED, FAILS, SEEN, SEEN_WITH, UNKNOWN, Host, ModelRule

EXCEPTION: Final = "text of an unexpected exception"
"""What leaks where a server tells the model what an exception says that nobody wrote for it."""

LARGEST_DISPLAY: Final = 4096
"""Maximum size of a display that a document repeats to the model of `AIClient`, in bytes; above it is a reference."""

JSON_LIST: Final = "json_list"
"""The value of `join` by which several texts become one JSON array of texts."""

_FIELD: Final = re.compile(r"\{(\w+)\}")
_DISPLAY: Final = re.compile(r"<display(?:\s[^<>]*)?>.*?</display>", re.DOTALL)
_READS_AS_ERROR: Final = re.compile(
    r"error|fail|invalid|not found|no such|unable|cannot|can't|could not|denied|unknown|exception|traceback|time.?out"
    r"|missing|required|must |refused|forbidden|unexpected|wrong|unavailable"
    r"|\A(?-i:[A-Z][A-Z0-9_]{2,62})(?: \([^)]*\))?: ",
    re.IGNORECASE,
)
"""Words of failure, or an error's code at the beginning, by which a model can tell a failure from a success."""
_COMPARED: Final = 200_000
"""Maximum number of characters of a text that are compared with data, or searched for words."""

_LEAVES: Final = 500
"""Maximum number of values of data that are compared with a text."""

_NAMES: Final = {"resource_link": "link", "resource": "resource", "image": "image", "audio": "sound", "text": "text"}


@dataclass(frozen=True, slots=True)
class Shown:
    """What one host makes of an answer. The words are for a report.

    Attributes:
        parts: the texts before the model, each a part of its own.
        images: how many images or sounds the model gets as such.
        form: what the model gets, such as `text`, `data` or `error: text + image`.
        person: what the person is shown, such as `text` and `display`; empty where the application decides.
        lost: what the server sent and does not arrive.
        leaked: what the model gets although it was not meant for it.
        misled: what the model will wrongly believe.
        unknown: what nobody has found out about this host.
        examples: the first place of what leaks, by its word in `leaked`.
    """

    parts: tuple[str, ...]
    images: int = 0
    form: str = "text"
    person: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    leaked: tuple[str, ...] = ()
    misled: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    examples: Mapping[str, str] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """All text before the model."""
        return "\n".join(self.parts)


@dataclass(slots=True)
class _Draft:
    """What has been found so far of one answer in one host."""

    texts: list[str] = field(default_factory=list)
    kinds: list[str] = field(default_factory=list)
    images: int = 0
    lost: list[str] = field(default_factory=list)
    leaked: list[str] = field(default_factory=list)
    misled: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    fails: str = ""
    examples: dict[str, str] = field(default_factory=dict)


def present(answer: Answer, host: Host) -> Shown:
    """Return what the model and the person get of an answer in a host."""
    rule = host.model
    if answer.result is None:
        # Every host has its own sentence for it, and none of them is in the data.
        return Shown((answer.failure,), form="no result")
    draft = _Draft()
    if answer.is_document and rule.documents:
        draft.kinds.append("document")
        # Only the document of such a result is read, and of other blocks a note of those that the person is shown.
        others = [block for block in answer.blocks[1:] if not _is_kept(block, rule)]
        notes = [_note(block, rule) for block in answer.blocks[1:] if _is_kept(block, rule) and rule.shown_note]
        draft.texts.append(_with_notes(_document(answer), notes))
        draft.lost += [_NAMES.get(str(block.get("type")), "content") for block in others if not for_user_only(block)]
        parts = draft.texts
    else:
        _content(answer, rule, draft)
        parts = _whole(answer, rule, draft)
    if draft.fails:
        return Shown((), form=f"exception: {draft.fails}", lost=("the whole result",))
    _leaks(answer, rule, draft)
    _display(answer, host, draft)
    _beliefs(answer, rule, draft)
    return Shown(
        parts=_cut(parts, rule, draft),
        images=draft.images,
        form=_form(answer, rule, draft),
        person=_once(list(_person(answer, host))),
        lost=_once(draft.lost),
        leaked=_once(draft.leaked),
        misled=_once(draft.misled),
        unknown=_once(draft.unknown),
        examples=draft.examples,
    )


# ---- what the model gets ----


def _document(answer: Answer) -> str:
    text = str(answer.blocks[0].get("text", ""))
    if answer.display is None or len(_json(answer.display, "compact").encode("utf-8", "replace")) <= LARGEST_DISPLAY:
        return text
    return _DISPLAY.sub('<display>{"type":"x-xmcp-reference", …}</display>', text)


def _with_notes(document: str, notes: list[str]) -> str:
    """Return a document with notes in lines of their own at the end of its text."""
    text, end, rest = document.rpartition("</llm_output>")
    return "\n".join([text, *notes]) + end + rest if end and notes else document


def _content(answer: Answer, rule: ModelRule, draft: _Draft) -> None:
    how = rule.error_structured if answer.is_error and rule.error_structured is not None else rule.structured
    data = answer.data
    kept = [block for block in answer.blocks if _is_kept(block, rule)]
    blocks = [block for block in answer.blocks if not _is_kept(block, rule)]
    texts = [block for block in blocks if block.get("type") == "text"]
    if how == "replaces_text_alone":
        how = "replaces_text" if len(texts) == len(blocks) else "ignored"
    replaced: list[dict[str, Any]] = []
    if data is not None and how == "replaces_text":
        replaced, blocks = texts, [block for block in blocks if block.get("type") != "text"]
    elif data is not None and how == "replaces_content":
        replaced, blocks = blocks, []
    if answer.is_error and rule.error_blocks == "first" and len(blocks) > 1:
        draft.lost.append(f"{len(blocks) - 1} of {len(blocks)} blocks of the error")
        blocks = blocks[:1]
    for block in blocks:
        if for_user_only(block):
            (draft.leaked if rule.user_only == "given" else draft.unknown).append("content for the person only")
        _add({**block, "tool": answer.tool}, rule, draft)
    draft.lost += [name for block in replaced if (name := _lost_to(data, block))]
    error = error_in(data if answer.is_error and rule.reads_errors else None)
    gives_data = how != "ignored" and not (how == "if_no_content" and blocks)
    if how == "if_no_text":
        gives_data = not any(draft.texts) and not _repeats(error.message or data, kept)
    if data is not None and gives_data:
        draft.texts.append(error.message or _json(data, rule.json))
        draft.kinds.append("text" if error.message else "data")
    if data is not None and not gives_data | error.described and not _holds(_texts(answer), data):
        draft.lost.append("data")
    for block in kept if rule.shown_note and not answer.is_error else ():
        if note := _note(block, rule):
            draft.texts.append(note)
            draft.kinds.append(f"note of {_an(_NAMES.get(str(block.get('type')), 'content'))}")


def _is_kept(block: Mapping[str, Any], rule: ModelRule) -> bool:
    """Return whether a block is shown to the person in place of being given to the model."""
    if for_user_only(block):
        return rule.user_only == "kept_from_model"
    return block.get("type") in rule.to_person and not for_model_only(block)


def _repeats(data: Any, kept: list[dict[str, Any]]) -> bool:
    """Return whether data contain what the model does not get of the blocks for the person alone."""
    alone = [str(block.get("text") or block.get("data") or "").strip() for block in kept if for_user_only(block)]
    return any(said in leaf for said in filter(None, alone) for leaf in _leaves(data))


def _note(block: Mapping[str, Any], rule: ModelRule) -> str:
    """Return what the model gets in the place of a block that the person is shown."""
    kind = str(block.get("type"))
    if kind != "text" and kind in rule.shown_note:
        return _filled(rule.shown_note[kind], block)
    words = _filled(rule.blocks.get(kind, ""), block)
    return _filled(rule.shown_note.get("text", ""), {"length": str(len(words))})


def _add(block: Mapping[str, Any], rule: ModelRule, draft: _Draft) -> None:
    kind = str(block.get("type"))
    form, name = rule.blocks.get(kind, UNKNOWN), _NAMES.get(kind, kind[:40])
    if form == SEEN or form.startswith(SEEN_WITH):
        draft.images += 1
        draft.kinds.append(name)
        draft.texts += [_filled(form.removeprefix(SEEN_WITH), block)] if form != SEEN else []
    elif form == FAILS:
        draft.fails = f"it cannot take {_an(name)}"
    elif form == DROPPED:
        draft.lost.append(name)
    elif form == UNKNOWN:
        draft.unknown.append(name)
    else:
        draft.texts.append(_filled(form, block))
        if kind == "text":
            draft.kinds.append("text")
        elif "{data}" in form or form == "{json}" or form.startswith('{"'):
            draft.kinds.append(f"{name} as base64" if kind in ("image", "audio") else f"{name} as JSON")
            if kind in ("image", "audio"):
                draft.lost.append(name)
        elif "{text}" in form:
            draft.kinds.append(name)
        else:
            draft.kinds.append(f"note of {_an(name)}")
            if kind in ("image", "audio"):
                draft.lost.append(name)


def _whole(answer: Answer, rule: ModelRule, draft: _Draft) -> list[str]:
    """Return the parts that the model gets, from the texts of the blocks and the data."""
    texts = draft.texts
    if rule.meta and answer.result is not None and answer.result.get("_meta"):
        texts = [*texts, _json(answer.result["_meta"], rule.json)]
        draft.leaked.append("`_meta`")
    empty = rule.error_empty if answer.is_error and rule.error_empty is not None else rule.empty
    if not texts and not draft.images and empty:
        texts = [empty]
    if not rule.parts:
        joined = _json(texts, "compact") if rule.join == JSON_LIST and len(texts) > 1 else _joined(texts, rule)
        texts = [joined] if joined or not draft.images else []
    form = rule.error if answer.is_error else rule.result
    parts = [_filled(form, _around(form, text, answer, rule)) for text in texts]
    if not rule.before:
        return parts
    return ["\n".join([rule.before, *parts])] if draft.kinds == ["data"] else [rule.before, *parts]


def _joined(texts: list[str], rule: ModelRule) -> str:
    return (rule.join if rule.join != JSON_LIST else "").join(texts)


def _around(form: str, text: str, answer: Answer, rule: ModelRule) -> dict[str, Any]:
    """Return the fields of the text around a content, those that cost time only if the form has them."""
    fields = {"content": escape(text) if rule.escape == "xml" else text, "tool": answer.tool}
    if "{content_json}" in form:
        fields["content_json"] = _json(text, "compact")
    if rule.reads_errors:
        error = error_in(answer.data)
        fields |= {"code": error.code, "retryable": json.dumps(error.retryable), "category": error.category}
    if "{response}" in form:
        result = answer.result or {}
        members = {name: result[name] for name in ("content", "structuredContent", "isError") if name in result}
        fields["response"] = _json(members, "compact")
    return fields


def _cut(parts: list[str], rule: ModelRule, draft: _Draft) -> tuple[str, ...]:
    """Return the parts, as much of them as the host gives to the model."""
    left = rule.most_characters
    if left is None or sum(map(len, parts)) <= left:
        return tuple(parts)
    left = rule.preview or left
    draft.lost.append(f"all but {left:,} characters")
    kept: list[str] = []
    for part in parts:
        kept += [part[:left]] if left > 0 else []
        left -= len(part)
    return tuple(kept)


def _filled(form: str, values: Mapping[str, Any]) -> str:
    """Return a form with its fields filled in: members of a block, or of the resource in it; `{json}` is all of it."""

    def value(match: re.Match[str]) -> str:
        if match[1] == "json":
            return _json({name: part for name, part in values.items() if name != "tool"}, "compact")
        inner = values.get("resource")
        found = values.get(match[1], inner.get(match[1]) if isinstance(inner, dict) else None)
        return found if isinstance(found, str) else ""

    return _FIELD.sub(value, form)


def _json(value: Any, style: str) -> str:
    if style == "compact":
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return json.dumps(value, ensure_ascii=False, indent=2 if style == "indented" else None)


# ---- what is lost, leaks, and misleads ----


def _texts(answer: Answer) -> str:
    return "\n".join(str(block.get("text")) for block in answer.blocks if block.get("type") == "text")


def _lost_to(data: Any, block: Mapping[str, Any]) -> str:
    """Return the name of a block that the data replaces, unless the data says the same."""
    kind = str(block.get("type"))
    if kind == "text" and _says(data, str(block.get("text"))):
        return ""
    return f"{_NAMES.get(kind, kind[:40])}, replaced by the data"


def _says(data: Any, text: str) -> bool:
    """Return whether data says what a text says: it is the same JSON, or the text is one of its values."""
    if len(text) > _COMPARED:
        return False
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = text
    if value == data or (isinstance(data, dict) and list(data.values()) == [value]):
        return True
    stripped = text.strip()
    return any(stripped == leaf.strip() for leaf in _leaves(data))


def _holds(text: str, data: Any) -> bool:
    """Return whether every value of data stands in a text."""
    shown = text[:_COMPARED]
    return all(leaf in shown for leaf in _leaves(data))


def _leaves(value: Any) -> Iterator[str]:
    """Yield the scalar values of JSON as texts, the first `_LEAVES` of them."""
    waiting, left = [value], _LEAVES
    while waiting and left:
        item = waiting.pop()
        if isinstance(item, dict):
            waiting += item.values()
        elif isinstance(item, list):
            waiting += item
        elif item is not None:
            left -= 1
            yield item if isinstance(item, str) else json.dumps(item)


def _leaks(answer: Answer, rule: ModelRule, draft: _Draft) -> None:
    """Note what leaks of what the server wrote; what a host writes around it is not the server's."""
    text = "\n".join(draft.texts)
    draft.examples = {leak.kind: leak.excerpt for leak in leaks(text)}
    # FastMCP writes this before the text of an exception that is no ToolError, which its author wrote for the model.
    _, unforeseen, told = text[:_COMPARED].partition(f"Error calling tool {answer.tool!r}: ")
    if unforeseen and answer.is_error and ERROR_META_KEY not in answer.meta:
        draft.examples[EXCEPTION] = told.strip()[:LONGEST_EXCERPT]
    draft.leaked += draft.examples
    if answer.is_document and not rule.documents:
        draft.leaked.append("markup of a document")


def _display(answer: Answer, host: Host, draft: _Draft) -> None:
    if answer.display is not None and "display" not in host.person:
        draft.lost.append("display")


def _beliefs(answer: Answer, rule: ModelRule, draft: _Draft) -> None:
    text = "\n".join(draft.texts)
    if answer.is_error and rule.error_marked == "unknown":
        draft.unknown.append("whether it is marked")
    if answer.is_error and not _tells_errors(rule) and not _READS_AS_ERROR.search(text[:_COMPARED]):
        draft.misled.append("may take the failure for a success")
    if not text.strip() and not draft.images and not draft.unknown:
        draft.misled.append("sees no result at all")


def _tells_errors(rule: ModelRule) -> bool:
    return bool(rule.error_marked) or rule.error != rule.result


def _form(answer: Answer, rule: ModelRule, draft: _Draft) -> str:
    counted = Counter(draft.kinds)
    words = [kind if count == 1 or kind == "text" else f"{count} × {kind}" for kind, count in counted.items()]
    mark = ("error: " if _tells_errors(rule) else "unmarked: ") if answer.is_error else ""
    if mark and rule.error_marked == "unknown":
        mark = ""
    return f"{mark}{' + '.join(words) or ('not known' if draft.unknown else 'nothing')}"


# ---- what the person gets ----


def _person(answer: Answer, host: Host) -> Iterator[str]:
    if "as_model" in host.person:
        yield "what the model gets"
    if UNKNOWN in host.person:
        yield "not known"
    for block in answer.blocks:
        kind = str(block.get("type"))
        if kind in host.model.to_person and for_model_only(block):
            continue
        if kind in host.person or (kind == "text" and for_user_only(block) and "user_only" in host.person):
            yield _NAMES.get(kind, kind)
    if answer.data is not None and "data" in host.person:
        yield "data"
    if answer.view and "view" in host.person:
        yield "view"
    if answer.display is not None and "display" in host.person:
        yield "display"


def _an(name: str) -> str:
    return f"an {name}" if name[0] in "aeiou" else f"a {name}"


def _once(words: list[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(words))
