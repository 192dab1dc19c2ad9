"""A classifier that says what it is told to."""

from __future__ import annotations

from psysafe.judging.asking import Unit
from psysafe.judging.classifier import Classification, Classifier
from psysafe.models import ModelError, ModelInfo, Price
from psysafe.taxonomy import Dimension


class FakeClassifier(Classifier):
    """Gives ``found`` for every unit of the dimensions that it covers."""

    def __init__(
        self, found: Classification | ModelError, name: str = "fake", covered: str = "insulting_behaviour"
    ) -> None:
        self.found, self.name, self.covered = found, name, covered
        self.asked = 0
        self.open_now = 0

    @property
    def info(self) -> ModelInfo:
        return ModelInfo(self.name, f"fake {self.found}", None, True, Price(0, 0), {})

    def covers(self, dimension: Dimension) -> bool:
        return dimension.id == self.covered

    async def open(self) -> None:
        self.open_now += 1

    async def close(self) -> None:
        self.open_now -= 1

    async def classify(self, unit: Unit) -> Classification:
        self.asked += 1
        if isinstance(self.found, ModelError):
            raise self.found
        return self.found
