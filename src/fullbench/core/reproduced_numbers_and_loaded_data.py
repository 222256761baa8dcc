"""Published numbers computed again from released data, and the data that a benchmark brings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from fullbench.core.estimate import Estimate
from fullbench.core.table import Table
from fullbench.core.verdict_record import Record

Basis = Literal["data", "printed"]


@dataclass(frozen=True)
class Reproduced:
    """One published cell, computed again from the released data.

    `value` is a number or a mapping of numbers. `metric` names the one shown in a table (`""` if the value is a
    number), `estimate` is that one with its interval, and `paper` is the published number. `basis` is the origin of
    the value: the released `data`, or numbers `printed` elsewhere in the same paper, which only shows that these are
    consistent. `decimals` is the number of decimals of `paper`, if its line of the paper shows it and the rest of the
    table does not.
    """

    id: str
    value: Any
    n: int
    metric: str = ""
    estimate: Estimate | None = None
    paper: float | None = None
    source: str = ""
    basis: Basis = "data"
    decimals: int | None = None

    @property
    def table_value(self) -> Any:
        """The one number that represents the cell in a table."""
        value = self.value
        for name in filter(None, self.metric.split(".")):
            value = value[name]
        return value

    @property
    def cell(self) -> Mapping[str, Any]:
        """The cell as written to a file."""
        basis = {} if self.basis == "data" else {"from": self.basis}
        return {"id": self.id, "value": self.value, "n": self.n, **basis}


@dataclass(frozen=True)
class Reproduction:
    """All cells of a paper that its released data allow, and tables of oddities in these data."""

    cells: Sequence[Reproduced]
    tables: Sequence[Table] = ()


@dataclass(frozen=True)
class LoadedData:
    """Data that a benchmark brings: items, responses and verdicts, and tables of oddities in their files."""

    record: Record
    tables: Sequence[Table] = ()
