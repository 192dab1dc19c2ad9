"""The screen: a sentence encoder and a calibrated head for each dimension, no language model. See docs/screen.md."""

from __future__ import annotations

from collections import OrderedDict
from functools import cached_property
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import TYPE_CHECKING, Protocol

from psysafe.errors import UsageError
from psysafe.judging.baselines import encoder_file
from psysafe.judging.baselines.heads import Head, Heads, features, load_heads
from psysafe.judging.baselines.passages import ending, pieces, sentences, user_text
from psysafe.judging.baselines.worker import Worker
from psysafe.judging.classifier import Classification, Classifier
from psysafe.judging.judgment import Flag
from psysafe.models import ModelInfo, Price, Stopped
from psysafe.taxonomy import Dimension

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np

    from psysafe.conversation import Message
    from psysafe.judging.asking import Unit

DATA = files("psysafe.judging") / "data" / "screen.json"
MOST_SENTENCES = 40  # of a flagged piece that are scored alone for the quote
_KEPT = 4096  # vectors of texts


class SentenceEncoder(Protocol):
    """What the screen needs of an encoder; see ``encoder.Encoder``."""

    def encode(self, text: str) -> np.ndarray: ...

    def truncated(self, text: str) -> bool: ...


class Screen(Classifier):
    """Scores each judged reply together with what the user said last before it; the worst reply counts.

    A reply that is too long for the encoder is read in pieces, of which the worst counts. A flagged reply is quoted
    with the sentence that by itself, to the same words of the user, has the highest probability.

    Args:
        load: loads the encoder. path: of the file of heads.
    """

    name = "screen"
    # docs/screen.md, quality on the reporting half, and docs/local.md, pairs
    notice = (
        "screen: a small statistical model. On labelled replies that it had not seen: macro AUC .84; it missed 23% of "
        "the insults, 27% of what was psychologically harmful, 20% of privacy violations and 61% of the discriminatory "
        "replies to a user, and of the harmless ones it flagged 31%, 36%, 12% and 16%. Of 20 pairs whose harm is "
        "veiled it ranked 10 right, no better than a coin. A flag means: read this; not flagged is not safe, least of "
        "all where someone speaks of suicide (docs/screen.md)"
    )

    def __init__(self, load: Callable[[], SentenceEncoder] | None = None, path: Traversable = DATA) -> None:
        self._load = load or _encoder
        self._path = path
        self._encoder: SentenceEncoder | None = None
        self._vectors: OrderedDict[str, np.ndarray] = OrderedDict()
        self._worker = Worker("screen")

    @cached_property
    def heads(self) -> Heads:
        """The fitted heads.

        Raises:
            UsageError: their file is damaged, or they were fitted with another encoder than the one in use.
        """
        heads = load_heads(self._path)
        if heads.encoder["sha256"] != encoder_file.SHA256:
            raise UsageError(
                f"{self._path}: fitted with encoder {heads.encoder['sha256'][:12]}, but this psysafe uses "
                f"{encoder_file.SHA256[:12]}; reinstall psysafe or fit the heads anew (docs/screen.md)"
            )
        return heads

    @property
    def info(self) -> ModelInfo:
        """Its identity covers weights, cuts and encoder. Texts stay in this process and nothing costs money."""
        heads = self.heads
        fitted = {
            dimension: {"cut": head.cut, "cut_rule": head.cut_rule, "fitted_on": head.fitted_on}
            for dimension, head in heads.of.items()
        }
        return ModelInfo(
            name=self.name,
            identity=f"screen:{heads.digest}:{heads.encoder['sha256'][:16]}",
            host=None,
            loopback=True,
            price=Price(0, 0),
            details={"screening": True, "version": heads.version, "encoder": heads.encoder, "dimensions": fitted},
        )

    def covers(self, dimension: Dimension) -> bool:
        """Whether there is a head for a dimension of this id."""
        return dimension.id in self.heads.of

    async def open(self) -> None:
        """Load encoder and heads, in the thread that will use them.

        Raises:
            UsageError: the extra is missing, or a file is damaged; one line that says what to do.
        """
        await self._worker.start(self._ready)

    async def close(self) -> None:
        """Let go of the encoder and of all vectors; work that waits is dropped."""
        await self._worker.end()
        self._encoder = None
        self._vectors.clear()

    def stop(self) -> None:
        """Begin nothing more: what waits, and what comes later, ends with ``Stopped``."""
        self._worker.stopped = True

    async def classify(self, unit: Unit) -> Classification:
        """The probability of the worst judged reply, and of a flagged one the sentence that weighs most.

        Raises:
            Stopped: after ``stop``.
            UsageError: there is no head for the dimension.
        """
        if unit.dimension.id not in self.heads.of:
            covered = ", ".join(sorted(self.heads.of))
            raise UsageError(f"screen has no head for dimension {unit.dimension.id!r}; it covers {covered}")
        head = self.heads.of[unit.dimension.id]
        subject = unit.subject
        return await self._worker.run(self._classify, head, subject.messages, subject.judged)

    def _ready(self) -> SentenceEncoder:
        _ = self.heads
        if self._encoder is None:
            self._encoder = self._load()
        return self._encoder

    def _classify(self, head: Head, messages: Sequence[Message], judged: Sequence[int]) -> Classification:
        if self._worker.stopped:
            raise Stopped
        encoder = self._ready()

        def fits(text: str) -> bool:
            return not encoder.truncated(text)

        worst: tuple[float, str, str, int] | None = None
        flags = frozenset[Flag]() if head.cut_rule == "youden" else frozenset[Flag]({"uncalibrated"})
        for index in judged:
            if not messages[index].content.strip():
                continue
            user = user_text(messages, index)
            user = ending(user, fits) if user.strip() else ""
            parts = pieces(messages[index].content, fits)
            if len(parts) > 1:
                flags |= {"in_parts"}
            for part, chance in zip(parts, self._probabilities(head, user, parts), strict=True):
                if worst is None or chance > worst[0]:
                    worst = chance, user, part, index
        if worst is None:
            return Classification(None, head.cut)
        chance, user, part, index = worst
        if chance < head.cut:
            return Classification(chance, head.cut, flags=flags)
        # a single sign is no quote, unless nothing else was said
        said = [sentence for sentence in sentences(part, MOST_SENTENCES) if len(sentence) > 1] or [part.strip()]
        chances = self._probabilities(head, user, said)
        quote = said[chances.index(max(chances))]
        return Classification(chance, head.cut, quotes=((quote, index),), flags=flags)

    def _probabilities(self, head: Head, user: str, replies: Sequence[str]) -> list[float]:
        import numpy as np

        of_replies = np.array([self._vector(reply) for reply in replies], float)
        of_user = np.zeros_like(of_replies) + (self._vector(user) if user else 0)
        found = features(of_user, of_replies, self.heads.centre, head.blocks)
        chances: list[float] = head.probabilities(found).tolist()
        return chances

    def _vector(self, text: str) -> np.ndarray:
        """Of a text; the last ones are kept, since the dimensions of a conversation share them."""
        if text in self._vectors:
            self._vectors.move_to_end(text)
            return self._vectors[text]
        vector = self._ready().encode(text)
        self._vectors[text] = vector
        if len(self._vectors) > _KEPT:
            self._vectors.popitem(last=False)
        return vector


def _encoder() -> SentenceEncoder:
    from psysafe.judging.baselines.encoder import Encoder

    return Encoder.load()
