"""The process in which the embedded model runs: its start, its end, and what it says when it dies."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import subprocess
import sys
import threading
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex

import orjson

from psysafe.models.base import ModelError

PROGRAM = Path(__file__).with_name("local_server.py")

# Seconds: for loading weights from a slow disk; for ending politely; for the system to tell that a process died.
_START = 300.0
_GRACE = 2.0
_NOTICE = 1.0

_LINES_KEPT = 12
_STAMP = re.compile(r"^[\d.]+ [A-Z] ")  # of a line that the engine logs


@dataclass(frozen=True, slots=True)
class Serving:
    """How a model is served.

    Attributes:
        context: tokens of one prompt with its answer. slots: calls at once, each with such a context.
        threads: of the engine.
    """

    context: int
    slots: int
    threads: int


class LocalProcess:
    """A running child. Made by ``start``; ``end`` it in any case."""

    def __init__(self, name: str, process: subprocess.Popen[bytes], key: str) -> None:
        self.name = name
        self.key = key
        self.address = ""
        self.ending = False  # by us
        self._process = process
        self._said: deque[str] = deque(maxlen=_LINES_KEPT)
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    @classmethod
    async def start(cls, name: str, weights: Path, serving: Serving) -> LocalProcess:
        """Start it and wait until the weights are loaded.

        Raises:
            ModelError: it died or gave no sign of life; the message holds the end of what it said.
        """
        key = token_hex(24)
        process = subprocess.Popen(  # noqa: ASYNC220  a few milliseconds, and the child must be this thread's
            # By path and without the working directory on the module path: nothing but the engine is imported.
            [sys.executable, "-P", str(PROGRAM)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=_environment(),
            start_new_session=True,  # Ctrl-C is for the parent, which ends the child when it is done with it
        )
        child = cls(name, process, key)
        try:
            await child._load(weights, serving)
        except BaseException:
            await child.end()
            raise
        return child

    async def _load(self, weights: Path, serving: Serving) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        order = {
            "model": str(weights),
            "alias": self.name,
            "key": self.key,
            "parent": os.getpid(),
            "context": serving.context,
            "slots": serving.slots,
            "threads": serving.threads,
        }
        with contextlib.suppress(OSError):  # it is dead, which the empty line below tells
            self._process.stdin.write(orjson.dumps(order) + b"\n")
            self._process.stdin.flush()
        # The thread ends with the child, also when nobody waits for it any more.
        reading = asyncio.get_running_loop().run_in_executor(None, self._process.stdout.readline)
        done, _ = await asyncio.wait([reading], timeout=_START)
        if not done:
            raise ModelError("endpoint_error", f"{self.name}: the embedded model was not loaded within {_START:.0f} s")
        line = reading.result()
        if not line:
            ended = await self.death() or "it closed its output"
            self._listener.join(_NOTICE)
            said = f": {'; '.join(dict.fromkeys(self._said))}" if self._said else ""
            raise ModelError("endpoint_error", f"{self.name}: the embedded model did not start ({ended}){said}")
        self.address = orjson.loads(line)["address"]
        self._said = deque(maxlen=0)  # from now on it might quote what it is asked

    def _listen(self) -> None:
        """Drain its stderr, so that it never waits for a reader."""
        assert self._process.stderr is not None
        for line in self._process.stderr:
            self._said.append(_STAMP.sub("", line.decode("utf-8", "replace").strip())[:300])

    @property
    def alive(self) -> bool:
        """Whether it runs, as far as the system has told."""
        return self._process.poll() is None

    async def death(self) -> str | None:
        """How it died, or None when it lives. Waits a moment, since a broken connection is seen first."""
        waited = 0.0
        while (code := self._process.poll()) is None:
            if waited >= _NOTICE:
                return None
            await asyncio.sleep(0.05)
            waited += 0.05
        if code == -9:
            return "signal 9; often the machine ran out of memory"
        return f"signal {-code}" if code < 0 else f"exit code {code}"

    async def end(self) -> None:
        """End it, politely first. Ended or dead already: nothing happens."""
        self.ending = True
        self._process.terminate()
        await asyncio.shield(asyncio.get_running_loop().run_in_executor(None, self._reap))

    def _reap(self) -> None:
        try:
            self._process.wait(_GRACE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._listener.join(_GRACE)
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            if pipe is not None:
                with contextlib.suppress(OSError):  # bytes that it did not read
                    pipe.close()


# The child needs no key of anybody's.
_SECRET = ("KEY", "TOKEN", "SECRET", "PASSWORD")


def _environment() -> dict[str, str]:
    environment = {name: value for name, value in os.environ.items() if not name.upper().endswith(_SECRET)}
    environment["OMP_WAIT_POLICY"] = "PASSIVE"  # else idle threads spin, which doubles the time on a busy machine
    environment["GGML_NO_BACKTRACE"] = "1"  # no debugger at an abort; it would print what is in memory
    return environment
