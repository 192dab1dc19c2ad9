"""What a token costs, from genai-prices. Unknown stays unknown."""

from __future__ import annotations

from psysafe.models.base import Price

# A price is linear here; measured at a short call, which is where judge calls lie in tiered price lists.
_TOKENS = 1000


def price_of(provider: str, model: str) -> Price | None:
    """US dollars per token for a provider's model, or None where genai-prices does not know it.

    A price of 0 there means that none per token is known (what is sold by the hour, page or character), except
    for models that are free by name.
    """
    from genai_prices import Usage, calc_price

    try:
        prices = [
            calc_price(usage, model_ref=model, provider_id=provider).total_price
            for usage in (Usage(input_tokens=_TOKENS), Usage(output_tokens=_TOKENS))
        ]
    except LookupError:
        return None
    if not all(prices) and not model.endswith(":free"):
        return None
    return Price(float(prices[0]) / _TOKENS, float(prices[1]) / _TOKENS)
