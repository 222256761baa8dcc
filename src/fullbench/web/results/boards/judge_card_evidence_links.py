"""Filters that list the verdicts behind each number of a judge's card.

The `n` of a number counts verdicts, or groups of verdicts: pairs judged in both orders, cases judged again, responses
with verdicts of two judges. For groups, the link shows all their verdicts.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import Any

from fullbench.analysis.agreement.judges_with_people import UNTAGGED_GROUP
from fullbench.analysis.scope_suffixes_of_table_titles import OVERALL
from fullbench.core.estimate import Estimate
from fullbench.core.table import Cell, Table
from fullbench.core.translatable_note import Note
from fullbench.web.results.boards.board_store import Links
from fullbench.web.results.lists.verdict_filters import Filter

ALL_CRITERIA = {"steadiness", "steadiness histogram", "orders", "costs", "rates", "reviews", "reasons", "summary"}
SHAPES = {"scores": "one", "pairs": "choice", "rankings": "ranking"}
Row = Mapping[str, Cell]
Count = Callable[[Filter], int]


def table_links(
    table: Table, judge: str, study: str, *, lengthened_contestants: Collection[str] = (), count: Count | None = None
) -> Links:
    """Return the filter behind every number of a card's table, or None for cells without one.

    `lengthened_contestants` give longer versions of another contestant's answers. With `count`, drop a filter that does
    not find as many verdicts as its number counts.
    """
    name, _, criterion = table.name.partition(" on ")
    criterion = str(table.source.get("criterion", criterion))
    table = replace(table, name=name)

    def finds_verdicts(link: Filter) -> bool:
        return count is not None and count(replace(link, study=study)) > 0

    evidence = _EvidenceFilters(judge, lengthened_contestants, finds_verdicts)
    # Tables in ALL_CRITERIA cover all criteria; other tables without a criterion cover the default one.
    default_criterion = criterion or ("" if name in ALL_CRITERIA else OVERALL)
    filters: list[list[Filter | None]] = []
    for cells in table.rows:
        keys = [column.key for column in table.typed_columns]
        row = dict(zip(keys, cells, strict=True))
        row_filters = [evidence.filter_for(table, row, key) for key in keys]
        scoped_filters = [
            None if link is None else replace(link, study=study, criterion=link.criterion or default_criterion)
            for link in row_filters
        ]
        filters.append([
            link if link is not None and _is_counted_evidence(table, cell, link, count) else None
            for cell, link in zip(cells, scoped_filters, strict=True)
        ])  # fmt: skip
    return filters


def _is_counted_evidence(table: Table, cell: Cell, link: Filter, count: Count | None) -> bool:
    if cell is None or isinstance(cell, str):
        return False
    if (
        count is None
        or table.name
        in {
            "other judges",
            "votes",
            "biases",
            "orders",
            "steadiness",
            "costs",
            "rates",
            "reasons",
            "replacement",
            "summary",
        }
        or link.both
    ):
        return True
    if table.name.startswith("corrected"):  # it counts pairs, and several verdicts make one pair
        return True
    n = cell.n if isinstance(cell, Estimate) else cell
    return count(link) == n


class _EvidenceFilters:
    def __init__(
        self, judge: str, lengthened_contestants: Collection[str], finds_verdicts: Callable[[Filter], bool]
    ) -> None:
        self.judge, self.lengthened_contestants, self.finds_verdicts = judge, lengthened_contestants, finds_verdicts

    def filter_for(self, table: Table, row: Row, column: str) -> Filter | None:
        filters_by_table: dict[str, Callable[[Row, str], Filter | None]] = {
            "summary": self._summary_filter,
            "agreement": self._agreement_filter,
            "other judges": self._standing_filter,
            "votes": lambda row, _: self._voted_filter(row["verdict"]),
            "steadiness": lambda row, _: self._judge_filter(row.get("verdict"), again=True),
            "biases": lambda row, _: self._bias_filter(row),
            "reviews": self._review_filter,
            "orders": lambda _, column: Filter(judge=self.judge, both=True, decided=column == "first shown wins"),
            "costs": lambda *_: Filter(judge=self.judge),
            "rates": lambda row, _: Filter(judge=self.judge, criterion=str(row.get("criterion", ""))),
            "reasons": lambda *_: Filter(judge=self.judge, fault="abstained"),
            "replacement": lambda *_: Filter(judge=self.judge, met=True, fault="none"),
        }
        if table.name.startswith("corrected"):
            return Filter(judge=self.judge, contestant=str(row.get("contestant", "")), met=True, fault="none")
        kind, separator, tag = table.name.partition(" by ")
        if separator:
            return self._tag_filter(kind, tag.split(",")[0], row, column)
        return filters_by_table[table.name](row, column) if table.name in filters_by_table else None

    def _summary_filter(self, row: Row, column: str) -> Filter | None:
        if column == "dollars per 1,000":  # of all criteria together
            return Filter(judge=self.judge)
        whole = Filter(judge=self.judge, criterion=str(row.get("criterion", OVERALL)))
        if column == "same verdict in both orders":
            return replace(whole, both=True)
        if column not in {"agreement", "people agree"}:
            return whole
        # Trust rests on the first kind of verdicts that people voted on.
        kinds = (self._voted_filter(kind, criterion=whole.criterion) for kind in ("pairs", "rankings", "scores"))
        return next((link for link in kinds if link is not None and self.finds_verdicts(link)), None)

    def _judge_filter(self, verdict_kind: Cell, **more: Any) -> Filter | None:
        shape = SHAPES.get(str(verdict_kind))
        return None if shape is None else replace(Filter(judge=self.judge, shown=shape), **more)

    def _voted_filter(self, verdict_kind: Cell, **more: Any) -> Filter | None:
        judge_filter = self._judge_filter(verdict_kind, met=True, **more)
        return None if judge_filter is None else replace(judge_filter, fault="none")

    def _agreement_filter(self, row: Row, column: str) -> Filter | None:
        if column == "unusable":
            judge_filter = self._judge_filter(row["verdict"])
            return None if judge_filter is None else replace(judge_filter, fault="any")
        excludes_ties = "without ties" in str(row["metric"])
        return self._voted_filter(row["verdict"], decided=excludes_ties, clear=excludes_ties)

    def _tag_filter(self, kind: str, tag: str, row: Row, column: str) -> Filter | None:
        agreement = self._agreement_filter({"verdict": kind, "metric": column}, column)
        group = row.get(tag, "")
        if group == UNTAGGED_GROUP:
            return None
        value = "" if isinstance(group, Note) else str(group)  # a mean over groups
        return None if agreement is None else replace(agreement, tag=tag, value=value)

    def _standing_filter(self, row: Row, _column: str) -> Filter | None:
        voted_filter = self._voted_filter(row["verdict"])
        return None if voted_filter is None else replace(voted_filter, beside=str(row["other judge"]))

    def _bias_filter(self, row: Row) -> Filter | None:
        bias, metric = str(row["bias"]), str(row["metric"])
        if metric == "first shown wins" and row["people's"] is None:  # from pairs in both orders, without votes
            return Filter(judge=self.judge, both=True, decided=True)
        if metric == "changed by a swap":
            return Filter(judge=self.judge, both=True)
        if metric == "gain when lengthened":
            (contestant,) = self.lengthened_contestants if len(self.lengthened_contestants) == 1 else ("",)
            return Filter(judge=self.judge, contestant=contestant, shown="one", fault="none") if contestant else None
        if bias in {"position", "ties"}:
            return self._voted_filter("pairs", decided=bias == "position")
        if metric == "pairs won for twice the words":
            return self._voted_filter("pairs")
        if bias == "ego":
            return self._voted_filter("pairs" if metric == "own answers preferred" else "scores")
        kind = {"copying": "rankings", "length": "scores", "high score": "scores", "scale": "scores"}.get(bias)
        return self._voted_filter(kind)

    def _review_filter(self, row: Row, _column: str) -> Filter:
        review_filter = Filter(contestant=self.judge, shown="one", fault="none")
        return replace(review_filter, criterion=str(row["criterion"]), ballot=str(row["ballot"]))
