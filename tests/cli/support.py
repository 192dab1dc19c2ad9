"""What the tests of the command line share: calling it in this process or in another, inputs, judges, and runs."""

from __future__ import annotations

import os
import re
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import yaml

INSULT = ("--dimensions", "insulting_behaviour")


@dataclass(frozen=True, slots=True)
class Result:
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return orjson.loads(self.out)

    @property
    def complaint(self) -> str:
        """The one line on stderr of a command that was refused."""
        assert self.out == ""
        (line,) = self.err.splitlines()
        assert line.startswith("psysafe: ")
        return line.removeprefix("psysafe: ")


Command = Callable[..., Result]

MAIN = "import sys; from psysafe.cli import main; main()"


def spawn(
    *arguments: str | Path, program: str = MAIN, environment: Mapping[str, str] | None = None, **options: Any
) -> subprocess.Popen[str]:
    """The command in a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-c", program, *map(str, arguments)],
        stdin=options.pop("stdin", subprocess.DEVNULL),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **(environment or {})},
        **options,
    )


def finish(process: subprocess.Popen[str], text: str | None = None, seconds: float = 60) -> Result:
    """Wait for a process; one that does not end fails the test."""
    try:
        out, err = process.communicate(text, timeout=seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
        raise AssertionError(f"the command did not end; it said:\n{out}{err}") from None
    return Result(process.returncode, out, err)


def until(condition: Callable[[], bool], process: subprocess.Popen[str] | None = None, seconds: float = 60) -> None:
    """Wait for a condition; a process that ends before it holds fails the test."""
    for _ in range(round(100 * seconds)):
        if condition():
            return
        if process is not None and process.poll() is not None:
            raise AssertionError(f"the command ended with {process.returncode}:\n{finish(process).err}")
        time.sleep(0.01)
    raise AssertionError(f"waited for {seconds:g} s")


def chat(n: int, reply: str | None = None, **more: Any) -> dict[str, Any]:
    """The record of a conversation ``cN`` with one reply, ``Reply N.``"""
    said = f"Reply {n}." if reply is None else reply
    messages = [{"role": "user", "content": f"Question {n}."}, {"role": "assistant", "content": said}]
    return {"id": f"c{n}", "messages": messages, **more}


def write_chats(path: Path | str, records: Sequence[Any]) -> Path:
    """A JSONL file; bytes stand for themselves."""
    lines = [record if isinstance(record, bytes) else orjson.dumps(record) for record in records]
    Path(path).write_bytes(b"\n".join(lines) + b"\n")
    return Path(path)


def chats(count: int, path: Path | str = "chats.jsonl") -> Path:
    return write_chats(path, [chat(n) for n in range(count)])


def verdict(score: int | str, rationale: str = "because", quotes: Sequence[tuple[int, str]] = ()) -> dict[str, Any]:
    evidence = [{"message": message, "quote": quote} for message, quote in quotes]
    return {"rationale": rationale, "evidence": evidence, "score": score}


def script(path: Path | str, *rules: Mapping[str, Any], **top: Any) -> str:
    """The model string of a scripted judge; without rules everything is safe."""
    file = Path(path)
    content = {"name": file.stem, **top, "rules": list(rules) or [{"reply": verdict(0)}]}
    file.write_text(yaml.safe_dump(content, allow_unicode=True), encoding="utf-8")
    return f"scripted:{file}"


def by_number(path: Path | str = "judge.yaml", **top: Any) -> str:
    """A judge whose score is the last digit of the reply's number, modulo 3."""
    rules = [
        {"when": {"judged": rf"Reply \d*[{digits}]\."}, "reply": verdict(score)}
        for score, digits in enumerate(("0369", "147", "258"))
    ]
    return script(path, *rules, **top)


def judgments(run: Path | str) -> list[dict[str, Any]]:
    """The exported judgments of a run, without the time they took."""
    import io

    from psysafe.runs import EXPORTS, Store

    store = Store.open(Path(run))
    out = io.BytesIO()
    EXPORTS["jsonl"](store, out)
    store.close()
    found = [orjson.loads(line) for line in out.getvalue().splitlines()]
    for line in found:
        del line["seconds"]
    return found


def committed(run: Path | str) -> int:
    """How many judgments a run holds so far; 0 while there is none."""
    path = Path(run) / "run.sqlite"
    if not path.exists():
        return 0
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        try:
            return int(connection.execute("SELECT count(*) FROM judgments").fetchone()[0])
        except sqlite3.OperationalError:
            return 0


def meta(run: Path | str, name: str) -> Any:
    """A value that a run keeps beside its judgments."""
    from psysafe.runs import Store

    store = Store.open(Path(run))
    value = store.get(name)
    store.close()
    return value


def put_meta(run: Path | str, name: str, value: Any) -> None:
    from psysafe.runs import Store

    store = Store.open(Path(run))
    store.put(name, value)
    store.close()


def control_characters(text: str) -> list[str]:
    """What of a text could drive a terminal or turn its lines around."""
    return re.findall("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]", text)
