"""What identifies a unit."""

from __future__ import annotations

from functools import lru_cache
from hashlib import blake2b

from psysafe.judging.mechanisms import Mechanism
from psysafe.judging.prompt import PROMPT_VERSION, Subject
from psysafe.taxonomy import Dimension


def unit_key(
    subject: Subject,
    dimension: Dimension,
    mechanism: Mechanism,
    model: str,
    seed: int,
    content_hash: str | None = None,
    cut: float | None = None,
) -> str:
    """32 hex digits that identify a unit: the same key, the same question to the same judge.

    Args:
        content_hash: of the conversation, where the caller has it already.
        cut: a fitted one, by which the verdict is harmful; None for the default.
    """
    digest = blake2b(digest_size=16)
    for part in (
        PROMPT_VERSION,
        content_hash or subject.conversation.content_hash(),
        subject.conversation.id,
        "all" if subject.message is None else str(subject.message),
        dimension.id,
        dimension.hash,
        mechanism_identity(mechanism),
        model,
        str(seed),
        *(() if cut is None else (f"cut {cut!r}",)),
    ):
        data = part.encode("utf-8", "surrogatepass")
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.hexdigest()


@lru_cache(maxsize=256)
def mechanism_identity(mechanism: Mechanism) -> str:
    return f"{mechanism.name}|{mechanism.model_dump_json()}"
