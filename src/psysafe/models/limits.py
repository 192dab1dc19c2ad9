"""How much may be in flight to one endpoint: adaptive concurrency, requests and tokens per minute."""

from __future__ import annotations

import asyncio
import math
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass

from psysafe.models.base import Stopped


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds for one endpoint.

    Attributes:
        concurrency: most calls in flight; the gate starts there, halves in trouble and grows back.
        requests_per_minute, tokens_per_minute: None for no bound of ours.
        timeout: seconds for one attempt. deadline: seconds for a call with all its retries, counted from
            the moment it first gets a place.
        max_retries: attempts after the first.
        backoff, backoff_cap: full-jitter backoff draws from 0 to min(cap, backoff * 2**n) seconds.
    """

    concurrency: int = 32
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    timeout: float = 120.0
    deadline: float = 600.0
    max_retries: int = 6
    backoff: float = 0.5
    backoff_cap: float = 30.0


# A reset may be a day away (a daily quota); then it is tried again now and then, and the 429 that follows is told.
_LONGEST_HOLD = 120.0


class _Bucket:
    """A token bucket over one second's worth, which may go into debt for a request larger than that."""

    def __init__(self, per_minute: float) -> None:
        self.rate = per_minute / 60
        self.capacity = max(1.0, self.rate)
        self.level = self.capacity
        self.at = time.monotonic()

    def wait(self, amount: float) -> float:
        """Seconds until ``amount`` may be taken; 0 means now."""
        now = time.monotonic()
        self.level = min(self.capacity, self.level + (now - self.at) * self.rate)
        self.at = now
        missing = min(amount, self.capacity) - self.level
        return 0.0 if missing <= 1e-9 else missing / self.rate

    def take(self, amount: float) -> None:
        self.level -= amount


class Gate:
    """Lets calls through, first come first served.

    An *episode* of trouble (429, 5xx, no answer) is a fifth of as many results as may be in flight, and at least
    three, among the last twenty or that many: scattered faults are retried, an episode halves the concurrency.
    Calls that started before a halving tell nothing about the new level and are not counted. Each full round of
    good results adds a sixteenth of the starting level until it is reached again.
    """

    _WINDOW = 20
    _SHARE = 0.2
    _AT_LEAST = 3

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.limit = limits.concurrency
        self.lowest = self.limit
        self.halvings = 0
        self._in_flight = 0
        self._waiting: deque[tuple[asyncio.Future[None], int]] = deque()
        self._requests = _Bucket(limits.requests_per_minute) if limits.requests_per_minute else None
        self._tokens = _Bucket(limits.tokens_per_minute) if limits.tokens_per_minute else None
        self._held_until = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._good = self._bad = self._round = 0
        self._stopped = False

    def stop(self) -> None:
        """Let nobody in any more, neither those who wait nor those who come."""
        self._stopped = True
        for place, _ in self._waiting:
            if not place.done():
                place.set_exception(Stopped("told to send nothing more"))
        self._waiting.clear()

    async def acquire(self, tokens: int) -> int:
        """Wait for a place and reserve ``tokens``. Returns a mark to hand back to ``report``.

        Raises:
            Stopped: nobody is let in any more.
        """
        if self._stopped:
            raise Stopped("told to send nothing more")
        if not self._waiting and self._delay(tokens) == 0 and self._in_flight < self.limit:
            self._enter(tokens)
            return self.halvings
        place = asyncio.get_running_loop().create_future()
        self._waiting.append((place, tokens))
        self._wake()
        try:
            await place
        except asyncio.CancelledError:
            if place.done() and not place.cancelled():  # it had been let in meanwhile, and sends nothing
                self._give_back(tokens)
                self.release()
            else:
                self._wake()  # the timer may have been set for this one alone
            raise
        return self.halvings

    def release(self) -> None:
        """Give the place back."""
        self._in_flight -= 1
        if self._waiting:
            self._wake()

    def settle(self, reserved: int, used: int) -> None:
        """Correct a reservation once the endpoint has said what was used."""
        if self._tokens:
            self._tokens.take(used - reserved)

    def hold(self, seconds: float) -> None:
        """Let nobody in for a while."""
        self._held_until = max(self._held_until, time.monotonic() + seconds)

    def read_headers(self, headers: Mapping[str, str], tokens: int) -> None:
        """Obey ``x-ratelimit-*``: when what remains does not suffice for one more such call, wait for the reset."""
        for kind, need in (("requests", 1), ("tokens", tokens)):
            remaining = headers.get(f"x-ratelimit-remaining-{kind}")
            if remaining is None:
                continue
            try:
                short = float(remaining) < need
            except ValueError:
                continue
            reset = parse_duration(headers.get(f"x-ratelimit-reset-{kind}"))
            if short and reset:
                self.hold(min(reset, _LONGEST_HOLD))

    def report(self, mark: int, good: bool) -> None:
        """Tell how a call that entered at ``mark`` ended; ``good`` is False for 429, 5xx and no answer."""
        if mark != self.halvings:
            return
        window = max(self._WINDOW, self.limit)
        if good:
            self._good += 1
            self._round += 1
            if self._round >= self.limit and self.limit < self.limits.concurrency:
                self._round = 0
                step = max(1, self.limits.concurrency // 16)
                self.limit = min(self.limits.concurrency, self.limit + step)
                self._wake()
        else:
            self._bad += 1
            if self._bad >= max(self._AT_LEAST, self._SHARE * self.limit):
                self.limit = max(1, self.limit // 2)
                self.lowest = min(self.lowest, self.limit)
                self.halvings += 1
                self._good = self._bad = self._round = 0
        if self._good + self._bad >= window:
            self._good = self._bad = 0

    def _enter(self, tokens: int) -> None:
        self._in_flight += 1
        if self._requests:
            self._requests.take(1)
        if self._tokens:
            self._tokens.take(tokens)

    def _give_back(self, tokens: int) -> None:
        if self._requests:
            self._requests.take(-1)
        if self._tokens:
            self._tokens.take(-tokens)

    def _delay(self, tokens: int) -> float:
        """Seconds until the next call may start, places aside."""
        delay = self._held_until - time.monotonic() if self._held_until else 0.0
        if self._requests:
            delay = max(delay, self._requests.wait(1))
        if self._tokens:
            delay = max(delay, self._tokens.wait(tokens))
        return max(0.0, delay)

    def _wake(self) -> None:
        if self._timer is not None:  # set for what was known then; set anew below if it is still needed
            self._timer.cancel()
            self._timer = None
        while self._waiting and self._in_flight < self.limit:
            place, tokens = self._waiting[0]
            if place.done():  # cancelled while waiting
                self._waiting.popleft()
                continue
            if delay := self._delay(tokens):
                self._timer = asyncio.get_running_loop().call_later(delay, self._wake)
                return
            self._waiting.popleft()
            self._enter(tokens)
            place.set_result(None)


_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def parse_duration(text: str | None) -> float | None:
    """Seconds of a reset header: ``1.5``, ``6m0s``, ``20ms`` or a Unix time, in seconds or milliseconds.

    None when it says nothing usable.
    """
    if not text:
        return None
    import re

    try:
        value = float(text)
    except ValueError:
        parts = re.findall(r"(\d+(?:\.\d+)?)(ms|[smhd])", text)
        if not parts or "".join(number + unit for number, unit in parts) != text.strip():
            return None
        return sum(float(number) * _UNITS[unit] for number, unit in parts)
    if not math.isfinite(value):
        return None
    if value > 1e11:
        value /= 1000
    if value > 1e9:
        value -= time.time()
    return max(0.0, value)
