"""A logged call of an OpenAI-style API: the request, the response, or both."""

from __future__ import annotations

from typing import Any

from psysafe.conversation.content import call_line, check_text, message_text
from psysafe.conversation.identifiers import identifier
from psysafe.conversation.messages import read_finish, read_message, read_messages
from psysafe.conversation.problems import Problem, join, shown
from psysafe.conversation.shape import Found
from psysafe.conversation.types import Finish, Message

_REQUESTS = ("body", "request", "input")
_RESPONSES: dict[str, tuple[type, ...]] = {"response": (dict,), "output": (dict, list), "choices": (list,)}
# With text under one of the former, and one of the latter or no request, a record is a pair.
_REPLY_KEYS = ("response", "reply", "completion")
_PROMPT_KEYS = ("prompt", "user")
_INCOMPLETE: dict[str, Finish] = {"max_output_tokens": "length", "content_filter": "content_filter"}


def read_openai_log(obj: dict[str, Any], default_id: str, limit: int) -> Found | None:
    """The messages of a request and the reply to it.

    - Request: ``body`` or ``request`` (an object with ``messages``, or with ``input`` and ``instructions``), or
      ``input`` (a list of messages, or such an object).
    - Response: ``response`` (an object with ``body`` as the Batch API writes it, or the completion itself),
      ``output`` or ``choices``.

    A call that failed is an empty reply with finish ``error``. ``custom_id``, else ``id``, is the id; ``model``
    and all keys that are not read become metadata. None: the record is no such log.

    Raises:
        Problem: it is one, and cannot be read.
    """
    failed = "custom_id" in obj and obj.get("response", obj) is None
    response = next((key for key, types in _RESPONSES.items() if isinstance(obj.get(key), types)), None)
    request = next((key for key in _REQUESTS if _is_request(obj.get(key))), None)
    if request is None and response is not None and isinstance(obj.get("input"), str):
        request = "input"
    said = any(isinstance(obj.get(key), str) for key in _REPLY_KEYS)
    if said and (request is None or any(key in obj for key in _PROMPT_KEYS)):
        return None
    if response is None and request is not None:
        response = next((key for key in ("output", *_REPLY_KEYS) if isinstance(obj.get(key), str)), None)
    if response is None and request is None and not failed:
        return None
    messages: list[Message] = []
    models = []
    if request is not None:
        messages += _request(obj[request], request, limit)
        models.append(obj[request])
    if response is not None:
        body, path = _body(obj, response)
        messages += _reply(body, path, limit)
        models.append(body)
    elif failed:
        messages.append(Message("assistant", "", "error"))
    id_key = next((key for key in ("custom_id", "id") if obj.get(key) is not None), None)
    metadata = {key: value for key, value in obj.items() if key not in (request, response, id_key)}
    for found in reversed(models):
        if isinstance(found, dict) and isinstance(found.get("model"), str):
            metadata.setdefault("model", found["model"])
    given = default_id if id_key is None else identifier(obj[id_key])
    return Found(given, messages, metadata, response or request or "")


def _is_request(value: Any) -> bool:
    if isinstance(value, list):
        return bool(value) and isinstance(value[0], dict) and ("role" in value[0] or "type" in value[0])
    return isinstance(value, dict) and ("messages" in value or "input" in value)


def _request(value: Any, path: str, limit: int) -> list[Message]:
    if isinstance(value, dict) and "messages" in value:
        return read_messages(value["messages"], f"{path}.messages", limit, need_reply=False)
    messages: list[Message] = []
    if isinstance(value, dict):
        if value.get("instructions") is not None:
            messages.append(_checked("system", value["instructions"], f"{path}.instructions", limit))
        value, path = value["input"], f"{path}.input"
    if isinstance(value, str):
        return [*messages, _checked("user", value, path, limit)]
    if not isinstance(value, list):
        raise Problem(path, f"found {shown(value)}; expected text or a list of messages")
    return messages + _items(value, path, limit)


def _body(obj: dict[str, Any], key: str) -> tuple[Any, str]:
    """The completion and its path."""
    if key != "response":  # a list stands beside what tells how the reply ended
        return (obj, "") if isinstance(obj[key], list) else (obj[key], key)
    response = obj["response"]
    if isinstance(response, dict) and "body" in response:
        return response["body"], "response.body"
    return response, "response"


def _reply(body: Any, path: str, limit: int) -> list[Message]:
    if isinstance(body, str):
        return [_checked("assistant", body, path, limit)]
    if not isinstance(body, dict):
        raise Problem(path, f"found {shown(body)}; expected a completion (an object)")
    if "choices" in body:
        return [_choice(body["choices"], join(path, "choices"), limit)]
    if isinstance(body.get("output"), list):
        messages = _items(body["output"], join(path, "output"), limit)
        details = body.get("incomplete_details")
        reason = details.get("reason") if isinstance(details, dict) else None
        finish: Finish | None = _INCOMPLETE.get(reason) if isinstance(reason, str) else None
        if body.get("status") == "failed":
            finish = "error"
        last = messages[-1] if messages else None
        if last is None or last.role != "assistant":
            return [*messages, Message("assistant", "", finish)]
        return [*messages[:-1], Message("assistant", last.content, finish or last.finish)]
    if body.get("error") is not None:
        return [Message("assistant", "", "error")]
    if "role" in body:
        return [_under(body, path, limit)]
    raise Problem(path, "found neither choices, output nor error; expected a completion of an OpenAI-style API")


def _choice(choices: Any, path: str, limit: int) -> Message:
    if not isinstance(choices, list) or len(choices) != 1:
        found = f"{len(choices):,} of them" if isinstance(choices, list) else shown(choices)
        raise Problem(path, f"found {found}; expected a list of one, so write one record for each reply")
    choice = choices[0]
    if not isinstance(choice, dict) or not isinstance(choice.get("message"), dict):
        raise Problem(f"{path}[0]", f"found {shown(choice)}; expected an object with a message")
    message = _under({"role": "assistant", **choice["message"]}, f"{path}[0].message", limit)
    try:
        finish = read_finish(choice.get("finish_reason"))
    except Problem as problem:
        raise problem.under(f"{path}[0]") from None
    return Message(message.role, message.content, finish or message.finish)


def _items(items: list[Any], path: str, limit: int) -> list[Message]:
    """Messages and the other items of a Responses request or response; what a model thought is left out."""
    messages = []
    for index, item in enumerate(items):
        place = f"{path}[{index}]"
        if not isinstance(item, dict):
            raise Problem(place, f"found {shown(item)}; expected an object")
        kind = item.get("type", "message")
        if kind == "message":
            messages.append(_under(item, place, limit))
        elif kind in ("function_call", "custom_tool_call"):
            messages.append(_checked("assistant", call_line(item, place), place, limit))
        elif kind in ("function_call_output", "custom_tool_call_output"):
            output = item.get("output")
            text = output if isinstance(output, str) else message_text({"content": output})
            messages.append(_checked("tool", text, f"{place}.output", limit))
        elif kind == "reasoning":
            continue
        elif isinstance(kind, str) and 0 < len(kind) <= 64 and kind.isprintable():
            messages.append(Message("tool" if kind.endswith("_output") else "assistant", f"[{kind}]"))
        else:
            raise Problem(f"{place}.type", f"found {shown(kind)}; expected a short name such as message")
    return messages


def _under(message: dict[str, Any], path: str, limit: int) -> Message:
    try:
        return read_message(message, limit)
    except Problem as problem:
        raise problem.under(path) from None


def _checked(role: Any, text: Any, path: str, limit: int) -> Message:
    if not isinstance(text, str):
        raise Problem(path, f"found {shown(text)}; expected text")
    return Message(role, check_text(text, path, limit))
