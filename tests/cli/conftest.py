from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from psysafe.cli import run
from psysafe.models.resolve import PROVIDERS
from tests.cli.support import Command, Result, verdict
from tests.support.endpoint import Endpoint, in_thread


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory, and nothing in the environment that psysafe would read."""
    for name in (
        "PSYSAFE_MODEL", "PSYSAFE_RUNS", "PSYSAFE_CACHE", "PSYSAFE_STORE", "PSYSAFE_DEBUG", "PSYSAFE_API_KEY",
        "PSYSAFE_API_KEY_HOST",
    ):  # fmt: skip
        monkeypatch.delenv(name, raising=False)
    for provider in PROVIDERS.values():
        for key in (provider.key_name, provider.url_name):
            if key:
                monkeypatch.delenv(key, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path.parent / "cache"))
    monkeypatch.setattr("sys.stdin", Input(b"", terminal=False))
    monkeypatch.chdir(tmp_path)
    return tmp_path


class Input(io.TextIOWrapper):
    """Standard input with given bytes."""

    def __init__(self, data: bytes, *, terminal: bool) -> None:
        super().__init__(io.BytesIO(data), encoding="utf-8")
        self._terminal = terminal

    def isatty(self) -> bool:
        return self._terminal


@pytest.fixture
def psysafe(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Command:
    """Calls the command line: ``psysafe("judge", file, "--json")``; ``stdin=`` bytes, ``typed=`` at a terminal."""

    def call(*arguments: str | Path, stdin: bytes | None = None, typed: str | None = None) -> Result:
        capsys.readouterr()
        if stdin is not None:
            monkeypatch.setattr("sys.stdin", Input(stdin, terminal=False))
        if typed is not None:
            monkeypatch.setattr("sys.stdin", Input(typed.encode(), terminal=True))
        code = run([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        assert "Traceback" not in out + err
        return Result(code, out, err)

    return call


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    """An endpoint on loopback whose judge finds everything safe; set ``handler`` for another one."""

    def handler(body: dict[str, Any], attempt: int) -> str:
        return orjson.dumps(verdict(0)).decode()

    with in_thread(Endpoint(handler)) as found:
        yield found
