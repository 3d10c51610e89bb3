"""Decide which tool calls the suite makes, from the server's catalogue and the options. No I/O."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import Any, Final, TypeAlias

from xmcp_conformance.core.untrusted_text import quoted

from .arguments import valid
from .catalogue import Catalogue, ListedTool, populated_parameters
from .combinations import Surroundings, Values
from .exchange import Intent, ToolCall, has_huge_number
from .hostile_arguments import Hostile, hostile, hostile_everywhere
from .hostile_texts import HOSTILE, marked
from .input_schema import Arguments, differently_formed, expanded, fitting, misfit, pointer, sendable, without
from .options import Options
from .refusals import Refusal, alone_at_the_most, at_borders, extremes, of_each_kind, refusals

_MAX_NAMES = 10
"""Maximum number of tool names in a note."""
NO_SUCH_TOOL = "xmcp_conformance_no_such_tool"
"""The name by which the suite calls a tool that does not exist."""
NO_SUCH_TOOLS: Final = (
    *(NO_SUCH_TOOL, marked(HOSTILE["markup"]), marked(HOSTILE["forged-response"]), marked("a\tb\nc"), "x" * 300),
    NO_SUCH_TOOL,
)
"""This name, others that a message may quote, and this name again: a server can remember what it does not have."""
Batch: TypeAlias = tuple[ToolCall, ...]
"""Calls that are made at the same time."""
_KEPT: Final = (0, 3, 4, 5)
"""The numbers of the calls of a tool that are made again later, at the same time as others."""
_IN_FLIGHT: Final = 8
_MOST_AT_THE_SAME_TIME: Final = 160
_FEWEST_CALLS: Final = 6
_FEWEST_AGAIN: Final = 12
_USUAL_CALLS: Final = 100
_FEW_CALLS: Final = 20
"""Calls of each tool as a plain client in the second era: whatever else goes wrong shows in one of the other runs."""
_MOST_FORMS: Final = 3
"""Maximum number of arguments that are changed besides the base, because they have another form."""
_MOST_KEPT: Final = 40
"""Maximum number of right arguments of a tool that are kept as a surrounding of others."""
_MOST_FAILED: Final = 4
_MOST_ROUNDS: Final = 20
_MOST_SECONDS: Final = 10.0
"""The time that the calls of a tool can take in a run, before it gets no more than `_FEWEST_CALLS`."""
_FEW_DRAWN: Final = 4
"""The number of drawn arguments that come among the others; the rest come last."""
_AT_ONCE: Final = 1.0
"""The time, in seconds, within which a tool answers that does not work the longer, the larger a number is."""
_AT_LENGTH: Final = 300_000
"""The size, in bytes, of an answer that would be beyond all limits if it were a hundred times as long."""
_MOST_CALLS: Final = 1_200
"""Maximum number of calls of all tools in a run, unless each gets `_FEWEST_CALLS`."""


@dataclass(slots=True)
class Learned:
    """What the answers of a run taught, by the name of the tool.

    Attributes:
        succeeded: the arguments with which it succeeded, without `show_user`, those with the most members first.
        failed: right arguments with which it failed, without `show_user`, for each of a few codes.
        seconds: the time that its calls took.
        longest: the time that the longest of them took.
        largest: the size, in bytes, of the largest answer to a call without a long text.
    """

    succeeded: dict[str, list[Arguments]] = field(default_factory=dict)
    failed: dict[str, dict[str, Arguments]] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    longest: dict[str, float] = field(default_factory=dict)
    largest: dict[str, int] = field(default_factory=dict)

    def add_success(self, name: str, arguments: Arguments) -> None:
        """Take into account that a call succeeded."""
        known = self.succeeded.setdefault(name, [])
        plain = {member: value for member, value in arguments.items() if member != "show_user"}
        if plain not in known and len(known) < _MOST_KEPT:
            known.append(plain)
            known.sort(key=len, reverse=True)  # stable: of equally many members, those that came first

    def add_failure(self, name: str, arguments: Arguments, code: str) -> None:
        """Take into account that a call with right arguments failed."""
        known = self.failed.setdefault(name, {})
        if len(known) < _MOST_FAILED:
            known.setdefault(code, {name: value for name, value in arguments.items() if name != "show_user"})

    def add_size(self, name: str, size: int) -> None:
        """Take into account how large an answer was."""
        self.largest[name] = max(self.largest.get(name, 0), size)

    def add_time(self, name: str, seconds: float) -> None:
        """Take into account how long a call took."""
        self.seconds[name] = self.seconds.get(name, 0.0) + seconds
        self.longest[name] = max(self.longest.get(name, 0.0), seconds)


def _listed(tools: Sequence[ListedTool]) -> str:
    names = [f"`{quoted(tool.name)}`" for tool in tools]
    more = f" and {len(names) - _MAX_NAMES} more" if len(names) > _MAX_NAMES else ""
    return ", ".join(names[:_MAX_NAMES]) + more


def plan(
    catalogue: Catalogue,
    options: Options,
    note: Callable[[str], None],
    learned: Learned | None = None,
    *,
    again: bool = False,
) -> Iterator[Batch]:
    """Yield the calls to make, as batches of calls that are made at the same time.

    Equal catalogues, options and answers result in equal calls. Of a tool, each call has another purpose than the one
    before, so that a budget which does not suffice for all of them leaves some of each purpose.

    Args:
        catalogue: what the server lists.
        options: how to judge.
        note: called with a sentence that says what is not called, and why.
        learned: what the answers taught so far, filled in while the calls are made.
        again: whether the server was judged in another era before, so that half as many calls do.
    """
    learned = learned or Learned()
    callable_tools = [tool for tool in catalogue.tools if options.calls_tool(tool)]
    chosen = [tool for tool in catalogue.tools if options.chooses(tool)]
    if left_out := [tool for tool in catalogue.tools if not options.chooses(tool)]:
        note(f"Not called, because of --include or --exclude: {_listed(left_out)}.")
    if skipped := [tool for tool in chosen if not options.calls_tool(tool)]:
        note(
            f"Not called, because not marked read-only: {_listed(skipped)}. Use --allow-writes to call such tools, or "
            'mark those that only read: annotations={"readOnlyHint": True} in FastMCP.'
        )
    share = options.calls or max(_FEWEST_CALLS, min(_USUAL_CALLS, _MOST_CALLS // max(1, len(callable_tools))))
    share = max(min(share, _FEWEST_AGAIN), share // 2) if again else share
    kept: list[ToolCall] = []
    cut = 0
    for tool in callable_tools:
        calls = _calls_of(tool, options, note, learned)
        for number, call in enumerate(islice(_affordable(calls, learned), share)):
            if number in _KEPT:
                kept.append(call)
            yield (call,)
            if number + 1 >= _FEWEST_CALLS and learned.seconds.get(tool.name, 0) > _MOST_SECONDS:
                took = learned.seconds[tool.name]
                note(
                    f"`{quoted(tool.name)}` is slow: {number + 1} calls took {took:.0f} s, and it got no more in this "
                    "run. --exclude leaves it out."
                )
                break
        else:
            cut += next(calls, None) is not None
    if cut and not again:
        tools = "1 tool" if cut == 1 else f"{cut} tools"
        calls_each = "1 call" if share == 1 else f"{share} calls"
        note(f"{tools} got {calls_each} in this run, and not all that the input schema allows; --calls raises that.")
    known = {tool.name for tool in catalogue.tools}
    spelt_otherwise = [name for name in (tool.name.swapcase() for tool in callable_tools) if name not in known]
    for name in (*NO_SUCH_TOOLS, *spelt_otherwise[:1]):
        yield (ToolCall(None, name, {}, Intent.UNKNOWN_TOOL, traps=(name,)),)
    yield from _at_the_same_time(kept)


def misfits(catalogue: Catalogue, options: Options) -> Iterator[str]:
    """Yield a sentence for each of the arguments that the user gives for a tool and that do not fit its schema."""
    for tool in catalogue.tools:
        schema = without(expanded(tool.input_schema), ["show_user", *populated_parameters(tool)])
        for arguments in options.known.get(tool.name, ()):
            plain = {name: value for name, value in arguments.items() if name != "show_user"}
            if fault := misfit(schema, plain):
                yield f"Arguments that are given for `{quoted(tool.name)}` do not fit its input schema: {fault}."


def few_of_each(batches: Iterable[Batch]) -> Iterator[Batch]:
    """Yield the first calls of each tool, of those that were made one at a time."""
    made: Counter[str] = Counter()
    for batch in batches:
        if len(batch) == 1 and made[batch[0].name] < _FEW_CALLS:
            made[batch[0].name] += 1
            yield batch


def _affordable(calls: Iterator[ToolCall], learned: Learned) -> Iterator[ToolCall]:
    """Yield calls; those with a huge number only of a tool that answered all others at once, and not at length.

    A tool that makes as many rows as it is told would else use up the memory of the server. It is asked for ten
    thousand before a million, and for a million before more.
    """
    for call in calls:
        is_quick = learned.longest.get(call.name, 0.0) < _AT_ONCE and learned.largest.get(call.name, 0) < _AT_LENGTH
        if is_quick or call.intent is not Intent.VALID or not has_huge_number(call.arguments):
            yield call


def _at_the_same_time(calls: list[ToolCall]) -> Iterator[Batch]:
    """Yield calls that were made before once more, several at the same time: of different tools, and of one."""
    calls = calls[:_MOST_AT_THE_SAME_TIME]
    apart = calls[:: len(_KEPT)] + [call for call in calls if call not in calls[:: len(_KEPT)]]
    for order in (apart, calls):
        for start in range(0, len(order), _IN_FLIGHT):
            yield tuple(order[start : start + _IN_FLIGHT])


def _calls_of(tool: ListedTool, options: Options, note: Callable[[str], None], learned: Learned) -> Iterator[ToolCall]:
    populated = populated_parameters(tool)
    schema = without(expanded(tool.input_schema), populated)
    # `show_user` is set explicitly below, never at random.
    drawable = without(schema, ["show_user"])
    try:
        full = valid(drawable, 1, options.seed, full=True)
        drawn = valid(drawable, options.examples, options.seed)
    except TimeoutError as error:
        note(f"`{quoted(tool.name)}` was not called: {error}; check its input schema for a `pattern` that backtracks.")
        return
    given = list(_given(tool, options, schema, note))
    drawn = [*given, *(drawn or full)]
    if not drawn:
        note(f"`{quoted(tool.name)}` was not called: no arguments could be made from its input schema.")
        return

    def base() -> Arguments:
        """Return the arguments that are changed: those with the most members, unless only others succeeded."""
        return (learned.succeeded.get(tool.name) or given or full or drawn)[0]

    def fewest() -> Arguments:
        """Return those of the arguments with the fewest members: a border can show only where nothing else counts."""
        return min(learned.succeeded.get(tool.name) or drawn, key=len)

    showing = tool.takes_show_user
    shown = {"show_user": True} if showing else {}
    around = Surroundings(drawable, lambda: learned.succeeded.get(tool.name, ()))
    values = Values(drawable, base, [*full, *drawn])

    def among(change: Callable[[Arguments], Iterable[Hostile]]) -> Iterator[ToolCall]:
        """Yield calls with changes of the base, each among other arguments that succeeded."""
        start = base()
        for one in change(start):
            yield ToolCall(tool, tool.name, {**around(start, one.arguments), **shown}, traps=one.traps)

    def others() -> list[Arguments]:
        """Return arguments that have something in them which the base has not, such as an alternative."""
        return differently_formed(base(), drawn)[:_MOST_FORMS]

    texts = among(lambda start: hostile(drawable, start))
    pairs = _with_values(tool, values.pairs(), shown)
    refused, of_kinds = _refused(tool, schema, base), _refused(tool, schema, base, of_each_kind)
    rest = drawn[len(given) or 1 :]
    few, others_drawn = rest[: _FEW_DRAWN - 1], rest[_FEW_DRAWN - 1 :]
    # What the answer to a call teaches, the call after the next one knows: those with the most members come first.
    for arguments in (*given, *full, drawn[0], drawn[0]):
        yield ToolCall(tool, tool.name, arguments)
    yield from _different(
        _in_turn(
            texts,
            pairs,
            _of_show_user(tool, base),
            refused,
            (ToolCall(tool, tool.name, {**one, **shown}) for one in extremes(drawable, base())),
            pairs,
            texts,
            _in_turn(
                among(lambda start: (Hostile(one, ()) for one in at_borders(drawable, start))),
                _with_values(tool, alone_at_the_most(drawable, base, fewest), shown),
            ),
            texts,
            pairs,
            of_kinds,
            _with_values(tool, (text for one in others() for text in hostile_everywhere(drawable, one)), shown),
            (call for one in others() for call in _refused(tool, schema, partial(dict, one))),
            (ToolCall(tool, tool.name, {**at, **shown}) for one in others() for at in at_borders(drawable, one)),
            (ToolCall(tool, tool.name, {**arguments, "show_user": True}) for arguments in few[: len(few) * showing]),
            _in_failures(tool, drawable, lambda: learned.failed.get(tool.name, {}).values()),
            _forged(tool, base, populated),
            (ToolCall(tool, tool.name, arguments) for arguments in few),
            _with_values(tool, values.each(), {}) if showing else (),
            _with_values(tool, hostile(drawable, base()), {}) if showing else (),
            (ToolCall(tool, tool.name, {**arguments, **shown}) for arguments in others_drawn),
        )
    )


def _given(
    tool: ListedTool, options: Options, schema: dict[str, Any], note: Callable[[str], None]
) -> Iterator[Arguments]:
    """Yield the arguments that the user gives for a tool, without `show_user`; others than fit are noted."""
    fits = fitting(without(schema, ["show_user"]))
    for number, arguments in enumerate(options.known.get(tool.name, ()), 1):
        plain = {name: value for name, value in arguments.items() if name != "show_user"}
        if fits is not None and fits(plain) and sendable(plain):
            yield plain
        else:
            note(
                f"Number {number} of the arguments given for `{quoted(tool.name)}` was not used: it does not fit the "
                "input schema in this run, or JSON cannot carry it."
            )


def _in_failures(
    tool: ListedTool, schema: dict[str, Any], failed: Callable[[], Iterable[Arguments]]
) -> Iterator[ToolCall | None]:
    """Yield calls with which the tool failed, with the first hostile texts: a long one in one place.

    `None`: there is no such call yet.
    """
    number = 0
    for _ in range(_MOST_ROUNDS):
        if number < len(known := list(failed())):
            for one in islice(hostile(schema, known[number]), 2):
                yield ToolCall(tool, tool.name, one.arguments, traps=one.traps)
            number += 1
        else:
            yield None


def _different(calls: Iterable[ToolCall]) -> Iterator[ToolCall]:
    """Yield calls without those that are equal to one before: the first calls of a tool are repeated on purpose."""
    seen: set[str] = set()
    for call in calls:
        if call.key not in seen:
            seen.add(call.key)
            yield call


def _in_turn(*sources: Iterable[ToolCall | None]) -> Iterator[ToolCall]:
    """Yield a call from each source in turn, until all have ended; of one that has none yet, later."""
    waiting = deque(iter(source) for source in sources)
    while waiting:
        source = waiting.popleft()
        for call in islice(source, 1):
            if call is not None:
                yield call
            waiting.append(source)


def _with_values(tool: ListedTool, values: Iterable[Hostile], shown: Arguments) -> Iterator[ToolCall]:
    for one in values:
        yield ToolCall(tool, tool.name, {**one.arguments, **shown}, traps=one.traps)


def _refused(
    tool: ListedTool,
    schema: dict[str, Any],
    base: Callable[[], Arguments],
    order: Callable[[Iterable[Refusal]], Iterable[Refusal]] = iter,
) -> Iterator[ToolCall]:
    switch = {"show_user": False} if tool.takes_show_user else {}
    for one in order(refusals(schema, {**base(), **switch})):
        yield ToolCall(tool, tool.name, one.arguments, Intent.INVALID, one.pointers, one.fault, one.traps)


def _of_show_user(tool: ListedTool, base: Callable[[], Arguments]) -> Iterator[ToolCall]:
    begun = base()  # the same for all: their answers are compared
    if tool.takes_show_user:
        yield ToolCall(tool, tool.name, {**begun, "show_user": True})
    if tool.takes_show_user and tool.displays:
        yield ToolCall(tool, tool.name, {**begun, "show_user": None})
    if tool.takes_show_user:
        yield ToolCall(tool, tool.name, {**begun, "show_user": False})


def _forged(tool: ListedTool, base: Callable[[], Arguments], populated: list[str]) -> Iterator[ToolCall]:
    """Yield a call with all arguments that only the server may fill in, one with each, and one with a fault besides."""
    text, fits = marked("forged"), fitting(tool.input_schema)
    every = [tuple(populated), *([(name,) for name in populated] if len(populated) > 1 else [])] if populated else []
    for names in every:
        strays = tuple(pointer((name,)) for name in names if not (fits and fits({**base(), name: text})))
        arguments = {**base(), **dict.fromkeys(names, text)}
        yield ToolCall(tool, tool.name, arguments, refused=strays, traps=(text,), forged=names)
    if populated:
        without_value = {**base(), **dict.fromkeys(populated)}
        strays = tuple(pointer((name,)) for name in populated if not (fits and fits({**base(), name: None})))
        yield ToolCall(tool, tool.name, without_value, refused=strays, forged=tuple(populated))
        refused = next(iter(refusals(without(expanded(tool.input_schema), populated), base())), None)
        if refused is not None and refused.pointers:
            forged = {**refused.arguments, **dict.fromkeys(populated, text)}
            fault = refused.fault
            yield ToolCall(
                tool, tool.name, forged, Intent.INVALID, refused.pointers, fault, (text,), forged=tuple(populated)
            )
