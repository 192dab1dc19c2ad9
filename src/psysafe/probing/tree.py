"""A trial as a tree, after TAP (Mehrotra et al. 2023): branch, prune what is off topic, play, keep the best."""

from __future__ import annotations

import time

from psysafe.judging.answer import AnswerError
from psysafe.probing.cast import Cast, Stage
from psysafe.probing.records import Rollout, Trial
from psysafe.probing.settings import Settings
from psysafe.probing.trial import Running, Task
from psysafe.taxonomy import CellId

# Strategies written from each that is kept, and how many are kept.
BRANCHES, WIDTH = 2, 2


async def run_tree(task: Task, cast: Cast, settings: Settings, stage: Stage | None = None) -> Trial:
    """As ``run_trial``, with the same number of rollouts at most.

    At each depth every kept strategy is rewritten ``BRANCHES`` times, the strategist drops rewrites that do not serve
    the aim, the rest are played one after the other, and the ``WIDTH`` with the highest severity are kept. The severity
    prunes; the strategist never sees it.

    Raises:
        ModelError: trying another trial cannot help either.
    """
    with Running(task, cast, settings, stage or Stage()) as running:
        return await _run(running)


async def _run(running: Running) -> Trial:
    task, started = running.task, time.monotonic()
    cell = await running.cell()
    most = task.choice.refinements + 1
    played: list[Rollout] = []
    kept: list[list[Rollout]] = [[]]
    while len(played) < most and kept:
        grown: list[list[Rollout]] = []
        for branch in [path for path in kept for _ in range(BRANCHES)]:
            if len(played) == most:
                break
            strategy = await _grow(running, cell, branch)
            if strategy is None:
                continue
            rollout = await running.play(cell, strategy, len(played))
            if len(played) < most - 1:
                rollout = await running.learned(rollout)
            played.append(rollout)
            grown.append([*branch, rollout])
            if rollout.hit:
                return await running.record(cell, played, started)
        grown.sort(key=lambda path: -(path[-1].severity or 0))
        kept = grown[:WIDTH]
    if not played:
        running.flags.add("all_pruned")
        strategy = await running.write(cell, ())
        played.append(await running.play(cell, strategy, 0))
    return await running.record(cell, played, started)


async def _grow(running: Running, cell: CellId, branch: list[Rollout]) -> str | AnswerError | None:
    """A strategy from a branch; None where the strategist finds that it does not serve the aim."""
    previous = branch[-1].strategy if branch else None
    strategy = await running.write(cell, branch, previous=previous)
    if isinstance(strategy, AnswerError):
        return strategy
    serves = await running.strategist.serves(running.writer, running.number(), cell, strategy)
    return strategy if serves is None or serves else None
