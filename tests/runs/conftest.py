from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from psysafe.runs import Store, StoreError
from psysafe.runs.database import STORE_URL_NAME

POSTGRES_NAME = "PSYSAFE_TEST_POSTGRES"

NewStore = Callable[..., Store]


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def backend(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Where runs are kept; a test that asks for it, or for ``new_store``, runs once for each."""
    name: str = request.param
    monkeypatch.delenv(STORE_URL_NAME, raising=False)
    if name == "postgres":
        url = os.environ.get(POSTGRES_NAME)
        if not url:
            pytest.skip(f"{POSTGRES_NAME}, the URL of a PostgreSQL database for tests, is not set")
        monkeypatch.setenv(STORE_URL_NAME, url)
    return name


@pytest.fixture
def new_store(backend: str, tmp_path: Path) -> Iterator[NewStore]:
    """Makes stores, ``new_store()`` or ``new_store("name")``; they are gone after the test."""
    made: list[Store] = []

    def new(name: str = "run") -> Store:
        made.append(Store.create(tmp_path / name))
        return made[-1]

    yield new
    for store in made:
        if backend == "postgres":
            with suppress(StoreError, FileNotFoundError):  # the test deleted it
                store.delete()
        store.close()


@pytest.fixture
def store(new_store: NewStore) -> Store:
    return new_store()
