"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Models = Annotated[
    list[str],
    typer.Option("--model", "-m", metavar="MODEL", help="The judge; may be repeated. See: psysafe models."),
]
DimensionNames = Annotated[
    str,
    typer.Option("--dimensions", "-d", metavar="NAMES", help="all, a group (dialogguard, psysafe) or ids with commas."),
]
Mechanisms = Annotated[
    list[str],
    typer.Option(
        "--mechanism",
        metavar="SPEC",
        help="single, dual, debate, vote, with parameters such as dual:weights=0.7,0.3 or vote:samples=20, "
        "or a preset: dialogguard-paper, dialogguard-code. May be repeated.",
    ),
]
Taxonomy = Annotated[
    Path | None,
    typer.Option(metavar="DIR", help="A folder of your own dimensions; see: psysafe taxonomy check."),
]
Run = Annotated[Path | None, typer.Option(metavar="DIR", help="Directory of the run. Default: a new one in ./runs.")]
Resume = Annotated[
    bool, typer.Option("--resume", help="Go on with the run in --run DIR; failed calls are tried again.")
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show calls, tokens and cost, and call nothing.")]
Temperature = Annotated[float | None, typer.Option(min=0, max=2, help="For every mechanism. Default: each one's own.")]
MaxTokens = Annotated[int | None, typer.Option(min=1, max=1_000_000, help="Bound on one answer. Default: 1024.")]
Concurrency = Annotated[int, typer.Option("--concurrency", "-c", min=1, max=4096, help="Calls in flight.")]
Rpm = Annotated[float | None, typer.Option("--rpm", min=0.1, help="Requests per minute, per endpoint.")]
Tpm = Annotated[float | None, typer.Option("--tpm", min=1, help="Tokens per minute, per endpoint.")]
Timeout = Annotated[float, typer.Option(min=0.1, help="Seconds for one attempt.")]
Retries = Annotated[int, typer.Option(min=0, help="Attempts after the first, for what may pass.")]
Seed = Annotated[int, typer.Option(min=0, max=2**63 - 1, help="Everything random follows from it.")]
Curtail = Annotated[
    bool, typer.Option("--curtail", help="Let a vote stop once it is decided: same verdict, no usable mean.")
]
Cache = Annotated[
    bool,
    typer.Option("--cache", help="Keep replies and answer equal requests from them (file: PSYSAFE_CACHE)."),
]
PriceText = Annotated[
    str | None,
    typer.Option(
        "--price",
        metavar="IN,OUT",
        help="US dollars per million tokens: of the one model named, or of those whose price is unknown.",
    ),
]
MaxCalls = Annotated[int | None, typer.Option(min=0, help="Stop before more model calls than this.")]
MaxCost = Annotated[float | None, typer.Option(min=0, help="Stop before spending more US dollars than this.")]
MaxSeconds = Annotated[float | None, typer.Option(min=0, help="Stop after this time.")]
MaxUnscored = Annotated[float, typer.Option(min=0, max=1, help="Exit with 3 when a larger share stays unscored.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Confirm that conversations are sent to the named host.")]
Json = Annotated[bool, typer.Option("--json", help="One JSON object on stdout.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")]
Labels = Annotated[
    Path | None,
    typer.Option("--labels", metavar="FILE", help="Judge only what this file of human labels names: id and dimension."),
]
LabelDimension = Annotated[
    str | None, typer.Option("--dimension", metavar="NAME", help="The dimension of labels that name none.")
]
LabelScale = Annotated[
    str | None,
    typer.Option(
        "--label-scale", metavar="KIND", help="binary (0, 1) or levels (of the rubric). Default: as the labels look."
    ),
]
CalibrationFile = Annotated[
    Path | None,
    typer.Option("--calibration", metavar="FILE", help="Cuts that psysafe calibrate has fitted on human labels."),
]
AnchorFile = Annotated[
    Path | None,
    typer.Option(
        "--anchors", metavar="FILE", help="Judge these conversations first, and warn when the judge has moved since."
    ),
]
Retain = Annotated[int | None, typer.Option(metavar="DAYS", min=1, max=36500, help="Delete the run after that time.")]
