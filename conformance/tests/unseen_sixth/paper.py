"""How the theatre writes documents."""

from __future__ import annotations

import json
from typing import Any

from unseen_sixth.parts import FORBIDDEN, HALF, Ask, Json, Reply, Trouble

SAFE = 2**53 - 1
BIGGEST = 8 * 1024 * 1024


class Paper:
    """Documents: text first, then the tags around it."""

    def legal(self, said: str) -> str:
        """Return a text with U+FFFD for what XML does not allow."""
        return FORBIDDEN.sub("\ufffd", said)

    def raw(self, said: str) -> str:
        """Return a text as character data."""
        for char, reference in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ("\r", "&#13;")):
            said = said.replace(char, reference)
        return said

    def value(self, said: str) -> str:
        """Return the value of an attribute."""
        for char, reference in (("&", "&amp;"), ("<", "&lt;"), ('"', "&quot;"), ("\t", "&#9;"), ("\n", "&#10;")):
            said = said.replace(char, reference)
        return said.replace("\r", "&#13;")

    def tag(self, name: str, said: dict[str, str], inside: str) -> str:
        """Return an element."""
        start = "".join(f' {key}="{self.value(one)}"' for key, one in said.items())
        return f"<{name}{start}>{inside}</{name}>"

    # -- JSON ----------------------------------------------------------------------------------------------------

    def plainly(self, value: Any) -> Any:
        """Return a value as JSON can hold it."""
        match value:
            case str():
                return HALF.sub("\ufffd", value)
            case dict():
                return {self.plainly(str(name)): self.plainly(one) for name, one in value.items()}
            case list():
                return [self.plainly(one) for one in value]
            case bool():
                return value
            case int() if abs(value) > SAFE:
                return str(value)
        return value

    def dumped(self, value: Any) -> str:
        """Return JSON without markup."""
        written = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        return self.inert(written)

    def inert(self, written: str) -> str:
        """Return JSON in which no character is markup."""
        for char in "<>&":
            written = written.replace(char, f"\\u{ord(char):04x}")
        return FORBIDDEN.sub(lambda found: f"\\u{ord(found[0]):04x}", written)

    def json_tag(self, name: str, value: Any) -> str:
        """Return an element with JSON in it."""
        lossy = HALF.search(json.dumps(value, ensure_ascii=False)) is not None
        return self.tag(name, {"lossy": "true"} if lossy else {}, self.dumped(self.plainly(value)))

    # -- the elements --------------------------------------------------------------------------------------------

    def for_model(self, ask: Ask, reply: Reply) -> str:
        """Return `llm_output`."""
        return self.tag("llm_output", self.about_text(ask, reply), self.body(ask, self.legal(reply.text)))

    def about_text(self, ask: Ask, reply: Reply) -> dict[str, str]:
        """Return the attributes of `llm_output`."""
        said = {"format": reply.media} if reply.media else {}
        if reply.cut:
            said["truncated"] = "true"
        if self.legal(reply.text) != reply.text:
            said["lossy"] = "true"
        return said

    def body(self, ask: Ask, said: str) -> str:
        """Return the character data of `llm_output`."""
        return self.raw(said)

    def for_trouble(self, ask: Ask, trouble: Trouble) -> str:
        """Return `error`."""
        meta = "" if trouble.meta is None else self.json_tag("meta", trouble.meta)
        message = self.message(ask, self.legal(trouble.message))
        return self.tag("error", self.about_trouble(ask, trouble), message + meta)

    def about_trouble(self, ask: Ask, trouble: Trouble) -> dict[str, str]:
        """Return the attributes of `error`."""
        said = {"code": trouble.code, "category": trouble.category}
        if trouble.retryable:
            said["retryable"] = "true"
            if trouble.wait is not None:
                said["retry_after_ms"] = str(trouble.wait)
        if self.legal(trouble.message) != trouble.message:
            said["lossy"] = "true"
        return said

    def message(self, ask: Ask, said: str) -> str:
        """Return the character data of a message."""
        return self.raw(said)

    def pieces(self, ask: Ask, end: Reply | Trouble) -> list[str]:
        """Return the children of the root."""
        if isinstance(end, Trouble):
            return [self.for_trouble(ask, end)]
        written = [self.for_model(ask, end)]
        if end.show is not None:
            written.append(self.json_tag("display", end.show))
        if end.filled is not None:
            written.append(self.json_tag("server_populated", end.filled))
        return written

    def about_root(self, ask: Ask, end: Reply | Trouble) -> dict[str, str]:
        """Return the attributes of the root."""
        name = ask.tool[:128]
        legal = self.legal(name)
        return {"tool_name": legal} if legal == name else {"tool_name": legal, "lossy": "true"}

    def document(self, ask: Ask, end: Reply | Trouble) -> str:
        """Return a document."""
        return self.tag("tool_response", self.about_root(ask, end), "".join(self.pieces(ask, end)))

    # -- sizes ---------------------------------------------------------------------------------------------------

    def fitting(self, ask: Ask, end: Reply | Trouble) -> tuple[str, Reply | Trouble]:
        """Return a document that is not too large, and what it says."""
        written = self.document(ask, end)
        if self.measured(written) <= self.room(ask):
            return written, end
        end = self.too_large(ask, end) if isinstance(end, Reply) else self.shorter(ask, end)
        return self.document(ask, end), end

    def measured(self, written: str) -> int:
        """Return the size of a document."""
        return len(written.encode("utf-8", "replace"))

    def room(self, ask: Ask) -> int:
        """Return the largest size that the client accepts."""
        most = ask.declared.get("maxBytes", BIGGEST)
        if isinstance(most, bool) or not isinstance(most, int | float):
            return BIGGEST
        return min(max(int(most), 4096), BIGGEST)

    def too_large(self, ask: Ask, reply: Reply) -> Reply | Trouble:
        """Return the failure in the place of a reply that is too large."""
        return Trouble("RESULT_TOO_LARGE", "The answer is too large for your application.", {"side_effects": "none"})

    def shorter(self, ask: Ask, trouble: Trouble) -> Trouble:
        """Return a failure that fits into 4,096 bytes."""
        kept: Json = {
            name: one for name, one in (trouble.meta or {}).items() if name in {"error_id", "side_effects", "recovery"}
        }
        short = Trouble(trouble.code, trouble.message[:400], kept or None, category=trouble.category, wait=trouble.wait)
        short.retryable = trouble.retryable
        return short
