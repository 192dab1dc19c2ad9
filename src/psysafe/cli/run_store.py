"""The store of a run that is begun or gone on with."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from psysafe.errors import UsageError
from psysafe.runs import Store, manifest_difference


def run_store(directory: Path, manifest: dict[str, Any], *, resume: bool, retain: int | None) -> Store:
    """The new or resumed store, locked.

    Args:
        manifest: what must be equal to what the run was begun with. retain: days; None keeps the run.

    Raises:
        UsageError: it is not, there is none to resume, or one where a new one is to be.
    """
    if resume:
        store = Store.open(directory)
        difference = manifest_difference(store.get("manifest") or {}, manifest)
        if difference:
            store.close()
            raise UsageError(
                f"{directory} was begun with other settings and cannot be resumed with these:\n  "
                + "\n  ".join(difference)
                + "\nRepeat the original command with --resume, or start a new run."
            )
        store.lock()
        return store
    now = datetime.now(UTC)
    values: dict[str, Any] = {"manifest": manifest, "created": now.isoformat(timespec="seconds")}
    if retain is not None:
        values["expires"] = (now + timedelta(days=retain)).isoformat(timespec="seconds")
    store = Store.create(directory, values=values)
    store.lock()
    return store
