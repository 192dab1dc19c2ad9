"""The file behind ``http:bot.yaml``: how to talk with a bot over its own HTTP API. docs/models.md describes it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self
from urllib.parse import parse_qsl, urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from psysafe.errors import UsageError
from psysafe.models.http_errors import scrub
from psysafe.models.http_template import NAMES, is_whole, parse_path, placeholders, strings_in, variables

_SECRET_NAME = re.compile(
    r"authorization|cookie|api[-_]?key|secret|passw|credential|(?:access|auth|bearer|session)[-_]?token|^token$", re.I
)
_ADVICE = "put it into an environment variable and write ${NAME} here"
_NONE: frozenset[str] = frozenset()


def _checked_path(path: str) -> str:
    parse_path(path)
    return path


_Path = Annotated[str, AfterValidator(_checked_path)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Request(_Strict):
    """One kind of request. ``headers`` None: those of the bot, if the URL has the same origin."""

    url: str
    method: Literal["GET", "POST", "PUT", "PATCH", "DELETE"] = "POST"
    headers: dict[str, str] | None = None
    body: Any = None

    def places(self) -> list[tuple[str, str]]:
        """Its texts with the names of their fields, the URL apart."""
        headers = [(f"headers.{name}", value) for name, value in (self.headers or {}).items()]
        return headers + [(f"body{path}", text) for path, text in strings_in(self.body)]


class Start(Request):
    """Begins a session. ``id``: where the answer names it."""

    id: _Path


class SessionRules(_Strict):
    """Where a session's id comes from: exactly one of ``start``, ``field`` (a path of each reply) and ``generate``.

    ``reset`` is sent when the conversation is over. At most ``max_open`` sessions are kept.
    """

    start: Start | None = None
    field: _Path | None = None
    generate: bool = False
    reset: Request | None = None
    max_open: Annotated[int, Field(ge=1)] = 1000

    @model_validator(mode="after")
    def _one(self) -> Self:
        if sum((self.start is not None, self.field is not None, self.generate)) != 1:
            raise ValueError("expected exactly one of start, field and generate: true")
        return self


class Finish(_Strict):
    """Why a reply ended: the values at ``path`` that mean it was cut, withheld or a refusal."""

    path: _Path
    length: list[str] = []
    content_filter: list[str] = []
    refusal: list[str] = []


class Bot(Request):
    """The whole file."""

    name: Annotated[str, Field(pattern=r"^[\w.-]{1,64}$")] | None = None
    method: Literal["POST", "PATCH"] = "POST"  # the others are sent a second time by HTTP clients, unasked
    headers: dict[str, str] | None = {}
    body: Any
    reply: _Path
    finish: Finish | None = None
    error: _Path | None = None
    session: SessionRules | None = None
    timeout: Annotated[float, Field(gt=0)] | None = None

    def requests(self) -> list[tuple[str, Request, frozenset[str]]]:
        """Its requests with what their fields' names begin with, and the placeholders that they may hold."""
        found: list[tuple[str, Request, frozenset[str]]] = [("", self, NAMES)]
        if self.session is not None and self.session.start is not None:
            found.append(("session.start.", self.session.start, frozenset({"system"})))
        if self.session is not None and self.session.reset is not None:
            found.append(("session.reset.", self.session.reset, frozenset({"session"})))
        return found

    def used(self) -> set[str]:
        """The placeholders in the request that carries a message and in the start of a session."""
        texts = [self.url, *(text for _, text in self.places())]
        if self.session is not None and self.session.start is not None:
            texts += [text for _, text in self.session.start.places()]
        return {name for text in texts for name in placeholders(text)}


def load_bot(path: Path) -> tuple[Bot, bytes]:
    """The checked file and its bytes.

    Raises:
        UsageError: no such file, or not such a description; names file and field.
    """
    from psysafe.strict_yaml import load_yaml

    try:
        data = path.read_bytes()
        bot = Bot.model_validate(load_yaml(data, str(path)))
    except OSError as error:
        raise UsageError(f"http:{path}: {error.strerror or error}") from error
    except ValidationError as error:
        first = error.errors(include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"]) or "file"
        raise UsageError(f"{path}: {where}: {first['msg'].removeprefix('Value error, ')}; see docs/models.md") from None
    for prefix, request, allowed in bot.requests():
        _check_request(path, prefix, request, allowed)
    _check_use(path, bot)
    return bot, data


def _check_request(path: Path, prefix: str, request: Request, allowed: frozenset[str]) -> None:
    _check_url(f"{path}: {prefix}url", request.url, allowed & {"session"})
    for name, value in request.places():
        where = f"{path}: {prefix}{name}"
        in_header = name.startswith("headers.")
        last = re.split(r"[.\[]", name)[-1] if not in_header else name.removeprefix("headers.")
        if not variables(value) and "{{" not in value and (_SECRET_NAME.search(last) or "[key]" in scrub(value, None)):
            raise UsageError(f"{where}: looks like a secret, which a file must not hold; {_ADVICE}")
        try:
            placeholders(value, allowed & {"session"} if in_header else allowed)
        except ValueError as error:
            raise UsageError(f"{where}: {error}") from None
        if in_header and ("\n" in value or "\r" in value):
            raise UsageError(f"{where}: holds a line end; expected one line")


def _check_url(where: str, url: str, allowed: frozenset[str]) -> None:
    if "@" in url.partition("?")[0] or variables(url):  # before anything that would repeat it
        raise UsageError(f"{where}: holds a user name, password or variable; send it in a header, as ${{NAME}}")
    try:
        parts = urlsplit(url)
        names = placeholders(url, allowed)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.port == 0:
            raise ValueError("expected something like https://bot.example/api/chat")
    except ValueError as error:
        raise UsageError(f"{where}: {error}") from None
    if names and "{{" in f"{parts.scheme}{parts.netloc}":
        raise UsageError(f"{where}: the host cannot be a placeholder; expected one in the path or query")
    if any(_SECRET_NAME.search(name) and "{{" not in value for name, value in parse_qsl(parts.query)):
        raise UsageError(f"{where}: its query looks like it holds a secret; send it in a header, as ${{NAME}}")


def _check_use(path: Path, bot: Bot) -> None:
    used = bot.used()
    if not used & {"message", "messages"}:
        raise UsageError(f"{path}: body: never holds what the user says; expected {{{{message}}}} or {{{{messages}}}}")
    carries = "session" in {name for text in (bot.url, *(t for _, t in bot.places())) for name in placeholders(text)}
    if bot.session is None and carries:
        raise UsageError(f"{path}: {{{{session}}}} is used; expected a part session that says where its id comes from")
    if bot.session is not None and not carries:
        raise UsageError(f"{path}: session: its id is never sent; expected {{{{session}}}} in url, headers or body")
    if bot.session is not None and bot.session.field is not None:
        inside = [bot.url] if "{{" in bot.url else []
        inside += [text for name, text in bot.places() if name.startswith("headers.") and "{{" in text]
        inside += [text for _, text in bot.places() if "session" in placeholders(text) and not is_whole(text)]
        if inside:
            raise UsageError(
                f"{path}: session.field: the first request has no id yet, so {{{{session}}}} must be a value of its "
                "own in the body, which that request leaves out"
            )


def missing_variables(bot: Bot, environment: Mapping[str, str]) -> list[tuple[str, str]]:
    """Fields and variables that are named there but not set."""
    return [
        (prefix + name, variable)
        for prefix, request, _ in bot.requests()
        for name, value in request.places()
        for variable in variables(value)
        if not environment.get(variable, "").strip()
    ]
