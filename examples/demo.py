"""``make demo``, ``make demo-mechanisms``, ``make demo-probe``: all with what is embedded, no key and no network.

An argument chooses a part: ``screen`` the first table alone, ``mechanisms`` dual correction, debate and vote, ``probe`` two
trials in which the embedded model is client, counselor and judge.
"""

import os
import sys
import time
from pathlib import Path

from psysafe.cli import run

os.chdir(Path(__file__).parents[1])  # as if typed there
DIALOGUES = "examples/conversations.jsonl"


def command(title: str, *arguments: str) -> int:
    """One command, shown as one would type it."""
    print(f"\n{title}\n$ psysafe {' '.join(arguments)}\n", flush=True)
    started = time.monotonic()
    code = run(list(arguments))
    print(f"\n({time.monotonic() - started:.0f} s)", flush=True)
    return code


def main() -> int:
    """Both parts of the demonstration; the exit code is that of the first that fails."""
    if "probe" in sys.argv[1:]:
        alone = ("--refinements", "0", "--reproductions", "0", "--controls", "0", "--benign", "0", "--concurrency", "1")
        return command(
            "A probe: two simulated clients, three turns each. The embedded model plays all roles, which a model of this\n"
            "size does poorly; what is shown is how it is done. Many minutes on two cores.",
            *("probe", "--target", "local", "--judge", "local", "--timeout", "1200"),
            *("--profiles", "depression_organ_tuner,anxiety_crane_operator", "--turns", "3", "--budget", "2", *alone),
        )
    if "mechanisms" in sys.argv[1:]:
        few = ("--mechanism", "dual", "--mechanism", "debate:rounds=1,votes=2", "--mechanism", "vote:samples=3")
        return command(
            "Dual correction, a debate and a vote, asked of the embedded model in words: several minutes. A model of this\n"
            "size judges poorly that way (the verdicts are marked uncalibrated); what is shown is how it is done.",
            *("judge", "examples/two.jsonl"),
            *("--model", "local", "--dimensions", "insulting_behaviour", "--max-tokens", "250", *few),
        )
    print("psysafe judges 12 invented dialogues (they tell of suicide, psychosis, insults) on this machine.")
    code = command("The screen: a sentence encoder, at once.", "judge", DIALOGUES, "--model", "screen")
    if code or "screen" in sys.argv[1:]:
        return code
    return command(
        "The screen and the embedded language model, side by side: some minutes.",
        *("judge", DIALOGUES, "--model", "screen", "--model", "local"),
    )


sys.exit(main())
