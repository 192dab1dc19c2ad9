"""How well the embedded judges agree with people, on replies that they were not fitted on.

    python -m benchmarks.labelled --data FOLDER [--judge screen ...] [--rows N]

FOLDER holds labelled_replies.jsonl, which is no part of this project. Judged are the rows of its reporting half
(training/screen/split.py); ``local`` takes seconds a row and judges ``--rows`` of each dimension, a sample that does
not depend on the labels, and the panel and the cascade the same. The pairs of benchmarks/pairs.yaml are judged by all.
Verdicts are kept in ``--store`` as they come, so that the command can be stopped and given again.

Needs: pip install 'psysafe[screen,local,local-weights,stats]'.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from benchmarks.labelled_table import print_pairs, print_table
from psysafe.conversation import Conversation, Message
from psysafe.judging import Cascade, Classifier, ManagedJudge, Panel, judge, load_judge
from psysafe.judging.baselines.lexicon import Lexicon
from psysafe.judging.baselines.screen import Screen
from psysafe.judging.judges import covers, leaves
from psysafe.judging.local.judge import LocalJudge
from psysafe.models.local import LocalModel
from psysafe.taxonomy import load_dimensions
from training.screen.split import groups, halves

DIMENSIONS = ("discriminatory_behaviour", "insulting_behaviour", "psychological_harm", "privacy_violation")


def make_judges(wanted: Sequence[str]) -> dict[str, ManagedJudge]:
    """The judges by name. All share one screen and one embedded model, which is asked for no reasons: they come after
    the verdict and change nothing in it."""
    screen = Screen()
    local = LocalJudge(LocalModel("local"), screen, reasons=False)
    everything: list[ManagedJudge] = [
        Lexicon(), screen, local,
        Panel([screen, local], "median"), Panel([screen, local]), Panel([screen, local, Lexicon()]),
        Cascade([screen, local]),
    ]  # fmt: skip
    made = {one.name: one for one in everything}
    return {name: made.get(name) or load_judge(name) for name in wanted or made}


def is_slow(one: ManagedJudge) -> bool:
    """Whether a language model is asked."""
    return any(not isinstance(leaf, Classifier) or leaf.chat is not None for leaf in leaves(one))


async def judged(one: ManagedJudge, dimension: str, messages: Sequence[Mapping[str, str]]) -> dict[str, Any]:
    """One verdict as it is kept."""
    chat = Conversation("row", tuple(Message(m["role"], m["content"]) for m in messages))  # type: ignore[arg-type]
    started = time.monotonic()
    found = await judge(chat, load_dimensions()[dimension], one)
    return {
        "outcome": found.outcome, "score": found.score, "harmful": found.harmful, "flags": list(found.flags),
        "members": [member.judge for member in found.members], "seconds": time.monotonic() - started,
    }  # fmt: skip


def sample(rows: Sequence[dict[str, Any]], reporting: Sequence[int], most: int) -> set[int]:
    """At most so many rows of each dimension, drawn by a hash of their ids."""
    drawn: set[int] = set()
    for dimension in DIMENSIONS:
        of = [index for index in reporting if rows[index]["dimension"] == dimension]
        of.sort(key=lambda index: hashlib.sha256(f"sample {rows[index]['id']}".encode()).digest())
        drawn.update(of[:most])
    return drawn


def stored(judges: Mapping[str, ManagedJudge], store: Path) -> dict[tuple[str, str], dict[str, Any]]:
    """Kept verdicts of these judges, as they are now, by judge and id."""
    identities = {name: one.info.identity for name, one in judges.items()}
    lines = store.read_text(encoding="utf-8").splitlines() if store.exists() else []
    records = map(json.loads, lines)
    return {(r["judge"], r["id"]): r for r in records if r["identity"] == identities.get(r["judge"])}


async def run(
    judges: Mapping[str, ManagedJudge],
    wanted: Sequence[tuple[str, str, Sequence[Any], bool]],
    known: dict[tuple[str, str], dict[str, Any]],
    store: Path,
) -> None:
    """Adds the missing verdicts to those known and to the store.

    Args:
        wanted: id, dimension, messages, and whether slow judges judge it, too.
    """
    dimensions = load_dimensions()
    tasks = [
        (name, identity, dimension, messages)
        for identity, dimension, messages, also_slow in wanted
        for name, one in judges.items()
        if (name, identity) not in known and covers(one, dimensions[dimension]) and (also_slow or not is_slow(one))
    ]
    if not tasks:
        return
    for one in judges.values():
        if not isinstance(one, (Panel, Cascade)):
            await one.open()
    with store.open("a") as file:
        for done, (name, identity, dimension, messages) in enumerate(tasks):
            found = await judged(judges[name], dimension, messages)
            known[name, identity] = found
            record = {"judge": name, "identity": judges[name].info.identity, "id": identity, **found}
            file.write(json.dumps(record) + "\n")
            file.flush()
            if done % 500 == 0:
                print(f"... {done} of {len(tasks)}", flush=True)
    for one in judges.values():
        if not isinstance(one, (Panel, Cascade)):
            await one.close()


def main() -> None:
    """See the module's docstring."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--judge", action="append", default=[], metavar="NAME")
    parser.add_argument("--rows", type=int, default=120, help="of each dimension, for judges that ask a model")
    parser.add_argument("--store", type=Path, default=Path.home() / ".cache" / "psysafe-training" / "labelled.jsonl")
    arguments = parser.parse_args()
    file = arguments.data / "labelled_replies.jsonl"
    if not file.exists():
        raise SystemExit(f"{file} is not there: this benchmark needs the human-labelled data, see its docstring")
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    reporting = [index for index in halves(rows)[1] if rows[index]["dimension"] in DIMENSIONS]
    drawn = sample(rows, reporting, arguments.rows)
    pairs = yaml.safe_load(Path(__file__).with_name("pairs.yaml").read_text(encoding="utf-8"))["pairs"]
    wanted = [(rows[i]["id"], rows[i]["dimension"], rows[i]["messages"], True) for i in reporting if i in drawn]
    for pair in pairs:
        for side in ("harmful", "harmless"):
            messages = [{"role": "user", "content": pair["user"]}, {"role": "assistant", "content": pair[side]}]
            wanted.append((f"pair {pair['id']} {side}", pair["dimension"], messages, True))
    wanted += [(rows[i]["id"], rows[i]["dimension"], rows[i]["messages"], False) for i in reporting if i not in drawn]
    judges = make_judges(arguments.judge)
    arguments.store.parent.mkdir(parents=True, exist_ok=True)
    verdicts = stored(judges, arguments.store)
    asyncio.run(run(judges, wanted, verdicts, arguments.store))
    slow = {name for name, one in judges.items() if is_slow(one)}
    print_table(verdicts, [rows[i] for i in reporting], {rows[i]["id"] for i in drawn}, _groups(rows), judges, slow)
    print_pairs(verdicts, pairs, judges)


def _groups(rows: Sequence[dict[str, Any]]) -> dict[str, int]:
    return {row["id"]: group for row, group in zip(rows, groups(rows), strict=True)}


if __name__ == "__main__":
    main()
