"""Tables of a leaderboard that grows: ratings, the effect of the rule, who beats whom, families, fit, style."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from fullbench.errors import InputError, Undefined
from fullbench.figures.gaps import Gaps
from fullbench.figures.matches import RULES, Match, Matches, Rule, one_judge, settle
from fullbench.nouns.estimate import Estimate
from fullbench.nouns.record import Record
from fullbench.nouns.table import Cell, Table
from fullbench.stats.battles import Battles
from fullbench.stats.elo import elo
from fullbench.stats.ratings import Ratings, bradley_terry, rank_sets
from fullbench.stats.shares import wilson
from fullbench.stats.standings import cycles, foreseen, separability, win_rates_against
from fullbench.stats.style import lead, style_controlled
from fullbench.stats.ties import Ties

K = 4.0
DRAWS = 200


@dataclass(frozen=True)
class Settings:
    """How a leaderboard is made: what turns two orders into one result, how ties count, who is the reference."""

    rule: Rule = "both-agree"
    ties: Ties = "half"
    reference: str | None = None
    seed: int = 0


def standings(record: Record, judge: str | None = None, settings: Settings | None = None) -> list[Table]:
    """All tables of one judge's leaderboard that the record has something for."""
    settings = settings or Settings()
    settled = settle(record, one_judge(record, judge), settings.rule)
    if not settled.matches:
        return []
    made = [
        leaderboard(settled, settings),
        rules(record, settled.judge, settings),
        wins(settled),
        fit(settled, settings),
    ]
    made += style(record, settled)
    return [table for table in made if table.rows]


def _rated(settled: Matches, settings: Settings) -> Ratings:
    return bradley_terry(
        settled.first, settled.second, settled.outcome, contestants=len(settled.names), cluster=settled.item,
        interval="sandwich", ties=settings.ties,
    )  # fmt: skip


def leaderboard(settled: Matches, settings: Settings) -> Table:
    """Ratings with intervals and rank sets, Elo over orders, matches, wins against the reference."""
    names, notes = settled.names, _notes(settled, settings)
    nothing: list[Estimate | None] = [None] * len(names)
    try:
        made = _rated(settled, settings)
        ratings = list(made.estimates)
        notes += [f"{names[who]} is not rated: {reason}." for who, reason in made.unrated.items()]
        if len(made.components) > 1:
            notes.append(f"The comparisons fall into {len(made.components)} groups; the largest is rated.")
        notes.append(f"Neighbours whose intervals do not overlap: {separability(ratings)}.")
    except Undefined as reason:
        ratings = nothing
        notes.append(f"No ratings: {reason}.")
    battles = Battles.of(settled.first, settled.second, settled.outcome, contestants=len(names))
    circles = cycles(battles.matrix())
    if circles:
        shown = "; ".join(" > ".join(names[who] for who in (*circle, circle[0])) for circle in circles[:3])
        notes.append(f"{len(circles)} cycles of three: {shown}.")
    orders = elo(
        settled.first, settled.second, settled.outcome, contestants=len(names), k=K, middle="median", draws=DRAWS,
        seed=settings.seed,
    )  # fmt: skip
    against = nothing
    if settings.reference in names:
        against = win_rates_against(battles, names.index(settings.reference), ties="left out")
    rows: list[list[Cell]] = [
        [None if rank is None else f"{rank[0]}-{rank[1]}" if rank[0] < rank[1] else str(rank[0]), name, rating, order,
         int(met), win]
        for rank, name, rating, order, met, win in zip(
            rank_sets(ratings), names, ratings, orders, battles.played(), against, strict=True
        )
    ]  # fmt: skip
    worths = ratings if all(ratings) else orders
    ranked = sorted(zip(worths, rows, strict=True), key=lambda pair: -pair[0].value if pair[0] else math.inf)
    if not all(ratings):
        notes.append("Sorted by Elo, for not everybody is rated.")
    columns = ("rank", "contestant", "rating", "Elo", "matches", "wins against the reference")
    hint = {"kind": "intervals", "label": "contestant", "value": "rating" if any(ratings) else "Elo"}
    title = f"Leaderboard by {settled.judge}"
    return Table("standings", title, columns, [row for _, row in ranked], notes, _source(settled, settings), hint)


def _notes(settled: Matches, settings: Settings) -> list[str]:
    n = len(settled.matches)
    notes = [
        f"{n} matches by the rule '{settled.rule}': {wilson(settled.ties, n)} are ties. Ratings: Bradley-Terry, ties "
        f"{settings.ties}, items kept together, mean 1000.",
        f"Elo: K = {K:g}, the median over {DRAWS} random orders and the range of 95% of them; it depends on the order.",
    ]
    if settled.half_heard:
        notes.append(f"{settled.half_heard} pairs were heard in one order only and are no matches yet.")
    if settings.reference is not None:
        notes.append(f"Wins against {settings.reference}: ties are left out of both wins and n.")
    return notes


def _source(settled: Matches, settings: Settings) -> dict[str, object]:
    return {"judge": settled.judge, "rule": settled.rule, "ties": settings.ties, "seed": settings.seed, "k": K}


def rules(record: Record, judge: str, settings: Settings) -> Table:
    """What the rule does: every contestant's rating, and the share of ties, under each rule."""
    gaps = Gaps()
    columns: list[str] = []
    ratings: dict[str, dict[str, Estimate | None]] = {}
    shares: list[str] = []
    for rule in RULES:
        settled = settle(record, judge, rule)
        if not settled.matches:
            continue
        columns.append(rule)
        shares.append(f"{rule} {wilson(settled.ties, len(settled.matches))}")
        made = gaps.cell(rule, partial(_rated, settled, settings))
        found = made.estimates if made is not None else [None] * len(settled.names)
        ratings[rule] = dict(zip(settled.names, found, strict=True))
    names = sorted({name for found in ratings.values() for name in found})
    rows: list[list[Cell]] = [[name, *(ratings[rule].get(name) for rule in columns)] for name in names]
    notes = [f"Share of ties: {'; '.join(shares)}.", *gaps.notes]
    return Table("rules", "What the rule for two orders does", ("contestant", *columns), rows, notes)


def wins(settled: Matches) -> Table:
    """Who beats whom: the share of matches that the row's contestant won, ties half."""
    met: dict[tuple[str, str], list[float]] = defaultdict(list)
    for match in settled.matches:
        met[match.first, match.second].append(match.outcome)
        met[match.second, match.first].append(1 - match.outcome)
    rows: list[list[Cell]] = [[one, two, wilson(sum(won), len(won))] for (one, two), won in sorted(met.items())]
    hint = {"kind": "heat", "row": "contestant", "column": "against", "value": "won"}
    return Table("wins", "Who beats whom", ("contestant", "against", "won"), rows, (), {}, hint)


def families(record: Record, settled: Matches, tag: str, reference: str | None = None) -> Table:
    """The share of matches each contestant won in each family of items; against the reference alone where named.

    Families of which no match was settled are named below the table.
    """
    if reference is not None and reference not in settled.names:
        raise InputError(f"the reference {reference!r} is not among the contestants: {', '.join(settled.names)}")
    named = {item.id: item.tags.get(tag, "") for item in record.items.values()}
    if named and not any(named.values()):
        there = sorted({name for item in record.items.values() for name in item.tags})
        raise InputError(f"no item has the tag {tag!r}; tags there: {', '.join(there) or 'none'}")
    won: dict[tuple[str, str], list[float]] = defaultdict(list)
    for match in settled.matches:
        family = named.get(match.item, "")
        for name, other, outcome in _both(match):
            if family and (reference is None or other == reference):
                won[family, name].append(outcome)
    rows: list[list[Cell]] = [
        [family, name, wilson(sum(found), len(found))] for (family, name), found in sorted(won.items())
    ]
    empty = sorted(set(named.values()) - {"", *(family for family, _ in won)})
    notes = [f"No match was settled in: {', '.join(empty)}."] if empty else []
    hint = {"kind": "heat", "row": tag, "column": "contestant", "value": "won"}
    words = "" if reference is None else f" against {reference}"
    return Table(f"by {tag}", f"Matches won{words} by {tag}", (tag, "contestant", "won"), rows, notes, {}, hint)


def _both(match: Match) -> list[tuple[str, str, float]]:
    return [(match.first, match.second, match.outcome), (match.second, match.first, 1 - match.outcome)]


def fit(settled: Matches, settings: Settings) -> Table:
    """What the ratings say each pair should do beside what it did."""
    names = settled.names
    notes: list[str] = []
    rows: list[list[Cell]] = []
    try:
        battles = Battles.of(settled.first, settled.second, settled.outcome, contestants=len(names))
        pairs = foreseen(_rated(settled, settings), battles)
        missed = sum(pair.missed for pair in pairs)
        rows = [[names[pair.first], names[pair.second], pair.observed, pair.predicted] for pair in pairs]
        notes.append(f"{missed} of {len(pairs)} predictions lie outside the interval; about 1 in 20 would by chance.")
    except Undefined as reason:
        notes.append(f"No ratings: {reason}.")
    hint = {"kind": "scatter", "x": "predicted", "y": "observed", "label": "contestant"}
    return Table(
        "fit", "Observed and predicted", ("contestant", "against", "observed", "predicted"), rows, notes, {}, hint
    )


Feature = Callable[[str], float]
FEATURES: dict[str, Feature] = {
    "words": lambda text: float(len(text.split())),
    "list items": lambda text: float(
        sum(line.lstrip()[:2] in {"- ", "* ", "1.", "2.", "3."} for line in text.split("\n"))
    ),
    "bold": lambda text: text.count("**") / 2,
}


def style(record: Record, settled: Matches) -> list[Table]:
    """What length and format are worth, and the ratings with both taken out."""
    kept = [m for m in settled.matches if all((m.item, name) in record.responses for name in (m.first, m.second))]
    names = sorted({name for match in kept for name in (match.first, match.second)})
    leads = {name: _lead(record, kept, feature) for name, feature in FEATURES.items()}
    used = {name: found for name, found in leads.items() if len(set(found)) > 1}
    effects: list[list[Cell]] = []
    ratings: list[list[Cell]] = []
    notes = ["An effect is in log odds for one standard deviation of the lead (a - b) / (a + b)."]
    if kept and used:
        first, second = [names.index(m.first) for m in kept], [names.index(m.second) for m in kept]
        try:
            made = style_controlled(
                first, second, [m.outcome for m in kept], list(used.values()), cluster=[m.item for m in kept]
            )
            effects += [[name, effect] for name, effect in zip(used, made.effects, strict=True)]
            ratings += [[name, rating] for name, rating in zip(names, made.estimates, strict=True)]
        except Undefined as reason:
            effects += [[name, None] for name in used]
            notes.append(f"Style cannot be told apart: {reason}.")
    hint = {"kind": "intervals", "label": "contestant", "value": "rating"}
    return [
        Table("style", "What style is worth", ("more", "effect"), effects, notes),
        Table("style ratings", "Ratings with style alike", ("contestant", "rating"), ratings, (), {}, hint),
    ]


def _lead(record: Record, kept: Sequence[Match], feature: Feature) -> list[float]:
    one = [feature(record.responses[m.item, m.first].text) for m in kept]
    two = [feature(record.responses[m.item, m.second].text) for m in kept]
    return [float(value) for value in lead(one, two)] if kept and not math.isclose(sum(one) + sum(two), 0) else []
