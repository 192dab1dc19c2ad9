"""The entailment judge, with a model that is small enough to be made here: it adds up the weights of words.

CONTENT WARNING: a few insulting words.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from psysafe import Conversation, Message, load_dimension
from psysafe.errors import UsageError
from psysafe.judging.asking import Unit
from psysafe.judging.baselines.hypotheses import hypotheses
from psysafe.judging.baselines.nli import MODEL_NAME, Nli
from psysafe.judging.classifier import Classification
from psysafe.judging.units import Scope, subjects
from psysafe.models import ModelError, Stopped
from psysafe.taxonomy import load_dimensions

from .scripts import answers

np: Any = pytest.importorskip("numpy")
onnx: Any = pytest.importorskip("onnx", reason="a model is built with onnx")
pytest.importorskip("onnxruntime", reason="the extra nli")
tokenizers: Any = pytest.importorskip("tokenizers", reason="the extra nli")

# What a word adds to (contradiction, neutral, entailment).
WEIGHTS = {
    "idiot": (0, 0, 6),
    "dimwit": (0, 0, 4),
    "friend": (6, 0, 0),
    "kind": (0.02, 0, 0),
    "neutral": (0, 50, 0),
    "dying": (2, 0, 0),  # stands in the sentence on which crisis_response depends
    "pills": (0, 0, 5),
}
LABELS = ("CONTRADICTION", "NEUTRAL", "ENTAILMENT")
LONGEST = 64


def make(
    folder: Path,
    labels: Sequence[str] = LABELS,
    *,
    names: Sequence[str] = ("input_ids", "attention_mask"),
    kind: str = "INT64",
    place: str = "model.onnx",
    **config: Any,
) -> Path:
    """A folder with a model whose outputs stand in the order of ``labels``."""
    vocabulary = {word: number for number, word in enumerate(["[UNK]", "[SEP]", *WEIGHTS])}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = tokenizers.normalizers.Lowercase()
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    tokenizer.post_processor = tokenizers.processors.TemplateProcessing(
        single="$A [SEP]", pair="$A [SEP] $B:1 [SEP]:1", special_tokens=[("[SEP]", 1)]
    )
    # what a real file often holds, and what must not cut or fill anything here
    tokenizer.enable_truncation(LONGEST)
    tokenizer.enable_padding(length=LONGEST)
    (folder / place).parent.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(folder / "tokenizer.json"))

    order = {"CONTRADICTION": 0, "NEUTRAL": 1, "ENTAILMENT": 2}
    columns = [order.get(label.upper(), 1) for label in labels]
    table = np.zeros((len(vocabulary), len(labels)), "float32")
    for word, weights in WEIGHTS.items():
        table[vocabulary[word]] = [weights[column] for column in columns]
    helper, types = onnx.helper, onnx.TensorProto
    nodes = [
        helper.make_node("Gather", ["table", "input_ids"], ["rows"]),
        helper.make_node("ReduceSum", ["rows", "axis"], ["logits"], keepdims=0),
    ]
    inputs = [helper.make_tensor_value_info(name, getattr(types, kind), ["batch", "tokens"]) for name in names]
    outputs = [helper.make_tensor_value_info("logits", types.FLOAT, ["batch", len(labels)])]
    constants = [
        onnx.numpy_helper.from_array(table, "table"),
        onnx.numpy_helper.from_array(np.array([1], "int64"), "axis"),
    ]
    graph = helper.make_graph(nodes, "bag", inputs, outputs, constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, str(folder / place))
    named = {"id2label": {str(number): label for number, label in enumerate(labels)}}
    (folder / "config.json").write_text(json.dumps({**named, "max_position_embeddings": LONGEST, **config}))
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make(tmp_path / "model")


def classify(
    source: Path, *texts: str, dimension: str = "insulting_behaviour", scope: Scope = "reply"
) -> Classification:
    """Of a conversation in turns, the user first; or of a reply alone."""
    roles = ("user", "assistant") if len(texts) > 1 else ("assistant",)
    messages = tuple(Message(roles[i % len(roles)], text) for i, text in enumerate(texts))  # type: ignore[arg-type]
    subject = next(subjects(Conversation("c", messages), scope))
    unit = Unit(answers(""), "0" * 32, 0, subject=subject, dimension=load_dimension(dimension))

    async def once() -> Classification:
        judge = Nli(str(source))
        await judge.open()
        try:
            return await judge.classify(unit)
        finally:
            await judge.close()

    return asyncio.run(once())


def failure(source: Path | str, **environment: str) -> str:
    """The one line with which loading ends."""
    with pytest.raises(UsageError) as caught:
        asyncio.run(Nli(str(source) if source else None, environment).open())
    said = str(caught.value)
    assert "\n" not in said
    return said


# --- what it computes ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reply", "logits"), [("idiot", 6), ("dimwit", 4), ("friend", -6), ("friend idiot", 0), ("dimwit friend", -2)]
)
def test_the_probability_is_entailment_against_contradiction(folder: Path, reply: str, logits: float) -> None:
    assert classify(folder, reply).probability == pytest.approx(1 / (1 + np.exp(-logits)))


def test_neutral_is_left_out(folder: Path) -> None:
    assert classify(folder, "neutral idiot").probability == pytest.approx(1 / (1 + np.exp(-6)))


def test_the_words_of_the_user_are_part_of_the_premise(folder: Path) -> None:
    assert classify(folder, "friend", "dimwit").probability == pytest.approx(1 / (1 + np.exp(2)))


def test_braces_in_a_text_are_only_text(folder: Path) -> None:
    assert classify(folder, "{reply}", "idiot").probability == pytest.approx(1 / (1 + np.exp(-6)))


@pytest.mark.parametrize(
    "labels",
    [LABELS, LABELS[::-1], ("entailment", "neutral", "contradiction"), ("Neutral", "Entailment", "Contradiction")],
)
def test_labels_may_stand_in_any_order_and_case(tmp_path: Path, labels: tuple[str, ...]) -> None:
    made = make(tmp_path, labels)
    assert classify(made, "idiot").probability == pytest.approx(1 / (1 + np.exp(-6)))


def test_label2id_will_do(tmp_path: Path) -> None:
    made = make(tmp_path, id2label=None, label2id={label: number for number, label in enumerate(LABELS)})
    assert classify(made, "idiot").probability == pytest.approx(1 / (1 + np.exp(-6)))


def test_not_entailment_stands_for_contradiction(tmp_path: Path) -> None:
    made = make(tmp_path, ("ENTAILMENT", "CONTRADICTION"), id2label={"0": "entailment", "1": "not_entailment"})
    assert classify(made, "friend").probability == pytest.approx(1 / (1 + np.exp(6)))


@pytest.mark.parametrize("names", [["input_ids"], ["input_ids", "attention_mask", "token_type_ids"]])
@pytest.mark.parametrize("kind", ["INT64", "INT32"])
def test_the_session_is_fed_what_it_asks_for(tmp_path: Path, names: list[str], kind: str) -> None:
    made = make(tmp_path, names=names, kind=kind)
    assert classify(made, "idiot").probability == pytest.approx(1 / (1 + np.exp(-6)))


def test_a_model_may_stand_in_a_folder_named_onnx(tmp_path: Path) -> None:
    assert classify(make(tmp_path, place="onnx/model.onnx"), "idiot").quotes == (("idiot", 0),)


# --- long replies, quotes, several replies ---------------------------------------------------------------------------


def test_a_long_reply_is_read_in_parts_and_the_worst_counts(folder: Path) -> None:
    for reply in (
        "kind " * 400 + "idiot",
        "idiot " + "kind " * 400,
        "All kind. " * 200 + "idiot. " + "All kind. " * 200,
    ):
        result = classify(folder, reply)
        assert result.probability is not None
        assert result.probability > 0.5  # 400 kind words together would outweigh it
        assert "idiot" in result.quotes[0][0]
        assert result.quotes[0][0] in reply


def test_a_long_message_of_the_user_leaves_room_for_the_reply(folder: Path) -> None:
    assert classify(folder, "kind " * 400, "idiot").quotes == (("idiot", 1),)


def test_the_quote_is_the_sentence_with_the_highest_score(folder: Path) -> None:
    result = classify(folder, "Hello.", "Well, hello. You dimwit! You idiot. Bye now.")
    assert result.quotes == (("You idiot.", 1),)


def test_below_the_cut_nothing_is_quoted(folder: Path) -> None:
    result = classify(folder, "Hello.", "You dimwit. My friend.")
    assert result.probability is not None
    assert result.probability < result.cut
    assert result.quotes == ()


def test_the_worst_judged_message_counts(folder: Path) -> None:
    result = classify(folder, "a", "dimwit", "b", "idiot", "c", "friend", scope="conversation")
    assert result.probability == pytest.approx(1 / (1 + np.exp(-6)))
    assert result.quotes == (("idiot", 3),)


def test_it_says_that_nothing_is_calibrated(folder: Path) -> None:
    result = classify(folder, "idiot")
    assert result.flags == {"uncalibrated"}
    assert result.rationale == ""


def test_a_crisis_must_be_found_in_the_words_of_the_user(folder: Path) -> None:
    assert classify(folder, "Nice day", "idiot", dimension="crisis_response").probability is None
    cue = classify(folder, "I have the pills", "idiot", dimension="crisis_response")
    assert cue.probability is not None
    assert cue.probability > 0.9
    earlier = classify(folder, "I have the pills", "Oh", "Nice day", "idiot", dimension="crisis_response")
    assert earlier.probability is not None


def test_there_are_hypotheses_for_every_shipped_dimension() -> None:
    asked, _ = hypotheses()
    assert set(asked.hypotheses) == set(load_dimensions())
    assert all(2 <= len(sentences) <= 3 for sentences in asked.hypotheses.values())
    assert set(asked.applies) == {d.id for d in load_dimensions().values() if d.not_applicable}
    assert Nli("x").covers(load_dimension("insulting_behaviour"))
    assert not Nli("x").covers(load_dimension("insulting_behaviour").model_copy(update={"id": "sarcasm"}))


# --- loading ---------------------------------------------------------------------------------------------------------


def test_info_covers_the_files_of_the_model_and_keeps_texts_here(tmp_path: Path) -> None:
    async def identity(source: Path) -> str:
        judge = Nli(str(source))
        await judge.open()
        info = judge.info
        await judge.close()
        assert info.host is None
        assert info.price is not None
        assert (info.price.input, info.price.output) == (0, 0)
        return info.identity

    one, same, other = make(tmp_path / "a"), make(tmp_path / "b"), make(tmp_path / "c", LABELS[::-1])
    assert asyncio.run(identity(one)) == asyncio.run(identity(same)) != asyncio.run(identity(other))


def test_a_missing_folder_or_file_is_named(folder: Path, tmp_path: Path) -> None:
    assert f"{tmp_path / 'none'} is not a folder" in failure(tmp_path / "none")
    (folder / "config.json").unlink()
    (folder / "model.onnx").unlink()
    assert "holds no model.onnx and no config.json" in failure(folder)


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json", "config.json"])
def test_a_damaged_file_is_refused(folder: Path, name: str) -> None:
    (folder / name).write_text("{ not what it should be")
    assert str(folder) in failure(folder)


def test_labels_without_entailment_are_listed(tmp_path: Path) -> None:
    assert "no label 'entailment'; its labels are toxic, neutral, fine" in failure(
        make(tmp_path / "a", ("toxic", "neutral", "fine"))
    )
    assert "no label 'contradiction'" in failure(make(tmp_path / "b", ("entailment", "neutral", "fine")))
    assert "names no labels" in failure(make(tmp_path / "c", id2label={}))


def test_a_model_that_asks_for_something_else_is_refused(tmp_path: Path) -> None:
    assert "pixel_values" in failure(make(tmp_path / "a", names=["input_ids", "pixel_values"]))


def test_a_model_with_another_number_of_outputs_is_refused(tmp_path: Path) -> None:
    made = make(tmp_path, id2label={"0": "entailment", "1": "contradiction"})
    with pytest.raises(UsageError, match=r"shape \(1, 3\); expected \(1, 2\)"):
        classify(made, "idiot")


def test_a_model_that_reads_too_little_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="reads only 12 tokens"):
        classify(make(tmp_path, max_position_embeddings=12), "idiot")


def test_a_failure_of_the_model_on_a_text_is_a_model_error(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from psysafe.judging.baselines.entailment import Entailment

    def fails(*_: object) -> float:
        raise RuntimeError("out of memory")

    monkeypatch.setattr(Entailment, "probability", fails)
    with pytest.raises(ModelError, match="out of memory"):
        classify(folder, "idiot")


def test_a_missing_extra_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    assert "pip install 'psysafe[nli]'" in failure(folder)


def test_without_a_folder_the_environment_names_one(folder: Path) -> None:
    async def opened() -> str:
        judge = Nli(None, {MODEL_NAME: str(folder)})
        await judge.open()
        await judge.close()
        return f"{judge.name} {judge.source}"

    assert asyncio.run(opened()) == f"nli {folder}"


def test_without_both_the_hub_is_asked(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hub: Any = type(sys)("huggingface_hub")
    asked: list[str] = []

    def snapshot_download(name: str, **_: Any) -> str:
        asked.append(name)
        if name != "facebook/bart-large-mnli":
            raise OSError("no such host\nat all")
        return str(folder)

    hub.snapshot_download = snapshot_download
    monkeypatch.setitem(sys.modules, "huggingface_hub", hub)
    asyncio.run(_open_and_close(Nli(None, {})))
    said = failure("some/other")
    assert MODEL_NAME in said
    assert "some/other could not be had from the hub (OSError)" in said
    assert asked == ["facebook/bart-large-mnli", "some/other"]


def test_without_the_hub_it_says_what_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    assert MODEL_NAME in failure("")


async def _open_and_close(judge: Nli) -> None:
    await judge.open()
    await judge.close()


def test_after_stop_nothing_is_begun(folder: Path) -> None:
    async def stopped() -> None:
        judge = Nli(str(folder))
        await judge.open()
        judge.stop()
        subject = next(subjects(Conversation("c", (Message("assistant", "idiot"),))))
        unit = Unit(answers(""), "0" * 32, 0, subject=subject, dimension=load_dimension("insulting_behaviour"))
        try:
            with pytest.raises(Stopped):
                await judge.classify(unit)
        finally:
            await judge.close()

    asyncio.run(stopped())
