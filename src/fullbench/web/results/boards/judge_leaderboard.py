"""The leaderboard of judges: how far each agrees with people, what sways it, how steady, quick and dear it is.

Every figure is taken from the judges' cards, which are computed outside of any request; here they stand side by side.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

from fullbench.analysis.scope_text import OVERALL, place
from fullbench.analysis.verdict_cost import AMOUNTS
from fullbench.core.column_labels import headings
from fullbench.core.estimate import Estimate
from fullbench.core.note import Note, listed, sentences
from fullbench.core.table import Cell, Table
from fullbench.web.results.boards.board_store import Linked
from fullbench.web.results.boards.judge_cards import Card
from fullbench.web.results.lists.verdict_filters import Filter

_AGREEMENT = {"pairs": "accuracy, ties a class", "scores": "Pearson", "rankings": "Kendall"}
"""The figure by which agreement is read for each way of ruling."""
_LENGTH = {"length bias": ("marks for twice the words", "probes.twice"),
           "length bias on pairs": ("pairs won for twice the words", "probes.twice-pairs")}  # fmt: skip
"""The figures by which length is read, and how the sentence on each begins, which says whether a bias is claimed."""
_CLAIMED = {"lean.long-gain", "lean.long-lose"}
_KEYS = (
    "judge", "criterion", "agreement on pairs", "agreement on scores", "agreement on rankings", "may replace people",
    "same ruling in both orders", "first shown wins", *_LENGTH, "faulty", *AMOUNTS, "verdicts",
)  # fmt: skip


@dataclass(frozen=True)
class Standing:
    """One judge's row under one criterion, and what stands out of it."""

    judge: str
    criterion: str
    cells: Mapping[str, Cell]
    said: tuple[Note, ...]

    @property
    def met(self) -> bool:
        """Whether people voted on what it ruled."""
        return any(key.startswith("agreement") for key in self.cells)

    @property
    def sentence(self) -> str:
        """All of it, for a reader who sees no other judge beside it."""
        if self.met:
            return self.sentence_without_people
        untried = Note("judges.untried", "Nobody has voted on its cases, so agreement is not known.")
        return sentences([*self.said, untried])

    @property
    def sentence_without_people(self) -> str:
        """The same where no judge of a page was met by people, which is said once for all of them."""
        return sentences(self.said or [Note("judges.unremarkable", "Nothing stands out.")])


def board(cards: Sequence[Card], link: str) -> tuple[Linked, list[Standing]] | None:
    """All judges under one criterion after another, who agrees most with people first; None where no card is computed
    yet. `link` names the study."""
    standings = _ordered([row for card in cards for row in standings_of(card)])
    if not standings:
        return None
    several = any(judged.criterion != OVERALL for judged in standings)
    keys = [
        key
        for key in _KEYS
        if any(judged.cells.get(key) is not None for judged in standings) and (several or key != "criterion")
    ]
    rows = [[judged.cells.get(key) for key in keys] for judged in standings]
    links: list[list[Filter | None]] = []
    for judged, row in zip(standings, rows, strict=True):
        behind = _behind(judged.judge, judged.criterion, link)
        links.append([None if cell is None else behind.get(key) for key, cell in zip(keys, row, strict=True)])
    notes = [
        Note(
            "judges.agreement",
            "Agreement with people: on pairs the share of equal rulings, ties a class of their own; on scores "
            "Pearson's correlation; on rankings Kendall's.",
        )
    ]
    if "length bias" in keys:
        notes.append(
            Note(
                "judges.length-bias",
                "Length bias: by how much twice the words change its score where people find the answers equally good.",
            )
        )
    if "length bias on pairs" in keys:
        notes.append(
            Note(
                "judges.length-bias-pairs",
                "Length bias on pairs: by how much twice the words of the other answer change its share of wins where "
                "people find both equally good.",
            )
        )
    title = Note("judges.title", "Judges, by their agreement with people")
    if not any(judged.met for judged in standings):
        title, notes = Note("judges.title-untried", "Judges, by what is known without people's votes"), notes[1:]
    return Linked(Table("judges", title, headings(*keys), rows, notes), links), standings


def standings_of(card: Card) -> list[Standing]:
    """One judge's figures from its card, a row for each criterion."""
    tables = {linked.table.name: linked.table for _, some in card.sections for linked in some}
    claims = {name: _claims(table) for name, table in tables.items() if name.startswith("biases")}
    rows = {name: _rows(table) for name, table in tables.items()}
    criteria = list(dict.fromkeys(_criterion(row) for row in rows.get("faults", []))) or [OVERALL]
    return [_standing(card.judge, criterion, rows, claims) for criterion in criteria]


def _claims(biases: Table) -> set[str]:
    """How the sentences below a table of biases begin that claim a liking for length, or a dislike."""
    said = [note.values["says"] for note in biases.notes if isinstance(note, Note) and note.id == "probes.says"]
    claims = [says.values for says in said if isinstance(says, Note) and says.id == "probes.claim"]
    return {
        opening.id
        for values in claims
        if isinstance(opening := values["opening"], Note)
        and isinstance(lean := values["lean"], Note)
        and lean.id in _CLAIMED
    }


def _standing(
    judge: str,
    criterion: str,
    tables: Mapping[str, Sequence[Mapping[str, Cell]]],
    claims: Mapping[str, Collection[str]],
) -> Standing:
    cells: dict[str, Cell] = {"judge": judge, "criterion": criterion}
    for row in tables.get(f"agreement{place('', criterion)}", ()):
        if _AGREEMENT.get(str(row.get("ruling"))) == str(row.get("figure")):
            cells[f"agreement on {row['ruling']}"] = row["estimate"]
    for row in tables.get("orders", ()):
        if _criterion(row) == criterion:
            cells |= {key: row[key] for key in ("same ruling in both orders", "first shown wins")}
    replaces = {
        row["ruling"]: row["may replace people"] == "yes"
        for row in tables.get("replacement", ())
        if row["slice"] == "all" and _criterion(row) == criterion
    }
    if replaces:
        yes = [cast("str", ruling) for ruling, may in replaces.items() if may]
        cells["may replace people"] = listed(yes) if 0 < len(yes) < len(replaces) else "yes" if yes else "no"
    biases = f"biases{place('', criterion)}"
    for row in tables.get(biases, ()):
        for key, (figure, _) in _LENGTH.items():
            if str(row["bias"]) == "length" and str(row["figure"]).startswith(figure):
                cells.setdefault(key, row["judge's"])
    for row in tables.get("faults", ()):
        if _criterion(row) == criterion:
            cells |= {key: row[key] for key in ("verdicts", "faulty")}
    for row in tables.get("rates", ()):
        if _criterion(row) == criterion:
            cells |= {key: row[key] for key in AMOUNTS}
    swayed = [key for key, (_, opening) in _LENGTH.items() if opening in claims.get(biases, ())]
    return Standing(judge, criterion, cells, tuple(_said(cells, replaces, swayed)))


def _criterion(row: Mapping[str, Cell]) -> str:
    """The criterion of a row; tables that know only the usual one do not name it."""
    return str(row.get("criterion", OVERALL))


def _rows(table: Table) -> list[dict[str, Cell]]:
    keys = [column.key for column in table.typed]
    return [dict(zip(keys, row, strict=True)) for row in table.rows]


def _ordered(standings: Sequence[Standing]) -> list[Standing]:
    """Criteria on which people voted first: figures under two criteria are not to be compared."""
    best = {row.criterion: min(_agreement(one) for one in standings if one.criterion == row.criterion)
            for row in standings}  # fmt: skip
    unvoted = {criterion: agreement > 1 for criterion, agreement in best.items()}
    return sorted(standings, key=lambda row: (unvoted[row.criterion], row.criterion, _agreement(row), row.judge))


def _agreement(judged: Standing) -> float:
    """Less is more agreement with people; 2 where none is known."""
    values = [
        cell.value for ruling in _AGREEMENT if isinstance(cell := judged.cells.get(f"agreement on {ruling}"), Estimate)
    ]
    return -sum(values) / len(values) if values else 2.0


def _said(cells: Mapping[str, Cell], replaces: Mapping[Cell, bool], swayed: Collection[str]) -> list[Note]:
    """What a reader should know of a judge before anything else; `replaces` says on which rulings it may replace
    people, `swayed` which figures of length are a bias beyond doubt."""
    parts: list[Note] = []
    usable, useless = ([cast("str", ruling) for ruling, may in replaces.items() if may is way] for way in (True, False))
    if usable and useless:
        parts.append(
            Note(
                "judges.usable-in-part", "Usable for {usable}, not for {useless}, by the alternative annotator test.",
                usable=listed(usable), useless=listed(useless),
            )
        )  # fmt: skip
    elif usable:
        parts.append(
            Note("judges.usable", "Usable for {usable} by the alternative annotator test.", usable=listed(usable))
        )
    elif useless:
        parts.append(
            Note(
                "judges.useless", "Not usable for {useless} by the alternative annotator test.", useless=listed(useless)
            )
        )
    pairs, scores, rankings = (cells.get(f"agreement on {ruling}") for ruling in _AGREEMENT)
    if isinstance(pairs, Estimate):
        parts.append(Note("judges.agrees", "Agrees with people on {share:.0%} of pairs.", share=pairs.value))
    if isinstance(scores, Estimate):
        parts.append(Note("judges.scores-go", "Its scores follow people's (r = {r:.2f}).", r=scores.value))
    if isinstance(rankings, Estimate):
        parts.append(Note("judges.rankings-go", "Its rankings follow people's (τ = {tau:.2f}).", tau=rankings.value))
    first = cells.get("first shown wins")
    if isinstance(first, Estimate) and first.low > 0.5:
        parts.append(
            Note("judges.first", "Prefers what is shown first: {share:.0%} of its choices.", share=first.value)
        )
    elif isinstance(first, Estimate) and first.high < 0.5:
        parts.append(
            Note("judges.last", "Prefers what is shown last: {share:.0%} of its choices.", share=1 - first.value)
        )
    steady = cells.get("same ruling in both orders")
    if isinstance(steady, Estimate) and steady.high < 0.8:
        parts.append(
            Note(
                "judges.unsteady", "Turns {share:.0%} of its rulings when the order is turned.", share=1 - steady.value
            )
        )
    if "length bias" in swayed and isinstance(marks := cells.get("length bias"), Estimate):
        parts.append(
            Note("judges.length", "Twice the words change its score by {value:+.2f} at the same worth.",
                 value=marks.value)
        )  # fmt: skip
    if "length bias on pairs" in swayed and isinstance(won := cells.get("length bias on pairs"), Estimate):
        parts.append(
            Note("judges.length-pairs", "Twice the words change its share of wins by {points:+.0f} points at the same "
                 "worth.", points=100 * won.value)
        )  # fmt: skip
    faulty = cells.get("faulty")
    if isinstance(faulty, Estimate) and faulty.value >= 0.02:
        parts.append(Note("judges.faulty", "Leaves {share:.0%} without a ruling.", share=faulty.value))
    return parts


def _behind(judge: str, criterion: str, link: str) -> dict[str, Filter]:
    asked = Filter(study=link, judge=judge, criterion=criterion)
    return {
        "verdicts": asked,
        "faulty": replace(asked, fault="any"),
        "same ruling in both orders": replace(asked, both=True),
        "first shown wins": replace(asked, shown="choice", decided=True),
        "length bias": replace(asked, shown="one", met=True),
        "length bias on pairs": replace(asked, shown="choice", met=True),
        **dict.fromkeys(AMOUNTS, asked),
        **{f"agreement on {ruling}": replace(asked, met=True) for ruling in _AGREEMENT},
    }
