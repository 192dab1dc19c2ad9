"""Judges made of judges: panel and cascade."""

from psysafe.judging.ensembles.base import Ensemble
from psysafe.judging.ensembles.cascade import Cascade
from psysafe.judging.ensembles.panel import Panel

__all__ = ["Cascade", "Ensemble", "Panel"]
