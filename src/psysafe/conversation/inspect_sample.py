"""A sample of a log of Inspect becomes a conversation."""

from __future__ import annotations

from typing import Any

from psysafe.conversation.identifiers import identifier
from psysafe.conversation.json_values import json_ready
from psysafe.conversation.messages import read_message
from psysafe.conversation.problems import Problem
from psysafe.conversation.record import assemble
from psysafe.conversation.types import FINISHES, Conversation, Finish, Message

_STOPS: dict[str, Finish] = {
    "stop": "stop",
    "tool_calls": "stop",
    "max_tokens": "length",
    "model_length": "length",
    "content_filter": "content_filter",
}
_MESSAGE_FINISH = "finish_reason"  # among the metadata of a message, as psysafe writes it


def read_sample(sample: Any, head: dict[str, Any], limit: int, *, need_reply: bool) -> Conversation:
    """The messages of a sample (an ``EvalSample``); what a model thought is left out.

    The last assistant message ends as the output did. A sample that failed before a reply ends with an empty
    assistant message of finish ``error``.

    Args:
        head: what all samples of the log share; it becomes metadata.
        limit: of characters in a message.
        need_reply: whether one of the messages must be the assistant's.

    Raises:
        Problem: the messages hold none of an assistant, or none at all, or cannot be read.
    """
    messages = []
    for index, message in enumerate(sample.messages):
        try:
            messages.append(_message(message, limit))
        except Problem as problem:
            raise problem.under(f"messages[{index}]") from None
    output = sample.output
    if output is not None and output.choices and not any(m.role == "assistant" for m in messages):
        messages.append(_message(output.message, limit))
    if output is not None:
        _set_finish(messages, output)
    if sample.error is not None and (not messages or messages[-1].role != "assistant"):
        messages.append(Message("assistant", "", "error"))
    metadata: dict[str, Any] = {**head, "sample": sample.id, "epoch": sample.epoch}
    if sample.target not in ("", []):
        metadata["target"] = sample.target
    if sample.scores:
        metadata["scores"] = {name: score.value for name, score in sample.scores.items()}
    if sample.metadata:
        metadata["metadata"] = sample.metadata
    if sample.error is not None:
        metadata["error"] = sample.error.message
    if sample.limit is not None:
        metadata["limit"] = sample.limit.type
    ready: dict[str, Any] = json_ready(metadata)
    return assemble(identifier(f"{sample.id}#{sample.epoch}"), messages, ready, None, need_reply=need_reply)


def _message(message: Any, limit: int) -> Message:
    content = message.content
    if not isinstance(content, str):
        content = [
            {"type": part.type, "text": getattr(part, "text", None)} for part in content if part.type != "reasoning"
        ]
    calls = [{"name": c.function, "arguments": c.arguments} for c in getattr(message, "tool_calls", None) or ()]
    raw = {"role": message.role, "content": content, "tool_calls": calls}
    finish = (getattr(message, "metadata", None) or {}).get(_MESSAGE_FINISH)
    if message.role == "assistant" and finish in FINISHES:
        raw["finish_reason"] = finish
    return read_message(raw, limit)


def _set_finish(messages: list[Message], output: Any) -> None:
    """The finish of the output on the last assistant message, unless that tells its own."""
    index = max((i for i, message in enumerate(messages) if message.role == "assistant"), default=None)
    if index is None or messages[index].finish is not None:
        return
    finish = "error" if output.error else _STOPS.get(output.stop_reason) if output.choices else None
    if finish is not None:
        messages[index] = Message("assistant", messages[index].content, finish)
