"""psysafe models"""

from __future__ import annotations

import os
from typing import Annotated

import typer


def models(json: Annotated[bool, typer.Option("--json")] = False) -> int:
    """List the forms in which a model can be named, and which of them are ready here."""
    from rich.table import Table

    from psysafe.cli.console import out, print_json
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
            "ready": True,
        }
    )
    rows.append({"form": "scripted:FILE.yaml", "where": "this process", "key": None, "ready": True})
    if json:
        print_json(rows)
        return 0
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("model", "where", "key from", "ready"):
        table.add_column(heading, overflow="fold")
    for row in rows:
        table.add_row(
            str(row["form"]),
            str(row["where"]),
            str(row["key"] or "no key"),
            "yes" if row["ready"] else "key not set",
        )
    out().print(table)
    return 0
