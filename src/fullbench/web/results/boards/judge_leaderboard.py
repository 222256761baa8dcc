"""Leaderboard of judges: agreement with people, biases, consistency, speed and cost.

All numbers are copied from the judges' stored cards.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

from fullbench.analysis.scope_suffixes_of_table_titles import OVERALL, scope_suffix
from fullbench.analysis.verdict_cost import AMOUNTS
from fullbench.core.built_in_table_columns import table_columns
from fullbench.core.estimate import Estimate
from fullbench.core.table import Cell, Table
from fullbench.core.translatable_note import Note, join_notes, join_sentences
from fullbench.web.results.boards.board_store import LinkedTable
from fullbench.web.results.boards.judge_cards import Card
from fullbench.web.results.lists.verdict_filters import Filter

_AGREEMENT = {"pairs": "accuracy with ties", "scores": "Pearson", "rankings": "Kendall"}
"""Agreement metric for each kind of verdict."""
_LENGTH = {"length bias": ("marks for twice the words", "probes.twice"),
           "length bias on pairs": ("pairs won for twice the words", "probes.twice-pairs")}  # fmt: skip
"""Metrics of length bias, and the id of the note that claims such a bias."""
_LENGTH_CLAIM_IDS = {"bias.long-gain", "bias.long-lose"}
_KEYS = (
    "judge", "criterion", "agreement on pairs", "agreement on scores", "agreement on rankings", "may replace people",
    "same verdict in both orders", "first shown wins", *_LENGTH, "share unusable", *AMOUNTS, "verdicts",
)  # fmt: skip
FIRST_NUMBERS = (
    "agreement on pairs", "agreement on scores", "agreement on rankings", "same verdict in both orders",
    "first shown wins", "share unusable", *_LENGTH, "verdicts", *AMOUNTS,
)  # fmt: skip
"""Numbers of a judge, the most important first: a card shows the first five that it has above its tabs."""


@dataclass(frozen=True)
class Standing:
    """One judge's row under one criterion, and notes on what is remarkable."""

    judge: str
    criterion: str
    cells: Mapping[str, Cell]
    notes: tuple[Note, ...]

    @property
    def has_votes(self) -> bool:
        """Return True if people voted on its cases."""
        return any(key.startswith("agreement") for key in self.cells)

    @property
    def sentence(self) -> str:
        """Return all notes as text, for a page about this judge only."""
        if self.has_votes:
            return self.sentence_without_people
        untried_note = Note("judges.untried")
        return join_sentences([*self.notes, untried_note])

    @property
    def sentence_without_people(self) -> str:
        """Return the notes for a page on which no judge has votes; the page says so once."""
        return join_sentences(self.notes or [Note("judges.unremarkable")])


def judge_board(cards: Sequence[Card], link: str) -> tuple[LinkedTable, list[Standing]] | None:
    """Return the table of judges, best agreement with people first, and its rows. None without cards."""
    standings = _sort_standings([row for card in cards for row in standings_of(card)])
    if not standings:
        return None
    has_several_criteria = any(standing.criterion != OVERALL for standing in standings)
    keys = [
        key
        for key in _KEYS
        if any(standing.cells.get(key) is not None for standing in standings)
        and (has_several_criteria or key != "criterion")
    ]
    rows = [[standing.cells.get(key) for key in keys] for standing in standings]
    links: list[list[Filter | None]] = []
    for standing, row in zip(standings, rows, strict=True):
        filters_by_key = _metric_filters(standing.judge, standing.criterion, link)
        links.append([None if cell is None else filters_by_key.get(key) for key, cell in zip(keys, row, strict=True)])
    notes = [Note("judges.agreement")]
    if "length bias" in keys:
        notes.append(Note("judges.length-bias"))
    if "length bias on pairs" in keys:
        notes.append(Note("judges.length-bias-pairs"))
    title = Note("judges.title")
    if not any(standing.has_votes for standing in standings):
        title, notes = Note("judges.title-untried"), notes[1:]
    return LinkedTable(Table("judges", title, table_columns(*keys), rows, notes), links), standings


def standings_of(card: Card) -> list[Standing]:
    """Return a judge's rows from its card, one for each criterion."""
    tables = {
        linked_table.table.name: linked_table.table
        for _, linked_tables in card.sections
        for linked_table in linked_tables
    }
    claims = {name: _length_claims(table) for name, table in tables.items() if name.startswith("biases")}
    rows = {name: _rows_as_dicts(table) for name, table in tables.items()}
    criteria = list(dict.fromkeys(_row_criterion(row) for row in rows.get("unusable", []))) or [OVERALL]
    return [_judge_standing(card.judge, criterion, rows, claims) for criterion in criteria]


def _length_claims(biases: Table) -> set[str]:
    claim_notes = [note.values["says"] for note in biases.notes if isinstance(note, Note) and note.id == "probes.says"]
    claims = [says.values for says in claim_notes if isinstance(says, Note) and says.id == "probes.claim"]
    return {
        opening.id
        for values in claims
        if isinstance(opening := values["opening"], Note)
        and isinstance(length_note := values["finding"], Note)
        and length_note.id in _LENGTH_CLAIM_IDS
    }


def _judge_standing(
    judge: str,
    criterion: str,
    tables: Mapping[str, Sequence[Mapping[str, Cell]]],
    claims: Mapping[str, Collection[str]],
) -> Standing:
    cells: dict[str, Cell] = {"judge": judge, "criterion": criterion}
    for row in tables.get(f"agreement{scope_suffix('', criterion)}", ()):
        if _AGREEMENT.get(str(row.get("verdict"))) == str(row.get("metric")):
            cells[f"agreement on {row['verdict']}"] = row["estimate"]
    for row in tables.get("orders", ()):
        if _row_criterion(row) == criterion:
            cells |= {key: row[key] for key in ("same verdict in both orders", "first shown wins")}
    replaces = {
        cast("str", row["verdict"]): str(row["may replace people"])
        for row in tables.get("replacement", ())
        if row["slice"] == "all" and _row_criterion(row) == criterion
    }
    if replaces:
        kinds = [kind for kind, outcome in replaces.items() if outcome == "yes"]
        outcomes = set(replaces.values())
        if len(outcomes) == 1:
            cells["may replace people"] = outcomes.pop()
        else:
            cells["may replace people"] = join_notes(kinds) if kinds else "not enough data"
    biases = f"biases{scope_suffix('', criterion)}"
    for row in tables.get(biases, ()):
        for key, (metric, _) in _LENGTH.items():
            if str(row["bias"]) == "length" and str(row["metric"]).startswith(metric):
                cells.setdefault(key, row["judge's"])
    for row in tables.get("unusable", ()):
        if _row_criterion(row) == criterion:
            cells |= {key: row[key] for key in ("verdicts", "share unusable")}
    for row in tables.get("rates", ()):
        if _row_criterion(row) == criterion:
            cells |= {key: row[key] for key in AMOUNTS}
    length_biases = [key for key, (_, opening) in _LENGTH.items() if opening in claims.get(biases, ())]
    return Standing(judge, criterion, cells, tuple(_standing_notes(cells, replaces, length_biases)))


def _row_criterion(row: Mapping[str, Cell]) -> str:
    """Tables with only the default criterion do not have the column."""
    return str(row.get("criterion", OVERALL))


def _rows_as_dicts(table: Table) -> list[dict[str, Cell]]:
    keys = [column.key for column in table.typed_columns]
    return [dict(zip(keys, row, strict=True)) for row in table.rows]


def _sort_standings(standings: Sequence[Standing]) -> list[Standing]:
    """Sort by criterion, those with votes first: numbers of two criteria cannot be compared."""
    best = {
        row.criterion: min(_agreement_order(standing) for standing in standings if standing.criterion == row.criterion)
        for row in standings
    }
    lacks_votes = {criterion: agreement > 1 for criterion, agreement in best.items()}
    return sorted(
        standings, key=lambda row: (lacks_votes[row.criterion], row.criterion, _agreement_order(row), row.judge)
    )


def _agreement_order(standing: Standing) -> float:
    """Negative mean agreement with people, or 2 if unknown."""
    values = [
        cell.value
        for verdict_kind in _AGREEMENT
        if isinstance(cell := standing.cells.get(f"agreement on {verdict_kind}"), Estimate)
    ]
    return -sum(values) / len(values) if values else 2.0


def _standing_notes(
    cells: Mapping[str, Cell], replaces: Mapping[str, str], length_biases: Collection[str]
) -> list[Note]:
    """`replaces` maps verdict kinds to yes, no or not enough data; `length_biases` are significant ones."""
    parts: list[Note] = []
    usable, useless, undecided = (
        [kind for kind, outcome in replaces.items() if outcome == answer] for answer in ("yes", "no", "not enough data")
    )
    if usable and useless:
        parts.append(Note("judges.usable-in-part", usable=join_notes(usable), useless=join_notes(useless)))
    elif usable:
        parts.append(Note("judges.usable", usable=join_notes(usable)))
    elif useless:
        parts.append(Note("judges.useless", useless=join_notes(useless)))
    if undecided:
        parts.append(Note("judges.open", open=join_notes(undecided)))
    pairs, scores, rankings = (cells.get(f"agreement on {verdict_kind}") for verdict_kind in _AGREEMENT)
    if isinstance(pairs, Estimate):
        parts.append(Note("judges.agrees", share=pairs.value))
    if isinstance(scores, Estimate):
        parts.append(Note("judges.scores-go", r=scores.value))
    if isinstance(rankings, Estimate):
        parts.append(Note("judges.rankings-go", tau=rankings.value))
    first = cells.get("first shown wins")
    if isinstance(first, Estimate) and first.low > 0.5:
        parts.append(Note("judges.first", share=first.value))
    elif isinstance(first, Estimate) and first.high < 0.5:
        parts.append(Note("judges.last", share=1 - first.value))
    steady = cells.get("same verdict in both orders")
    if isinstance(steady, Estimate) and steady.high < 0.8:
        parts.append(Note("judges.unsteady", share=1 - steady.value))
    if "length bias" in length_biases and isinstance(marks := cells.get("length bias"), Estimate):
        parts.append(Note("judges.length", value=marks.value))
    if "length bias on pairs" in length_biases and isinstance(
        win_change := cells.get("length bias on pairs"), Estimate
    ):
        parts.append(Note("judges.length-pairs", points=100 * win_change.value))
    faulty = cells.get("share unusable")
    if isinstance(faulty, Estimate) and faulty.value >= 0.02:
        parts.append(Note("judges.unusable", share=faulty.value))
    return parts


def _metric_filters(judge: str, criterion: str, link: str) -> dict[str, Filter]:
    judge_filter = Filter(study=link, judge=judge, criterion=criterion)
    return {
        "verdicts": judge_filter,
        "share unusable": replace(judge_filter, fault="any"),
        "same verdict in both orders": replace(judge_filter, both=True),
        "first shown wins": replace(judge_filter, shown="choice", decided=True),
        "length bias": replace(judge_filter, shown="one", met=True),
        "length bias on pairs": replace(judge_filter, shown="choice", met=True),
        **dict.fromkeys(AMOUNTS, judge_filter),
        **{f"agreement on {verdict_kind}": replace(judge_filter, met=True) for verdict_kind in _AGREEMENT},
    }
