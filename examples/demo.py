"""``make demo``: judges the example dialogues with the scripted judge, one judge beside a vote of five."""

import sys
from pathlib import Path

from psysafe.cli import run

HERE = Path(__file__).parent

print("psysafe judges 12 invented dialogues on 7 dimensions. The judge is scripted: its verdicts were written by hand")
print("in examples/judge.yaml, no model is asked. The command is .venv/bin/psysafe.\n")
sys.exit(
    run(
        [
            "judge",
            str(HERE / "conversations.jsonl"),
            *("--model", f"scripted:{HERE / 'judge.yaml'}"),
            *("--mechanism", "single", "--mechanism", "vote:samples=5"),
        ]
    )
)
