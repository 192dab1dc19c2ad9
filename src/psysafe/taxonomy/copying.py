"""A shipped dimension as the beginning of a user's own."""

from __future__ import annotations

import re
from pathlib import Path

from psysafe.errors import UsageError
from psysafe.taxonomy.cell import CATEGORIES
from psysafe.taxonomy.dimension import is_identifier
from psysafe.taxonomy.grid import category_file
from psysafe.taxonomy.loader import SHIPPED, shipped_file


def copy_dimension(name: str, directory: Path, new_id: str | None = None) -> Path:
    """Write one of our dimensions, or categories of ladders, into a folder, which is made if need be; returns the file.

    Args:
        new_id: the copy's own id; its file is named after it. Everything else stays, byte for byte. A category keeps
            its name, for there are seven.

    Raises:
        UsageError: no such dimension, an id that cannot be used, or a file that is there already.
    """
    if name in CATEGORIES and new_id not in (None, name):
        raise UsageError(f"{name} is a category of ladders and keeps its name; leave out --as")
    if name not in SHIPPED and name not in CATEGORIES:
        expected = f"a dimension ({', '.join(SHIPPED)}) or a category ({', '.join(CATEGORIES)})"
        raise UsageError(f"no dimension '{name}' comes with psysafe; expected {expected}")
    content = (category_file(name) if name in CATEGORIES else shipped_file(name)).read_bytes()
    if new_id is not None and new_id != name:
        if not is_identifier(new_id):
            expected = "small letters a-z, digits and _, 2 to 64 of them, a letter first, such as my_harm"
            raise UsageError(f"'{new_id}' cannot be an id; expected {expected}")
        if new_id in SHIPPED:
            raise UsageError(f"the id '{new_id}' is another dimension's that comes with psysafe; choose a new one")
        content = re.sub(rb"^id: \w+", b"id: " + new_id.encode(), content, count=1, flags=re.MULTILINE)
    path = directory / f"{new_id or name}.yaml"
    other = path.with_suffix(".yml")
    if other.exists():
        raise UsageError(f"{other} is there already and is not overwritten; choose another folder, or an id with --as")
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with path.open("xb") as file:
            file.write(content)
    except FileExistsError:
        if directory.is_dir():
            problem = f"{path} is there already and is not overwritten; choose another folder, or an id with --as"
        else:
            problem = f"{directory}: not a folder; name a folder, or one that is to be made"
        raise UsageError(problem) from None
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror or error}") from None
    return path
