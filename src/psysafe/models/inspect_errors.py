"""What Inspect and the provider packages below it raise, as errors of ours."""

from __future__ import annotations

import re
from collections.abc import Mapping

from psysafe.errors import UsageError
from psysafe.models.base import ErrorKind, ModelError
from psysafe.models.http_errors import error_from_response, scrub

_MARKUP = re.compile(r"\[/?[a-z ]+\]")
_PIP = re.compile(r"pip install (?:--upgrade )?([^\n]+)")
_TIMEOUT = re.compile(r"timed? ?out", re.I)


def prerequisite(name: str, error: Exception) -> UsageError:
    """A provider that cannot be used here: its package or its key is missing."""
    said = _MARKUP.sub("", str(getattr(error, "message", error)))
    if pip := _PIP.search(said):
        return UsageError(f"{name}: {said.partition('.')[0].removeprefix('ERROR: ')}: {pip.group().strip()}")
    return UsageError(f"{name}: {' '.join(said.split()).removeprefix('ERROR: ')} (set it and run again)")


def model_error(name: str, error: BaseException, key: str | None) -> ModelError:
    """The error of one request.

    Args:
        error: what ``Model.generate`` raised. Inspect wraps what it would have tried again.
        key: never shown.
    """
    from tenacity import RetryError

    again = isinstance(error, RetryError)
    if isinstance(error, RetryError):
        error = error.last_attempt.exception() or error
    while error.__cause__ is not None and _status(error) is None:
        error = error.__cause__
    # Inspect's own error repeats the whole request, so its provider_message stands for it.
    said = str(getattr(error, "provider_message", None) or error)
    status = _status(error)
    if status is not None and status >= 400:
        found = error_from_response(status, _headers(error), said.encode("utf-8", "replace"), key, name)
        kind, retryable, retry_after = found.kind, found.retryable, found.retry_after
    else:
        kind, retryable, retry_after = _kind(error, said), again, None
    brief = f"{name}: {_words(kind)} ({f'HTTP {status}' if status else type(error).__name__})"
    result = ModelError(
        kind,
        f"{brief}: {scrub(said, key)}",
        retryable=retryable or again or kind == "timeout",
        retry_after=retry_after,
        status=status,
    )
    result.brief = brief
    return result


def _kind(error: BaseException, said: str) -> ErrorKind:
    if isinstance(error, TimeoutError) or "Timeout" in type(error).__name__ or _TIMEOUT.search(said[:100]):
        return "timeout"
    return "endpoint_error"


def _words(kind: ErrorKind) -> str:
    match kind:
        case "auth":
            return "the provider refused the key or its quota is used up"
        case "not_found":
            return "the provider has no such model"
        case "blocked":
            return "a content filter refused the input"
        case "rate_limited":
            return "too many requests"
        case "bad_request":
            return "the provider does not take this request"
        case "timeout":
            return "no answer in time"
        case "endpoint_error":
            return "the provider failed"


def _status(error: BaseException) -> int | None:
    response = getattr(error, "response", None)
    for value in (
        getattr(error, "status_code", None),
        getattr(error, "code", None),
        getattr(response, "status_code", None),
        _botocore(response),
    ):
        if isinstance(value, int) and not isinstance(value, bool):
            return value
    return None


def _botocore(response: object) -> object:
    """The status in an error of the AWS packages, which keep a dict there."""
    metadata = response.get("ResponseMetadata") if isinstance(response, dict) else None
    return metadata.get("HTTPStatusCode") if isinstance(metadata, dict) else None


def _headers(error: BaseException) -> Mapping[str, str]:
    headers = getattr(getattr(error, "response", None), "headers", None)
    return headers if isinstance(headers, Mapping) else {}
