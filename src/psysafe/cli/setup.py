"""From options to what a run needs: models, mechanisms, dimensions, budget, consent."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING

from psysafe.errors import UsageError

if TYPE_CHECKING:
    from psysafe.judging import ManagedJudge, Mechanism
    from psysafe.models import Limits, ManagedModel, Price
    from psysafe.runs import Budget
    from psysafe.taxonomy import Dimension

MODEL_NAME = "PSYSAFE_MODEL"
RUNS_NAME = "PSYSAFE_RUNS"
CACHE_NAME = "PSYSAFE_CACHE"


def model_names(given: Sequence[str]) -> list[str]:
    """The models asked for, or the configured default, or the best judge that is installed.

    Raises:
        UsageError: none of these.
    """
    names = list(dict.fromkeys(given)) or [name for name in [os.environ.get(MODEL_NAME, "").strip()] if name]
    if names:
        return names
    from psysafe.cli.console import note
    from psysafe.judging.judges import installed

    found = installed()
    if found is None:
        raise UsageError(
            f"no judge model: add --model (such as openai/gpt-4o-mini or http://127.0.0.1:8000/v1#NAME), "
            f"set {MODEL_NAME}, or install the one that needs no key: pip install 'psysafe[screen]'; "
            "psysafe models lists the forms"
        )
    note(f"no --model given: judging with {found}")
    return [found]


def load_limits(concurrency: int, rpm: float | None, tpm: float | None, timeout: float, retries: int) -> Limits:
    """The bounds of one endpoint. A call may take, with all its retries, ten minutes or five attempts' time."""
    from psysafe.models import Limits

    return Limits(
        concurrency=concurrency,
        requests_per_minute=rpm,
        tokens_per_minute=tpm,
        timeout=timeout,
        deadline=max(600.0, 5 * timeout),
        max_retries=retries,
    )


def load_models(
    names: Sequence[str], limits: Limits, price: Price | None = None, cache: bool = False, need_key: bool = True
) -> list[ManagedJudge]:
    """The judges, their models behind the response cache if wanted.

    Raises:
        UsageError: one cannot be used, two have one name, or one key would go to several hosts.
    """
    from psysafe.cli.console import keep_stdout
    from psysafe.judging.judges import ENSEMBLES, load_judge
    from psysafe.models import check_key_hosts

    keep_stdout(names)
    asked: list[ManagedModel] = []

    def wrap(model: ManagedModel) -> ManagedModel:
        asked.append(model)
        if not cache:
            return model
        from psysafe.models.cache import CachedModel

        return CachedModel(model, cache_path())

    # One price for several models would replace prices that are known, and a bound on cost would not hold.
    alone = len(names) == 1 and names[0].partition(":")[0] not in ENSEMBLES
    models = [
        load_judge(name, limits, price=price, override_price=alone, need_key=need_key, wrap=wrap) for name in names
    ]
    found = [model.name for model in models]
    if twice := next((name for name in found if found.count(name) > 1), None):
        raise UsageError(f"two models have the name {twice}, by which results are kept apart; give one another name")
    check_key_hosts(asked)
    return models


def cache_path() -> Path:
    """The file of the response cache."""
    if given := os.environ.get(CACHE_NAME):
        return Path(given)
    from psysafe.models.checked_files import cache_folder

    return cache_folder() / "replies.sqlite"


def load_price(text: str | None) -> Price | None:
    """``IN,OUT`` in US dollars per million tokens."""
    if text is None:
        return None
    from psysafe.models import Price

    try:
        first, second = (float(part) for part in text.split(","))
        if not (0 <= first < math.inf and 0 <= second < math.inf):
            raise ValueError
    except ValueError:
        raise UsageError(
            f"--price {text}: expected IN,OUT in US dollars per million tokens, such as 0.15,0.60"
        ) from None
    return Price(first / 1e6, second / 1e6)


def load_chosen_dimensions(names: str, directory: Path | None) -> list[Dimension]:
    """The dimensions of ``--dimensions`` and ``--taxonomy``."""
    from psysafe.taxonomy import choose_dimensions, load_dimensions

    wanted = [name.strip() for name in names.split(",") if name.strip()]
    if not wanted:
        raise UsageError("--dimensions is empty; expected all, a group or ids with commas")
    return choose_dimensions(wanted, load_dimensions(directory))


def load_mechanisms(
    specs: Sequence[str], temperature: float | None, max_tokens: int | None, curtail: bool
) -> list[Mechanism]:
    """The mechanisms of ``--mechanism``, with what holds for all of them."""
    from psysafe.judging import PRESETS, parse_mechanisms

    overrides: dict[str, object] = {}
    if temperature is not None:
        overrides["temperature"] = temperature
    if max_tokens is not None:
        overrides["max_tokens"] = max_tokens
    if curtail:
        overrides["curtail"] = True
    presets = [spec for spec in specs if spec in PRESETS]
    if presets and overrides:
        raise UsageError(
            f"{presets[0]} fixes all parameters: leave out --{next(iter(overrides)).replace('_', '-')}, "
            "or name the mechanisms one by one"
        )
    mechanisms = parse_mechanisms(specs, **overrides)
    if curtail and not any(mechanism.name == "vote" for mechanism in mechanisms):
        raise UsageError("--curtail is for votes; add --mechanism vote, or leave it out")
    return mechanisms


def load_budget(calls: int | None, cost: float | None, seconds: float | None, models: Iterable[ManagedJudge]) -> Budget:
    """The budget of a run.

    Raises:
        UsageError: ``--max-cost`` without a known price.
    """
    from psysafe.judging.judges import leaves, price_of
    from psysafe.runs import Budget

    if cost is not None:
        unknown = sorted({leaf.name for model in models for leaf in leaves(model) if price_of(leaf) is None})
        if unknown:
            raise UsageError(
                f"--max-cost: the price of {', '.join(unknown)} is unknown; give it with --price IN,OUT "
                "(US dollars per million tokens), or bound the run with --max-calls"
            )
    return Budget(calls, cost, seconds)


def confirm_hosts(models: Iterable[ManagedJudge], conversations: int, yes: bool) -> None:
    """Name the hosts that will receive the conversations, and have it confirmed.

    Raises:
        UsageError: not confirmed, or nobody there to ask.
    """
    from psysafe.judging.judges import info_of, leaves

    infos = [info_of(leaf) for model in models for leaf in leaves(model)]
    hosts = sorted({info.host for info in infos if info is not None and info.host and not info.loopback})
    if not hosts:
        return
    from psysafe.cli.console import note

    what = f"{conversations:,} conversation{'' if conversations == 1 else 's'} will be sent to {', '.join(hosts)}"
    if yes:
        note(f"{what}.")
        return
    if not sys.stdin.isatty():
        raise UsageError(f"{what}: add --yes to confirm (there is no terminal to ask on)")
    if not confirmed(f"{what}. Go on?"):
        raise UsageError("not confirmed; nothing was sent")


def confirmed(question: str) -> bool:
    """Ask on the terminal; stdout stays for results."""
    from psysafe.cli.console import err

    err().print(f"{question} [y/N] ", end="")
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def runs_folder() -> Path:
    """Where runs are made unless ``--run`` says otherwise."""
    return Path(os.environ.get(RUNS_NAME, "runs"))


def run_directory(given: Path | None, name: str) -> Path:
    """The directory of a new run."""
    if given is not None:
        return given
    stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    return runs_folder() / f"{stamp}-{name}-{token_hex(2)}"
