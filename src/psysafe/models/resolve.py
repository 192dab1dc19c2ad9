"""From a model string to a model."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from psysafe.errors import UsageError
from psysafe.models.base import ManagedModel, Price
from psysafe.models.hosts import is_loopback
from psysafe.models.limits import Limits
from psysafe.models.openai_compatible import Endpoint, OpenAICompatible


@dataclass(frozen=True, slots=True)
class Provider:
    """A service that speaks the OpenAI protocol.

    Attributes:
        base_url: where. url_name: environment variable that overrides it, or None.
        key_name: environment variable that holds its key, or None where it needs none.
        prices: its id in genai-prices, or None.
    """

    base_url: str
    key_name: str | None = None
    url_name: str | None = None
    prices: str | None = None


PROVIDERS: dict[str, Provider] = {
    "openai": Provider("https://api.openai.com/v1", "OPENAI_API_KEY", prices="openai"),
    "openrouter": Provider("https://openrouter.ai/api/v1", "OPENROUTER_API_KEY", prices="openrouter"),
    "deepseek": Provider("https://api.deepseek.com/v1", "DEEPSEEK_API_KEY", prices="deepseek"),
    "groq": Provider("https://api.groq.com/openai/v1", "GROQ_API_KEY", prices="groq"),
    "mistral": Provider("https://api.mistral.ai/v1", "MISTRAL_API_KEY", prices="mistral"),
    "together": Provider("https://api.together.xyz/v1", "TOGETHER_API_KEY", prices="together"),
    "ollama": Provider("http://127.0.0.1:11434/v1", url_name="OLLAMA_BASE_URL"),
    "vllm": Provider("http://127.0.0.1:8000/v1", url_name="VLLM_BASE_URL"),
    "lmstudio": Provider("http://127.0.0.1:1234/v1", url_name="LMSTUDIO_BASE_URL"),
}

KEY_NAME = "PSYSAFE_API_KEY"
KEY_HOST_NAME = "PSYSAFE_API_KEY_HOST"

FORMS = (
    *(f"{name}/MODEL" for name in PROVIDERS),
    "http(s)://HOST/v1#MODEL",
    "scripted:FILE.yaml",
    "inspect:PROVIDER/NAME",
    "http:FILE.yaml",
    "python:MODULE:CALLABLE",
    "local",
)


def load_model(
    name: str,
    limits: Limits | None = None,
    *,
    price: Price | None = None,
    environment: Mapping[str, str] | None = None,
    need_key: bool = True,
    also: Sequence[str] = (),
) -> ManagedModel:
    """The model that a string names.

    Args:
        name: ``PROVIDER/MODEL`` (see ``PROVIDERS``), a base URL with ``#MODEL`` (without it, the endpoint is
            asked and must serve exactly one), ``scripted:FILE.yaml``, ``inspect:PROVIDER/NAME``, ``http:FILE.yaml``
            or ``python:MODULE:CALLABLE``.
        limits: bounds for its endpoint.
        price: overrides what genai-prices knows.
        environment: where keys and base URLs are read from; the process's by default.
        need_key: whether a missing key is an error; False for a model that will not be asked.
        also: further forms that the caller takes, for the error about an unknown one.

    Raises:
        UsageError: an unknown form, a missing key; says what to set.
    """
    environment = os.environ if environment is None else environment
    if name in ("local", "local-tiny"):
        from psysafe.models.local import LocalModel

        local = LocalModel(name, limits, environment=environment)
        if need_key:
            local.check()
        return local
    if name.startswith("inspect:"):
        from psysafe.models.inspect_model import load_inspect

        return load_inspect(name, limits, price, need_key)
    if name.startswith("python:"):
        from psysafe.models.callable_loading import load_callable

        return load_callable(name, limits, price)
    if name.startswith("http:") and not name.startswith("http://"):
        from psysafe.models.http_target import load_http

        return load_http(name, limits, price, environment, need_key)
    if name.startswith("scripted:"):
        from psysafe.models.scripted import load_scripted

        return load_scripted(Path(name.removeprefix("scripted:")), limits, price)
    if name.startswith(("http://", "https://")):
        url, _, model = name.partition("#")
        endpoint = _endpoint(url, model or None, _key(environment, KEY_NAME), KEY_NAME)
        bound = environment.get(KEY_HOST_NAME, "").strip().lower()
        if endpoint.key and bound and bound not in (endpoint.host, endpoint.host.rsplit(":", 1)[0]):
            raise UsageError(
                f"{name}: {KEY_NAME} is bound to {bound} by {KEY_HOST_NAME} and is not sent to {endpoint.host}"
            )
        return OpenAICompatible(name, endpoint, limits, price)
    provider_name, slash, model = name.partition("/")
    provider = PROVIDERS.get(provider_name)
    if provider is None or not slash or not model:
        raise UsageError(f"unknown model {name!r}; expected one of: {', '.join((*also, *FORMS))}")
    key = _key(environment, provider.key_name) if provider.key_name else None
    if provider.key_name and not key and need_key:
        raise UsageError(f"{name}: no key; set the environment variable {provider.key_name}")
    url = (provider.url_name and environment.get(provider.url_name)) or provider.base_url
    if price is None and provider.prices:
        from psysafe.models.prices import price_of

        price = price_of(provider.prices, model)
    return OpenAICompatible(name, _endpoint(url, model, key, provider.key_name), limits, price)


def check_key_hosts(models: list[ManagedModel], environment: Mapping[str, str] | None = None) -> None:
    """One ``PSYSAFE_API_KEY`` must not go to two hosts.

    Raises:
        UsageError: it would; names the hosts and the variable that binds the key.
    """
    environment = os.environ if environment is None else environment
    hosts = {
        model.endpoint.host
        for model in models
        if isinstance(model, OpenAICompatible) and model.endpoint.key and model.endpoint.key_name == KEY_NAME
    }
    if len(hosts) > 1 and not environment.get(KEY_HOST_NAME):
        raise UsageError(
            f"{KEY_NAME} would be sent to several hosts ({', '.join(sorted(hosts))}); "
            f"name the one it belongs to in {KEY_HOST_NAME}"
        )


def _key(environment: Mapping[str, str], name: str) -> str | None:
    key = environment.get(name, "").strip()  # files and secret stores like to add a line end
    if not key.isprintable():
        raise UsageError(f"{name} holds a line end or another character that no key has; set it anew")
    return key or None


def _endpoint(url: str, model: str | None, key: str | None, key_name: str | None) -> Endpoint:
    if "@" in url:  # before anything that would repeat it
        raise UsageError(
            f"the URL of {re.split('[/?]', url.rpartition('@')[2])[0]} holds a user name or password, which would end "
            f"up in shell histories and runs; put the key into {KEY_NAME} instead"
        )
    shown, like = url.partition("?")[0], "expected something like http://127.0.0.1:8000/v1#MODEL"
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise UsageError(f"{shown!r} is not a URL: {error}; {like}") from error
    if not parts.hostname:
        raise UsageError(f"{shown!r} names no host; {like}")
    if parts.query:
        raise UsageError(f"{parts.scheme}://{parts.netloc}{parts.path}: a base URL has no query part")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    base = parts._replace(fragment="").geturl().rstrip("/").removesuffix("/chat/completions")
    return Endpoint(
        base_url=base,
        host=f"{host}:{port}" if port else host,
        loopback=is_loopback(parts.hostname),
        model=model,
        key=key,
        key_name=key_name if key else None,
    )
