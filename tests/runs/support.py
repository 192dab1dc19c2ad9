"""What the tests of runs share: conversations, judges that play a part, and ways to run a plan and look at it."""

from __future__ import annotations

import asyncio
import io
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import orjson
from sqlalchemy import select

from psysafe.conversation import Conversation, Message
from psysafe.judging import Judgment, Mechanism, Scope, parse_mechanism
from psysafe.models import Limits, ModelInfo, Price, Reply, Sampling, Usage
from psysafe.models.scripted import Play, Request, ScriptedModel
from psysafe.runs import EXPORTS, Execution, Plan, Store, execute
from psysafe.runs.entry import Entry
from psysafe.runs.tables import judgments
from psysafe.taxonomy import load_dimensions

# Attempts follow one another at once, and there is only one.
HASTY = Limits(concurrency=64, max_retries=0, backoff=0.0)

Script = Callable[[Request], "Play | str"]


def verdict(score: int | str, rationale: str = "because") -> str:
    """A judge's answer."""
    return orjson.dumps({"rationale": rationale, "evidence": [], "score": score}).decode()


def safe(request: Request) -> str:
    """A judge to whom everything is safe."""
    return verdict(0)


def by_number(request: Request) -> str:
    """A judge whose score is the number in the judged reply, modulo 3."""
    return verdict(number(request) % 3)


def number(request: Request) -> int:
    """The N of the reply ``Reply N.`` that a request is about."""
    text = request.prompt
    return int(text[text.index("Reply ") + 6 :].partition(".")[0])


def chat(n: int, reply: str | None = None, **metadata: Any) -> Conversation:
    """The conversation ``c000N`` with one reply, ``Reply N.``"""
    messages = (Message("user", f"Question {n}."), Message("assistant", f"Reply {n}." if reply is None else reply))
    return Conversation(f"c{n:04}", messages, metadata)


def chats(count: int) -> list[Conversation]:
    return [chat(n) for n in range(count)]


class Judge(ScriptedModel):
    """A scripted model that remembers what it was asked and how much of it at once."""

    def __init__(
        self,
        script: Script = safe,
        name: str = "scripted:judge",
        *,
        limits: Limits = HASTY,
        price: Price | None = None,
        pause: Callable[[Request], float] | None = None,
    ) -> None:
        super().__init__(script, name, limits, price)
        self.asked: Counter[str] = Counter()
        self.cost = 0.0
        self.most_at_once = 0
        self.opened = self.closed = 0
        self._now = 0
        self._pause = pause

    @property
    def calls(self) -> int:
        return sum(self.asked.values())

    async def open(self) -> None:
        self.opened += 1

    async def close(self) -> None:
        self.closed += 1

    async def generate(self, messages: Sequence[Message], config: Sampling) -> Reply:
        request = Request(messages, config, 0)
        # the nonce of a prompt is the same for the same call of the same unit
        self.asked[f"{request.prompt}|{config.sample}"] += 1
        self._now += 1
        self.most_at_once = max(self.most_at_once, self._now)
        try:
            if self._pause is not None:
                await asyncio.sleep(self._pause(request))
            reply = await super().generate(messages, config)
            if self.price is not None and reply.usage is not None:
                self.cost += self.price.cost(reply.usage)
            return reply
        finally:
            self._now -= 1


class HangingToOpen(Judge):
    """A model behind an endpoint that takes the connection and then says nothing; ``reached`` is set by then."""

    def __init__(self) -> None:
        super().__init__()
        self.reached = asyncio.Event()

    async def open(self) -> None:
        await super().open()
        self.reached.set()
        await asyncio.sleep(3600)


class Unmeasured(Judge):
    """A judge behind an endpoint that does not report its usage."""

    async def generate(self, messages: Sequence[Message], config: Sampling) -> Reply:
        return replace(await super().generate(messages, config), usage=None)

    @property
    def info(self) -> ModelInfo:
        return ModelInfo(self.name, "test", None, True, self.price, {})


def plan(
    conversations: Iterable[Conversation],
    models: ScriptedModel | Sequence[ScriptedModel],
    *,
    dimensions: Sequence[str] = ("insulting_behaviour",),
    mechanisms: Sequence[str | Mechanism] = ("single",),
    scope: Scope = "reply",
    seed: int = 0,
) -> Plan:
    """A plan over conversations in memory."""
    found = list(conversations)
    known = load_dimensions()
    per_conversation = (len(c.assistant_indices()) if scope == "turn" else 1 for c in found)
    return Plan(
        conversations=lambda: iter(found),
        source={"files": [{"name": "chats.jsonl", "sha256": "0" * 64}], "skip_bad": False},
        count=len(found),
        judged=sum(per_conversation),
        dimensions=[known[name] for name in dimensions],
        mechanisms=[parse_mechanism(spec) if isinstance(spec, str) else spec for spec in mechanisms],
        models=[models] if isinstance(models, ScriptedModel) else list(models),
        scope=scope,
        seed=seed,
    )


def carry_out(wanted: Plan, store: Store, **options: Any) -> Execution:
    """Execute; a run that does not end by itself fails the test instead of stopping all of them."""

    async def bounded() -> Execution:
        async with asyncio.timeout(60):
            return await execute(wanted, store, **options)

    return asyncio.run(bounded())


def export(store: Store, form: str = "jsonl") -> bytes:
    out = io.BytesIO()
    EXPORTS[form](store, out)
    return out.getvalue()


def lines(store: Store) -> list[dict[str, Any]]:
    """The exported judgments without what may differ between equal runs: the time they took."""
    found = [orjson.loads(line) for line in export(store).splitlines()]
    for line in found:
        del line["seconds"]
    return found


def column(store: Store, name: str) -> dict[str, Any]:
    """A column of the judgments, by conversation; for runs with one judgment per conversation."""
    found = store.rows(select(judgments.c.conversation, judgments.c[name]))
    by_conversation: dict[str, Any] = dict(found)
    assert len(by_conversation) == len(found)
    return by_conversation


def stored(store: Store) -> int:
    """How many judgments a store holds."""
    return len(store.rows(select(judgments.c.key)))


def judgment(conversation: Conversation, key: int, **fields: Any) -> Judgment:
    """A finished judgment, as a mechanism would give it."""
    given: dict[str, Any] = {
        "key": f"{key:032x}",
        "conversation": conversation.id,
        "message": 1,
        "scope": "reply",
        "dimension": "insulting_behaviour",
        "model": "scripted:judge",
        "mechanism": {"name": "single", "max_tokens": 1024},
        "outcome": "scored",
        "calls": 1,
        "attempts": 1,
        "usage": Usage(100, 10),
        "cost": 0.25,
    }
    if fields.get("outcome", "scored") == "scored":
        given |= {"score": 0.0, "label": 0, "harmful": False}
    return Judgment(**(given | fields))


def entry(conversation: Conversation, key: int, position: int = 0, tries: int = 1, **fields: Any) -> Entry:
    made = judgment(conversation, key, **fields)
    return Entry(made, made.mechanism["name"], conversation, position, tries)
