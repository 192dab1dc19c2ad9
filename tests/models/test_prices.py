"""What a token costs. Unknown is None, never 0."""

import pytest

from psysafe.models import Price, Usage
from psysafe.models.prices import price_of


def test_a_known_model_has_a_price_per_token() -> None:
    price = price_of("openai", "gpt-4o-mini")
    assert price is not None
    assert 0 < price.input < price.output < 1e-3
    assert price.output / price.input == pytest.approx(4, rel=0.5)


def test_dated_names_of_a_model_cost_what_the_model_costs() -> None:
    assert price_of("openai", "gpt-4o-mini-2024-07-18") == price_of("openai", "gpt-4o-mini")


@pytest.mark.parametrize(
    "provider,model",
    [
        ("openai", "a-model-that-nobody-sells"),
        ("openrouter", "auto"),
        ("openrouter", "nobody/nothing"),
        ("no-such-provider", "gpt-4o-mini"),
        ("openai", ""),
    ],
)
def test_an_unknown_model_has_no_price(provider: str, model: str) -> None:
    assert price_of(provider, model) is None


@pytest.mark.parametrize(
    "provider,model",
    [
        ("openai", "whisper-1"),  # by the hour
        ("openai", "tts-1"),  # by the character
        ("mistral", "mistral-ocr-latest"),  # by the page
        ("openai", "text-embedding-3-small"),  # no price for output
    ],
)
def test_a_model_that_is_not_sold_by_the_token_has_no_price_instead_of_zero(provider: str, model: str) -> None:
    assert price_of(provider, model) is None


def test_what_is_free_by_name_costs_nothing_and_that_is_known() -> None:
    assert price_of("openrouter", "deepseek/deepseek-r1:free") == Price(0.0, 0.0)


def test_cost_counts_input_and_output_each_at_its_price() -> None:
    assert Price(2e-6, 10e-6).cost(Usage(1000, 100)) == pytest.approx(0.003)
