"""Published figures computed again: what a benchmark offers where its authors released their data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from fullbench.core.estimate import Estimate
from fullbench.core.record import Record
from fullbench.core.table import Table

Basis = Literal["data", "printed"]


@dataclass(frozen=True)
class Reproduced:
    """One published cell, computed again from the released data.

    `value` is a number or a mapping of numbers. `figure` names the one of them that is shown in a table (`""` where the
    value is a number itself), `estimate` is that figure with its interval, and `paper` is what was published for it.
    `basis` is what the value was computed from: the released `data`, or figures `printed` elsewhere in the same paper,
    which shows that these hold together and no more. `decimals` says to how many places `paper` was printed, where its
    own line of the paper shows that and the other figures of the table do not.
    """

    id: str
    value: Any
    n: int
    figure: str = ""
    estimate: Estimate | None = None
    paper: float | None = None
    source: str = ""
    basis: Basis = "data"
    decimals: int | None = None

    @property
    def shown(self) -> Any:
        """The one figure that stands for the cell in a table."""
        value = self.value
        for name in filter(None, self.figure.split(".")):
            value = value[name]
        return value

    @property
    def cell(self) -> Mapping[str, Any]:
        """The cell as it is written to a file."""
        basis = {} if self.basis == "data" else {"from": self.basis}
        return {"id": self.id, "value": self.value, "n": self.n, **basis}


@dataclass(frozen=True)
class Reproduction:
    """All cells of a paper that its released data allow, and tables that say what was odd in these data."""

    cells: Sequence[Reproduced]
    tables: Sequence[Table] = ()


@dataclass(frozen=True)
class Brought:
    """What a benchmark brings: items, responses and verdicts, and tables that say what was odd in their files."""

    record: Record
    tables: Sequence[Table] = ()
