"""``make demo`` and ``make demo-mechanisms``: the embedded judges on invented dialogues, no key and no network.

An argument chooses a part: ``screen`` the first table alone, ``mechanisms`` dual correction, debate and vote.
"""

import os
import sys
import time
from pathlib import Path

from psysafe.cli import run

os.chdir(Path(__file__).parents[1])  # as if typed there
DIALOGUES = "examples/conversations.jsonl"


def judge(title: str, *arguments: str) -> int:
    """One command, shown as one would type it."""
    print(f"\n{title}\n$ psysafe judge {' '.join(arguments)}\n", flush=True)
    started = time.monotonic()
    code = run(["judge", *arguments])
    print(f"\n({time.monotonic() - started:.0f} s)", flush=True)
    return code


def main() -> int:
    """Both parts of the demonstration; the exit code is that of the first that fails."""
    if "mechanisms" in sys.argv[1:]:
        few = ("--mechanism", "dual", "--mechanism", "debate:rounds=1,votes=2", "--mechanism", "vote:samples=3")
        return judge(
            "Dual correction, a debate and a vote, asked of the embedded model in words: several minutes. A model of this\n"
            "size judges poorly that way (the verdicts are marked uncalibrated); what is shown is how it is done.",
            "examples/two.jsonl",
            *("--model", "local", "--dimensions", "insulting_behaviour", "--max-tokens", "250", *few),
        )
    print("psysafe judges 12 invented dialogues (they tell of suicide, psychosis, insults) on this machine.")
    code = judge("The screen: a sentence encoder, at once.", DIALOGUES, "--model", "screen")
    if code or "screen" in sys.argv[1:]:
        return code
    return judge(
        "The screen and the embedded language model, side by side: some minutes.",
        *(DIALOGUES, "--model", "screen", "--model", "local"),
    )


sys.exit(main())
