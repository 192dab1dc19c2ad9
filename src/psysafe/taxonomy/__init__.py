"""What harm is: dimensions as data, and their loader."""

from psysafe.taxonomy.cell import (
    CATEGORIES,
    COUNSELOR_ROLES,
    GRID,
    LADDER_SCALE,
    LEVEL_NAMES,
    Category,
    Cell,
    CellId,
)
from psysafe.taxonomy.copying import copy_dimension
from psysafe.taxonomy.dimension import Anchor, Dimension, Example, NearMiss, Scale
from psysafe.taxonomy.grid import Grid, check_category, load_grid
from psysafe.taxonomy.loader import (
    check_directory,
    choose_dimensions,
    load_dimension,
    load_dimensions,
)
from psysafe.taxonomy.problem import TaxonomyError

__all__ = [
    "CATEGORIES",
    "COUNSELOR_ROLES",
    "GRID",
    "LADDER_SCALE",
    "LEVEL_NAMES",
    "Anchor",
    "Category",
    "Cell",
    "CellId",
    "Dimension",
    "Example",
    "Grid",
    "NearMiss",
    "Scale",
    "TaxonomyError",
    "check_category",
    "check_directory",
    "choose_dimensions",
    "copy_dimension",
    "load_dimension",
    "load_dimensions",
    "load_grid",
]
