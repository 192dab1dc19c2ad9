"""A multilingual sentence encoder on the CPU: multilingual-e5-small, run with numpy from 4-bit weights."""

from __future__ import annotations

from typing import TYPE_CHECKING

from psysafe.judging.baselines import encoder_file
from psysafe.judging.baselines.encoder_file import EncoderFile, unpack
from psysafe.judging.baselines.encoder_tokens import Tokens

if TYPE_CHECKING:
    import numpy as np

_PREFIX = "query: "  # what the model was trained to see before a text that is compared with others


class Encoder:
    """Turns a text in any of some hundred languages into a vector; texts that mean the same lie close together.

    Neither the file nor the weights change after loading, so one encoder serves any number of threads at once.
    numpy's linear algebra lets go of the interpreter lock and spreads one text over all cores; where these are busy
    with other work or with other texts, one core a text is faster (``OPENBLAS_NUM_THREADS=1`` before the start).

    Attributes:
        dimensions: the length of a vector.
    """

    dimensions = 384

    def __init__(self, file: EncoderFile) -> None:
        self._tokens = Tokens(file)
        arrays = file.arrays
        self._epsilon = file.epsilon
        self._words = arrays["emb.word"].reshape(-1, self.dimensions // 32, 18)
        self._places = arrays["emb.pos"].reshape(-1, self.dimensions) + arrays["emb.type"][: self.dimensions]
        self._norm = arrays["emb.ln.w"], arrays["emb.ln.b"]
        self._layers = [_Layer(arrays, f"l{number}.", file) for number in range(file.layers)]

    @classmethod
    def load(cls) -> Encoder:
        """Read the weights from the installed distribution, after a check of their SHA-256.

        Raises:
            UsageError: the extra is missing, or the file is not the expected one; one line that says what to do.
        """
        return cls(encoder_file.read(encoder_file.find()))

    def encode(self, text: str) -> np.ndarray:
        """The vector of a text: float32 [384], of length 1.

        At most 512 tokens are read, among them two marks and the model's own prefix: some 1,400 to 2,300
        characters of English. What comes after is cut off; ``truncated`` tells. A lone surrogate is read as
        ``?``, a NUL as a space. An empty text has a vector too.
        """
        import numpy as np

        ids, _ = self._tokens.ids(_PREFIX + text)
        states = unpack(self._words[ids]) + self._places[: len(ids)]
        _normalise(states, *self._norm, self._epsilon)
        for layer in self._layers:
            layer.apply(states)
        vector = states.mean(axis=0)
        unit: np.ndarray = vector / np.linalg.norm(vector)
        return unit

    def truncated(self, text: str) -> bool:
        """Whether ``encode`` reads only the beginning of the text."""
        return self._tokens.ids(_PREFIX + text)[1]


class _Layer:
    """One block of the transformer: attention, then two linear maps, each added to what came in and normalised."""

    def __init__(self, arrays: dict[str, np.ndarray], name: str, file: EncoderFile) -> None:
        import numpy as np

        def linear(*names: str) -> tuple[np.ndarray, np.ndarray]:
            bias = np.concatenate([arrays[f"{name}{n}.b"] for n in names])
            rows = np.concatenate([arrays[f"{name}{n}.w"] for n in names])
            return unpack(rows.reshape(len(bias), -1, 18)).T, bias

        self._heads, self._epsilon = file.heads, file.epsilon
        self._query_key_value = linear("q", "k", "v")
        self._out, self._up, self._down = linear("ao"), linear("fi"), linear("fo")
        self._norms = [(arrays[f"{name}{n}.w"], arrays[f"{name}{n}.b"]) for n in ("aln", "oln")]

    def apply(self, states: np.ndarray) -> None:
        """Replace ``states``, float32 [tokens, 384], by what the layer makes of them."""
        states += _map(self._attention(states), self._out)
        _normalise(states, *self._norms[0], self._epsilon)
        inner = _map(states, self._up)
        _gelu(inner)
        states += _map(inner, self._down)
        _normalise(states, *self._norms[1], self._epsilon)

    def _attention(self, states: np.ndarray) -> np.ndarray:
        import numpy as np

        tokens, width = states.shape
        split = _map(states, self._query_key_value).reshape(tokens, 3, self._heads, -1)
        query, key, value = np.ascontiguousarray(split.transpose(1, 2, 0, 3))  # each [heads, tokens, width / heads]
        query *= (width // self._heads) ** -0.5
        weights = query @ key.transpose(0, 2, 1)
        weights -= weights.max(axis=-1, keepdims=True)
        np.exp(weights, out=weights)
        weights /= weights.sum(axis=-1, keepdims=True)
        mixed: np.ndarray = (weights @ value).transpose(1, 0, 2).reshape(tokens, width)
        return mixed


def _map(states: np.ndarray, linear: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    weights, bias = linear
    mapped: np.ndarray = states @ weights
    mapped += bias
    return mapped


def _normalise(states: np.ndarray, weight: np.ndarray, bias: np.ndarray, epsilon: float) -> None:
    states -= states.mean(axis=-1, keepdims=True)
    variance = (states * states).mean(axis=-1, keepdims=True)
    states /= (variance + epsilon) ** 0.5
    states *= weight
    states += bias


# erf(z) for z >= 0 is 1 - 1 / (1 + a1 z + ... + a6 z^6)^16 to 3e-7 (Abramowitz and Stegun 7.1.28); numpy has no erf.
_ERF = (0.0705230784, 0.0422820123, 0.0092705272, 0.0001520143, 0.0002765672, 0.0000430638)


def _gelu(states: np.ndarray) -> None:
    """``x (1 + erf(x / sqrt 2)) / 2`` in place, with rows taken some at a time so that they stay in the cache."""
    import numpy as np

    for start in range(0, len(states), 16):
        x = states[start : start + 16]
        size = np.abs(x)
        z = np.minimum(size * np.float32(0.5**0.5), np.float32(6))  # the rest is 0 from there on
        power = np.full_like(z, _ERF[-1])
        for factor in _ERF[-2::-1]:
            power *= z
            power += np.float32(factor)
        power *= z
        power += 1
        for _ in range(4):
            power *= power
        np.maximum(x, 0, out=x)
        x -= size * np.float32(0.5) / power
