"""The model roles of a probe, and what a trial may ask of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

from psysafe.clients.profile import Profile
from psysafe.judging import Mechanism
from psysafe.judging.calling import Account, Asker, Meter
from psysafe.judging.judges import Judge, price_of
from psysafe.judging.mechanisms import Single
from psysafe.models import ChatModel
from psysafe.taxonomy import Grid


@dataclass(frozen=True, slots=True)
class Cast:
    """Who plays.

    Attributes:
        target: the system under test. clients: played in turn, by the seed of a trial, where there are several.
        strategist: writes the client's strategies. judge: reads transcripts on ladders, by ``mechanism``.
        blind: the blind judge, who is also asked for the course of a dialogue and the client's fidelity.
        profiles: by id, those that may be played and their benign variants.
    """

    target: ChatModel
    clients: tuple[ChatModel, ...]
    strategist: ChatModel
    judge: Judge
    blind: ChatModel
    grid: Grid
    profiles: Mapping[str, Profile]
    mechanism: Mechanism = field(default_factory=Single)

    @property
    def same_judge(self) -> bool:
        """Whether the blind judge is the model that judged on the ladder: agreement is then worth less."""
        return self.blind.name == self.judge.name


Event = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Stage:
    """What surrounds a trial and is no part of it.

    Attributes:
        meter: of the run's budget. account: keeps what was spent, even if the trial is not finished.
        tell: told what happens, for those who watch. An event holds no text of a conversation.
        ended: called when the trial is over, however it ended.
    """

    meter: Meter | None = None
    account: Account = field(default_factory=Account)
    tell: Callable[[Event], None] = lambda event: None
    ended: Callable[[], None] = lambda: None


class Seat:
    """A trial's access to all of them: keys, accounts, and the run's budget.

    Args:
        kind, index: of the trial. seed: of the run.
    """

    def __init__(self, kind: str, index: int, seed: int, stage: Stage) -> None:
        self.kind, self.index, self.seed = kind, index, seed
        self.stage = stage
        self.meter = stage.meter
        self._accounts: list[Account] = []
        self._targets: list[Account] = []

    def tell(self, event: str, **more: object) -> None:
        """Tell those who watch."""
        self.stage.tell({"event": event, "kind": self.kind, "index": self.index, **more})

    def key(self, *parts: object) -> str:
        """32 hex digits for a piece of this trial's work."""
        name = "|".join(map(str, (self.kind, self.index, *parts)))
        return blake2b(name.encode(), digest_size=16).hexdigest()

    def ask(self, model: Judge, *parts: object, target: bool = False) -> Asker:
        """Ask a model for a piece of work."""
        return Asker(model, self.key(*parts), self.seed, price_of(model), self.meter, self.account(target=target))

    def account(self, *, target: bool = False) -> Account:
        """A new account, for one piece of work.

        Work that goes on side by side has accounts of its own, summed in the order of their making: the last digit of a
        cost must not depend on which answer came first.
        """
        account = Account()
        (self._targets if target else self._accounts).append(account)
        return account

    @property
    def target_calls(self) -> int:
        """Of the target."""
        return sum(account.calls for account in self._targets)

    def spent(self) -> Account:
        """By all model roles."""
        total = Account()
        for account in (*self._accounts, *self._targets):
            total.merge(account)
        return total

    def close(self) -> None:
        """What was spent goes onto the stage's account."""
        self.stage.account.merge(self.spent())
        self.stage.ended()
