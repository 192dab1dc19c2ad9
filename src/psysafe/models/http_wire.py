"""Requests to a bot's API: one attempt each, bounded in time and size, with every failure named."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import orjson
from multidict import CIMultiDict

from psysafe.models.base import ModelError
from psysafe.models.http_bot import Bot, Request
from psysafe.models.http_errors import connection_problem, error_from_response, scrub
from psysafe.models.http_template import fill, fill_url, with_variables

if TYPE_CHECKING:
    import aiohttp

_LARGEST_ANSWER = 16 * 2**20


class Prepared:
    """A request with what the environment adds. No repr shows it."""

    def __init__(self, bot: Bot, request: Request, environment: Mapping[str, str]) -> None:
        def value(variable: str) -> str:
            return environment.get(variable, "").strip()  # files and secret stores like to add a line end

        headers = request.headers
        if headers is None:  # what is meant for one host goes to no other
            headers = bot.headers if _origin(request.url) == _origin(bot.url) else {}
        self.method = request.method
        self.url = request.url
        self.headers: dict[str, str] = with_variables(headers or {}, value)
        self.body = with_variables(request.body, value)


def _origin(url: str) -> tuple[str, str]:
    parts = urlsplit(url)
    return parts.scheme, parts.netloc.lower()


class NotReceived(ModelError):
    """The bot has certainly not taken the request in, so it may be sent again even into a session."""


class Wire:
    """The connection to a bot.

    Args:
        name: of the model, for errors. host: for people.
        secrets: never shown.
        lasting: whether connections are used again. A connection that the bot has closed meanwhile looks like a lost
            message, so sessions have a new one for each message.
    """

    def __init__(self, name: str, host: str, secrets: Iterable[str], *, lasting: bool) -> None:
        import aiohttp

        self.name = name
        self.host = host
        # The longest first: one may contain another.
        self._secrets = sorted({secret for secret in secrets if secret}, key=len, reverse=True)
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, force_close=not lasting),
            cookie_jar=aiohttp.DummyCookieJar(),  # a shared one would mix the sessions of a bot that uses cookies
            headers={"User-Agent": "psysafe", "Accept": "application/json", "Accept-Encoding": "identity"},
            auto_decompress=False,  # a few compressed bytes may unpack to gigabytes
        )

    async def close(self) -> None:
        """Close the connections."""
        await self._session.close()

    async def send(self, request: Prepared, values: Mapping[str, Any], seconds: float) -> bytes:
        """The body of a 2xx answer; ``values`` stand for the placeholders.

        Raises:
            NotReceived, ModelError: anything else.
        """
        import aiohttp

        url = fill_url(request.url, values)
        filled = {name: str(fill(value, values) or "") for name, value in request.headers.items()}
        body = None
        if request.body is not None:
            body = orjson.dumps(fill(request.body, values))
            filled.setdefault("Content-Type", "application/json")
        try:
            async with self._session.request(
                request.method,
                url,
                data=body,
                headers=filled,
                timeout=aiohttp.ClientTimeout(total=seconds),
                allow_redirects=False,  # the headers belong to this host
            ) as response:
                data = await self._body_of(response)
                if 200 <= response.status < 300:
                    return data
                raise self._refusal(response.status, response.headers, data)
        except TimeoutError as error:
            raise ModelError(
                "timeout", f"{self.name}: {self.host} gave no complete answer within {seconds:.1f} s", retryable=True
            ) from error
        except aiohttp.ClientConnectorError as error:
            reason = self.clean(connection_problem(error))
            raise NotReceived(
                "endpoint_error",
                f"{self.name}: cannot reach {self.host}: {reason}; is it running, and is the address right?",
                retryable=True,
            ) from error
        except (aiohttp.ClientError, OSError, ValueError) as error:
            detail = self.clean(str(error) or type(error).__name__)
            raise ModelError(
                "endpoint_error", f"{self.name}: the connection to {self.host} broke: {detail}", retryable=True
            ) from None  # the original may quote headers

    def clean(self, text: str) -> str:
        """Text as one short line without secrets."""
        for secret in self._secrets:
            text = text.replace(secret, "[key]")
        return scrub(text, None)

    def _refusal(self, status: int, headers: Mapping[str, str], data: bytes) -> ModelError:
        for secret in self._secrets:
            data = data.replace(secret.encode(), b"[key]")
        shown = CIMultiDict(headers)
        if "Location" in shown:
            shown["Location"] = self.clean(shown["Location"])
        told = error_from_response(status, shown, data, None, self.name)
        if status in (401, 403) and told.kind == "auth":
            told = ModelError("auth", f"{self.name}: the bot refused the key ({status}); see headers in its file")
        elif status in (404, 405, 410):
            told = ModelError("not_found", f"{self.name}: no such path ({status}); see url and method in its file")
        told.status = status
        if status in (429, 503) and told.retryable:
            brief = told.brief
            told = NotReceived(told.kind, str(told), retryable=True, retry_after=told.retry_after, status=status)
            told.brief = brief
        return told

    async def _body_of(self, response: aiohttp.ClientResponse) -> bytes:
        if response.headers.get("Content-Encoding", "identity").lower() not in ("identity", ""):
            raise ModelError("endpoint_error", f"{self.name}: {self.host} compressed its answer, unasked")
        body = bytearray()
        while block := await response.content.read(2**20):
            body += block
            if len(body) > _LARGEST_ANSWER:
                raise ModelError("endpoint_error", f"{self.name}: the answer has more than {_LARGEST_ANSWER >> 20} MB")
        return bytes(body)
