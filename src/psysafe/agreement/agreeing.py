"""Runs and labels in, agreement out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from psysafe.agreement.joining import Joined, Key, join
from psysafe.agreement.labels import Labels
from psysafe.agreement.measuring import Measured, measure
from psysafe.agreement.rates import corrected, transported
from psysafe.agreement.scales import Kind, LabelScale, label_scale
from psysafe.agreement.worth import Worth, worth
from psysafe.errors import UsageError
from psysafe.runs.store import Store
from psysafe.taxonomy import Dimension


@dataclass(slots=True)
class Source:
    """A run that was measured.

    Attributes:
        judges: what is known of each model: name, identity and details, as the run holds them.
    """

    directory: str
    id: str
    created: str | None
    manifest: Mapping[str, Any]
    judges: Sequence[Mapping[str, Any]]
    surroundings: Mapping[str, Any]


@dataclass(slots=True)
class Agreement:
    """How far judges agree with people, and what could not be compared.

    Attributes:
        measured: one for each model, mechanism and dimension that people labelled.
        not_labelled: by dimension that the runs judged, nothing; there are no labels of it.
        not_judged: dimensions of the labels on which no run judged a labelled unit, with the number of labels.
        worth: of each model with several mechanisms.
    """

    labels: Labels
    sources: list[Source]
    measured: list[Measured]
    not_labelled: list[str]
    not_judged: dict[str, int]
    worth: list[Worth] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        """The one object of ``--json``."""
        return {
            "labels": {
                "name": self.labels.name, "sha256": self.labels.digest, "count": len(self.labels.of),
                "random": self.labels.random, "not_filled_in": self.labels.blank, "not_read": self.labels.unread,
            },
            "runs": [{"run": source.directory, "id": source.id} for source in self.sources],
            "measured": [one.as_dict() for one in self.measured],
            "not_labelled": self.not_labelled,
            "not_judged": self.not_judged,
            "mechanisms": [one.as_dict() for one in self.worth],
        }  # fmt: skip


def agree(
    stores: Sequence[Store],
    labels: Labels,
    dimensions: Mapping[str, Dimension],
    *,
    kind: Kind | None = None,
    elsewhere: Store | None = None,
    watch: Callable[[str], None] = lambda _: None,
) -> Agreement:
    """Measure the judges of some runs against labels.

    Args:
        dimensions: by id; those of the runs, for their scales. kind: of the labels' scale, if it is not to be told.
        elsewhere: a run to whose flagged shares the sensitivity and specificity measured
            here are applied. watch: told what is being measured.

    Raises:
        UsageError: see ``join`` and ``label_scale``; a dimension that is not known.
    """
    joined = {key: one for key, one in join(stores, labels).items() if one.labelled}
    scales = label_scales(labels, dimensions, joined, kind)
    labelled = {place[1] for place in labels.of}
    judged = dict.fromkeys(name for store in stores for name in (store.get("manifest") or {}).get("dimensions", ()))
    not_labelled = [name for name in judged if name not in labelled]
    measured = {key[2] for key in joined}
    not_judged = Counter(place[1] for place in labels.of if place[1] not in measured)
    found = Agreement(labels, [_source(store) for store in stores], [], not_labelled, dict(not_judged))
    other = {} if elsewhere is None else _unlabelled(elsewhere)
    for key in sorted(joined, key=lambda key: (key[2], key[0], key[1])):
        watch(f"{key[2]}, {key[0]}, {key[1]}")
        one = measure(joined[key], scales[key[2]])
        one.rates = corrected(joined[key], scales[key[2]], labels)
        if elsewhere is not None:
            there = other.get(key)
            one.rates["transported"] = transported(
                joined[key], scales[key[2]], there.rows if there else [], joined[key].differing(there) if there else ()
            )
        found.measured.append(one)
    for model in sorted({key[0] for key in joined}):
        of_model = [one for key, one in joined.items() if key[0] == model]
        compared = worth(model, of_model, scales)
        if compared is not None:
            found.worth.append(compared)
    return found


def label_scales(
    labels: Labels, dimensions: Mapping[str, Dimension], joined: Mapping[Key, Joined], kind: Kind | None
) -> dict[str, LabelScale]:
    scales: dict[str, LabelScale] = {}
    for name in sorted({key[2] for key in joined}):
        if name not in dimensions:
            raise UsageError(f"{name} is no dimension that psysafe knows: give the --taxonomy DIR of the run")
        for key, one in joined.items():
            if key[2] == name and one.circumstances()["rubric"] not in (None, dimensions[name].hash):
                raise UsageError(
                    f"{name}: the run was judged with another rubric than the present one, so that what its levels "
                    "mean is not known: give its --taxonomy DIR"
                )
        of = [label for place, label in labels.of.items() if place[1] == name]
        scales[name] = label_scale(of, name, dimensions[name].scale, kind)
    return scales


def _source(store: Store) -> Source:
    return Source(
        str(store.directory), store.id, store.get("created"), store.get("manifest") or {},
        store.get("models") or [], store.get("surroundings") or {},
    )  # fmt: skip


def _unlabelled(store: Store) -> dict[Key, Joined]:
    """A run of which nobody has labelled anything."""
    return join([store], Labels("", ""), labelled=False)
