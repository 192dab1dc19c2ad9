"""What goes wrong at the local endpoint, as a pure function of the request."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from typing import Literal

Fault = Literal["rate_limited", "server_error", "hang", "garbage", "disconnect"]

# The share of attempts that each fault spoils.
SHARES: dict[Fault, float] = {
    "rate_limited": 0.05,  # 429 with Retry-After
    "server_error": 0.02,  # 500
    "hang": 0.01,  # no answer, longer than any client waits
    "garbage": 0.01,  # 200 with a text that is no verdict
    "disconnect": 0.01,  # the connection is closed without an answer
}


def draw(*parts: object) -> float:
    """A number from 0 to 1 that depends on ``parts`` alone."""
    digest = blake2b("|".join(map(str, parts)).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") / 2**64


def level(case: str, seed: int) -> int:
    """The level, 0 or 2, that the endpoint gives to a case at a call seed; votes of one unit are split by it."""
    return 2 if draw("level", case, seed) < 0.5 else 0


@dataclass(frozen=True, slots=True)
class FaultPlan:
    """Which attempts fail, and how.

    Attributes:
        number: another number, another plan.
    """

    number: int = 0

    def fault(self, case: str, seed: int, attempt: int) -> Fault | None:
        """What happens to a request.

        Args:
            case: what identifies the judged text. seed: of the call, as sent.
            attempt: how many times this very request has been seen before.
        """
        drawn = draw("fault", self.number, case, seed, attempt)
        for fault, share in SHARES.items():
            drawn -= share
            if drawn < 0:
                return fault
        return None

    def retry_after(self, case: str, seed: int, attempt: int) -> float:
        """Seconds that a 429 asks to wait, from 0.05 to 0.2."""
        return 0.05 + 0.15 * draw("retry", self.number, case, seed, attempt)
