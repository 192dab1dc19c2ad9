"""What an HTTP status and its body mean for a call."""

from __future__ import annotations

import email.utils
import re
import time
from collections.abc import Mapping

import orjson

from psysafe.models.base import ModelError
from psysafe.models.capabilities import named_parameter

_PATH_HINT = "a base URL ends before /chat/completions, mostly in /v1"
_KEY_HINT = "set the right key in the environment (psysafe models names the variable)"

# An endpoint may echo the key, whole or shortened, in what it says.
_LOOKS_LIKE_A_KEY = re.compile(r"\b(?:sk|pk|key|gsk|xai|hf)[-_][\w*.\-]{6,}", re.I)
_BLOCKED = re.compile(
    r"content[_ ]?(?:filter|policy|management)|responsibleai|moderation|flagged|safety (?:system|filter)"
    r"|data_inspection",
    re.I,
)
_TOO_LONG = re.compile(
    r"context[_ ](?:length|window|size)|maximum context|too many tokens|prompt is too long"
    r"|exceeds? the (?:model|available)",
    re.I,
)
_SHOWN = 300


def scrub(text: str, key: str | None) -> str:
    """``text`` as one short line without the key or anything that looks like one."""
    if key:
        text = text.replace(key, "[key]")
    text = _LOOKS_LIKE_A_KEY.sub("[key]", " ".join(text.split()))
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "..."


def error_from_response(
    status: int, headers: Mapping[str, str], body: bytes, key: str | None, name: str, *, trust_words: bool = False
) -> ModelError:
    """The error that a response other than 200 stands for.

    Args:
        trust_words: whether a 400 may name a parameter in its words alone. Only where nothing was sent that they
            might quote.
    """
    message, code, param = _read(body)
    said = f": {scrub(message, key)}" if message else ""
    parameter = named_parameter(message if trust_words else "", param)
    error = _error(status, headers, (message, code, said), parameter, key, name)
    error.brief = str(error).replace(said, "", 1) if said else str(error)
    return error


def _error(
    status: int,
    headers: Mapping[str, str],
    told: tuple[str, str, str],
    parameter: str | None,
    key: str | None,
    name: str,
) -> ModelError:
    message, code, said = told
    retry_after = _retry_after(headers)
    if status == 402 or (status == 429 and code == "insufficient_quota"):
        return ModelError("auth", f"{name}: the account's quota is used up{said}", status=status)
    if status == 429:
        return ModelError(
            "rate_limited",
            f"{name}: too many requests{said}",
            retryable=True,
            retry_after=retry_after,
            status=status,
        )
    if status in (400, 403, 422, 451) and _BLOCKED.search(f"{code} {message}"):
        return ModelError("blocked", f"{name}: a content filter refused the input{said}", status=status)
    if status in (401, 403):
        return ModelError("auth", f"{name}: the endpoint refused the key ({status}){said}; {_KEY_HINT}", status=status)
    if status == 404:
        return ModelError(
            "not_found",
            f"{name}: no such model or path (404){said}; {_PATH_HINT}",
            status=status,
        )
    if 300 <= status < 400:
        return ModelError(
            "not_found",
            f"{name}: the endpoint redirects ({status}) to {scrub(headers.get('Location', 'nowhere'), key)}; "
            "redirects are not followed, so that a key stays with its host: use that address",
            status=status,
        )
    if status in (408, 409, 425) or status >= 500:
        return ModelError(
            "endpoint_error",
            f"{name}: HTTP {status}{said}",
            retryable=True,
            retry_after=retry_after,
            status=status,
        )
    if _TOO_LONG.search(f"{code} {message}"):
        return ModelError("bad_request", f"{name}: the prompt is too long for this model{said}", status=status)
    return ModelError(
        "bad_request",
        f"{name}: HTTP {status}{said}",
        status=status,
        parameter=parameter,
    )


def _read(body: bytes) -> tuple[str, str, object]:
    """Message, code and param of an error body in any of the usual shapes."""
    try:
        data = orjson.loads(body)
    except ValueError:
        return body.decode("utf-8", "replace"), "", None
    if isinstance(data, list) and data:
        data = data[0]
    error = data.get("error") or data if isinstance(data, dict) else data
    if not isinstance(error, dict):
        return str(error), "", None
    message = error.get("message") or error.get("detail") or error.get("msg") or ""
    metadata = error.get("metadata")
    inner = f" {metadata.get('raw', '')}" if isinstance(metadata, dict) and metadata.get("raw") else ""
    if not isinstance(message, str):
        message = orjson.dumps(message).decode()
    param = error.get("param")
    if param is None and isinstance(error.get("detail"), list):  # as FastAPI words it
        places = [item.get("loc") for item in error["detail"] if isinstance(item, dict)]
        param = next((place[-1] for place in places if isinstance(place, list) and place), None)
    return message + inner, str(error.get("code") or error.get("type") or ""), param


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds of ``retry-after-ms`` or ``Retry-After`` (a number or a date)."""
    milliseconds = headers.get("retry-after-ms")
    if milliseconds:
        try:
            return max(0.0, float(milliseconds) / 1000)
        except ValueError:
            pass
    value = headers.get("Retry-After") or headers.get("retry-after")
    if not value:
        return None
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        return max(0.0, email.utils.parsedate_to_datetime(value).timestamp() - time.time())
    except ValueError:
        return None


def connection_problem(error: Exception) -> str:
    """Why no connection came about, of an aiohttp.ClientConnectorError; one about a certificate has no OS error."""
    cause = getattr(error, "_os_error", None)
    return getattr(cause, "strerror", None) or str(cause or error)
