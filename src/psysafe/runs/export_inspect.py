"""A run as logs of Inspect: each conversation a sample, each judgment a score."""

from __future__ import annotations

import os
import tempfile
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import distinct, func, select

from psysafe.conversation import Conversation, parse_record
from psysafe.errors import UsageError
from psysafe.judging.judgment import verdict_words
from psysafe.runs.export_records import parameters
from psysafe.runs.store import Store
from psysafe.runs.tables import judgments

if TYPE_CHECKING:
    from inspect_ai.log import EvalLog, EvalSample

SUFFIX = ".eval"
# Inspect takes more than linear time to read a log.
MAX_SAMPLES = 1_000

_STOPS = {"stop": "stop", "length": "max_tokens", "content_filter": "content_filter"}


def export_inspect(store: Store, path: Path) -> tuple[int, list[Path]]:
    """Logs of at most 1,000 conversations each: ``path`` itself, or ``NAME-1.eval``, ``NAME-2.eval``, ...

    They are written beside their place, readable by this user alone, and moved there when all are whole.

    Args:
        path: ends in ``.eval``.

    Returns:
        The number of judgments, and the files in order.

    Raises:
        UsageError: inspect-ai is not installed, ``path`` has another suffix, or there is nothing to write.
        OSError: a file cannot be written.
    """
    if path.suffix != SUFFIX:
        raise UsageError(f"a log of Inspect is a file that ends in {SUFFIX}; name one with -o, such as run{SUFFIX}")
    try:
        from inspect_ai.log import write_eval_log
    except ImportError:
        raise UsageError("writing logs of Inspect needs inspect-ai: pip install 'psysafe[inspect]'") from None
    path = path.resolve()  # a link leads there and stays a link
    ((total,),) = store.rows(select(func.count(distinct(judgments.c.conversation))))
    if not total:
        raise UsageError(f"{store.directory} holds no judgments, and a log of Inspect needs at least one")
    several = total > MAX_SAMPLES
    names = _Names(store)
    count = 0
    files: list[Path] = []
    with tempfile.TemporaryDirectory(prefix=f".{path.name}.", dir=path.parent) as folder:
        for number, (samples, done) in enumerate(_batches(store, names), 1):
            name = f"{path.stem}-{number}{SUFFIX}" if several else path.name
            temporary = Path(folder, name)
            write_eval_log(_log(store, samples, path.stem, names), str(temporary), format="eval")
            os.chmod(temporary, 0o600)
            files.append(path.with_name(name))
            count += done
        for file in files:
            Path(folder, file.name).replace(file)
    return count, files


class _Names:
    """What the scores are called: ``dimension/mechanism/model``, with more where that would not tell them apart."""

    def __init__(self, store: Store) -> None:
        specs = [spec for (spec,) in store.rows(select(judgments.c.mechanism).distinct())]
        used = Counter(spec.partition(":")[0] for spec in specs)
        self._ambiguous = {name for name, count in used.items() if count > 1}
        self.models = sorted(model for (model,) in store.rows(select(judgments.c.model).distinct()))

    def name(self, record: dict[str, Any], each: bool) -> str:
        mechanism = record["mechanism"]["name"]
        if mechanism in self._ambiguous:
            mechanism += parameters(record["mechanism"])
        name = f"{record['dimension']}/{mechanism}/{record['model']}"
        return f"{name}/message {record['message']}" if each else name


def _batches(store: Store, names: _Names) -> Iterator[tuple[list[EvalSample], int]]:
    """At most so many samples as a log may have, and the number of their judgments."""
    samples: list[EvalSample] = []
    count = 0
    for _, group in groupby(store.judgments(), key=lambda pair: pair[0]["conversation"]):
        pairs = list(group)
        samples.append(_sample([record for record, _ in pairs], pairs[0][1], names))
        count += len(pairs)
        if len(samples) == MAX_SAMPLES:
            yield samples, count
            samples, count = [], 0
    if samples:
        yield samples, count


def _sample(records: list[dict[str, Any]], raw: dict[str, Any], names: _Names) -> EvalSample:
    from inspect_ai.log import EvalSample
    from inspect_ai.model import ChatCompletionChoice, ModelOutput

    talk = parse_record(raw, file="the run", line=None, default_id="")
    messages = _messages(talk)
    last = talk.assistant_indices()[-1]
    reply = messages[last]
    finish = talk.messages[last].finish
    choice = ChatCompletionChoice(message=reply, stop_reason=_STOPS.get(finish or "", "unknown"))
    output = ModelOutput(choices=[choice], error="the reply failed" if finish == "error" else None)
    # more than one message is judged only where each reply is
    each = len({record["message"] for record in records}) > 1
    return EvalSample(
        id=talk.id,
        epoch=1,
        input=messages[:last] or "",
        target="",
        messages=messages,
        output=output,
        scores={names.name(record, each): _score(record) for record in records},
        metadata=dict(talk.metadata),
    )


def _messages(talk: Conversation) -> list[Any]:
    from inspect_ai.model import ChatMessageAssistant, ChatMessageSystem, ChatMessageTool, ChatMessageUser

    kinds = {
        "system": ChatMessageSystem,
        "user": ChatMessageUser,
        "assistant": ChatMessageAssistant,
        "tool": ChatMessageTool,
    }
    return [
        kinds[message.role](
            content=message.content, metadata={"finish_reason": message.finish} if message.finish else None
        )
        for message in talk.messages
    ]


def _score(record: dict[str, Any]) -> Any:
    from inspect_ai.scorer import Score

    metadata = {name: value for name, value in record.items() if name not in ("rationale", "conversation")}
    if record["outcome"] == "scored":
        answer = verdict_words(record["harmful"], "screening" in record["flags"])
        value = record["harmful"] if record["score"] is None else record["score"]
        return Score(value=value, answer=answer, explanation=record["rationale"] or None, metadata=metadata)
    # NaN is what Inspect itself writes for a sample without a score; its metrics leave it out
    return Score(
        value=float("nan"),
        explanation=record["detail"] or record["rationale"] or None,
        metadata={**metadata, "unscored_reason": record["reason"] or record["outcome"]},
    )


def _log(store: Store, samples: list[EvalSample], name: str, names: _Names) -> EvalLog:
    from inspect_ai.log import EvalConfig, EvalDataset, EvalLog, EvalResults, EvalScore, EvalSpec

    import psysafe

    scored: Counter[str] = Counter()
    unscored: Counter[str] = Counter()
    for sample in samples:
        for key, score in (sample.scores or {}).items():
            (scored if score.value == score.value else unscored)[key] += 1
    results = [
        EvalScore(name=key, scorer=key, scored_samples=scored[key], unscored_samples=unscored[key])
        for key in sorted(scored.keys() | unscored.keys())
    ]
    ids: list[str | int] = [sample.id for sample in samples]
    return EvalLog(
        status="success",
        eval=EvalSpec(
            created=datetime.now(UTC).isoformat(timespec="seconds"),
            task="psysafe",
            model="none/none",  # that which wrote the replies is not known
            dataset=EvalDataset(name=name, samples=len(samples), sample_ids=ids),
            config=EvalConfig(epochs=1),
            packages={"psysafe": psysafe.__version__},
            metadata={"run": store.id, "judges": names.models},
        ),
        results=EvalResults(total_samples=len(samples), completed_samples=len(samples), scores=results),
        samples=samples,
    )
