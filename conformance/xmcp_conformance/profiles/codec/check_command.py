"""Judge a codec behind a command by vectors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import islice

from xmcp_conformance.core.command_environment import OURS, CommandEnvironment
from xmcp_conformance.core.events import Emit, Noted, NotReached, Observed, RunEnded, RunStarted, SuiteStarted
from xmcp_conformance.core.observation import Observation
from xmcp_conformance.core.requirements import registry
from xmcp_conformance.core.shown_command import shown_command

from .altered_documents import altered
from .combined_responses import combined_responses
from .command import CommandCodec
from .generated import Drawn, drawn, halved, smallest
from .refused_responses import beyond_a_schema, refused_responses
from .rules_beyond_schemas import rules_beyond_schemas
from .schemas_as_read import schemas_as_read
from .values_beyond_json import values_beyond_json
from .vector_checks import PROFILE, CodecUnavailable, check_codec
from .vectors import Vector

DIRECTIONS = ("encode", "decode", "stream")
"""The directions of vectors that are about a codec."""


def check_command(
    command: Sequence[str],
    vectors: Sequence[Vector],
    emit: Emit,
    *,
    strict: bool = False,
    examples: int = 0,
    seed: int = 20261121,
    start_timeout: float = 30.0,
    answer_timeout: float = 10.0,
    environment: CommandEnvironment = OURS,
) -> None:
    """Judge a codec by all vectors for which it has what they need.

    Args:
        command: the words of the command.
        vectors: the vectors; those of a formatter or a renderer are left out.
        emit: gets each event; a command that does not speak the protocol is one, `NotReached`.
        strict: whether a broken SHOULD counts as a broken MUST.
        examples: number of responses that are drawn besides, and of values beyond JSON.
        seed: what they are drawn from.
        start_timeout: seconds for the first answer.
        answer_timeout: seconds for each other.
        environment: what it runs in.
    """
    emit(SuiteStarted(PROFILE, registry().version, {"strict": strict, "examples": examples, "seed": seed}))
    times = {"start_timeout": start_timeout, "answer_timeout": answer_timeout}
    try:
        with CommandCodec(command, **times, environment=environment) as codec:
            emit(RunStarted(codec.name, codec.name))
            of_codecs = [vector for vector in vectors if vector.direction in DIRECTIONS]
            lacked: Counter[str] = Counter()
            for vector in of_codecs:
                if lacks := codec.lacks(vector):
                    lacked[lacks] += 1
                else:
                    for observation in check_codec(vector, codec):
                        emit(Observed(observation, codec.name, vector.id))
            _check_drawn(codec, examples, seed, emit)
            _check_more(codec, examples, seed, emit)
            for lacks, count in sorted(lacked.items()):
                emit(
                    Noted(
                        codec.name,
                        f"{count} vector{'s' if count != 1 else ''} not run: the codec did not name {lacks}.",
                    )
                )
            emit(RunEnded(codec.name))
    except CodecUnavailable as error:
        emit(NotReached(shown_command(command), "command", str(error)))


def _check_drawn(codec: CommandCodec, examples: int, seed: int, emit: Emit) -> None:
    """Judge a codec by responses that are drawn; what each direction shows first is made as small as it can be."""
    shown: set[str] = set()
    for one in islice(drawn(seed), examples):
        for vector in one.vectors():
            if codec.lacks(vector):
                continue
            before, observations = codec.ends, check_codec(vector, codec)
            wrong = not all(observation.ok for observation in observations)
            if wrong and vector.direction not in shown and codec.ends == before:  # a command that ended tells no more
                shown.add(vector.direction)
                observations = _small(codec, one, vector.direction) or observations
            for observation in observations:
                emit(Observed(observation, codec.name, vector.id))


def _check_more(codec: CommandCodec, examples: int, seed: int, emit: Emit) -> None:
    """Judge a codec by altered documents and responses, and by values beyond JSON, as far as it takes their kinds."""
    for vector in more_vectors(examples, seed):
        if not codec.lacks(vector):
            for observation in check_codec(vector, codec):
                emit(Observed(observation, codec.name, vector.id))


def more_vectors(examples: int, seed: int) -> Iterator[Vector]:
    """Yield what is judged besides the vectors of the file and the responses that are drawn."""
    yield from islice(altered(seed), 5 * examples)
    yield from islice(refused_responses(seed), examples)
    yield from islice(beyond_a_schema(seed), 3 * examples)
    yield from islice(rules_beyond_schemas(seed), examples // 2)
    yield from islice(halved(seed), examples // 4)
    yield from islice(values_beyond_json(seed), examples)
    yield from islice(combined_responses(seed), examples)
    yield from islice(schemas_as_read(seed), 2 * examples)


def _small(codec: CommandCodec, one: Drawn, direction: str) -> list[Observation]:
    """Return what the smallest vector shows that fails as one of a response does; nothing if it no longer does."""
    seen = check_codec(smallest(one, partial(_is_wrong, codec), direction), codec)
    return [] if all(observation.ok for observation in seen) else seen


def _is_wrong(codec: CommandCodec, vector: Vector) -> bool:
    """Return whether a vector is answered wrongly; not where the command does not survive it."""
    before = codec.ends
    return not all(observation.ok for observation in check_codec(vector, codec)) and codec.ends == before
