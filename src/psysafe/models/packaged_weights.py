"""Weights that packages carry as plain files: found, joined once in the user's cache, checked by SHA-256.

No code of these packages is imported.
"""

from __future__ import annotations

import base64
import hashlib
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from psysafe.errors import UsageError
from psysafe.models.checked_files import chunks, digest_of, file_errors, folder, locked, remember, remembered

OWN_FILE_NAME = "PSYSAFE_LOCAL_MODEL"

_SPARE = 2**26  # bytes that joining leaves free on the disk


@dataclass(frozen=True, slots=True)
class PackagedWeights:
    """Weights that packages carry, in one file or in parts.

    Attributes:
        name: the model string. title: what it is. file: the name of the whole file.
        size, sha256: of the whole file, in bytes and hex digits.
        packages: in the order of their parts. version: theirs. suffix: how the name of a part ends.
        install: the command that installs them. licence: SPDX id. purpose: None for a judge.
    """

    name: str
    title: str
    file: str
    size: int
    sha256: str
    packages: tuple[str, ...]
    version: str
    suffix: str
    install: str
    licence: str
    purpose: str | None = None

    def describe(self) -> dict[str, Any]:
        """What a run records, JSON-ready."""
        return {
            "model": self.title,
            "file": self.file,
            "size": self.size,
            "sha256": self.sha256,
            "licence": self.licence,
            "purpose": self.purpose,
        }

    def check(self) -> None:
        """Whether they are there, without reading them.

        Raises:
            UsageError: not installed, not all of them, or another version; says what to install.
        """
        if not self._joined():
            self._parts()

    def prepare(self, stopped: Callable[[], bool] = lambda: False) -> Path:
        """The whole file, joined and checked. The first time this reads and writes all of it.

        Args:
            stopped: asked now and then; True ends it with ``Stopped``.

        Raises:
            UsageError: not installed, a wrong digest, no room on the disk.
        """
        if len(self.packages) == 1:
            path = self._parts()[0]
            with file_errors(f"{self.name}: cannot read its weights"):
                digest = digest_of(path, stopped)
            if digest != self.sha256:
                raise UsageError(f"{self.name}: {self.packages[0]} holds other weights than expected; {self._anew()}")
            return path
        target = folder() / self.file
        if self._joined() and remembered(target) == self.sha256:
            return target
        with (
            file_errors(f"{self.name}: cannot join its weights in {folder()}", "set XDG_CACHE_HOME to another folder"),
            locked(target, stopped),
        ):
            if not (self._joined() and digest_of(target, stopped) == self.sha256):
                self._join(target, stopped)
        return target

    def _joined(self) -> bool:
        path = folder() / self.file
        return len(self.packages) > 1 and path.is_file() and path.stat().st_size == self.size

    def _anew(self) -> str:
        return f"install it anew: {self.install.replace('install', 'install --force-reinstall', 1)}"

    def _parts(self) -> list[Path]:
        """The files of the parts, in order."""
        paths: list[Path] = []
        missing: list[str] = []
        for package in self.packages:
            try:
                found = metadata.distribution(package)
            except metadata.PackageNotFoundError:
                missing.append(package)
                continue
            if found.version != self.version:
                raise UsageError(
                    f"{self.name}: {package} has version {found.version}, expected {self.version}: {self.install}"
                )
            files = [Path(str(file.locate())) for file in found.files or () if file.name.endswith(self.suffix)]
            if len(files) != 1 or not files[0].is_file():
                raise UsageError(f"{self.name}: {package} is installed without its part of the weights; {self._anew()}")
            paths.append(files[0])
        if len(missing) == len(self.packages):
            own = f", or name a GGUF file in {OWN_FILE_NAME}" if self.purpose is None else ""
            raise UsageError(f"{self.name}: its weights are not installed: {self.install}{own}")
        if missing:
            shown = ", ".join(missing)
            raise UsageError(f"{self.name}: parts of its weights are not installed ({shown}): {self.install}")
        return paths

    def _join(self, target: Path, stopped: Callable[[], bool]) -> None:
        parts = self._parts()
        unfinished = target.with_name(f"{target.name}.joining")
        unfinished.unlink(missing_ok=True)  # of a process that was killed; only the holder of the lock is here
        free = shutil.disk_usage(target.parent).free
        if free < self.size + _SPARE:
            raise UsageError(
                f"{self.name}: {target.parent} has {free / 1e9:.1f} GB free, joining the weights takes "
                f"{self.size / 1e9:.1f} GB: free some, or set XDG_CACHE_HOME to a folder on another disk"
            )
        try:
            whole = hashlib.sha256()
            with unfinished.open("wb") as out:
                for part in parts:
                    for chunk in chunks(part, stopped):
                        whole.update(chunk)
                        out.write(chunk)
                out.flush()
                os.fsync(out.fileno())
            if whole.hexdigest() != self.sha256:
                raise UsageError(f"{self.name}: {self._culprit(parts, stopped)}; {self._anew()}")
            unfinished.replace(target)
        finally:
            unfinished.unlink(missing_ok=True)
        remember(target, self.sha256)

    def _culprit(self, parts: list[Path], stopped: Callable[[], bool]) -> str:
        """Which part is to blame for a wrong digest: one that is not what its own package says it is."""
        for package, part in zip(self.packages, parts, strict=True):
            file = next(f for f in metadata.files(package) or () if f.name == part.name)
            digest = hashlib.sha256()
            for chunk in chunks(part, stopped):
                digest.update(chunk)
            said = base64.urlsafe_b64encode(digest.digest()).rstrip(b"=").decode()
            if file.hash and file.hash.mode == "sha256" and file.hash.value != said:
                return f"the weights in {package} are damaged"
        return "the joined parts are not the expected weights (wrong SHA-256)"
