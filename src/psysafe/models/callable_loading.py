"""From ``python:MODULE:CALLABLE`` to the function. Importing a module runs it."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import traceback
from hashlib import sha256
from pathlib import Path
from types import ModuleType
from typing import Any

from psysafe.errors import UsageError
from psysafe.models.base import Price
from psysafe.models.callable_target import CallableTarget, digest
from psysafe.models.limits import Limits

_FORM = "expected python:MODULE:CALLABLE or python:FILE.py:CALLABLE, such as python:bots/mine.py:reply"


def load_callable(name: str, limits: Limits | None = None, price: Price | None = None) -> CallableTarget:
    """The function of ``python:MODULE:CALLABLE`` or ``python:FILE.py:CALLABLE``.

    Raises:
        UsageError: no such module, file or function, or the module fails.
    """
    where, colon, path = name.removeprefix("python:").rpartition(":")
    if not colon or not where or not path:
        raise UsageError(f"{name}: {_FORM}")
    try:
        module = _from_file(Path(where)) if where.endswith(".py") else _from_path(where)
    except UsageError as error:
        raise UsageError(f"{name}: {error}") from None
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        missing = isinstance(error, ModuleNotFoundError) and (error.name or "").split(".")[0] == where.split(".")[0]
        if missing:
            raise UsageError(f"{name}: no module {where!r} in this folder or on Python's path; {_FORM}") from error
        frame = traceback.extract_tb(error.__traceback__)[-1]
        raise UsageError(
            f"{name}: importing it failed with {type(error).__name__} at {Path(frame.filename).name}:{frame.lineno}: "
            f"{' '.join(str(error).split())[:200]}"
        ) from error
    function: Any = module
    for part in path.split("."):
        try:
            function = getattr(function, part)
        except AttributeError:
            raise UsageError(f"{name}: {where} has no {path}; {_FORM}") from None
    if not callable(function):
        raise UsageError(f"{name}: {path} is a {type(function).__name__}; expected a function that takes messages")
    file = getattr(module, "__file__", None)
    return CallableTarget(function, name, limits=limits, price=price, identity=digest(file) if file else None)


def _from_path(module: str) -> ModuleType:
    here = str(Path.cwd())
    added = here not in sys.path and "" not in sys.path
    if added:  # a console script does not have it
        sys.path.insert(0, here)
    try:
        importlib.invalidate_caches()
        return importlib.import_module(module)
    finally:
        if added and here in sys.path:
            sys.path.remove(here)


def _from_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise UsageError(f"there is no file {path}; {_FORM}")
    file = path.resolve()
    module_name = f"psysafe_target_{sha256(str(file).encode()).hexdigest()[:12]}"
    spec = importlib.util.spec_from_file_location(module_name, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[module_name] = module  # dataclasses and pickles look there
    folder = str(file.parent)
    sys.path.insert(0, folder)  # as for a program: its neighbours can be imported
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[module_name]
        raise
    finally:
        if folder in sys.path:
            sys.path.remove(folder)
    return module
