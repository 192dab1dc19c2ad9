"""Draws docs/demo.svg: the first part of what ``make demo`` prints. Run it from the repository after a change to the
table."""

import io
import subprocess
import sys
from pathlib import Path

from rich.console import Console
from rich.text import Text

ROOT = Path(__file__).parents[1]

printed = subprocess.run(
    [sys.executable, str(ROOT / "examples" / "demo.py"), "screen"], cwd=ROOT, capture_output=True, text=True, check=True
).stdout.split("  ... all of them")[0]
console = Console(record=True, width=118, file=io.StringIO())
console.print(Text(printed.rstrip()))
picture = console.export_svg(title="make demo", clear=False)
# The fonts that rich names would be fetched from the network.
start, end = picture.index("    @font-face"), picture.index("    .terminal-") if "    .terminal-" in picture else -1
picture = picture[:start] + picture[end:]
(ROOT / "docs" / "demo.svg").write_text(picture, encoding="utf-8")
