"""The paper's Table 9, as printed: every judge, task and data set, and the average it prints beside them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources

from fullbench.benchmarks.mllm_judge.datasets import DATASETS


@dataclass(frozen=True)
class Printed:
    """One row of the table: a figure for each data set that has one, and the printed average."""

    task: str
    judge: str
    cells: Mapping[str, float]
    average: float

    @property
    def mean(self) -> float:
        """The unweighted mean of the cells that are there, which is what the paper's average is."""
        return sum(self.cells.values()) / len(self.cells)


@cache
def table9() -> tuple[Printed, ...]:
    """All rows.

    >>> row = next(row for row in table9() if (row.judge, row.task) == ("CogVLM", "score"))
    >>> len(row.cells), round(row.mean, 4), row.average
    (10, 0.0281, 0.028)
    """
    text = (resources.files("fullbench.benchmarks.mllm_judge") / "table9.tsv").read_text(encoding="utf-8")
    rows = []
    for line in text.splitlines()[1:]:
        task, judge, *figures, average = line.split("\t")
        cells = {dataset.name: float(figure) for dataset, figure in zip(DATASETS, figures, strict=True) if figure}
        rows.append(Printed(task, judge, cells, float(average)))
    return tuple(rows)


def printed(judge: str, task: str, dataset: str) -> float | None:
    """What the paper prints in one cell; None where it prints nothing."""
    return next((row.cells.get(dataset) for row in table9() if (row.judge, row.task) == (judge, task)), None)
