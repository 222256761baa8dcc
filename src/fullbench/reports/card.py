"""A judge card: on one page, whether a judge can be trusted."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import erfc, sqrt
from pathlib import Path

from fullbench.errors import InputError, Undefined
from fullbench.figures import judging, probes, repeats, standard
from fullbench.figures.judging import Met
from fullbench.nouns.call import Usage
from fullbench.nouns.estimate import Estimate
from fullbench.nouns.record import Pairing, Record
from fullbench.nouns.table import Cell, Table
from fullbench.nouns.verdict import PEOPLE
from fullbench.stats import weighted
from fullbench.stats.bootstrap import bootstrap
from fullbench.stats.comparison import benjamini_hochberg, mcnemar, paired_difference
from fullbench.stats.rankings import edit_distance

Place = tuple[str, frozenset[str], str]


@dataclass(frozen=True)
class Card:
    """What is known about one judge: a sentence or two, and tables under a few headings."""

    judge: str
    lead: str
    sections: Mapping[str, Sequence[Table]]

    @property
    def tables(self) -> list[Table]:
        return [table for tables in self.sections.values() for table in tables]


def card(
    record: Record,
    judge: str,
    *,
    people: str = PEOPLE,
    tags: Sequence[str] = (),
    own: Collection[str] = (),
    seed: int = 0,
) -> Card:
    """The card of one judge: agreement, standing, steadiness, biases, faults, cost.

    `tags` are the items' tags by which agreement is split; `own` are the contestants of the judge's own family.
    """
    if judge not in record.judges:
        raise InputError(f"the record holds no verdict of {judge!r}; judges there: {', '.join(record.judges)}")
    mine = record.where(judge=judge)
    met = judging.meet(record, people)
    overall = judging.agreements(met, judge, seed=seed)
    sections = {
        "Agreement": [_overall(overall), *judging.agreement_tables(met, tags, judges=[judge], brief=True, seed=seed)],
        "Standing": [standing(met, judge, seed=seed)],
        "Steadiness": repeats.tables(mine, seed=seed),
        "Biases": [probes.table(probes.probes(met, judge, own=own))],
        "Reviews": [_reviews(record, judge, people, seed)],
        "Faults and cost": [standard.faults(mine), standard.reasons(mine), standard.costs(mine)],
    }
    kept = {name: [table for table in tables if table.rows] for name, tables in sections.items()}
    return Card(judge, _lead(mine, overall), {name: tables for name, tables in kept.items() if tables})


def _lead(mine: Record, overall: Sequence[judging.Agreement]) -> str:
    used = sum((verdict.usage for verdict in mine), Usage())
    lost = sum(verdict.fault is not None for verdict in mine)
    parts = [f"{len(mine):,} verdicts, {lost:,} of them faults."]
    for entry in overall:
        name = next(iter(judging.FIGURES[entry.shape]))
        if entry.first is not None:
            parts.append(f"On {entry.shape}, {name} with people is {entry.first}.")
    if not overall:
        parts.append("No verdict of people on the same responses is at hand, so nothing is said about agreement.")
    if used.calls and used.dollars is not None:
        parts.append(f"1,000 verdicts cost {1000 * used.dollars / len(mine):.2f} dollars.")
    if used.calls:
        parts.append(f"A call takes {used.seconds / used.calls:.2f} s.")
    return " ".join(parts)


def _overall(overall: Sequence[judging.Agreement]) -> Table:
    rows: list[list[Cell]] = [
        [entry.shape, name, figure, entry.faults] for entry in overall for name, figure in entry.figures.items()
    ]
    notes = [f"{entry.shape}, {name}: {why}." for entry in overall for name, why in entry.undefined.items()]
    return Table("agreement", "Agreement with people", ("ruling", "figure", "estimate", "faults"), rows, notes)


def _reviews(record: Record, judge: str, people: str, seed: int) -> Table:
    """What people marked the judge's own rulings with, where they reviewed them."""
    rows: list[list[Cell]] = []
    for criterion, part in record.where(judge=people, contestant=judge, fault=None).by("criterion").items():
        reviews = [verdict for verdict in part if verdict.contestants == (judge,) and verdict.marks is not None]
        if len(reviews) > 1:
            marks = [verdict.marks[0] for verdict in reviews if verdict.marks is not None]
            rows.append([criterion, reviews[0].ballot, bootstrap(weighted.mean, marks, seed=seed)])
    return Table("reviews", "What people think of its rulings", ("criterion", "ballot", "mean mark"), rows)


def standing(met: Met, judge: str, *, seed: int = 0) -> Table:
    """How the judge stands beside every other one, on the cases that both ruled on and people did too."""
    rows: list[list[Cell]] = []
    ps: list[float] = []
    for other in met.judges:
        for kind, figures in judging.FIGURES.items():
            shared = list(_shared(met.of(judge, kind), met.of(other, kind))) if other != judge else []
            if shared and (gap := _gap(kind, shared, seed)) is not None:
                rows.append([other, kind, next(iter(figures)), gap])
                ps.append(_p(kind, shared, gap))
    passed = benjamini_hochberg(ps).passed if ps else ()
    for row, told in zip(rows, passed, strict=True):
        row.append("yes" if told else "no")
    notes = [
        f"The figure of {judge} less that of the other judge, on the same cases; items are resampled.",
        "For an edit distance less is better. Told apart: by McNemar's test (pairs) or the interval, after "
        "Benjamini-Hochberg over all rows at 5%.",
    ]
    columns = ("other judge", "ruling", "figure", "difference", "told apart")
    return Table("standing", "Among other judges", columns, rows, notes, {"judge": judge, "seed": seed})


def _shared(ours: Sequence[Pairing], theirs: Sequence[Pairing]) -> Iterator[tuple[Pairing, Pairing]]:
    """Pairings of two judges on the same responses; where one ruled several times, its first ruling."""
    known: dict[Place, Pairing] = {}
    for pairing in theirs:
        known.setdefault(_place(pairing), pairing)
    seen: set[Place] = set()
    for pairing in ours:
        place = _place(pairing)
        if place in known and place not in seen:
            seen.add(place)
            yield pairing, known[place]


def _place(pairing: Pairing) -> Place:
    verdict = pairing.verdict
    return verdict.item, frozenset(verdict.contestants), verdict.criterion


def _right(pairing: Pairing) -> float:
    return float(judging.winner(pairing.marks) == judging.winner(pairing.other))


def _distance(pairing: Pairing) -> float:
    return edit_distance(judging.order(pairing.marks), judging.order(pairing.other))


def _gap(kind: str, met: Sequence[tuple[Pairing, Pairing]], seed: int) -> Estimate | None:
    items = [one.verdict.item for one, _ in met]
    try:
        if kind == "scores":
            first, second = [one.marks[0] for one, _ in met], [two.marks[0] for _, two in met]
            truth = [one.other[0] for one, _ in met]
            return paired_difference(weighted.pearson, first, second, truth, cluster=items, seed=seed)
        figure = _right if kind == "pairs" else _distance
        return bootstrap(weighted.mean, [figure(one) - figure(two) for one, two in met], cluster=items, seed=seed)
    except Undefined:
        return None


def _p(kind: str, met: Sequence[tuple[Pairing, Pairing]], gap: Estimate) -> float:
    if kind == "pairs":
        return mcnemar([_right(one) for one, _ in met], [_right(two) for _, two in met]).mid_p
    error = (gap.high - gap.low) / (2 * 1.959964)
    return erfc(abs(gap.value) / error / sqrt(2)) if error else float(gap.value == 0)


def as_json(made: Card) -> str:
    """A card as JSON: judge, lead, tables."""
    from fullbench.reports.tables import render

    tables = [json.loads(render(table, "json")) for table in made.tables]
    return json.dumps({"judge": made.judge, "lead": made.lead, "tables": tables}, ensure_ascii=False, indent=2) + "\n"


def write(made: Card, path: str | Path) -> list[Path]:
    """Write a card: .html is a page with charts, .json the whole card, .md, .txt and .csv its tables."""
    from importlib.metadata import version

    from fullbench.reports.files import write_file
    from fullbench.reports.page import Section, page
    from fullbench.reports.tables import write as write_tables

    path = Path(path)
    suffix = path.suffix.lower()
    if suffix == ".json":
        return [write_file(path, as_json(made))]
    if suffix not in {".html", ".htm"}:
        return write_tables(made.tables, path)
    sections = [Section(name, tables=tables) for name, tables in made.sections.items()]
    return [
        write_file(
            path, page(f"Judge card: {made.judge}", made.lead, sections, source={"fullbench": version("fullbench")})
        )
    ]
