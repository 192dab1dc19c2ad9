"""The body of a chat completion, as endpoints really send it."""

from __future__ import annotations

from typing import Any

import orjson

from psysafe.models.base import Reply, ReplyFinish, Usage

_FINISH: dict[str | None, ReplyFinish] = {
    "length": "length",
    "max_tokens": "length",
    "content_filter": "content_filter",
    "refusal": "refusal",
}


class ErrorInside(Exception):
    """A 200 whose body holds an error, as routers send it when the provider behind them fails.

    Attributes:
        error: what stands there. status: the HTTP status it names, or 502.
    """

    def __init__(self, error: object) -> None:
        super().__init__("an error inside a 200")
        code = error.get("code") if isinstance(error, dict) else None
        self.error = error
        self.status = code if isinstance(code, int) and 400 <= code < 600 else 502


def read_completion(data: bytes, latency: float) -> Reply:
    """The reply in a 200 body.

    Raises:
        ErrorInside: the body holds an error instead. ValueError: it is no chat completion.
    """
    try:
        body = orjson.loads(data)
        if body.get("error") and not body.get("choices"):
            raise ErrorInside(body["error"])
        choice = body["choices"][0]
        message = choice["message"]
        content = message.get("content")
        refusal = message.get("refusal")
        if choice.get("finish_reason") == "error":
            raise ErrorInside(choice.get("error"))
        finish = _FINISH.get(choice.get("finish_reason"), "stop")
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise ValueError("not a chat completion") from error
    if isinstance(content, list):  # some servers answer in parts
        texts = [part.get("text") for part in content if isinstance(part, dict)]
        content = "".join(text for text in texts if isinstance(text, str))
    if not content and isinstance(refusal, str) and refusal:
        content, finish = refusal, "refusal"
    return Reply(
        text=content if isinstance(content, str) else "",
        finish=finish,
        usage=_usage(body.get("usage")),
        latency=latency,
        logprobs=_logprobs(choice.get("logprobs")),
        model=_text(body.get("model")),
        fingerprint=_text(body.get("system_fingerprint")),
    )


def _usage(usage: object) -> Usage | None:
    if not isinstance(usage, dict):
        return None
    prompt, completion = usage.get("prompt_tokens"), usage.get("completion_tokens")
    if not isinstance(prompt, int) or not isinstance(completion, int) or prompt < 0 or completion < 0:
        return None
    return Usage(prompt, completion)


def _logprobs(logprobs: object) -> list[dict[str, Any]] | None:
    tokens = logprobs.get("content") if isinstance(logprobs, dict) else None
    if not isinstance(tokens, list) or not all(isinstance(token, dict) for token in tokens):
        return None
    return tokens


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
