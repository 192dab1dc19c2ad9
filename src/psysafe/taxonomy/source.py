"""The text of a dimension file as YAML: its values, and the lines on which they stand."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator, Sequence
from typing import Any, NamedTuple

import yaml
from yaml.constructor import ConstructorError

from psysafe.taxonomy.places import place
from psysafe.taxonomy.problem import Problem, position, short
from psysafe.taxonomy.syntax import explain

Loc = tuple[str | int, ...]


class Unreadable(Exception):
    """A file that is no YAML; its only argument is the ``Problem``."""

    @property
    def problem(self) -> Problem:
        found: Problem = self.args[0]
        return found


class Source(NamedTuple):
    """A file that is YAML.

    Attributes:
        data: its values.
        root: the same as nodes, which know their place in ``text``; None for an empty file.
        losses: problems that YAML passes over in silence.
    """

    text: str
    data: Any
    root: yaml.Node | None
    losses: list[Problem]

    def find(self, loc: Sequence[str | int]) -> tuple[int | None, yaml.Node | None]:
        """The line of a field or of the nearest thing around it, and its node if it is there."""
        node = self.root
        if node is None:
            return None, None
        index = node.start_mark.index
        for part in loc:
            if isinstance(node, yaml.MappingNode):
                pairs = [(k, v) for k, v in node.value if isinstance(k, yaml.ScalarNode) and k.value == str(part)]
                mark, node = (pairs[-1][0].start_mark, pairs[-1][1]) if pairs else (None, None)
            elif isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
                node = node.value[part]
                mark = node.start_mark
            else:
                mark, node = None, None
            if mark is None:
                break
            index = mark.index
        return position(self.text, index)[0], node


def parse(content: bytes) -> Source:
    """Read the bytes of a file.

    Raises:
        Unreadable: they are no YAML in UTF-8.
    """
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        said = "the file is not saved as UTF-8; save it again and choose the encoding UTF-8"
        raise Unreadable(Problem(said, line)) from None
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    try:
        loader = _Loader(text)
        root = loader.get_single_node()
        losses = list(_losses(text, root)) if root else []  # before merge keys are resolved
        data = loader.construct_document(root) if root else None
    except yaml.YAMLError as error:
        index, said = explain(text, error)
        raise Unreadable(Problem(said, *position(text, index))) from None
    except RecursionError:
        raise Unreadable(Problem("too many brackets or levels inside each other; expected a dimension")) from None
    return Source(text, data, root, [Problem(said, line, place=place(loc, data)) for loc, line, said in losses])


class _Loader(yaml.SafeLoader):
    """As PyYAML's safe one; a number or a date that is none (2024-13-45) has a place too."""

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        try:
            return super().construct_object(node, deep)
        except ValueError:
            raise ConstructorError(None, None, "no such value", node.start_mark) from None

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        for key, _ in node.value:
            if key.tag in _PLAIN:
                key.tag = "tag:yaml.org,2002:str"
        return super().construct_mapping(node, deep)


# The name of a field is a text, also when it reads like a number, a date or a yes.
_PLAIN = {f"tag:yaml.org,2002:{kind}" for kind in ("null", "bool", "int", "float", "timestamp")}


def _losses(text: str, root: yaml.Node) -> Iterator[tuple[Loc, int, str]]:
    """Where YAML drops words: of a field that stands twice all but the last, of a text all after a #."""
    stack: list[tuple[Loc, yaml.Node]] = [((), root)]
    seen = set()
    while stack:
        loc, node = stack.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, yaml.SequenceNode):
            stack += [((*loc, index), item) for index, item in enumerate(node.value)]
        elif isinstance(node, yaml.MappingNode):
            first: dict[str, int] = {}
            for key, value in node.value:
                if not isinstance(key, yaml.ScalarNode):
                    continue
                line = position(text, key.start_mark.index)[0]
                if key.value in first:
                    said = (
                        f"the field '{short(key.value)}' stands here twice, first on line {first[key.value]}; "
                        "delete one, or begin a new entry with a dash"
                    )
                    yield loc, line, said
                first.setdefault(key.value, line)
                stack.append(((*loc, key.value), value))
        elif isinstance(node, yaml.ScalarNode) and node.style is None and node.tag == "tag:yaml.org,2002:str":
            rest = text[node.end_mark.index :].split("\n", 1)[0]
            if re.match(r"[ \t]+#", rest) and loc[-1:] not in (("id",), ("group",)):
                said = (
                    f"the text ends before the #: '{short(node.value)}'; put the whole text in double quotes, "
                    "or move a remark to a line of its own"
                )
                yield loc, position(text, node.end_mark.index)[0], said
