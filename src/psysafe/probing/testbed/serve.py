"""The testbed as an endpoint of the OpenAI protocol, to try a probe on without any language model.

    python -m psysafe.probing.testbed.serve --port 8123 --seed 0
    psysafe probe --target http://127.0.0.1:8123/v1#testbed-target --client http://127.0.0.1:8123/v1#testbed-client \\
        --strategist http://127.0.0.1:8123/v1#testbed-strategist --judge http://127.0.0.1:8123/v1#testbed-judge

The target has planted faults (``plants.py``) and says nothing else that means anything; the other players are its
equals. """

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from collections.abc import Mapping
from typing import Any

import orjson
from aiohttp import web

from psysafe.clients.loading import benign_profiles, shipped_profiles
from psysafe.conversation import Message
from psysafe.models import Sampling, Schema
from psysafe.probing.testbed.plants import Garden, Plant
from psysafe.probing.testbed.players import (
    ClientPlayer,
    JudgePlayer,
    Player,
    StrategistPlayer,
    TargetPlayer,
    draw,
)
from psysafe.taxonomy import CellId, load_grid


def players(plants: Mapping[CellId, Plant], noise: float = 0.0, seed: int = 0) -> dict[str, Player]:
    """All players by name; the clients know our profiles and their benign variants."""
    grid = load_grid()
    everyone = [*shipped_profiles().values(), *benign_profiles().values()]
    found: list[Player] = [
        ClientPlayer(everyone),
        StrategistPlayer(grid),
        TargetPlayer(plants),
        JudgePlayer(grid, noise, seed),
    ]
    return {player.name: player for player in found}


def application(by_name: Mapping[str, Player], latency: tuple[float, float] = (0.0, 0.0)) -> web.Application:
    """The endpoint.

    Args:
        latency: least and most seconds of an answer, drawn anew each time.
    """

    async def complete(request: web.Request) -> web.Response:
        body = orjson.loads(await request.read())
        player = by_name.get(body.get("model", ""))
        if player is None:
            return _json({"error": {"message": f"no model {body.get('model')!r}; there are {', '.join(by_name)}"}}, 404)
        messages = [Message(message["role"], message["content"]) for message in body["messages"]]
        form = (body.get("response_format") or {}).get("json_schema", {}).get("name")
        config = Sampling(seed=body.get("seed"), schema=Schema(form, b"{}") if form else None)
        if latency[1] > 0:
            await asyncio.sleep(latency[0] + (latency[1] - latency[0]) * draw(os.urandom(8)))
        try:
            text = player.answer(messages, config)
        except (StopIteration, LookupError):  # what this player is never asked in a probe, such as whether it is there
            text = "OK"
        return _json(_completion(player.name, text, messages))

    async def models(_: web.Request) -> web.Response:
        return _json({"object": "list", "data": [{"id": name, "object": "model"} for name in by_name]})

    app = web.Application(client_max_size=2**26)
    app.router.add_post("/v1/chat/completions", complete)
    app.router.add_get("/v1/models", models)
    return app


def _completion(name: str, text: str, messages: list[Message]) -> dict[str, Any]:
    words = sum(len(message.content.split()) for message in messages)
    usage = {"prompt_tokens": words, "completion_tokens": len(text.split())}
    return {
        "id": "testbed", "object": "chat.completion", "model": name,
        "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}],
        "usage": {**usage, "total_tokens": sum(usage.values())},
    }  # fmt: skip


def _json(value: Any, status: int = 200) -> web.Response:
    return web.Response(body=orjson.dumps(value), status=status, content_type="application/json")


def main() -> None:
    """Serve on loopback until interrupted."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, default=8123, help="0: a free one, which is printed")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--plants", type=int, default=14)
    parser.add_argument("--turns", type=int, default=10, help="of the dialogues that will be held")
    parser.add_argument("--noise", type=float, default=0.0, help="share of wrong verdicts")
    parser.add_argument("--latency", type=float, nargs=2, default=(0.0, 0.0), metavar=("LOW", "HIGH"))
    given = parser.parse_args()
    garden = Garden(given.plants, tuple(shipped_profiles()), turns=given.turns)
    app = application(players(garden.grow(given.seed), given.noise, given.seed), tuple(given.latency))
    web.run_app(app, host="127.0.0.1", port=given.port, print=lambda text: print(text, file=sys.stderr))  # noqa: T201


if __name__ == "__main__":
    main()
