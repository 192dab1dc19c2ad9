"""Any provider that Inspect knows, as a model of ours: ``inspect:PROVIDER/MODEL``."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence, Set
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from psysafe.conversation import Message
from psysafe.errors import UsageError
from psysafe.models.base import ModelError, ModelInfo, Price, Reply, Sampling
from psysafe.models.hosts import host_of
from psysafe.models.inspect_wire import IGNORED, Part, optional_parts, to_config, to_message, to_reply, to_schema
from psysafe.models.limits import Gate, Limits
from psysafe.models.openai_compatible import estimate_tokens
from psysafe.models.retries import call_with_retries

if TYPE_CHECKING:
    from inspect_ai.model import Model

# They compute in this process, or make up their answers: no text goes anywhere.
_IN_PROCESS = frozenset({"hf", "mockllm", "nnterp", "transformer_lens"})
# Making one loads weights or starts a server, so it is not done before it is needed.
_HEAVY = frozenset({"hf", "nnterp", "sglang", "transformer_lens", "vllm", "vllm-completions"})
_PRICES = {"google": "google", "anthropic": "anthropic", "openai": "openai", "mistral": "mistral", "groq": "groq"}
_PRICES |= {"deepseek": "deepseek", "openrouter": "openrouter", "together": "together", "grok": "x-ai"}
_EXTRA = "needs Inspect: pip install 'psysafe[inspect]'"


class InspectModel:
    """A model that Inspect reaches, asked outside of any evaluation: nothing is logged or cached by Inspect.

    Args:
        name: as ``inspect:anthropic/claude-...``.
        limits: bounds; retries are ours, Inspect makes none.
        price: None leaves the cost unknown.
        model: an Inspect model to use as it is, instead of the one that ``name`` stands for. It stays its owner's
            to close.
    """

    def __init__(
        self, name: str, limits: Limits | None = None, price: Price | None = None, model: Model | None = None
    ) -> None:
        self.name = name
        self.model_name = name.removeprefix("inspect:")
        self.provider = self.model_name.partition("/")[0]
        self.limits = limits or Limits()
        self.gate = Gate(self.limits)
        self.served: set[str] = set()
        self.not_sent: set[Part] = set()
        self._refused: set[Part] = set()
        self._price = price
        self._given = model
        self._model = model
        self._base_url = _shown_url(model)

    @property
    def info(self) -> ModelInfo:
        """What is known about it now. Unless its address is known, its provider stands for the host."""
        import inspect_ai

        host: str | None = self.provider
        loopback = self.provider in _IN_PROCESS
        if loopback:
            host = None
        elif self._base_url:
            host, loopback = host_of(self._base_url)
        return ModelInfo(
            name=self.name,
            identity=f"inspect {self._base_url or self.provider}",
            host=host,
            loopback=loopback,
            price=self._price,
            details={
                "model": self.model_name,
                "base_url": self._base_url,
                "inspect_ai": inspect_ai.__version__,
                "served": sorted(self.served),
                "not_sent": sorted(self.not_sent),
            },
        )

    async def open(self) -> None:
        """Make Inspect's model.

        Raises:
            UsageError: the provider's package or key is missing, or Inspect knows no such provider.
        """
        self.connect()

    def connect(self) -> None:
        """``open`` for callers without a loop; nothing is sent."""
        if self._model is not None:
            return
        from inspect_ai.model import get_model

        from psysafe.models.inspect_errors import prerequisite

        try:
            # Inspect's own cache of models would share one between loops.
            self._model = get_model(self.model_name, memoize=False)
        except Exception as error:  # providers raise whatever their packages raise
            raise prerequisite(self.name, error) from error
        self._base_url = _shown_url(self._model)

    async def close(self) -> None:
        """Let go of the provider's connections."""
        model, self._model = self._model, self._given
        if model is not None and model is not self._given:
            await model.api.aclose()

    def stop(self) -> None:
        """Send nothing more."""
        self.gate.stop()

    async def generate(self, messages: Sequence[Message], config: Sampling) -> Reply:
        """One reply, with retries as ``limits`` says.

        Raises:
            ModelError: see ``ErrorKind``. UsageError: as ``open``.
        """
        self.connect()

        async def attempt(number: int, seconds: float) -> Reply:
            return await self._attempt(messages, config, seconds)

        return await call_with_retries(attempt, self.gate, estimate_tokens(messages) + config.max_tokens)

    async def _attempt(self, messages: Sequence[Message], config: Sampling, seconds: float) -> Reply:
        """One attempt; a schema that the provider does not take is left out from then on."""
        started = time.monotonic()
        asked = optional_parts(config)
        parts = asked - IGNORED.get(self.provider, frozenset()) - self._refused
        if config.schema is not None and to_schema(config.schema.json) is None:
            parts.discard("schema")
        self.not_sent |= asked - parts
        try:
            return await self._ask(messages, config, parts, seconds)
        except ModelError as error:
            if error.kind != "bad_request" or "schema" not in parts:
                raise
            seconds = max(0.001, seconds - (time.monotonic() - started))
            try:
                reply = await self._ask(messages, config, parts - {"schema"}, seconds)
            except ModelError:
                raise error from None  # it was not the schema
            self._refused.add("schema")
            self.not_sent.add("schema")
            return reply

    async def _ask(self, messages: Sequence[Message], config: Sampling, parts: Set[Part], seconds: float) -> Reply:
        from psysafe.models.inspect_errors import model_error

        model = self._model
        if model is None:
            raise ModelError("endpoint_error", f"{self.name}: the connection was closed")
        started = time.monotonic()
        sent = [to_message(message) for message in messages]
        settings = to_config(config, parts, seconds, self.limits.concurrency)
        # In a task of its own: Inspect records every call in its context's transcript, which would grow for ever.
        call = asyncio.create_task(model.generate(sent, config=settings, cache=False))
        try:
            async with asyncio.timeout(seconds) as bound:
                output = await call
        except TimeoutError as error:
            if not bound.expired():
                raise model_error(self.name, error, model.api.api_key) from error
            raise ModelError(
                "timeout", f"{self.name}: no complete answer within {seconds:.1f} s", retryable=True
            ) from error
        except Exception as error:  # whatever the provider's package raises
            raise model_error(self.name, error, model.api.api_key) from error
        finally:
            call.cancel()
        if output.empty:
            raise ModelError("endpoint_error", f"{self.name}: the provider answered without a reply", retryable=True)
        if output.model:
            self.served.add(output.model)
        return to_reply(output, time.monotonic() - started)


def load_inspect(
    name: str, limits: Limits | None = None, price: Price | None = None, need_key: bool = True
) -> InspectModel:
    """The model of ``inspect:PROVIDER/MODEL``.

    Args:
        need_key: whether a missing key or package is an error; False for a model that will not be asked.

    Raises:
        UsageError: Inspect or the provider's package is not installed, a key is missing, or the form is wrong.
    """
    provider, slash, model = name.removeprefix("inspect:").partition("/")
    # "none" and an empty name would make Inspect look for a model elsewhere.
    if not slash or not provider or not model or provider == "none":
        raise UsageError(f"{name}: expected inspect:PROVIDER/MODEL, such as inspect:anthropic/claude-sonnet-4-5")
    try:
        import inspect_ai  # noqa: F401
    except ImportError as error:
        raise UsageError(f"{name} {_EXTRA}") from error
    if price is None and provider in _PRICES:
        from psysafe.models.prices import price_of

        price = price_of(_PRICES[provider], model)
    found = InspectModel(name, limits, price)
    if need_key and provider not in _HEAVY:
        found.connect()
    return found


def _shown_url(model: Model | None) -> str | None:
    """Its base URL without what may be secret in it, or None where the provider's own is used."""
    url = getattr(getattr(model, "api", None), "base_url", None)
    if not isinstance(url, str):
        return None
    try:
        parts = urlsplit(url)
        if not parts.hostname:
            return None
        return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="").geturl()
    except ValueError:
        return None
