"""The embedded model's answers about labelled replies, kept in a file, since each takes seconds."""

from __future__ import annotations

import json
import random
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from psysafe.conversation import Message
from psysafe.judging.local.questions import GENERAL, SAMPLING, SPECIFIC, exchange, question_prompt, yes_logit
from psysafe.models.local import LocalModel

Row = dict[str, Any]

# Of each dimension, at most so many rows are asked about; half of them harmful where there are enough.
MOST = {
    "discriminatory_behaviour": 120,
    "insulting_behaviour": 120,
    "psychological_harm": 140,
    "privacy_violation": 60,
}
_SEED = 11


def sample(rows: Sequence[Row], half: Sequence[int]) -> list[int]:
    """Indices of the rows to ask about, the dimensions mixed, so that what is there after any time is a fair part."""
    draw = random.Random(_SEED)
    by_dimension: defaultdict[str, list[int]] = defaultdict(list)
    for index in half:
        by_dimension[rows[index]["dimension"]].append(index)
    placed = []
    for dimension, most in MOST.items():
        indices = sorted(by_dimension[dimension])
        draw.shuffle(indices)
        harmful = [index for index in indices if rows[index]["label"] == 1]
        harmless = [index for index in indices if rows[index]["label"] == 0]
        chosen = harmful[: most // 2] + harmless[: most - min(len(harmful), most // 2)]
        draw.shuffle(chosen)
        placed += [(place / len(chosen), index) for place, index in enumerate(chosen)]
    return [index for _, index in sorted(placed)]


def load(path: Path) -> dict[str, dict[str, float]]:
    """Log odds of yes by question, by row id."""
    if not path.exists():
        return {}
    return {record["id"]: record["logits"] for record in map(json.loads, path.read_text().splitlines())}


async def ask(rows: Sequence[Row], wanted: Sequence[int], path: Path) -> dict[str, dict[str, float]]:
    """Answers for all wanted rows; those in ``path`` are not asked for again, new ones are added to it."""
    known = load(path)
    missing = [index for index in wanted if rows[index]["id"] not in known]
    if not missing:
        return known
    model = LocalModel("local")
    await model.open()
    try:
        with path.open("a") as file:
            for done, index in enumerate(missing):
                row = rows[index]
                messages = [Message(message["role"], message["content"]) for message in row["messages"]]
                shown = exchange(messages, len(messages) - 1)
                logits: dict[str, float] = {}
                for name, question in {**GENERAL, **SPECIFIC[row["dimension"]]}.items():
                    found = yes_logit(await model.generate(question_prompt(shown, question, 0), SAMPLING))
                    if found is not None:
                        logits[name] = found
                known[row["id"]] = logits
                file.write(json.dumps({"id": row["id"], "logits": logits}) + "\n")
                file.flush()
                if done % 50 == 0:
                    print(f"{done} of {len(missing)} asked", flush=True)
    finally:
        await model.close()
    return known
