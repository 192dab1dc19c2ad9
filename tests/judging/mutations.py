"""Takes out the lines that guard the mechanical cases, panels, cascades and classifiers, one at a time, and shows that a
test goes red for each.

    python -m tests.judging.mutations

Works on a copy of the source; run by hand after a change to the guards (about two minutes). Exit code 1 when a
guard could be taken out unnoticed.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]

# What is guarded, the file, the line as it is, and the line without its guard.
MUTATIONS = [
    ("an empty reply is not judged", "units.py", "if not is_visible(message.content):\n        return", "if False:\n        return"),
    ("a refusal is named", "answer.py", "if _REFUSAL.match(text):", "if False:"),
    ("an unusable answer gives no score", "asking.py", 'return Vote(step, "unscored", reason=problem.reason',
     'return Vote(step, "scored", score=0, reason=problem.reason'),
    ("a majority is one of the votes asked", "counting.py", "winner = majority(sides, asked)",
     "winner = majority(sides, sum(of is not None for of in sides))"),
    ("a malformed answer is repaired", "loose_json.py", "repaired = _repair(text)", "repaired = None"),
    ("a score that may be cut is not completed", "loose_json.py", "or text[-1:].isdigit() ", ""),
    ("an unusable answer is asked for again", "asking.py", "for again in (False, True):", "for again in (False,):"),
    ("a contradiction is flagged", "answer.py", "if _contradicts(fields.model_extra or {}, harmful):", "if False:"),
    ("a reply that addresses its judge is flagged", "units.py", 'flags.add("injection_suspected")', "pass"),
    ("a blocked call is named", "asking.py", '"blocked": "judge_blocked"', '"blocked": "endpoint_error"'),
    ("a withheld answer is named", "answer.py", 'if reply.finish == "content_filter":', "if False:"),
    ("a digit is not read out of prose", "answer.py", "_DIGIT.fullmatch(text)", "_DIGIT.search(text)"),
    ("harm is half of the votes", "counting.py", "return math.ceil(asked / 2)", "return asked // 2 + 1"),
    ("only the judged message is marked", "../conversation/fence.py", "if index in judged", "if True"),
    ("a panel's majority is one of the judges asked", "ensembles/panel.py", "2 * sides.count(side) > len(sides)",
     "2 * sides.count(side) > sum(s is not None for s in sides)"),
    ("a median needs every judge", "ensembles/panel.py", "if len(scores) == len(decisions) else None", "if scores else None"),
    ("disagreement is flagged", "ensembles/panel.py", 'flags.add("split")', "pass"),
    ("an unsure judge is followed by the next", "ensembles/cascade.py", "if not self.is_unsure(decision):", "if True:"),
    ("a reversed verdict is flagged", "ensembles/cascade.py", 'path.add("overturned")', "pass"),
    ("a screening verdict is marked", "classifier.py", 'frozenset[Flag]({"screening"})', "frozenset[Flag]()"),
    ("harm begins at the cut", "classifier.py", "if probability < cut:", "if probability <= cut:"),
    ("a failed classifier gives no score", "classifier.py", 'return Decision("unscored", reason, detail',
     'return Decision("scored", score=0.0, harmful=False, reason=reason, detail=detail'),
]  # fmt: skip

# What holds them.
TESTS = ("test_mechanical_cases.py", "test_ensembles.py", "test_classifier.py")


def main() -> int:
    """Apply each mutation to a copy and run the tests against it."""
    unnoticed = 0
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "src"
        environment = os.environ | {"PYTHONPATH": str(copy)}
        for name, file, guarded, without in MUTATIONS:
            shutil.rmtree(copy, ignore_errors=True)
            shutil.copytree(ROOT / "src", copy)
            path = copy / "psysafe" / "judging" / file
            source = path.read_text(encoding="utf-8")
            if source.count(guarded) != 1:
                print(f"STALE      {name}: {guarded!r} stands {source.count(guarded)} times in {file}")
                unnoticed += 1
                continue
            path.write_text(source.replace(guarded, without), encoding="utf-8")
            done = subprocess.run(
                [sys.executable, "-m", "pytest", "-x", "-p", "no:cacheprovider", *(f"tests/judging/{t}" for t in TESTS)],
                cwd=ROOT, env=environment, capture_output=True, text=True, check=False,
            )  # fmt: skip
            failed = [line for line in done.stdout.splitlines() if line.startswith("FAILED")]
            red = failed[0].split(" - ")[0].split("::")[-1] if failed else None
            print(f"{'red       ' if red else 'UNNOTICED '} {name}: {red or done.stdout[-200:]}")
            unnoticed += red is None
    return 1 if unnoticed else 0


if __name__ == "__main__":
    sys.exit(main())
