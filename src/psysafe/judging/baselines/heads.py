"""Linear heads over sentence vectors: how a user's text and a reply become numbers, and what is made of them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources.abc import Traversable
from typing import TYPE_CHECKING, Any

import orjson

from psysafe.errors import UsageError

if TYPE_CHECKING:
    import numpy as np

WIDTH = 384
BLOCKS = ("user", "reply", "product", "difference")
"""What heads can read, each of ``WIDTH`` numbers."""

_SPREAD = 2.5  # sentence vectors crowd in one direction; without their centre they are short


def features(user: np.ndarray, reply: np.ndarray, centre: np.ndarray, blocks: Sequence[str]) -> np.ndarray:
    """What a head weighs.

    Args:
        user: float [n, 384], vectors of what the user said, zeros where that is nothing. reply: [n, 384].
        centre: [2, 384], the mean vectors of user texts and of replies.
        blocks: which parts, in order: ``user``, ``reply``: the vectors off their centre; ``product``: one by the
            other, number by number; ``difference``: one less the other, where there is a user text.

    Returns:
        [n, 384 for each block].
    """
    import numpy as np

    there = np.abs(user).sum(axis=1, keepdims=True) > 0
    u = np.where(there, (user - centre[0]) * _SPREAD, 0)
    r = (reply - centre[1]) * _SPREAD
    parts = {"user": u, "reply": r, "product": 3 * u * r, "difference": (r - u) * there}
    return np.hstack([parts[block] for block in blocks])


@dataclass(frozen=True)
class Head:
    """A fitted head for one dimension.

    Attributes:
        blocks: what it reads, see ``features``. weights: float [width of all blocks]. bias: added to their sum.
        slope, offset: of the logistic curve that turns the sum into a probability.
        cut: the probability from which a reply is flagged. cut_rule: ``youden``: chosen on the labels;
            ``default``: there were too few.
        fitted_on: how many rows, ``harmful`` and ``harmless``, and how many of each of the ``sources``.
    """

    blocks: tuple[str, ...]
    weights: np.ndarray
    bias: float
    slope: float
    offset: float
    cut: float
    cut_rule: str
    fitted_on: dict[str, Any]

    def probabilities(self, features: np.ndarray) -> np.ndarray:
        """Of harm, float [n], for features [n, width]."""
        import numpy as np

        values = self.slope * (features @ self.weights + self.bias) + self.offset
        chances: np.ndarray = 1 / (1 + np.exp(-np.clip(values, -50, 50)))
        return chances


@dataclass(frozen=True)
class Heads:
    """All fitted heads.

    Attributes:
        digest: 16 hex digits; changes with anything in the file.
        version: of the fit. encoder: ``distribution``, ``version`` and ``sha256`` of the one they were fitted with.
        centre: float [2, 384], see ``features``. of: by dimension id.
    """

    digest: str
    version: int
    encoder: dict[str, str]
    centre: np.ndarray
    of: dict[str, Head]


def load_heads(path: Traversable) -> Heads:
    """Read and check a file of heads.

    Raises:
        UsageError: it cannot be read, or does not hold what it should; one line that says where and what to do.
    """
    import numpy as np

    def fail(what: str) -> UsageError:
        return UsageError(f"{path}: {what}; the file came with psysafe, reinstall it or fit it anew (docs/screen.md)")

    try:
        raw = path.read_bytes()
        data = orjson.loads(raw)
    except (OSError, ValueError) as error:
        raise fail(f"cannot be read as JSON ({error})") from None
    try:
        centre = np.array([data["centre"]["user"], data["centre"]["reply"]], float)
        encoder = {key: str(data["encoder"][key]) for key in ("distribution", "version", "sha256")}
        heads = {
            str(dimension): Head(
                tuple(head["blocks"]), np.array(head["weights"], float), float(head["bias"]),
                float(head["platt"]["slope"]), float(head["platt"]["offset"]), float(head["cut"]),
                str(head["cut_rule"]), dict(head["fitted_on"]),
            )
            for dimension, head in data["heads"].items()
        }  # fmt: skip
        version = int(data["version"])
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise fail(f"misses or garbles a part ({error!r})") from None
    if centre.shape != (2, WIDTH) or not np.isfinite(centre).all():
        raise fail(f"centre: expected two lists of {WIDTH} numbers")
    for dimension, head in heads.items():
        unknown = [block for block in head.blocks if block not in BLOCKS]
        if unknown or not head.blocks:
            raise fail(f"heads.{dimension}.blocks: expected some of {', '.join(BLOCKS)}, found {list(head.blocks)}")
        width = WIDTH * len(head.blocks)
        if head.weights.shape != (width,):
            raise fail(f"heads.{dimension}.weights: expected {width} numbers for {', '.join(head.blocks)}")
        if not np.isfinite([*head.weights, head.bias, head.slope, head.offset]).all() or not 0 < head.cut < 1:
            raise fail(f"heads.{dimension}: expected finite numbers and a cut between 0 and 1")
    return Heads(hashlib.sha256(raw).hexdigest()[:16], version, encoder, centre, heads)
