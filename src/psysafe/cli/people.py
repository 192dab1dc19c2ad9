"""From options to what commands need that work with what people say: labels, cuts, runs that are there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, cast

from psysafe.errors import UsageError

if TYPE_CHECKING:
    from psysafe.agreement.scales import Kind
    from psysafe.conversation import Conversation
    from psysafe.judging import Scope
    from psysafe.judging.calibration import Calibration
    from psysafe.runs import Store
    from psysafe.runs.selection import Selection
    from psysafe.taxonomy import Dimension


def load_selection(
    labels: Path | None, conversations: Iterable[Conversation], dimensions: Sequence[Dimension], scope: Scope
) -> Selection | None:
    """The units of ``--labels``; what of the file is of no use to this run is said.

    Labels that name no dimension are of the one that is chosen, where it is a single one.
    """
    if labels is None:
        return None
    from psysafe.agreement.labels import read_labels, wanted
    from psysafe.cli.console import note
    from psysafe.runs.selection import select

    found = read_labels(labels, dimensions[0].id if len(dimensions) == 1 else None)
    if found.blank:
        note(f"{found.name}: rows that have no label yet and are left out: {found.blank:,}")
    if found.unread:
        note(f"{found.name}: columns that are not read: {', '.join(found.unread)}")
    source = {"name": found.name, "sha256": found.digest}
    selection = select(wanted(found.of.values()), conversations, dimensions, scope, source)
    if selection.unmatched:
        note(f"{found.name}: of {len(found.of):,} labelled units these are not judged: {selection.unmatched}")
    return selection


def load_cuts(path: Path | None) -> Calibration | None:
    """The cuts of ``--calibration``."""
    if path is None:
        return None
    from psysafe.judging.calibration import load_calibration

    return load_calibration(path)


def check_output(path: Path, is_ours: Callable[[bytes], bool]) -> None:
    """Whether a result may be written there: to a new file, or over an older one of its kind.

    Raises:
        UsageError: another file is there, which may be somebody's labels.
    """
    try:
        there = path.read_bytes()
    except FileNotFoundError:
        return
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror or error}") from error
    if not is_ours(there):
        raise UsageError(f"{path} is there and holds something else: name another file")


def need_statistics() -> None:
    """Whether what computes agreement is installed.

    Raises:
        UsageError: it is not; says how.
    """
    if not all(find_spec(name) for name in ("scipy", "sklearn")):
        raise UsageError("agreement needs scipy and scikit-learn: pip install 'psysafe[stats]'")


def split_labels(files: Sequence[Path]) -> tuple[list[Path], Path]:
    """``RUN... LABELS`` as runs and the file of labels.

    Raises:
        UsageError: a part is missing, or the parts are the wrong way round.
    """
    *directories, labels = files
    if not directories:
        raise UsageError("expected RUN... LABELS: at least one directory of a run, and at last a file of labels")
    if labels.is_dir():
        raise UsageError(f"{labels} is a directory; the last argument is the file of labels: RUN... LABELS")
    return directories, labels


def open_runs(stack: ExitStack, directories: Iterable[Path]) -> list[Store]:
    """The stores of runs, closed with the stack; what is not finished is said."""
    from psysafe.cli.console import note
    from psysafe.runs import Store

    stores: list[Store] = []
    for directory in directories:
        store = Store.open(directory)
        stack.callback(store.close)
        judgments_only(store)
        ended = (store.get("state") or {}).get("ended")
        if ended != "complete":
            note(f"{directory} is not finished ({ended or 'cut off, or under way'}): measured is what is in it")
        stores.append(store)
    return stores


def judgments_only(store: Store) -> None:
    """A probe holds trials, not judgments that people could have labelled one by one.

    Raises:
        UsageError: the run is a probe.
    """
    from psysafe.runs.trials import is_probe

    if is_probe(store):
        raise UsageError(
            f"{store.directory} is a probe; this command is for runs of psysafe judge. Targets are compared with "
            "psysafe replay, judges of a probe with psysafe rejudge"
        )


def to_kind(text: str | None) -> Kind | None:
    """``--label-scale``."""
    if text is not None and text not in ("binary", "levels"):
        raise UsageError(f"--label-scale {text}: expected binary (0, 1) or levels (of the rubric)")
    return cast("Kind | None", text)
