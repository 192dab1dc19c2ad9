"""Judges without an LLM behind them: small models and word lists."""
