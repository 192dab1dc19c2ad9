"""Answers in a form of their own, other than a verdict: a JSON object that a pydantic model describes."""

from __future__ import annotations

import re
from functools import cached_property
from typing import Generic, TypeVar

import orjson
from pydantic import BaseModel, ValidationError

from psysafe.judging.answer import AnswerError, check_finish, strip_thinking, unusable
from psysafe.models import Reply, Schema

Fields = TypeVar("Fields", bound=BaseModel)

_BLOCK = re.compile(r"^```[a-zA-Z]*\s*|\s*```$")


class Form(Generic[Fields]):
    """What an answer must look like.

    Args:
        name: of the schema. model: forbids what it does not name; its fields are asked for in their order.
    """

    def __init__(self, name: str, model: type[Fields]) -> None:
        self.name = name
        self.model = model

    @cached_property
    def schema(self) -> Schema:
        """For endpoints that can enforce it."""
        return Schema(self.name, orjson.dumps(self.model.model_json_schema()))

    def parse(self, reply: Reply) -> Fields:
        """Read an answer. Words may stand before the object, none after it.

        Raises:
            AnswerError: with the reason; nothing is guessed.
        """
        check_finish(reply)
        text = _BLOCK.sub("", strip_thinking(reply).strip()).strip()
        start = re.search(r"^\s*(?:```[a-zA-Z]*\s*)?\{", text, re.M)
        if start is None:
            raise unusable(reply, text, "expected one JSON object and nothing else")
        try:
            data = orjson.loads(text[start.end() - 1 :])
        except ValueError:
            raise unusable(reply, text, "that is no JSON object; give one, and nothing after it") from None
        try:
            return self.model.model_validate(data)
        except ValidationError as error:
            first = error.errors(include_url=False, include_context=False)[0]
            where = ".".join(str(part) for part in first["loc"]) or "the object"
            raise AnswerError("judge_unparseable", f"{where}: {first['msg']}") from None
