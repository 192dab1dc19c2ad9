"""Real data is read as it is; memory does not grow with the size of a file."""

import os
import tracemalloc
from itertools import pairwise
from pathlib import Path

import orjson
import pytest

from psysafe.conversation import Inputs, read_conversations

SHARED = Path(os.environ.get("PSYSAFE_SHARED") or Path(__file__).parents[2].parent / "shared")
LABELLED = SHARED / "data" / "labelled_replies.jsonl"
needs_labelled = pytest.mark.skipif(
    not LABELLED.exists(), reason=f"{LABELLED} is absent (PSYSAFE_SHARED names its folder)"
)


@needs_labelled
def test_the_labelled_replies_are_read_with_their_other_fields_as_metadata() -> None:
    inputs = Inputs([LABELLED])
    scan = inputs.scan()
    assert (scan.conversations, scan.messages, scan.assistant_messages, scan.bad_count) == (
        2428,
        3656,
        2428,
        0,
    )
    raw = [orjson.loads(line) for line in LABELLED.read_bytes().splitlines()]
    for record, conversation in zip(raw, inputs, strict=True):
        assert conversation.id == record["id"]
        assert [m.content for m in conversation.messages] == [m["content"] for m in record["messages"]]
        fields = {key: value for key, value in record.items() if key not in ("id", "messages")}
        assert conversation.metadata == fields
        assert list(conversation.metadata) == list(fields)


@needs_labelled
def test_rated_conversations_are_read() -> None:
    conversations = list(read_conversations(LABELLED.with_name("rated_conversations.jsonl")))
    assert (len(conversations), sum(len(c.messages) for c in conversations)) == (45, 900)
    assert all("ratings" in c.metadata for c in conversations)


def test_a_file_of_60_mb_is_checked_and_read_in_less_than_5_mb(tmp_path: Path) -> None:
    path = tmp_path / "long.jsonl"
    reply = "I hear you. " * 250
    lines = [
        orjson.dumps({"id": f"conversation {i}", "messages": [{"role": "assistant", "content": reply}]})
        for i in range(20_000)
    ]
    path.write_bytes(b"\n".join(lines))
    del lines
    assert path.stat().st_size > 60_000_000
    inputs = Inputs([path])
    tracemalloc.start()
    try:
        assert inputs.scan().conversations == 20_000
        assert sum(1 for _ in inputs) == 20_000
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 5_000_000


def test_a_scan_holds_no_more_than_some_bytes_per_conversation(tmp_path: Path) -> None:
    peaks = []
    for count in (20_000, 60_000):
        path = tmp_path / f"{count}.jsonl"
        path.write_text("".join(f'{{"id": "conversation {i}", "response": "x"}}\n' for i in range(count)))
        tracemalloc.start()
        try:
            Inputs([path]).scan()
            peaks.append(tracemalloc.get_traced_memory()[1])
        finally:
            tracemalloc.stop()
    # 8 and what the arrays grow ahead; a conversation takes some 700, an id alone 70
    (growth,) = [b - a for a, b in pairwise(peaks)]
    assert growth < 40_000 * 16
