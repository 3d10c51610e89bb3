"""The content of a document: the content model of a tool response, followed while the parser reports events.

expat reports start tags, end tags and text; the handlers follow `_DOCUMENT`, the content model of
schemas/tool_response.xsd, and keep the values. Elements and attributes with a namespace, and unknown attributes, are
ignored (spec section 2.5). The first fault in document order is reported; JSON is checked where its element ends.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal, NoReturn
from xml.parsers import expat

from xmcp.wire import lexical
from xmcp.wire.display_envelope import DisplayEnvelope, read_envelope
from xmcp.wire.errors import DecodeError, DecodeErrorKind
from xmcp.wire.jsontext import JsonDepthError, load_json
from xmcp.wire.limits import Limits
from xmcp.wire.namespaces import OUTERMOST, NamespaceError, Scope, declares_or_uses_prefixes, resolve
from xmcp.wire.response import ErrorInfo, ToolResponse

BadDisplay = Literal["raise", "drop"]
"""What to do with a display that is not JSON or not an envelope: raise, or return the rest with a warning."""


@dataclass(frozen=True, slots=True)
class Arrived:
    """What is complete of a document after a piece. It is provisional as long as the document has not ended."""

    text: str = ""
    """The text of `llm_output` that follows what came with earlier pieces."""
    display: DisplayEnvelope | None = None
    """The display, with the first piece after which it is complete, and with no other."""


_NOTHING_ARRIVED: Final = Arrived()

# A state of the content model maps each element that may come next to the state inside it and the state after it.
_State = dict[str, tuple["_State", "_State"]]
_NOTHING: _State = {}
_POPULATED: _State = {"server_populated": (_NOTHING, _NOTHING)}
_DISPLAY: _State = {"display": (_NOTHING, _POPULATED), **_POPULATED}
_CHANNELS: _State = {
    "llm_output": (_NOTHING, _DISPLAY),
    "display": (_NOTHING, _POPULATED),
    "error": ({"meta": (_NOTHING, _NOTHING)}, _DISPLAY),
}
_DOCUMENT: _State = {"tool_response": (_CHANNELS, _NOTHING)}

_DROPPED: Final = object()


class Content:
    """The content of one document so far. Its handlers raise DecodeError inside the parser."""

    __slots__ = (
        "_attributes",
        "_attributes_seen",
        "_bad_display",
        "_display",
        "_display_given",
        "_elements",
        "_foreign",
        "_given",
        "_limits",
        "_lossy",
        "_meta",
        "_open",
        "_outer_scopes",
        "_parser",
        "_pieces_given",
        "_populated",
        "_scope",
        "_state",
        "_text",
        "_texts",
        "_warnings",
    )

    def __init__(self, parser: expat.XMLParserType, limits: Limits, bad_display: BadDisplay) -> None:
        self._parser = parser
        self._limits = limits
        self._bad_display = bad_display
        # The position: the state, the open elements with the state after each, the number of open foreign elements.
        self._state = _DOCUMENT
        self._open: list[tuple[str, _State]] = []
        self._foreign = 0
        self._elements = 0
        self._attributes_seen = 0
        self._scope = OUTERMOST
        self._outer_scopes: list[tuple[int, Scope]] = []
        self._text: list[str] = []
        # What `arrived` has returned: characters of llm_output, None for all of them; their pieces in `_text`; display.
        self._given: int | None = 0
        self._pieces_given = 0
        self._display_given = False
        # The values, by element; only white space may stand directly in the root.
        self._attributes: dict[str, dict[str, Any]] = {}
        self._texts = {"tool_response": ""}
        self._display: DisplayEnvelope | None = None
        self._meta: dict[str, Any] | None = None
        self._populated: dict[str, Any] | None = None
        self._lossy = False
        self._warnings: tuple[str, ...] = ()

        parser.buffer_text = True
        parser.XmlDeclHandler = self._on_declaration
        parser.StartDoctypeDeclHandler = self._on_doctype
        parser.ProcessingInstructionHandler = self._on_instruction
        parser.StartElementHandler = self._on_start
        parser.EndElementHandler = self._on_end
        parser.CharacterDataHandler = self._text.append

    def leave(self) -> None:
        """Remove the handlers: parser and content refer to each other, which would leave a reference cycle."""
        parser = self._parser
        parser.XmlDeclHandler = parser.StartDoctypeDeclHandler = parser.CharacterDataHandler = None
        parser.StartElementHandler = parser.EndElementHandler = parser.ProcessingInstructionHandler = None

    def arrived(self) -> Arrived:
        """Return what was completed since the last call.

        expat reports no character that a later byte can change: it keeps back a carriage return, `]]` and the beginning
        of a reference or a character. So the text of all calls together is always the beginning of the text.
        """
        text, display = self._new_text(), None
        if self._display is not None and not self._display_given:
            display, self._display_given = self._display, True
        return Arrived(text, display) if text or display else _NOTHING_ARRIVED

    def _new_text(self) -> str:
        if self._given is None or "llm_output" not in self._attributes:
            return ""
        if self._open and self._open[-1][0] == "llm_output":
            text = "".join(self._text[self._pieces_given :])
            self._pieces_given = len(self._text)
            self._given += len(text)
        else:
            text = self._texts.get("llm_output", "")[self._given :]
            self._given = None
        return text

    def response(self) -> ToolResponse:
        """Return the response of a document that was read to its end."""
        root = self._attributes["tool_response"]
        output = self._attributes.get("llm_output")
        error = self._attributes.get("error")
        return ToolResponse(
            root["tool_name"],
            None if output is None else self._texts.get("llm_output", ""),
            self._display,
            None if error is None else self._error(error),
            root.get("version", "1.0"),
            root.get("call_id"),
            format=output.get("format") if output else None,
            truncated=output.get("truncated", False) if output else False,
            server_populated=self._populated,
            lossy=self._lossy,
            warnings=self._warnings,
        )

    def _error(self, attributes: dict[str, Any]) -> ErrorInfo:
        return ErrorInfo(
            attributes["code"],
            self._texts.get("error", ""),
            attributes.get("retryable", False),
            attributes.get("retry_after_ms"),
            attributes.get("category"),
            self._meta,
        )

    def fault(self, kind: DecodeErrorKind, message: str) -> DecodeError:
        """Return an exception for a fault at the current position of the parser."""
        parser = self._parser
        line, column = parser.CurrentLineNumber, parser.CurrentColumnNumber + 1
        return DecodeError(kind, message, line=line, column=column, offset=max(parser.CurrentByteIndex, 0))

    def _fail(self, kind: DecodeErrorKind, message: str) -> NoReturn:
        raise self.fault(kind, message)

    # --------------------------------------------------------------------------------------- the events

    def _on_declaration(self, version: str, encoding: str | None, _standalone: int) -> None:
        if version != "1.0":
            self._fail(DecodeErrorKind.ENCODING, "the XML declaration must have version 1.0")
        if encoding is not None and encoding.upper() != "UTF-8":
            self._fail(DecodeErrorKind.ENCODING, "the XML declaration must have the encoding UTF-8 or none")

    def _on_doctype(self, *_: object) -> None:
        self._fail(DecodeErrorKind.DTD, "a tool response must not have a document type declaration")

    def _on_instruction(self, target: str, _: str) -> None:
        if ":" in target:
            self._fail(DecodeErrorKind.NOT_WELL_FORMED, "the name of a processing instruction must not have a colon")

    def _on_start(self, name: str, attributes: dict[str, str]) -> None:
        limits = self._limits
        self._elements += 1
        if self._elements > limits.elements:
            self._fail(DecodeErrorKind.LIMIT, f"more than {limits.elements} elements")
        if len(self._open) + self._foreign >= limits.depth:
            self._fail(DecodeErrorKind.LIMIT, f"elements are nested deeper than {limits.depth} levels")
        if attributes:
            self._check_attributes(attributes)
        plain = True
        if self._scope is not OUTERMOST or ":" in name or declares_or_uses_prefixes(attributes):
            plain, attributes = self._resolve(name, attributes)
        if self._text:
            self._keep_text()
        if self._foreign or (not plain and self._open and self._open[-1][0] == "tool_response"):
            self._foreign += 1
            return
        if not plain or name not in self._state:
            self._fail(DecodeErrorKind.SCHEMA, self._misplaced(name))
        inside, after = self._state[name]
        if attributes or name in lexical.REQUIRED:
            attributes = self._read_attributes(name, attributes)
        self._attributes[name] = attributes
        self._open.append((name, after))
        self._state = inside

    def _on_end(self, name: str) -> None:
        if self._text:
            self._keep_text()
        if self._outer_scopes and self._outer_scopes[-1][0] == len(self._open) + self._foreign:
            self._scope = self._outer_scopes.pop()[1]
        if self._foreign:
            self._foreign -= 1
            return
        if name == "display":
            self._read_display()
        elif name == "meta":
            self._meta = self._read_object(name)
            self._texts.setdefault("error", "")  # text after <meta> is not the message, even if there was none before
        elif name == "server_populated":
            self._populated = self._read_object(name)
        elif self._state is _CHANNELS:
            self._fail(DecodeErrorKind.SCHEMA, "<tool_response> must have <llm_output>, <display> or <error>")
        self._state = self._open.pop()[1]

    def _check_attributes(self, attributes: dict[str, str]) -> None:
        self._attributes_seen += len(attributes)
        if self._attributes_seen > self._limits.attributes:
            self._fail(DecodeErrorKind.LIMIT, f"more than {self._limits.attributes} attributes")
        most = self._limits.attribute_bytes
        for value in attributes.values():
            # A character has at most four bytes, so most values need not be encoded.
            if len(value) * 4 > most and len(value.encode()) > most:
                self._fail(DecodeErrorKind.LIMIT, f"an attribute is longer than {most} bytes")

    def _resolve(self, name: str, attributes: dict[str, str]) -> tuple[bool, dict[str, str]]:
        try:
            scope, plain, attributes = resolve(self._scope, name, attributes)
        except NamespaceError as fault:
            self._fail(DecodeErrorKind.NOT_WELL_FORMED, str(fault))
        if scope is not self._scope:
            self._outer_scopes.append((len(self._open) + self._foreign + 1, self._scope))
            self._scope = scope
        return plain, attributes

    def _read_attributes(self, element: str, attributes: dict[str, str]) -> dict[str, Any]:
        values: dict[str, Any] = {}
        readers = lexical.ATTRIBUTES[element]
        name = "version"
        try:
            # First: the rules of this version do not apply to a document of another major version.
            if name in attributes and name in readers and not lexical.version(attributes[name]).startswith("1."):
                self._fail(DecodeErrorKind.VERSION, f"this reader supports version 1, not {attributes[name]}")
            for name, value in attributes.items():
                if name in readers:
                    values[name] = readers[name](value)
        except ValueError as fault:
            self._fail(DecodeErrorKind.SCHEMA, f"{name} of <{element}> {fault}")
        if values.get("lossy"):
            self._lossy = True
        required = lexical.REQUIRED.get(element)
        if required and required not in values:
            self._fail(DecodeErrorKind.SCHEMA, f"<{element}> must have the attribute {required}")
        return values

    def _keep_text(self) -> None:
        """Keep the text that ends here for the innermost element, unless that is a foreign one."""
        text = "".join(self._text)
        self._text.clear()
        if self._foreign:
            return
        element = self._open[-1][0]
        if element not in self._texts:
            self._texts[element] = text
        elif text.strip(lexical.XML_WHITE_SPACE):
            place = "directly in <tool_response>" if element == "tool_response" else f"after a child of <{element}>"
            self._fail(DecodeErrorKind.SCHEMA, f"text {place}: only white space is allowed there")

    def _misplaced(self, name: str) -> str:
        shown = name if len(name) <= 40 else name[:40] + "…"
        if not self._open:
            return f"the root element must be <tool_response> in no namespace, not <{shown}>"
        allowed = " or ".join(f"<{child}>" for child in self._state) or "no more elements"
        return f"<{shown}> is not allowed here: <{self._open[-1][0]}> may have {allowed} at this point"

    # --------------------------------------------------------------------------------------- the values

    def _read_display(self) -> None:
        value = self._read_json("display")
        if value is not _DROPPED:
            try:
                self._display = read_envelope(value)
            except ValueError as fault:
                self._refuse("display", DecodeErrorKind.BAD_ENVELOPE, fault)

    def _read_object(self, element: str) -> dict[str, Any]:
        value = self._read_json(element)
        if not isinstance(value, dict):
            self._fail(DecodeErrorKind.BAD_JSON, f"in <{element}>: it must be an object")
        return value

    def _read_json(self, element: str) -> Any:
        try:
            return load_json(self._texts.get(element, ""), self._limits.json_depth)
        except JsonDepthError as fault:
            self._fail(DecodeErrorKind.LIMIT, f"in <{element}>: {fault}")
        except ValueError as fault:
            self._refuse(element, DecodeErrorKind.BAD_JSON, fault)
        return _DROPPED

    def _refuse(self, element: str, kind: DecodeErrorKind, reason: object) -> None:
        fault = self.fault(kind, f"in <{element}>: {reason}")
        if element != "display" or self._bad_display == "raise":
            raise fault
        self._warnings = (f"the display was left out: {fault}",)
