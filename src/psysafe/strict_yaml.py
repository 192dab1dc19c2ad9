"""YAML in which nothing is lost in silence and nothing explodes: no key twice, no anchors, no aliases."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import yaml
from yaml.constructor import ConstructorError
from yaml.reader import ReaderError

from psysafe.errors import UsageError

_MERGE = "tag:yaml.org,2002:merge"


def load_yaml(data: bytes, name: str) -> Any:
    """The value of a YAML document in UTF-8.

    Args:
        name: of the file, for errors.

    Raises:
        UsageError: not YAML, a key that stands twice in one mapping, or an anchor or alias. One line, with the file and
            the line; of the content it repeats the key and nothing else, since values may be secret.
    """
    try:
        return yaml.load(data.decode("utf-8"), _Loader)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise UsageError(f"{name}: not YAML: line {line}: not UTF-8; save the file as UTF-8") from None
    except _Refused as error:
        raise UsageError(f"{name}: {_place(error)}{error.problem}") from None
    except ReaderError as error:
        line = data.decode("utf-8").count("\n", 0, error.position) + 1
        raise UsageError(f"{name}: not YAML: line {line}: a character that no text may hold") from None
    except yaml.MarkedYAMLError as error:
        raise UsageError(f"{name}: not YAML: {_place(error)}{error.problem}") from None
    except RecursionError:
        raise UsageError(f"{name}: not YAML: too many levels inside each other") from None


class _Refused(yaml.MarkedYAMLError):
    """YAML, but not here."""


def _place(error: yaml.MarkedYAMLError) -> str:
    return f"line {error.problem_mark.line + 1}: " if error.problem_mark is not None else ""


def _short(key: object) -> str:
    return " ".join(str(key).split())[:40]


class _Loader(yaml.SafeLoader):
    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        event: Any = self.peek_event()  # type: ignore[no-untyped-call]
        if getattr(event, "anchor", None) is not None:
            sign = "*" if isinstance(event, yaml.AliasEvent) else "&"
            where = f"{_short(index.value)}: " if isinstance(index, yaml.ScalarNode) else ""
            problem = f"{where}anchors and aliases are not read here; write the value out, or put a text that begins "
            raise _Refused(None, None, f"{problem}with {sign} in quotes", event.start_mark)
        return super().compose_node(parent, index)

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        try:
            return super().construct_object(node, deep)
        except (ValueError, LookupError, AttributeError):  # a date such as 2024-13-45, a !!bool that is none
            raise ConstructorError(None, None, "no such value; put it in quotes", node.start_mark) from None

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        first: dict[Hashable, int] = {}
        for key_node, _ in node.value if isinstance(node, yaml.MappingNode) else ():
            if key_node.tag == _MERGE:
                continue
            key = self.construct_object(key_node, deep=True)
            if not isinstance(key, Hashable):
                continue  # refused by the safe one
            line = key_node.start_mark.line + 1
            if key in first:
                problem = f"the key {_short(key)!r} stands here twice, first on line {first[key]}; delete one"
                raise _Refused(None, None, problem, key_node.start_mark)
            first[key] = line
        return super().construct_mapping(node, deep)
