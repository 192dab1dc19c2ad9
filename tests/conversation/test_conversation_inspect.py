"""Logs of Inspect: a sample is a conversation; what failed stays visible."""

from __future__ import annotations

import asyncio
import io
import math
import os
import sys
import warnings
from pathlib import Path
from typing import Any

import orjson
import pytest

from psysafe.conversation import Conversation, Inputs, parse_record, read_conversations
from psysafe.errors import InputError, UsageError

pytest.importorskip("inspect_ai", reason="Inspect is an extra")

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # of what Inspect imports
    from inspect_ai.log import EvalConfig, EvalDataset, EvalError, EvalLog, EvalSample, EvalSpec, write_eval_log
    from inspect_ai.model import (
        ChatCompletionChoice,
        ChatMessageAssistant,
        ChatMessageSystem,
        ChatMessageTool,
        ChatMessageUser,
        ContentImage,
        ContentReasoning,
        ContentText,
        ModelOutput,
    )
    from inspect_ai.scorer import Score
    from inspect_ai.tool import ToolCall

ASKED = ChatMessageUser(content="Hi")
REPLY = ChatMessageAssistant(content="Hello")


def output(reply: Any = REPLY, stop: Any = "stop", error: str | None = None) -> ModelOutput:
    return ModelOutput(choices=[ChatCompletionChoice(message=reply, stop_reason=stop)], error=error)


def sample(**fields: Any) -> EvalSample:
    given: dict[str, Any] = {"id": "s", "epoch": 1, "input": "Hi", "target": "", "messages": [ASKED, REPLY]}
    return EvalSample(**(given | {"output": output()} | fields))


def failure() -> EvalError:
    return EvalError(message="it broke", traceback="", traceback_ansi="")


def write(path: Path, *samples: EvalSample) -> Path:
    spec = EvalSpec(
        created="2024-01-01T00:00:00+00:00",
        task="support",
        model="mock/model",
        dataset=EvalDataset(sample_ids=[s.id for s in samples]),
        config=EvalConfig(),
    )
    write_eval_log(EvalLog(status="success", eval=spec, samples=list(samples)), str(path))
    return path


def read(path: Path, **options: Any) -> tuple[list[Conversation], list[InputError]]:
    bad: list[InputError] = []
    try:
        return list(read_conversations(path, skip_bad=True, on_bad=bad.append, **options)), bad
    except UsageError:
        return [], bad


@pytest.fixture(params=[".eval", ".json"])
def log(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Where a log is written, in either form."""
    return tmp_path / f"log{request.param}"


def test_each_sample_and_epoch_is_a_conversation(log: Path) -> None:
    write(log, sample(id="a"), sample(id="a", epoch=2), sample(id=3))
    conversations, bad = read(log)
    assert not bad
    assert read(log, format="inspect") == (conversations, [])
    assert sorted(c.id for c in conversations) == ["3#1", "a#1", "a#2"]
    assert [(m.role, m.content, m.finish) for m in conversations[0].messages] == [
        ("user", "Hi", None),
        ("assistant", "Hello", "stop"),
    ]


def test_scores_target_and_metadata_travel_and_nan_is_no_number(log: Path) -> None:
    scores = {"grade": Score(value="C"), "harm": Score(value=math.nan), "both": Score(value={"a": 1, "b": math.nan})}
    write(log, sample(scores=scores, target=["x", "y"], metadata={"label": 2}))
    ((conversation,), _) = read(log)
    assert conversation.metadata == {
        "task": "support",
        "model": "mock/model",
        "sample": "s",
        "epoch": 1,
        "target": ["x", "y"],
        "scores": {"grade": "C", "harm": None, "both": {"a": 1, "b": None}},
        "metadata": {"label": 2},
    }
    again = orjson.loads(orjson.dumps(conversation.to_dict()))
    assert parse_record(again, file="-", line=1, default_id="-") == conversation


def test_thoughts_are_left_out_and_what_is_not_text_leaves_a_placeholder(log: Path) -> None:
    call = ToolCall(id="1", function="look", arguments={"at": "x"})
    messages = [
        ChatMessageSystem(content="Be kind."),
        ChatMessageUser(content=[ContentText(text="See"), ContentImage(image="data:image/png;base64,AAAA")]),
        ChatMessageAssistant(content=[ContentReasoning(reasoning="hm"), ContentText(text="Wait")], tool_calls=[call]),
        ChatMessageTool(content="found", tool_call_id="1"),
        REPLY,
    ]
    ((conversation,), _) = read(write(log, sample(messages=messages)))
    assert [(m.role, m.content) for m in conversation.messages] == [
        ("system", "Be kind."),
        ("user", "See\n[image]"),
        ("assistant", 'Wait\n[tool call: look({"at":"x"})]'),
        ("tool", "found"),
        ("assistant", "Hello"),
    ]


@pytest.mark.parametrize(
    "stop, error, finish",
    [
        ("stop", None, "stop"),
        ("max_tokens", None, "length"),
        ("model_length", None, "length"),
        ("content_filter", None, "content_filter"),
        ("unknown", None, None),
        ("stop", "overloaded", "error"),
    ],
)
def test_the_last_reply_ends_as_the_output_did(
    tmp_path: Path, stop: str, error: str | None, finish: str | None
) -> None:
    first = ChatMessageAssistant(content="Yes?")
    path = write(tmp_path / "a.eval", sample(messages=[ASKED, first, ASKED, REPLY], output=output(REPLY, stop, error)))
    ((conversation,), _) = read(path)
    assert [m.finish for m in conversation.messages] == [None, None, None, finish]


def test_a_sample_that_failed_before_a_reply_is_a_failed_reply(log: Path) -> None:
    nothing = ModelOutput()
    write(
        log,
        sample(id="a", messages=[ASKED], output=nothing, error=failure()),
        sample(id="b", messages=[], output=nothing, error=failure()),
        sample(id="c", error=failure()),  # it had replied; what failed came later
    )
    a, b, c = read(log)[0]
    assert [(m.role, m.content, m.finish) for m in a.messages][-1] == ("assistant", "", "error")
    assert [(m.role, m.finish) for m in b.messages] == [("assistant", "error")]
    assert (c.messages[-1].content, c.messages[-1].finish) == ("Hello", "stop")
    assert {x.metadata["error"] for x in (a, b, c)} == {"it broke"}


def test_a_sample_without_a_reply_is_an_error_that_names_it_and_hides_nothing(log: Path) -> None:
    write(log, sample(id="a", messages=[ASKED], output=ModelOutput()), sample(id="b"))
    good, bad = read(log)
    assert [c.id for c in good] == ["b#1"]
    assert [str(error) for error in bad] == [
        f"{log}: sample 'a', epoch 1, messages: found no assistant message; expected at least one, since that is what is judged"
    ]


def test_inputs_may_be_read_within_an_event_loop(log: Path) -> None:
    write(log, sample(id="a"), sample(id="b"))

    async def within() -> list[str]:
        run = asyncio.run
        with Inputs([log]) as inputs:
            found = [conversation.id for conversation in inputs]
        assert asyncio.run is run  # nothing patched asyncio
        return found

    assert asyncio.run(within()) == ["a#1", "b#1"]


@pytest.mark.parametrize("format", [None, "inspect"])
def test_standard_input_may_be_a_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, format: Any) -> None:
    class Stdin:
        buffer = io.BytesIO(write(tmp_path / "a.eval", sample(id="a"), sample(id="b")).read_bytes())

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr("sys.stdin", Stdin())
    with Inputs(["-"], format=format) as inputs:
        assert [c.id for c in inputs] == ["a#1", "b#1"]
    assert os.listdir(tmp_path) == ["a.eval"]  # the copy is gone


@pytest.mark.parametrize(
    "data", [b"", b"PK\x03\x04rubbish", b"{}", b"hello", b'{"version": 2, "status": "success", "eval": 3}']
)
def test_what_is_no_log_is_one_error(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "a.eval"
    path.write_bytes(data)
    good, bad = read(path)
    assert not good
    assert ["cannot be read as a log of Inspect" in str(error) for error in bad] == [True]
    assert "\n" not in str(bad[0])


def test_a_log_of_no_samples_is_an_error(log: Path) -> None:
    (bad,) = read(write(log))[1]
    assert "no samples" in bad.problem


def test_the_missing_extra_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "a.eval", sample())
    monkeypatch.setitem(sys.modules, "inspect_ai.log", None)
    with pytest.raises(UsageError, match=r"pip install 'psysafe\[inspect\]'") as caught:
        Inputs([path]).scan()
    assert "\n" not in str(caught.value)
