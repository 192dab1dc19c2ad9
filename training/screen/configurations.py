"""Everything that was tried, listed before any of it was looked at on these halves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import TfidfVectorizer

from psysafe.judging.baselines.heads import WIDTH, features
from training.screen.counts import counts
from training.screen.texts import Readings

DIMENSIONS = ("discriminatory_behaviour", "insulting_behaviour", "psychological_harm", "privacy_violation")
Matrix = Any  # [readings, columns], dense or sparse
WEAK_TO_STRONG = (0.1, 0.3, 1.0, 3.0, 10.0)  # the C of scikit-learn
WAVES = 2048
OF_WAVES = (1.0, 3.0, 10.0, 30.0, 100.0)
OF_WORDS = (0.3, 3.0, 30.0)
OF_KERNEL = (0.3, 1.0, 3.0)


@dataclass
class Material:
    """All readings with their vectors and labels.

    Attributes: all [readings, ...]. centre: [2, 384], over the fitting half. fitting: which readings are of that half.
    """

    readings: Readings
    label: np.ndarray
    dimension: np.ndarray
    e5: tuple[np.ndarray, np.ndarray]  # user, reply
    minilm: tuple[np.ndarray, np.ndarray]
    centre: np.ndarray
    fitting: np.ndarray
    _made: dict[str, Matrix] = field(default_factory=dict)

    def blocks(self, *names: str) -> Matrix:
        """E5 features as in use."""
        return self.once("|".join(names), lambda: features(*self.e5, self.centre, names))

    def waves(self, *names: str) -> Matrix:
        """Cosines of random projections: inner products near ``exp(-|x - y|^2 / number of blocks)``, and no examples."""

        def make() -> Matrix:
            blocks = self.blocks(*names)
            random = np.random.default_rng(0)
            directions = random.standard_normal((blocks.shape[1], WAVES)) * (2 / len(names)) ** 0.5
            return np.cos(blocks @ directions + random.uniform(0, 2 * np.pi, WAVES)) * (2 / WAVES) ** 0.5

        return self.once("waves|" + "|".join(names), make)

    def whitening(self, *names: str) -> np.ndarray:
        """[width, width]: makes the blocks' directions equally long over the fitting half, the short ones less so."""
        blocks = self.blocks(*names)[self.fitting]
        values, vectors = np.linalg.eigh(np.cov(blocks.T))
        scales = (values + values.mean()) ** -0.5
        return (vectors * scales) @ vectors.T * float((values.mean() * 2) ** 0.5)

    def small(self, *names: str) -> Matrix:
        """The same of MiniLM."""
        user, reply = self.minilm
        parts = {"user": user, "reply": reply, "product": user * reply * 15,
                 "difference": (reply - user) * (np.abs(user).sum(1, keepdims=True) > 0)}  # fmt: skip
        return np.hstack([parts[name] for name in names])

    def counted(self) -> Matrix:
        """Word counts of user text and reply, each column with mean 0 and standard deviation 1/8."""

        def make() -> Matrix:
            both = np.hstack([[counts(text) for text in texts] for texts in (self.readings.user, self.readings.reply)])
            return (both - both.mean(0)) / (both.std(0) + 1e-6) / 8

        return self.once("counted", make)

    def once(self, name: str, make: Callable[[], Matrix]) -> Matrix:
        """What ``make`` gives, made once."""
        if name not in self._made:
            self._made[name] = make()
        return self._made[name]


def words(user: float, reply: float, **how: Any) -> Callable[[Material, np.ndarray], Matrix]:
    """TF-IDF of both texts with these weights; the vocabulary comes from the training readings alone."""

    def make(material: Material, train: np.ndarray) -> Matrix:
        parts = []
        for texts, weight in ((material.readings.user, user), (material.readings.reply, reply)):
            if weight:
                vectoriser = TfidfVectorizer(sublinear_tf=True, **how).fit([texts[i] for i in train])
                parts.append(vectoriser.transform(texts) * weight)
        return sparse.hstack(parts).tocsr()

    return make


@dataclass(frozen=True)
class Configuration:
    """A way to score.

    Attributes:
        kind: ``plain``: one encoder and a linear head on its vectors; ``more``: could be shipped too, with a further
            step; ``reference``: could not, for it needs another encoder, a vocabulary or examples from the data.
        make: the matrix, given material and the readings trained on; or the names of configurations to average.
        blocks: what ``heads.features`` makes it from, empty if it cannot. mix: [width, width], applied to them.
        learner: ``linear``, ``kernel`` (an SVM), or ``shared``: linear over all dimensions, each with its own part.
    """

    name: str
    kind: Literal["plain", "more", "reference"]
    make: Callable[[Material, np.ndarray], Matrix] | tuple[str, ...]
    strengths: Sequence[float] = WEAK_TO_STRONG
    learner: Literal["linear", "kernel", "shared"] = "linear"
    blocks: tuple[str, ...] = ()
    mix: Callable[[Material], np.ndarray] | None = None


def e5(
    name: str,
    *blocks: str,
    kind: Literal["plain", "more"] = "plain",
    scale: float = 1.0,
    white: bool = False,
    learner: Literal["linear", "shared"] = "linear",
) -> Configuration:
    """A head on blocks of E5 features. What is done to them linearly before fitting is put into the weights after it.

    Args:
        scale: of the block ``user``. white: see ``Material.whitening``.
    """

    def mix(material: Material) -> np.ndarray:
        scales = np.repeat([scale if block == "user" else 1.0 for block in blocks], WIDTH)
        return scales[:, None] * (material.whitening(*blocks) if white else np.eye(len(scales)))

    def make(material: Material, _: np.ndarray) -> Matrix:
        plain = material.blocks(*blocks)
        return plain if scale == 1 and not white else material.once(name, lambda: plain @ mix(material))

    strengths = WEAK_TO_STRONG if learner == "linear" else (0.1, 1.0, 10.0)
    return Configuration(name, kind, make, strengths, learner, blocks, mix)


def waved(name: str, blocks: tuple[str, ...], of: tuple[str, ...]) -> Configuration:
    """Blocks of E5 features and cosines of some of them."""

    def make(material: Material, _: np.ndarray) -> Matrix:
        return np.hstack([*([material.blocks(*blocks)] if blocks else []), material.waves(*of)])

    return Configuration(name, "more", make, OF_WAVES)


LETTERS = {"analyzer": "char_wb", "ngram_range": (2, 5), "min_df": 2}
WORDS = {"ngram_range": (1, 2), "token_pattern": r"(?u)\b\w+\b"}
BOTH = ("user", "reply")
FOUR = ("user", "reply", "product", "difference")

CONFIGURATIONS = {
    c.name: c
    for c in (
        e5("E5 r", "reply"),
        e5("E5 u,r", *BOTH),
        e5("E5 u,r,u*r,r-u", *FOUR),
        waved("E5 waves(r)", (), ("reply",)),
        waved("E5 waves(u,r)", (), BOTH),
        waved("E5 u + waves(r)", ("user",), ("reply",)),
        waved("E5 u,r + waves(r)", BOTH, ("reply",)),
        waved("E5 u,r + waves(u,r)", BOTH, BOTH),
        waved("E5 u,r,u*r,r-u + waves(u,r)", FOUR, BOTH),
        Configuration("E5 u,r + counts", "more", lambda m, _: np.hstack([m.blocks(*BOTH), m.counted()])),
        Configuration("E5 u,r,u*r,r-u + counts", "more", lambda m, _: np.hstack([m.blocks(*FOUR), m.counted()])),
        e5("E5 u,r, shared", *BOTH, kind="more", learner="shared"),
        Configuration("counts", "more", lambda m, _: m.counted()),
        Configuration("SVM E5 r", "reference", lambda m, _: m.blocks("reply"), OF_KERNEL, "kernel"),
        Configuration("SVM E5 u,r", "reference", lambda m, _: m.blocks(*BOTH), OF_KERNEL, "kernel"),
        Configuration("SVM E5 u,r + counts", "reference", lambda m, _: np.hstack([m.blocks(*BOTH), m.counted()]), OF_KERNEL, "kernel"),
        Configuration("MiniLM r", "reference", lambda m, _: m.small("reply")),
        Configuration("MiniLM u,r", "reference", lambda m, _: m.small(*BOTH)),
        Configuration("MiniLM u,r,u*r,r-u", "reference", lambda m, _: m.small(*FOUR)),
        Configuration("MiniLM four + counts", "reference", lambda m, _: np.hstack([m.small(*FOUR), m.counted()])),
        Configuration("MiniLM + E5 u,r", "reference", lambda m, _: np.hstack([m.small(*BOTH), m.blocks(*BOTH)])),
        Configuration("MiniLM + E5 u,r + counts", "reference", lambda m, _: np.hstack([m.small(*BOTH), m.blocks(*BOTH), m.counted()])),
        Configuration("letters 2-5 r", "reference", words(0, 1, **LETTERS), OF_WORDS),
        Configuration("letters 2-5 u,r", "reference", words(0.5, 1, **LETTERS), OF_WORDS),
        Configuration("words 1-2 u,r", "reference", words(0.5, 1, **WORDS), OF_WORDS),
        Configuration("mean(E5 u,r; SVM E5 u,r)", "reference", ("E5 u,r", "SVM E5 u,r")),
        Configuration("mean(E5 u,r; letters 2-5 u,r)", "reference", ("E5 u,r", "letters 2-5 u,r")),
        Configuration("mean(E5 u,r; E5 r; counts)", "more", ("E5 u,r", "E5 r", "counts")),
        # added when the figures of those above were known
        e5("E5 u/2,r", *BOTH, scale=0.5),
        e5("E5 u/4,r", *BOTH, scale=0.25),
        e5("E5 r, whitened", "reply", white=True, kind="more"),
        e5("E5 u,r, whitened", *BOTH, white=True, kind="more"),
        e5("E5 u/2,r, whitened", *BOTH, scale=0.5, white=True, kind="more"),
        e5("E5 r, shared", "reply", kind="more", learner="shared"),
        e5("E5 u/2,r, shared", *BOTH, scale=0.5, kind="more", learner="shared"),
    )
}  # fmt: skip
