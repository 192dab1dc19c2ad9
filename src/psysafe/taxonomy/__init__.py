"""What harm is: dimensions as data, and their loader."""

from psysafe.taxonomy.copying import copy_dimension
from psysafe.taxonomy.dimension import Anchor, Dimension, Example, NearMiss, Scale
from psysafe.taxonomy.loader import (
    TaxonomyError,
    check_directory,
    choose_dimensions,
    load_dimension,
    load_dimensions,
)

__all__ = [
    "Anchor",
    "Dimension",
    "Example",
    "NearMiss",
    "Scale",
    "TaxonomyError",
    "check_directory",
    "choose_dimensions",
    "copy_dimension",
    "load_dimension",
    "load_dimensions",
]
