"""What a run may spend, and whether it may go on."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from psysafe.conversation import Message
from psysafe.errors import PsysafeError
from psysafe.models import Price, Reply, Sampling, Usage
from psysafe.models.openai_compatible import estimate_tokens


class BudgetReached(PsysafeError):
    """The next call would exceed the budget; ``str`` says which."""


@dataclass(slots=True)
class Budget:
    """Bounds of a run, over this execution of it.

    A call is let through only when what has been spent, what is in flight and the call itself stay within
    the bounds; in flight counts with its prompt's estimate and its max_tokens.

    Attributes:
        max_calls: judge calls. max_cost: US dollars. max_seconds: wall time. None is no bound.
    """

    max_calls: int | None = None
    max_cost: float | None = None
    max_seconds: float | None = None
    calls: int = 0
    cost: float = 0.0
    _reserved: float = 0.0
    _planned: int = 0
    _started: float = field(default_factory=time.monotonic)

    @property
    def bounded(self) -> bool:
        """Whether calls must be metered at all."""
        return self.max_calls is not None or self.max_cost is not None

    def reached(self) -> str | None:
        """Which bound has been reached so far, for people, or None."""
        if self.max_calls is not None and self.calls >= self.max_calls:
            return f"--max-calls {self.max_calls}"
        if self.max_cost is not None and self.cost + self._reserved >= self.max_cost:
            return f"--max-cost {self.max_cost:g}"
        if self.seconds_left() == 0:
            return f"--max-seconds {self.max_seconds:g}"
        return None

    def seconds_left(self) -> float | None:
        """Until ``max_seconds``, 0 when they are over; None without that bound."""
        if self.max_seconds is None:
            return None
        return max(0.0, self._started + self.max_seconds - time.monotonic())

    def admit(self, calls: int) -> UnitMeter | None:
        """A meter for a unit of at most so many calls, if they fit beside those planned; else None."""
        if self.max_calls is not None and self.calls + self._planned + calls > self.max_calls:
            return None
        self._planned += calls
        return UnitMeter(self, calls)


@dataclass(slots=True)
class UnitMeter:
    """Charges one unit's calls to a budget.

    Attributes:
        left: calls planned for and not made yet.
    """

    budget: Budget
    left: int

    def before(self, messages: list[Message], config: Sampling, price: Price | None) -> None:
        """Reserve a call at this price.

        Raises:
            BudgetReached: it does not fit.
        """
        budget = self.budget
        if budget.max_calls is not None and budget.calls >= budget.max_calls:
            raise BudgetReached(f"--max-calls {budget.max_calls}")
        reserve = self._estimate(messages, config, price)
        if budget.max_cost is not None and budget.cost + budget._reserved + reserve > budget.max_cost:
            raise BudgetReached(f"--max-cost {budget.max_cost:g}")
        budget._reserved += reserve
        budget.calls += 1
        if self.left:
            self.left -= 1
            budget._planned -= 1

    def after(
        self,
        messages: list[Message],
        config: Sampling,
        price: Price | None,
        reply: Reply | None,
        *,
        billed: bool = False,
    ) -> None:
        """Settle the reservation; where the usage is unknown, the estimate is charged."""
        estimate = self._estimate(messages, config, price)
        self.budget._reserved -= estimate
        if price is None or (reply is None and not billed) or (reply is not None and reply.cached):
            return
        self.budget.cost += price.cost(reply.usage) if reply is not None and reply.usage else estimate

    def close(self) -> None:
        """The unit has ended; what it planned and did not use is free again."""
        self.budget._planned -= self.left
        self.left = 0

    def _estimate(self, messages: list[Message], config: Sampling, price: Price | None) -> float:
        if price is None or self.budget.max_cost is None:
            return 0.0
        return price.cost(Usage(estimate_tokens(messages), config.max_tokens))
