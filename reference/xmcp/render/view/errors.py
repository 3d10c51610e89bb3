"""What a person sees of a failed call: the message in their language, as a notification (spec section 4.1).

The message of an error is for the model and for developers. `localized` in its `meta` has messages for the person.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from xmcp.render.view import content
from xmcp.render.view.untrusted import is_blank


def error_view(message: str, meta: object = None, languages: Sequence[str] = ()) -> content.View:
    """Return the view of an error.

    Args:
        message: The message of the error; if it is blank, its code.
        meta: The `meta` of the error. A member that is not as the schema says is as if it were absent (XMCP-ERR-009).
        languages: The languages that the person reads (BCP 47), the best one first.
    """
    words = _localized(meta, languages) or message
    return content.View(content.Notification(words, "error"), rendered_as="notification")


def _localized(meta: object, languages: Sequence[str]) -> str | None:
    """Return the message in the first of the languages that there is: whole, without its ends, or its main part."""
    messages: dict[str, str] = {}
    for language, words in _messages(meta):
        messages.setdefault(language.lower(), words)
    for wanted in languages:
        parts = wanted.lower().split("-")
        for length in range(len(parts), 0, -1):
            if found := messages.get("-".join(parts[:length])):
                return found
        for language, words in messages.items():
            if language.split("-")[0] == parts[0]:
                return words
    return None


def _messages(meta: object) -> Iterator[tuple[str, str]]:
    listed = meta.get("localized") if isinstance(meta, Mapping) else None
    for entry in listed if isinstance(listed, list) else ():
        language, words = (entry.get("locale"), entry.get("message")) if isinstance(entry, Mapping) else (None, None)
        if isinstance(language, str) and isinstance(words, str) and not is_blank(words):
            yield language, words
