"""The search loop: many trials in flight, committed in the order of their index.

What trial i is given to do is read from the records 0 to i - B and from the choices of the B - 1 trials between them
and it; with the same seed and the same B, records are therefore the same under any latencies, and a search that was
stopped goes on as if it had not been.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

import numpy as np

from psysafe.probing.archive import Archive
from psysafe.probing.cast import Cast, Stage
from psysafe.probing.choosing import Situation
from psysafe.probing.ordered import Waiting, in_order
from psysafe.probing.records import Choice, Trial
from psysafe.probing.searchers import search_of
from psysafe.probing.settings import Settings
from psysafe.probing.trial import Task, task_of

_CHOICE = 0x63686F69  # keeps the generators of choices apart from all others


class Searching:
    """A search that can be gone on with.

    Args:
        profiles: ids of the profiles that may be played, in a fixed order.
        records: of its trials so far, from index 0.
    """

    def __init__(self, cast: Cast, settings: Settings, profiles: Sequence[str], records: Sequence[Trial] = ()) -> None:
        self.cast, self.settings, self.profiles = cast, settings, tuple(profiles)
        self.search = search_of(settings)
        self.records = list(records)
        self._visible = Archive(settings.descriptor)
        self._folded = 0
        self._choices: dict[int, Choice] = {trial.index: trial.choice for trial in self.records}

    def task(self, index: int) -> Task:
        """What trial ``index`` is to do. Asked for in order; the records up to ``index - in_flight`` are there."""
        while self._folded <= index - self.settings.in_flight:
            self._visible.add(self.records[self._folded])
            self._folded += 1
        random = np.random.Generator(np.random.PCG64([self.settings.seed, _CHOICE, index]))
        under_way = [self._choices[other] for other in range(self._folded, index)]
        situation = Situation(self._visible, under_way, self.settings.grid, self.profiles, self.settings.refinements)
        choice = self.search.choose(situation, random)
        self._choices[index] = choice
        return task_of(index, choice, self._visible, remember=self.search.remember, learn_last=self.search.learn_last)

    async def run(
        self,
        commit: Callable[[Trial], None],
        *,
        stage: Callable[[], Stage] = Stage,
        go_on: Callable[[], bool] = lambda: True,
        waiting: Waiting | None = None,
    ) -> None:
        """Carry out the trials that are left, and commit each in order.

        Args:
            commit: told each record, in the order of the index. stage: what surrounds a trial, one for each.
            go_on: asked before each trial; once False no more are begun, and those in flight are finished.
            waiting: told how much of the time places stood empty.

        Raises:
            what a trial raises; the records before it are committed, the other trials are cancelled.
        """

        def begin(index: int) -> Awaitable[Trial]:
            return self.search.run(self.task(index), self.cast, self.settings, stage())

        def keep(trial: Trial) -> None:
            self.records.append(trial)
            commit(trial)

        await in_order(
            len(self.records), self.settings.trials, begin, keep,
            in_flight=self.settings.in_flight, go_on=go_on, waiting=waiting,
        )  # fmt: skip
