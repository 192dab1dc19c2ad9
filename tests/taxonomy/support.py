"""A user's own folder of dimensions, and what is complained of in it."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import pytest

from psysafe.taxonomy import TaxonomyError, check_directory


def raw(name: str) -> str:
    """The text of one of our files."""
    return (files("psysafe.taxonomy") / "data" / f"{name}.yaml").read_text(encoding="utf-8")


# A user's file as it is when good: ours with an id of its own.
GOOD = raw("insulting_behaviour").replace("id: insulting_behaviour", "id: sarcasm")


def changed(*edits: tuple[str, str]) -> str:
    """The good file after edits, each of one place."""
    text = GOOD
    for before, after in edits:
        assert before in text, before
        text = text.replace(before, after, 1)
    return text


def complaints(folder: Path, content: str | bytes, name: str = "sarcasm.yaml") -> list[str]:
    """The problems of a folder with this file in it, without the name of the folder."""
    (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(TaxonomyError) as caught:
        check_directory(folder)
    return [problem.replace(f"{folder}/", "") for problem in caught.value.problems]


def complaint(folder: Path, content: str | bytes, name: str = "sarcasm.yaml") -> str:
    """The only problem of that folder."""
    (only,) = complaints(folder, content, name)
    return only


def place(text: str, mark: str, after: int = 0) -> str:
    """``line 3, column 5`` of the first ``mark`` in a text, as an editor shows it."""
    before = text[: text.index(mark) + after].split("\n")
    return f"line {len(before)}, column {len(before[-1]) + 1}"


def line(text: str, mark: str) -> str:
    """``line 3`` of the first ``mark`` in a text."""
    return place(text, mark).split(",")[0]
