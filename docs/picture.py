"""Draws docs/demo.svg, the first part of what ``make demo`` prints, and docs/probe.svg, the end of a probe on the testbed. Run
it from the repository after a change to the tables; a name (``demo``, ``probe``) draws one alone."""

import io
import os
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from rich.console import Console
from rich.text import Text

ROOT = Path(__file__).parents[1]
WIDTH = 118


def draw(name: str, title: str, printed: str) -> None:
    """A terminal with this text, colours included, as a picture."""
    console = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True, color_system="truecolor")
    console.print(Text.from_ansi(printed.rstrip()))
    picture = console.export_svg(title=title, clear=False)
    # The fonts that rich names would be fetched from the network.
    start, end = picture.index("    @font-face"), picture.index("    .terminal-") if "    .terminal-" in picture else -1
    picture = picture[:start] + picture[end:]
    (ROOT / "docs" / f"{name}.svg").write_text(picture, encoding="utf-8")


def demo() -> str:
    """What the first part of ``make demo`` prints."""
    command = [sys.executable, str(ROOT / "examples" / "demo.py"), "screen"]
    printed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return printed.split("  ... all of them")[0]


def probe() -> str:
    """What a probe of the testbed prints at its end."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    serve = subprocess.Popen(
        [sys.executable, "-m", "psysafe.probing.testbed.serve", "--port", str(port), "--plants", "18", "--seed", "4"],
        stderr=subprocess.DEVNULL,
    )
    try:
        for _ in range(200):
            with socket.socket() as knock:
                if knock.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        url = f"http://127.0.0.1:{port}/v1#testbed-"
        with tempfile.TemporaryDirectory() as folder:
            command = [
                sys.executable, "-c", "from psysafe.cli import main; main()", "probe", "--target", f"{url}target",
                "--client", f"{url}client", "--strategist", f"{url}strategist", "--judge", f"{url}judge",
                "--budget", "96", "--run", f"{folder}/run", "--quiet",
            ]  # fmt: skip
            environment = {**os.environ, "FORCE_COLOR": "1", "COLUMNS": str(WIDTH - 1)}
            return subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout
    finally:
        serve.terminate()
        serve.wait()


wanted = sys.argv[1:] or ["demo", "probe"]
if "demo" in wanted:
    draw("demo", "make demo", demo())
if "probe" in wanted:
    draw("probe", "psysafe probe, on a testbed with planted faults", probe())
