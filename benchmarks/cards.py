"""The judge cards of ``screen`` and ``local``, from the runs of benchmarks.card_runs.

    python -m benchmarks.cards [--runs FOLDER] [--out docs/cards]

Writes screen.md, screen.html, local.md and local.html. Runs that are not finished are measured as far as they have come, and
the card says so. Needs: pip install 'psysafe[stats]'.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks.card_runs import OUT, RUNS
from psysafe.cli import run

CARDS = {"screen": ("screen",), "local": ("single", "dual", "vote", "debate")}


def main() -> None:
    """See the module's docstring."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=Path, default=OUT, metavar="FOLDER")
    parser.add_argument("--out", type=Path, default=Path("docs/cards"), metavar="FOLDER")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    for judge, names in CARDS.items():
        runs = [str(arguments.runs / name) for name in names if (arguments.runs / name / "run.json").exists()]
        if not runs:
            raise SystemExit(f"{arguments.runs} holds no run of {judge}: python -m benchmarks.card_runs makes them")
        labels = arguments.runs / f"labels-{max(RUNS[name][0] for name in names)}.jsonl"
        cards = [part for kind in ("md", "html") for part in ("--card", str(arguments.out / f"{judge}.{kind}"))]
        code = run(["agree", *runs, str(labels), "--model", judge, *cards])
        if code:
            raise SystemExit(code)


if __name__ == "__main__":
    main()
