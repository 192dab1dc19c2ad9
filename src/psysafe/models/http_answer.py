"""What a bot's answer says: the reply, why it ended, an error in a 200, the id of a session."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import orjson

from psysafe.models.base import ModelError, Reply, ReplyFinish
from psysafe.models.http_bot import Bot, Finish
from psysafe.models.http_template import Absent, read_path


def read_reply(data: bytes, bot: Bot, name: str, latency: float, clean: Callable[[str], str]) -> Reply:
    """The reply in the body of a 2xx answer. Null is an empty reply.

    Args:
        name: of the model, for errors. clean: makes the bot's own words fit to be shown.

    Raises:
        ModelError: it is not JSON, holds an error, or no text where the file says that the reply is.
    """
    answer = _decode(data, name)
    if bot.error is not None:
        _raise_error(answer, bot.error, name, clean)
    try:
        text = read_path(answer, bot.reply)
    except Absent as absent:
        raise _misfit(f"{name}: reply: {bot.reply}: {clean(str(absent))}; correct the path in its file") from None
    if text is not None and not isinstance(text, str):
        raise _misfit(f"{name}: reply: {bot.reply} holds no text; correct the path in its file")
    return Reply(text or "", _finish(answer, bot.finish) if bot.finish is not None else "stop", latency=latency)


def read_id(data: bytes, path: str, where: str, known: str | None = None) -> str:
    """The id of a session; ``known`` where the answer has none.

    Raises:
        ModelError: there is none.
    """
    try:
        found = read_path(_decode(data, where), path)
    except Absent as absent:
        if known is not None:
            return known
        raise _misfit(f"{where}: {path}: {absent}") from None
    if isinstance(found, str) and found:
        return found
    if isinstance(found, int) and not isinstance(found, bool):
        return str(found)
    raise _misfit(f"{where}: {path} holds neither text nor a number")


def _decode(data: bytes, name: str) -> Any:
    try:
        return orjson.loads(data)
    except ValueError:
        shown = "nothing" if not data.strip() else "something that is not JSON"
        raise ModelError("endpoint_error", f"{name}: the bot answered {shown}; is the url right?") from None


def _raise_error(answer: Any, path: str, name: str, clean: Callable[[str], str]) -> None:
    try:
        found = read_path(answer, path)
    except Absent:
        return
    if found in (None, False, "", 0) or found == [] or found == {}:
        return
    brief = f"{name}: the bot answered with an error ({path})"
    said = found if isinstance(found, str) else orjson.dumps(found).decode()
    error = ModelError("endpoint_error", f"{brief}: {clean(said)}")
    error.brief = brief
    raise error


def _finish(answer: Any, rules: Finish) -> ReplyFinish:
    try:
        value = str(read_path(answer, rules.path))
    except Absent:
        return "stop"
    if value in rules.length:
        return "length"
    if value in rules.content_filter:
        return "content_filter"
    return "refusal" if value in rules.refusal else "stop"


def _misfit(message: str) -> ModelError:
    return ModelError("endpoint_error", message)
