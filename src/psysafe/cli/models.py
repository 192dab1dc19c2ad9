"""psysafe models"""

from __future__ import annotations

import os
from importlib.util import find_spec
from typing import Annotated, Any

import typer


def _state(row: dict[str, Any]) -> str:
    if row["form"].startswith("inspect:"):  # each of its providers has its own key
        return "installed" if row["ready"] else "not installed"
    if row["key"] is None:
        return "needs no key" if row["ready"] else "not installed"
    return "key is set" if row["ready"] else "key is not set"


def models(json: Annotated[bool, typer.Option("--json")] = False) -> int:
    """List the forms in which a judge or another model can be named, and which of them are ready here."""
    from rich.table import Table

    from psysafe.cli.console import out, print_json
    from psysafe.judging.judges import EMBEDDED, ENSEMBLES, installed
    from psysafe.models.resolve import KEY_NAME, PROVIDERS

    rows = [
        {
            "form": f"{name}/MODEL",
            "where": os.environ.get(provider.url_name or "", provider.base_url),
            "key": provider.key_name,
            "ready": provider.key_name is None or bool(os.environ.get(provider.key_name)),
        }
        for name, provider in PROVIDERS.items()
    ]
    rows.append(
        {
            "form": "http(s)://HOST/v1#MODEL",
            "where": "that address",
            "key": f"{KEY_NAME} (if it wants one)",
            "ready": bool(os.environ.get(KEY_NAME)),
        }
    )
    rows.append({"form": "scripted:FILE.yaml", "where": "this process", "key": None, "ready": True})
    default = installed()
    for name, what in EMBEDDED.items():
        ready = {"screen": default is not None, "local": default == "local", "nli": bool(find_spec("onnxruntime"))}
        rows.append({"form": name, "where": what, "key": None, "ready": ready.get(name, True)})
    for name in ENSEMBLES:
        rows.append({"form": f"{name}:A+B", "where": "wherever A and B are", "key": None, "ready": True})
    rows.append(
        {
            "form": "inspect:PROVIDER/NAME",
            "where": "that provider of Inspect",
            "key": "the provider's own variable",
            "ready": find_spec("inspect_ai") is not None,
        }
    )
    rows.append({"form": "http:FILE.yaml", "where": "as the file says", "key": None, "ready": True})
    rows.append({"form": "python:MODULE:CALLABLE", "where": "this process", "key": None, "ready": True})
    if json:
        print_json(rows)
        return 0
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("model", "where", "key from", "key"):
        table.add_column(heading, overflow="fold")
    for row in rows:
        table.add_row(
            str(row["form"]),
            str(row["where"]),
            str(row["key"] or "no key"),
            _state(row),
        )
    out().print(table)
    return 0
