"""Speed, as ratios against peers measured in the same run."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """One comparison: our figure beside another's, and ours divided by theirs."""

    what: str
    ours: float
    other: float
    other_name: str
    ratio: float
    unit: str

    @classmethod
    def of(cls, what: str, ours: float, other: float, other_name: str, unit: str) -> Row:
        return cls(what, ours, other, other_name, ours / other if other else float("inf"), unit)

    def __str__(self) -> str:
        theirs = f"{self.other_name} {self.other:,.6g}"
        return f"{self.what:<52} {self.ours:>12,.6g} {self.unit:<8} {theirs:<34} ratio {self.ratio:.3g}"
