"""Which verdicts are behind a figure of a judge's card, as a filter that lists them.

`n` of a figure counts verdicts, or it counts what several verdicts were ruled on: pairs heard in both orders, cases
heard again, responses that two judges ruled on. A link then shows all rulings on them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import Any

from fullbench.analysis.agreement.judges_with_people import UNTAGGED
from fullbench.analysis.scope_text import OVERALL
from fullbench.core.estimate import Estimate
from fullbench.core.note import Note
from fullbench.core.table import Cell, Table
from fullbench.web.results.boards.board_store import Links
from fullbench.web.results.lists.verdict_filters import Filter

ALL_CRITERIA = {"steadiness", "steadiness histogram", "orders", "costs", "rates", "reviews", "reasons"}
SHAPES = {"scores": "one", "pairs": "choice", "rankings": "ranking"}
Row = Mapping[str, Cell]
Count = Callable[[Filter], int]


def links(
    table: Table, judge: str, study: str, *, lengthened: Collection[str] = (), count: Count | None = None
) -> Links:
    """The filter behind every number of a table of a judge's card; None where there is none.

    `lengthened` are the contestants whose answers say at greater length what another one says. With `count`, a filter
    that does not find as many verdicts as its figure counts is left out.
    """
    name, _, criterion = table.name.partition(" on ")
    criterion = str(table.source.get("criterion", criterion))
    table = replace(table, name=name)
    evidence = _Evidence(judge, lengthened)
    # Beside the usual criterion there may be others; the tables that name none are of all of them.
    under = criterion or ("" if name in ALL_CRITERIA else OVERALL)
    filters: list[list[Filter | None]] = []
    for cells in table.rows:
        keys = [column.key for column in table.typed]
        row = dict(zip(keys, cells, strict=True))
        behind = [evidence.of(table, row, key) for key in keys]
        placed = [
            None if link is None else replace(link, study=study, criterion=link.criterion or under) for link in behind
        ]
        filters.append([
            link if link is not None and _holds(table, cell, link, count) else None
            for cell, link in zip(cells, placed, strict=True)
        ])  # fmt: skip
    return filters


def _holds(table: Table, cell: Cell, link: Filter, count: Count | None) -> bool:
    """Whether a cell is a figure, and a filter finds as many verdicts as it says, where it counts verdicts."""
    if cell is None or isinstance(cell, str):
        return False
    if (
        count is None
        or table.name
        in {"standing", "votes", "biases", "orders", "steadiness", "costs", "rates", "reasons", "replacement"}
        or link.both
    ):
        return True
    if table.name.startswith("corrected"):  # it counts pairs, of which several verdicts make one
        return True
    n = cell.n if isinstance(cell, Estimate) else cell
    return count(link) == n


class _Evidence:
    """The filters of one judge's figures."""

    def __init__(self, judge: str, lengthened: Collection[str]) -> None:
        self.judge, self.lengthened = judge, lengthened

    def of(self, table: Table, row: Row, column: str) -> Filter | None:
        """The filter behind one number."""
        known: dict[str, Callable[[Row, str], Filter | None]] = {
            "agreement": self._agreement,
            "standing": self._standing,
            "votes": lambda row, _: self._met(row["ruling"]),
            "steadiness": lambda row, _: self._mine(row.get("ruling"), again=True),
            "biases": lambda row, _: self._bias(str(row["bias"]), str(row["figure"])),
            "reviews": self._review,
            "orders": lambda _, column: Filter(judge=self.judge, both=True, decided=column == "first shown wins"),
            "costs": lambda *_: Filter(judge=self.judge),
            "rates": lambda row, _: Filter(judge=self.judge, criterion=str(row.get("criterion", ""))),
            "reasons": lambda *_: Filter(judge=self.judge, fault="recused"),
            "replacement": lambda *_: Filter(judge=self.judge, met=True, fault="none"),
        }
        if table.name.startswith("corrected"):
            return Filter(judge=self.judge, contestant=str(row.get("contestant", "")), met=True, fault="none")
        kind, tagged, tag = table.name.partition(" by ")
        if tagged:
            return self._grouped(kind, tag.split(",")[0], row, column)
        return known[table.name](row, column) if table.name in known else None

    def _mine(self, ruling: Cell, **more: Any) -> Filter | None:
        shape = SHAPES.get(str(ruling))
        return None if shape is None else replace(Filter(judge=self.judge, shown=shape), **more)

    def _met(self, ruling: Cell, **more: Any) -> Filter | None:
        ruled = self._mine(ruling, met=True, **more)
        return None if ruled is None else replace(ruled, fault="none")

    def _agreement(self, row: Row, column: str) -> Filter | None:
        if column == "faults":
            ruled = self._mine(row["ruling"])
            return None if ruled is None else replace(ruled, fault="any")
        decided = "ties left out" in str(row["figure"])
        return self._met(row["ruling"], decided=decided, clear=decided)

    def _grouped(self, kind: str, tag: str, row: Row, column: str) -> Filter | None:
        agreement = self._agreement({"ruling": kind, "figure": column}, column)
        group = row.get(tag, "")
        if group == UNTAGGED:
            return None
        value = "" if isinstance(group, Note) else str(group)  # a mean over groups
        return None if agreement is None else replace(agreement, tag=tag, value=value)

    def _standing(self, row: Row, _column: str) -> Filter | None:
        compared = self._met(row["ruling"])
        return None if compared is None else replace(compared, beside=str(row["other judge"]))

    def _bias(self, bias: str, figure: str) -> Filter | None:
        if figure == "changed by a swap":
            return Filter(judge=self.judge, both=True)
        if figure == "gain when lengthened":
            (contestant,) = self.lengthened if len(self.lengthened) == 1 else ("",)
            return Filter(judge=self.judge, contestant=contestant, shown="one", fault="none") if contestant else None
        if bias in {"position", "ties"}:
            return self._met("pairs", decided=bias == "position")
        if figure == "pairs won for twice the words":
            return self._met("pairs")
        if bias == "ego":
            return self._met("pairs" if figure == "own answers preferred" else "scores")
        kind = {"copying": "rankings", "length": "scores", "high score": "scores", "scale": "scores"}.get(bias)
        return self._met(kind)

    def _review(self, row: Row, _column: str) -> Filter:
        asked = Filter(contestant=self.judge, shown="one", fault="none")
        return replace(asked, criterion=str(row["criterion"]), ballot=str(row["ballot"]))
