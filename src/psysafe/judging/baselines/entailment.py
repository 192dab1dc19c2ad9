"""An entailment model in a folder: ``model.onnx``, ``tokenizer.json``, ``config.json``, run by onnxruntime."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from psysafe.errors import UsageError

if TYPE_CHECKING:
    from onnxruntime import InferenceSession
    from tokenizers import Tokenizer

_MODELS = ("model.onnx", "onnx/model.onnx")
# What a model may be fed; nothing else can be made up for it.
_INPUTS = ("input_ids", "attention_mask", "token_type_ids")
_DTYPES = {"tensor(int64)": "int64", "tensor(int32)": "int32"}
_LONGEST = 512  # tokens that are read at once, unless the model takes fewer
EXPECTED = "expected a folder that holds model.onnx, tokenizer.json and config.json of an entailment model"


@dataclass(frozen=True, slots=True)
class Entailment:
    """A loaded model.

    Attributes:
        longest: tokens of premise, hypothesis and special tokens together that it reads.
        entailment, contradiction: the positions of the two labels in its output.
        inputs: names of what it is fed, with their numpy types. digest: of all its files, 64 hex digits.
    """

    source: str
    session: InferenceSession
    tokenizer: Tokenizer
    longest: int
    labels: tuple[str, ...]
    entailment: int
    contradiction: int
    inputs: Mapping[str, str]
    digest: str

    def tokens(self, premise: str, hypothesis: str | None = None) -> int:
        """How many tokens they come to, special tokens included; of a premise alone, without them."""
        if hypothesis is None:
            return len(self.tokenizer.encode(premise, add_special_tokens=False).ids)
        return len(self.tokenizer.encode(premise, hypothesis).ids)

    def probability(self, premise: str, hypothesis: str) -> float:
        """That the premise entails the hypothesis rather than contradicts it, 0 to 1; "neutral" is left out.

        Raises:
            UsageError: the model gives something else than one number per label.
        """
        import numpy as np

        encoded = self.tokenizer.encode(premise, hypothesis)
        given = {
            "input_ids": encoded.ids,
            "attention_mask": encoded.attention_mask,
            "token_type_ids": encoded.type_ids,
        }
        feed = {name: np.array([given[name]], dtype) for name, dtype in self.inputs.items()}
        logits = np.asarray(self.session.run(None, feed)[0], dtype=float)
        if logits.shape != (1, len(self.labels)):
            raise UsageError(
                f"{self.source}: the model gives numbers of shape {logits.shape}; expected (1, {len(self.labels)}): "
                f"one for each label of config.json ({', '.join(self.labels)})"
            )
        difference = float(logits[0, self.contradiction] - logits[0, self.entailment])
        return float(1 / (1 + np.exp(np.clip(difference, -500, 500))))


def load_entailment(folder: Path) -> Entailment:
    """Load one.

    Raises:
        UsageError: the extra or a file is missing, or the model is of another kind; one line.
    """
    try:
        import onnxruntime
        from tokenizers import Tokenizer
    except ImportError:
        raise UsageError("nli needs onnxruntime and tokenizers; pip install 'psysafe[nli]'") from None
    if not folder.is_dir():
        raise UsageError(f"nli: {folder} is not a folder; {EXPECTED}")
    model = next((folder / name for name in _MODELS if (folder / name).is_file()), None)
    missing = [name for name in ("tokenizer.json", "config.json") if not (folder / name).is_file()]
    if model is None or missing:
        raise UsageError(
            f"nli: {folder} holds no {' and no '.join([*(['model.onnx'] if not model else []), *missing])}; {EXPECTED}"
        )
    config = _read(folder / "config.json")
    labels = _labels(config, folder / "config.json")
    try:
        tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # both libraries raise plain exceptions of their own
        said = " ".join(str(error).split())[:300]
        raise UsageError(f"nli: {folder} cannot be loaded ({said}); {EXPECTED}") from None
    settings = folder / "tokenizer_config.json"
    longest = _longest(config, tokenizer.truncation or {}, _read(settings) if settings.is_file() else {})
    tokenizer.no_padding()
    tokenizer.no_truncation()  # what does not fit is read in pieces
    return Entailment(
        str(folder),
        session,
        tokenizer,
        longest,
        labels,
        _find(labels, "entail", folder),
        _find(labels, "contradict", folder),
        _inputs(session, model),
        _digest(folder, model),
    )


def _read(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(f"nli: {path} cannot be read ({error}); expected JSON") from None
    if not isinstance(found, dict):
        raise UsageError(f"nli: {path} holds no JSON object")
    return found


def _labels(config: Mapping[str, Any], path: Path) -> tuple[str, ...]:
    """The labels in the order of the model's output."""
    by_number = config.get("id2label") or {number: label for label, number in (config.get("label2id") or {}).items()}
    try:
        numbered = {int(number): str(label) for number, label in by_number.items()}
    except (AttributeError, TypeError, ValueError):
        numbered = {}
    if not numbered or sorted(numbered) != list(range(len(numbered))):
        raise UsageError(f"nli: {path} names no labels in id2label or label2id, numbered from 0; {EXPECTED}")
    return tuple(numbered[number] for number in sorted(numbered))


def _find(labels: tuple[str, ...], stem: str, folder: Path) -> int:
    negated = {index for index, label in enumerate(labels) if label.casefold().startswith(("not", "non"))}
    for index, label in enumerate(labels):
        if stem in label.casefold() and index not in negated:
            return index
    if stem == "contradict" and len(labels) == 2 and negated:  # entailment / not_entailment
        return negated.pop()
    word = "entailment" if stem == "entail" else "contradiction"
    raise UsageError(f"nli: the model in {folder} has no label '{word}'; its labels are {', '.join(labels)}")


def _inputs(session: InferenceSession, model: Path) -> dict[str, str]:
    found = {entry.name: _DTYPES.get(entry.type, "") for entry in session.get_inputs()}
    wrong = [name for name, dtype in found.items() if name not in _INPUTS or not dtype]
    if wrong or "input_ids" not in found:
        raise UsageError(
            f"nli: {model} asks for {', '.join(f'{entry.name} {entry.type}' for entry in session.get_inputs())}; "
            f"expected input_ids and at most {', '.join(_INPUTS[1:])}, as whole numbers"
        )
    return found


def _longest(config: Mapping[str, Any], truncation: Mapping[str, Any], settings: Mapping[str, Any]) -> int:
    positions = config.get("max_position_embeddings")
    if isinstance(positions, int) and "roberta" in str(config.get("model_type", "")):
        positions -= 2  # its positions begin after that of the padding
    given = [positions, truncation.get("max_length"), settings.get("model_max_length")]
    return min([_LONGEST, *(int(length) for length in given if isinstance(length, int | float) and length > 0)])


def _digest(folder: Path, model: Path) -> str:
    digest = hashlib.sha256()
    data = model.with_name(model.name + "_data")  # weights beside a model of more than 2 GB
    for path in (model, data, folder / "tokenizer.json", folder / "config.json"):
        if path.is_file():
            with path.open("rb") as file:
                digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()
