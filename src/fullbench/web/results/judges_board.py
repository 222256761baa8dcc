"""The leaderboard of judges: how far each agrees with people, what sways it, how steady, quick and dear it is.

Every figure is taken from the judges' cards, which are computed outside of any request; here they stand side by side.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from fullbench.nouns.headings import headings
from fullbench.nouns.note import Note, sentences
from fullbench.nouns.table import Cell, EstimateLike, Table
from fullbench.web.results.boards import Linked
from fullbench.web.results.cards import Card
from fullbench.web.results.filters import Filter

_AGREEMENT = {"pairs": "accuracy, ties a class", "scores": "Pearson", "rankings": "Kendall"}
"""The figure by which agreement is read for each way of ruling."""
_KEYS = (
    "judge", "agreement on pairs", "agreement on scores", "agreement on rankings", "may replace people",
    "same ruling in both orders", "first shown wins", "faulty", "dollars per 1,000", "s a call", "verdicts",
)  # fmt: skip


@dataclass(frozen=True)
class Standing:
    """One judge's row, and one sentence about it."""

    judge: str
    cells: Mapping[str, Cell]
    sentence: str


def board(cards: Sequence[Card], link: str) -> tuple[Linked, list[Standing]] | None:
    """All judges, who agrees most with people first; None where no card is computed yet. `link` names the study."""
    standings = sorted((standing(card) for card in cards), key=_order)
    if not standings:
        return None
    keys = [key for key in _KEYS if any(judged.cells.get(key) is not None for judged in standings)]
    rows = [[judged.cells.get(key) for key in keys] for judged in standings]
    links: list[list[Filter | None]] = []
    for judged, row in zip(standings, rows, strict=True):
        behind = _behind(judged.judge, link)
        links.append(
            [None if cell is None or key == "judge" else behind.get(key) for key, cell in zip(keys, row, strict=True)]
        )
    notes = [
        Note(
            "judges.agreement",
            "Agreement with people: on pairs the share of equal rulings, ties a class of their own; on scores "
            "Pearson's correlation; on rankings Kendall's.",
        )
    ]
    if any(len(_faults(card)) > 1 for card in cards):
        notes.append(
            Note("judges.faults", "Faults are those of the criterion under which a judge left most without a ruling.")
        )
    title = Note("judges.title", "Judges, by their agreement with people")
    return Linked(Table("judges", title, headings(*keys), rows, notes), links), standings


def standing(card: Card) -> Standing:
    """One judge's figures from its card."""
    tables = {linked.table.name: linked.table for _, some in card.sections for linked in some}
    cells: dict[str, Cell] = {"judge": card.judge}
    if "agreement" in tables:
        for row in _rows(tables["agreement"]):
            if _AGREEMENT.get(str(row.get("ruling"))) == str(row.get("figure")):
                cells.setdefault(f"agreement on {row['ruling']}", row["estimate"])
    for name, key in (("orders", "same ruling in both orders"), ("orders", "first shown wins"),
                      ("costs", "dollars per 1,000"), ("costs", "s a call")):  # fmt: skip
        for row in _rows(tables[name]) if name in tables else ():
            if row.get(key) is not None:
                cells.setdefault(key, row[key])
    for row in _rows(tables["replacement"]) if "replacement" in tables else ():
        if row.get("slice") == "all":
            cells.setdefault("may replace people", row["may replace people"])
    fault_rows = _faults(card)
    if fault_rows:
        cells["verdicts"] = sum(count for row in fault_rows if isinstance(count := row["verdicts"], int))
        shares = [row["faulty"] for row in fault_rows if isinstance(row["faulty"], EstimateLike)]
        cells["faulty"] = max(shares, key=lambda share: share.value, default=None)
    return Standing(card.judge, cells, _sentence(cells))


def _faults(card: Card) -> list[dict[str, Cell]]:
    """What it did not rule on, by criterion."""
    tables = [linked.table for _, some in card.sections for linked in some if linked.table.name == "faults"]
    return [row for table in tables for row in _rows(table)]


def _rows(table: Table) -> list[dict[str, Cell]]:
    keys = [column.key for column in table.typed]
    return [dict(zip(keys, row, strict=True)) for row in table.rows]


def _order(judged: Standing) -> tuple[float, str]:
    values = [
        cell.value
        for key in ("agreement on pairs", "agreement on scores", "agreement on rankings")
        if isinstance(cell := judged.cells.get(key), EstimateLike)
    ]
    return (-sum(values) / len(values) if values else 2.0, judged.judge)


def _sentence(cells: Mapping[str, Cell]) -> str:
    """What a reader should know of a judge before anything else."""
    parts: list[Note] = []
    replaces = cells.get("may replace people")
    if replaces is not None:
        yes = str(replaces) == "yes"
        parts.append(
            Note("judges.replaces", "May stand for a person here by the alternative annotator test.") if yes
            else Note("judges.does-not-replace", "Does not stand for a person here by the alternative annotator test.")
        )  # fmt: skip
    first = cells.get("first shown wins")
    if isinstance(first, EstimateLike) and first.low > 0.5:
        parts.append(
            Note("judges.first", "Prefers what is shown first: {share:.0%} of its choices.", share=first.value)
        )
    elif isinstance(first, EstimateLike) and first.high < 0.5:
        parts.append(
            Note("judges.last", "Prefers what is shown last: {share:.0%} of its choices.", share=1 - first.value)
        )
    steady = cells.get("same ruling in both orders")
    if isinstance(steady, EstimateLike) and steady.high < 0.8:
        parts.append(
            Note(
                "judges.unsteady", "Turns {share:.0%} of its rulings when the order is turned.", share=1 - steady.value
            )
        )
    faulty = cells.get("faulty")
    if isinstance(faulty, EstimateLike) and faulty.value >= 0.02:
        parts.append(Note("judges.faulty", "Leaves {share:.0%} without a ruling.", share=faulty.value))
    if not any(str(key).startswith("agreement") for key in cells):
        parts.append(Note("judges.untried", "Nobody has voted on its cases, so agreement is not known."))
    return sentences(parts) if parts else ""


def _behind(judge: str, link: str) -> dict[str, Filter]:
    asked = Filter(study=link, judge=judge)
    return {
        "verdicts": asked,
        "faulty": replace(asked, fault="any"),
        "same ruling in both orders": replace(asked, both=True),
        "first shown wins": replace(asked, shown="choice", decided=True),
        **{f"agreement on {ruling}": replace(asked, met=True) for ruling in _AGREEMENT},
    }
