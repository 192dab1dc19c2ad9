"""What stands where something else is expected, in plain words."""

from __future__ import annotations

import yaml

from psysafe.taxonomy.problem import short

_READ_AS = {"int": "a number", "float": "a number", "bool": "yes or no", "timestamp": "a date"}


def describe(node: yaml.Node | None) -> str:
    """``'My Harm'``, ``nothing``, ``a list``, ``fields``."""
    if isinstance(node, yaml.SequenceNode):
        return "a list"
    if isinstance(node, yaml.MappingNode):
        return "fields"
    if isinstance(node, yaml.ScalarNode) and node.value.strip():
        return f"'{short(node.value)}'"
    return "nothing"


def wrong_text(node: yaml.Node | None) -> str:
    """Why a text is none, and what to do."""
    if isinstance(node, (yaml.SequenceNode, yaml.MappingNode)):
        bracket = "[" if isinstance(node, yaml.SequenceNode) else "{"
        if node.flow_style:
            return f"a text that begins with {bracket} must stand in double quotes"
        if isinstance(node, yaml.MappingNode) and len(node.value) == 1:
            return "a text without quotes holds a colon; put the whole text in double quotes"
    elif isinstance(node, yaml.ScalarNode) and node.value.strip():
        read_as = _READ_AS.get(node.tag.rsplit(":", 1)[-1])
        if read_as:
            value = short(node.value)
            return f'found {value} without quotes, which is read as {read_as}; put it in double quotes: "{value}"'
    return f"found {describe(node)}; expected a text"
