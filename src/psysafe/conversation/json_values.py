"""Values of other formats as JSON can hold them."""

from __future__ import annotations

import math
from datetime import date, datetime, time
from typing import Any


def json_ready(value: Any) -> Any:
    """A value as JSON can hold it: dates in ISO format, decimals as text, NaN and infinities as null, bytes as
    their number."""
    if value is None or isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(key): json_ready(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [json_ready(item) for item in value]
    if isinstance(value, (datetime, date, time)):
        return value.isoformat()
    if isinstance(value, (bytes, bytearray, memoryview)):
        return f"[{len(value):,} bytes]"
    return str(value)  # decimals, spans of time, UUIDs
