"""How much one server may put into the catalogue, and the sentences that say what was left out. Pure.

Every tool costs time at each listing and bytes in each request to the model, and a server can list any number of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from xmcp.chat.json_values import encode_json, is_deeper_than
from xmcp.client.tools.catalogue import depends_on
from xmcp.client.tools.input_schema import number_of_parts

if TYPE_CHECKING:
    from mcp_types import Tool

MAX_TOOLS: Final = 1_000
"""Default for how many tools of a server are offered."""

RENAMINGS: Final = 10
"""How often a server may rename all of its tools. A name that was offered is never given to another tool while the
client runs, so each one stays in memory."""

MAX_NAMES: Final = 100_000
"""Maximum number of names of a server whose list depends on the credentials, in all chats together."""

MAX_DESCRIPTION: Final = 16 * 1024
"""Maximum number of characters of a tool's description; a longer one is cut."""

MAX_TOOL_BYTES: Final = 128 * 1024
"""Maximum size of a tool's schemas and metadata as JSON."""

MAX_SERVER_BYTES: Final = 2 * 1024 * 1024
"""Maximum size of all tools of a server as JSON, descriptions included."""

MAX_DEPTH: Final = 128
"""Maximum levels of objects and lists in a tool's schemas and metadata."""

MAX_EDGES: Final = 10_000
"""Maximum number of names in `depends_on` of all tools of a server together."""

MAX_PARTS: Final = 2_000
"""Maximum number of schemas that all tools of a server apply to their arguments by `allOf`, `if` and the like, besides
the schemas themselves: they are searched for the parameters that the application fills in."""

MAX_TOOL_PARTS: Final = 200
"""The same for one tool."""

_SHOWN: Final = 5
"""Maximum number of names in a sentence for people."""

_SHOWN_LENGTH: Final = 80
"""Maximum number of characters of a name in it."""

_CUT: Final = " […]"


@dataclass(frozen=True, slots=True)
class Kept:
    """The tools of a listing that the client uses, in their order, and what it left out of it."""

    tools: list[Tool] = field(default_factory=list)
    fingerprints: list[int] = field(default_factory=list)
    """A hash of everything that the client reads of each tool in `tools`, within this process."""
    cut: list[str] = field(default_factory=list)
    """Tools whose description was cut."""
    left_out: dict[str, list[str]] = field(default_factory=dict)
    """For each reason, the tools that were left out for it."""

    def warnings(self, server: str) -> Iterator[str]:
        """Yield a sentence for people about each kind of thing that was left out or cut."""
        for reason, names in self.left_out.items():
            yield f"The client leaves out {_tools(names)} of the server {server}: {reason}."
        if self.cut:
            yield (
                f"The client cuts the description of {_tools(self.cut)} of the server {server} after {MAX_DESCRIPTION} "
                "characters: shorten it at the server."
            )


def within_limits(
    listed: Sequence[Tool], names: set[str], max_tools: int = MAX_TOOLS, max_names: int | None = None
) -> Kept:
    """Return what the client uses of a server's listing.

    Args:
        listed: The tools as the server listed them.
        names: The names of the tools that were used of this server before; new ones are added.
        max_tools: How many tools are used; the first ones.
        max_names: Maximum number of `names`; `None`: `RENAMINGS` times `max_tools`.
    """
    kept = Kept()
    max_names = RENAMINGS * max_tools if max_names is None else max_names
    used = _Used()
    for tool in listed:
        if len(kept.tools) >= max_tools:
            reason: str | None = (
                f"it lists {len(listed)} tools, and {max_tools} are the limit; split it into several servers, or raise "
                "max_tools_per_server"
            )
        elif tool.name not in names and len(names) >= max_names:
            reason = f"it has had {len(names)} names of tools already; keep the names, or restart the client"
        else:
            reason = used.add(tool)
        if reason is not None:
            kept.left_out.setdefault(reason, []).append(tool.name)
            continue
        names.add(tool.name)
        kept.fingerprints.append(hash((used.last, tool.description)))
        if len(tool.description or "") > MAX_DESCRIPTION:
            kept.cut.append(tool.name)
            kept.tools.append(
                tool.model_copy(update={"description": (tool.description or "")[:MAX_DESCRIPTION] + _CUT})
            )
        else:
            kept.tools.append(tool)
    return kept


@dataclass(slots=True)
class _Used:
    """What the tools of one listing use so far, of the limits that count all of them together."""

    edges: int = 0
    size: int = 0
    parts: int = 0
    last: bytes = b""
    """The tool that was counted last, but for its description, as JSON."""

    def add(self, tool: Tool) -> str | None:
        """Count a tool; or return why it has to be left out, and do not count it."""
        hints = tool.annotations and tool.annotations.__dict__
        described = [tool.name, tool.title, tool.input_schema, tool.output_schema, tool.meta, hints]
        if is_deeper_than(MAX_DEPTH, described):
            return f"a schema is nested more than {MAX_DEPTH} levels deep; make it flatter"
        try:
            written = encode_json(described)
        except (TypeError, ValueError):
            return "a schema or a member of their metadata is not JSON; mend it"
        own = len(written)
        if own > MAX_TOOL_BYTES:
            return f"their schemas and metadata are larger than {MAX_TOOL_BYTES} bytes; make them smaller"
        edges = self.edges + len(depends_on(tool))
        if edges > MAX_EDGES:
            return f"its tools have more than {MAX_EDGES} names in `depends_on`; name only direct predecessors"
        size = self.size + own + min(len(tool.description or ""), MAX_DESCRIPTION)
        if size > MAX_SERVER_BYTES:
            return f"its tools are larger than {MAX_SERVER_BYTES} bytes together; split it into several servers"
        applied = number_of_parts(tool.input_schema, MAX_TOOL_PARTS + 1) - 1
        if applied > MAX_TOOL_PARTS:
            return (
                f"a schema applies more than {MAX_TOOL_PARTS} others (`allOf`, `if` and the like) to the arguments; "
                "use fewer"
            )
        parts = self.parts + applied
        if parts > MAX_PARTS:
            return (
                f"the schemas of its tools apply more than {MAX_PARTS} others (`allOf`, `if` and the like) to their "
                "arguments; use fewer"
            )
        self.edges, self.size, self.parts, self.last = edges, size, parts, written
        return None


def listed_shortly(names: Sequence[str], between: str) -> str:
    """Return the first names with `between` between them, each at most so long, and how many there are more."""
    shown = [name if len(name) <= _SHOWN_LENGTH else f"{name[:_SHOWN_LENGTH]}…" for name in names[:_SHOWN]]
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return between.join(shown) + more


def _tools(names: Sequence[str]) -> str:
    return f"{'the tool' if len(names) == 1 else 'the tools'} {listed_shortly([*map(repr, names)], ', ')}"
