"""YAML that refuses what would be lost or would explode."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from psysafe.errors import UsageError
from psysafe.strict_yaml import load_yaml

EXPLODING = b"a: &a [x, x]\n" + b"".join(b"%c: &%c [*%c, *%c]\n" % (n, n, n - 1, n - 1) for n in range(98, 123))


@pytest.mark.parametrize(
    "text, value",
    [
        ("", None),
        ("\ufeffa: 1\nb: [x, {c: null}]", {"a": 1, "b": ["x", {"c": None}]}),
        ("- {a: 1}\n- {a: 2}", [{"a": 1}, {"a": 2}]),
        ("a: {a: {a: 1}}", {"a": {"a": {"a": 1}}}),
        ("a: 2024-01-02\nb: '*x'\nc: 'y & z'", {"a": date(2024, 1, 2), "b": "*x", "c": "y & z"}),
        ("<<: {a: 1, b: 2}\na: 3", {"a": 3, "b": 2}),
    ],
)
def test_other_yaml_is_read_as_ever(text: str, value: Any) -> None:
    assert load_yaml(text.encode(), "f.yaml") == value


@pytest.mark.parametrize(
    "data, problem",
    [
        (b"a: 1\nb: 2\na: 3", "line 3: the key 'a' stands here twice, first on line 1; delete one"),
        (b"x:\n- {b: 1, 'b': 2}", "line 2: the key 'b' stands here twice, first on line 2; delete one"),
        (b"yes: 1\ntrue: 2", "line 2: the key 'True' stands here twice, first on line 1; delete one"),
        (b"? |\n  a\n  b\n: 1\n? |\n  a\n  b\n: 2", "line 5: the key 'a b' stands here twice"),
        (b"a: &x [*x]", "line 1: a: anchors and aliases are not read here; write the value out, or put a text that "),
        (b"- 1\n- &x 2", "line 2: anchors and aliases are not read here"),
        (b"? &x a\n: 1", "line 1: anchors and aliases are not read here"),
        (EXPLODING, "line 1: a: anchors and aliases are not read here"),
        (b"[" * 20_000, "not YAML: too many levels inside each other"),
        (b"a: 1\n? [1]\n: 2", "not YAML: line 2: found unhashable key"),
        (b"a: [", "not YAML: line 1: "),
        (b"a: 1\n---\nb: 2", "not YAML: line 2: "),
        (b"a: 1\nb: 2024-13-45", "not YAML: line 2: no such value"),
        (b"a: !!bool maybe", "not YAML: line 1: no such value"),
        (b"a: !!timestamp soon", "not YAML: line 1: no such value"),
        (b"a: !!python/name:os.getcwd x", "not YAML: line 1: could not determine a constructor"),
        (b"a: 1\nb: \x00", "not YAML: line 2: a character that no text may hold"),
        (b"a: 1\nb: \xff", "not YAML: line 2: not UTF-8"),
    ],
)
def test_the_rest_is_refused_in_one_line_with_file_and_line(data: bytes, problem: str) -> None:
    with pytest.raises(UsageError) as caught:
        load_yaml(data, "f.yaml")
    assert str(caught.value).startswith(f"f.yaml: {problem}")
    assert "\n" not in str(caught.value)
