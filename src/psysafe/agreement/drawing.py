"""Which units people are asked about: drawn at random, so that what they say holds for all."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from sqlalchemy import select

from psysafe.agreement.labels import RANDOM, TEXT_COLUMN
from psysafe.conversation import Conversation
from psysafe.errors import UsageError
from psysafe.runs.export_records import cell
from psysafe.runs.store import Store
from psysafe.runs.tables import judgments

HASH_DIGITS = 16
HEAD = ("id", "dimension", "message", "queue", "sampling_probability", "rater", "label", "text_hash", TEXT_COLUMN)


@dataclass(frozen=True, slots=True)
class Drawn:
    """A unit that people are to label.

    Attributes:
        message: 0-based index of the judged message, None for the whole conversation.
        queue: ``random``, or ``flagged`` and ``not flagged`` where flagged units were drawn more often.
        probability: with which it was drawn.
    """

    conversation: str
    dimension: str
    message: int | None
    queue: str
    probability: float


def draw(
    store: Store, count: int, dimensions: Sequence[str] = (), *, flagged_share: float | None = None, seed: int = 0
) -> list[Drawn]:
    """Draw units of a run, the same number of each dimension, in random order.

    Args:
        count: of each dimension; all where there are no more. dimensions: all of the run by default.
        flagged_share: how many of them a judge of the run calls harmful, where there are enough; None draws at random.
            Rare harm is then seen more often, and the probabilities make up for it.

    Raises:
        UsageError: the run did not judge a dimension; or it is not finished, so that a draw would speak for a part.
    """
    if (store.get("state") or {}).get("ended") != "complete":
        raise UsageError(
            f"{store.directory} is not finished: what is drawn now would not speak for what is judged later; finish it "
            "with --resume, or judge what there is as a run of its own"
        )
    c = judgments.c
    rows = store.rows(select(c.conversation, c.dimension, c.message, c.harmful).order_by(c.position, c.message))
    flags: dict[str, dict[tuple[str, int | None], bool]] = {}
    for conversation, dimension, message, harmful in rows:
        of = flags.setdefault(dimension, {})
        of[conversation, message] = of.get((conversation, message), False) or bool(harmful)
    if missing := [name for name in dimensions if name not in flags]:
        raise UsageError(f"the run did not judge {', '.join(missing)}; it judged {', '.join(sorted(flags))}")
    found: list[Drawn] = []
    for number, dimension in enumerate(sorted(dimensions or flags)):
        random = np.random.default_rng([seed, number])
        units = flags[dimension]
        if flagged_share is None:
            found += _of(list(units), count, dimension, RANDOM, random)
            continue
        harmful = [place for place, flag in units.items() if flag]
        others = [place for place, flag in units.items() if not flag]
        wanted = min(len(harmful), round(count * flagged_share))
        wanted = max(wanted, min(len(harmful), count - len(others)))
        part = [*_of(harmful, wanted, dimension, "flagged", random)]
        part += _of(others, count - wanted, dimension, "not flagged", random)
        found += [part[index] for index in random.permutation(len(part))]
    return found


def _of(
    places: Sequence[tuple[str, int | None]], count: int, dimension: str, queue: str, random: np.random.Generator
) -> Iterator[Drawn]:
    taken = min(count, len(places))
    for index in random.permutation(len(places))[:taken]:
        conversation, message = places[int(index)]
        yield Drawn(conversation, dimension, message, queue, taken / len(places))


def as_csv(drawn: Sequence[Drawn], store: Store) -> bytes:
    """A table for people to fill in, UTF-8 with a byte order mark: the conversations up to what is judged, and no word
    of what a judge said of them."""
    wanted = {one.conversation for one in drawn}
    texts = {one.id: one for one in store.conversations() if one.id in wanted}
    out = io.StringIO(newline="")
    writer = csv.writer(out)
    writer.writerow(HEAD)
    for one in drawn:
        text = _shown(texts[one.conversation], one.message)
        message = "" if one.message is None else one.message
        probability = format(one.probability, ".12g")
        seen = texts[one.conversation].content_hash()[:HASH_DIGITS]
        writer.writerow([cell(one.conversation), one.dimension, message, one.queue, probability, "", "", seen, text])
    return out.getvalue().encode("utf-8-sig")


def _shown(conversation: Conversation, message: int | None) -> str:
    until = len(conversation.messages) if message is None else message + 1
    parts = []
    for index, one in enumerate(conversation.messages[:until]):
        judged = one.role == "assistant" and message in (None, index)
        parts.append(f"{'>>> ' if judged else ''}{one.role}: {one.content}")
    # Spreadsheets would run what begins with = + - @; this begins with a role, or with >>>.
    return "\n\n".join(parts)
