"""The openai SDK as a client, for comparison: ``PYTHON benchmarks/openai_sdk.py BASE_URL BODIES IN_FLIGHT``.

A script that needs nothing but ``openai``, so that it can run in an environment of its own. Sends the recorded
bodies (JSON, one a line) with one ``AsyncOpenAI`` and prints wall seconds, CPU seconds and calls as JSON.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from pathlib import Path
from typing import Any

from openai import AsyncOpenAI


async def send(base_url: str, bodies: list[dict[str, Any]], in_flight: int) -> dict[str, float]:
    """All bodies, so many at once, each answer read."""
    left = iter(bodies)
    wall, cpu = time.perf_counter(), time.process_time()
    async with AsyncOpenAI(base_url=base_url, api_key="none", max_retries=0) as client:

        async def work() -> None:
            for body in left:
                completion = await client.chat.completions.create(**body)
                assert completion.choices[0].message.content

        await asyncio.gather(*(work() for _ in range(in_flight)))
    return {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu, "calls": len(bodies)}


if __name__ == "__main__":
    lines = Path(sys.argv[2]).read_bytes().splitlines()
    print(json.dumps(asyncio.run(send(sys.argv[1], [json.loads(line) for line in lines], int(sys.argv[3])))))
