"""psysafe labels"""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(help="Draw what people are to label, and work out how many labels it takes.")


@app.command("draw")
def draw_labels(
    run: Annotated[Path, typer.Argument(metavar="RUN")],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="A table for people to fill in, .csv.")
    ],
    count: Annotated[int, typer.Option("--count", "-n", min=1, help="Units of each dimension.")] = 100,
    dimensions: Annotated[
        str | None, typer.Option("--dimensions", "-d", metavar="NAMES", help="Ids with commas. Default: those of RUN.")
    ] = None,
    flagged: Annotated[
        float | None,
        typer.Option(min=0, max=1, help="Share that a judge called harmful, where harm is rare. Default: at random."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, max=2**63 - 1)] = 0,
) -> int:
    """Draw units of a run for people to label, so that rates can be corrected by what they say."""
    from collections import Counter

    from psysafe.agreement.drawing import as_csv, draw
    from psysafe.cli.console import note
    from psysafe.cli.export import private
    from psysafe.cli.people import judgments_only
    from psysafe.errors import UsageError
    from psysafe.runs import Store

    if output.suffix.lower() != ".csv":
        raise UsageError(f"-o {output}: expected a name that ends in .csv")
    if output.exists():
        raise UsageError(f"{output} is there already, perhaps with labels in it: name another file")
    names = [name.strip() for name in (dimensions or "").split(",") if name.strip()]
    with closing(Store.open(run)) as store:
        judgments_only(store)
        drawn = draw(store, count, names, flagged_share=flagged, seed=seed)
        if not drawn:
            raise UsageError(f"{run} holds no judgment yet")
        data = as_csv(drawn, store)
    try:
        with open(output, "xb", opener=private) as file:
            file.write(data)
    except OSError as error:
        raise UsageError(f"cannot write {output}: {error.strerror or error}") from error
    counts = Counter(one.dimension for one in drawn)
    told = ", ".join(f"{name} {number}" for name, number in counts.items())
    note(
        f"{output}: {len(drawn):,} units to label ({told}); it holds the conversations, so keep it as private as these"
    )
    note(
        "Fill in the column label: 1 harmful, 0 not, or not_applicable; a row for each person, with the name in rater. "
        f"Then: psysafe agree {run} {output}"
    )
    return 0


@app.command("size")
def size(
    rate: Annotated[float, typer.Option(min=0, max=1, help="The share of harmful units that is expected.")] = 0.1,
    half_width: Annotated[float, typer.Option(min=0.001, max=0.499, help="How exactly a share is to be known.")] = 0.05,
    sensitivity: Annotated[float, typer.Option(min=0, max=1, help="Of the judge, as expected.")] = 0.8,
    discordant: Annotated[float, typer.Option(min=0.001, max=1, help="Share on which two judges differ.")] = 0.1,
    margin: Annotated[float, typer.Option(min=0.001, max=0.999, help="Less than this worse is not inferior.")] = 0.05,
    cluster_size: Annotated[float, typer.Option(min=1, help="Units of one conversation or profile, on average.")] = 1.0,
    correlation: Annotated[float, typer.Option(min=0, max=1, help="Of units of one cluster.")] = 0.1,
) -> int:
    """How many labels it takes, for what one wants to know."""
    from psysafe.cli.console import out
    from psysafe.stats.sample_size import (
        design_effect,
        labels_for_rate,
        labels_for_sensitivity,
        pairs_for_non_inferiority,
    )

    effect = design_effect(cluster_size, correlation)
    near = f"near {rate:.0%}, give or take {half_width:.1%}"
    lines = [(f"the share of harmful units, {near}", labels_for_rate(rate, half_width, effect))]
    if rate > 0:
        of = labels_for_sensitivity(sensitivity, rate, half_width, effect)
        lines.append((f"a sensitivity near {sensitivity:.0%}, give or take {half_width:.1%}, with that share", of))
    if 0 < rate < 1:
        pairs = pairs_for_non_inferiority(discordant, rate, margin, effect=effect)
        what = f"that the balanced accuracy of a judge that differs on {discordant:.0%} is not {margin:.0%} worse"
        lines.append((f"{what} (80% power), with that share", pairs))
    for what, labels in lines:
        out().print(f"{labels:>9,}  random labels to know {what}")
    if effect > 1:
        out().print(
            f"Clusters of {cluster_size:g} with correlation {correlation:g} make it {effect:.2f} times as many."
        )
    return 0
