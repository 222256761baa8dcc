"""Tables beside a leaderboard: the effect of the rule, who beats whom, families, fit, style."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from fullbench.analysis import estimate_cells
from fullbench.analysis.boards.leaderboard import Board, Settings, battles, board, boards, further_notes
from fullbench.analysis.boards.matches_from_verdicts import RULES, Matches, Rows, one_judge
from fullbench.analysis.people.joined_votes import beside_people
from fullbench.analysis.scope_text import placed
from fullbench.columns.column_builder import columns_of
from fullbench.columns.verdict_columns import Columns
from fullbench.core.column_labels import headings, named
from fullbench.core.note import Note, sentence, word
from fullbench.core.record import Record
from fullbench.core.table import Cell, Table
from fullbench.core.text import words_of
from fullbench.errors import InputError, Undefined
from fullbench.stats.agreement.vote_consensus import VOTE_RULES
from fullbench.stats.array_checks import Floats
from fullbench.stats.ratings.rating_diagnostics import foreseen
from fullbench.stats.ratings.style_control import lead, style_controlled


def standings(
    record: Record,
    judge: str | None = None,
    settings: Settings | None = None,
    *,
    tag: str | None = None,
    columns: Columns | None = None,
) -> list[Table]:
    """All tables of one judge's leaderboards, one set for each criterion and family of ballots.

    With `tag`, the share of matches won in each family of items that the tag names is among them. `columns` are the
    same verdicts as a ledger gives them: they know their study, and what is due.
    """
    chosen = replace(settings or Settings(), elo=True)
    columns = beside_people(columns_of(record) if columns is None else columns, chosen.votes)
    all_boards = list(boards(columns.of(judge=one_judge(columns.judges(), judge)), chosen))
    criteria = Counter((ranked.key.study, ranked.key.criterion) for ranked in all_boards)
    shown: list[Table] = []
    for ranked in all_boards:
        families_ = criteria[ranked.key.study, ranked.key.criterion] > 1
        place = ranked.key.on() if len(all_boards) > 1 else ""
        if families_:
            place = Note("place.and-family", "{place}, {family}", place=place, family=word(ranked.key.family))
        shown += _named(_beside(record, columns, ranked, tag, family=families_), place)
    return [table for table in shown if table.rows]


def _named(tables: Sequence[Table], place: str) -> Iterator[Table]:
    """Tables under names of their own; titles that do not say it yet name the criterion."""
    for table in tables:
        title = table.title if table.name == "standings" else placed(table.title, place)
        yield replace(table, name=f"{table.name}{place}", title=title)


def _beside(record: Record, columns: Columns, ranked: Board, tag: str | None, *, family: bool) -> list[Table]:
    main = ranked.table("standings", family=family)
    rated = [line.rating for line in ranked.lines]
    main = replace(main, notes=[*main.notes, *further_notes(ranked.matches, rated)])
    if not len(ranked.matches):
        return [main]
    shown = [main, rules(columns, ranked), wins(ranked.matches), fit(ranked)]
    shown += style(record, ranked.matches)
    if tag is None:
        return shown
    shown.append(families(record, ranked.matches, tag))
    reference = ranked.settings.reference
    if reference in ranked.matches.names:
        shown.append(families(record, ranked.matches, tag, reference))
    return shown


def rules(columns: Columns, ranked: Board) -> Table:
    """What the rule does: every contestant's rating, and the share of ties, under each rule."""
    key = ranked.key
    ruled = columns.of(study=key.study, judge=key.judge, criterion=key.criterion)
    (ruled,) = (part for (family,), part in ruled.by("family") if family == key.family)
    shown: dict[str, dict[str, Cell]] = {}
    shares: list[str] = []
    plain = replace(ranked.settings, elo=False, reference=None)
    settings = (
        {rule: replace(plain, votes=rule) for rule in VOTE_RULES if rule not in {"default", "adjudicated"}}
        if key.votes
        else {rule: replace(plain, rule=rule) for rule in RULES}
    )
    for rule, chosen in settings.items():
        other = board(ruled, replace(key, orders=chosen.rule), chosen)
        if len(other.matches):
            shown[rule] = {line.contestant: line.rating for line in other.lines}
            ties = (other.matches.rows.outcome == 0.5).astype(np.float64)
            shares.append(f"{rule} {estimate_cells.share(ties, other.matches.rows.item)}")
    names = sorted({name for ratings in shown.values() for name in ratings})
    rows: list[list[Cell]] = [[name, *(ratings.get(name) for ratings in shown.values())] for name in names]
    notes = [Note("standings.share-of-ties", "Share of ties: {names}.", names="; ".join(shares))]
    orders = Note("standings.title.what-the-rule-for-two", "What the rule for two orders does")
    votes = Note("standings.title.what-the-rule-for-several", "What the rule for several votes does")
    return Table(
        "rules",
        votes if key.votes else orders,
        headings("contestant", *(f"way {rule}" for rule in shown)),
        rows,
        notes,
    )


def wins(settled: Matches) -> Table:
    """Who beats whom: the share of matches that the row's contestant won, ties half."""
    matches = settled.rows
    rows: list[list[Cell]] = []
    for row, name in enumerate(settled.names):
        for column, other in enumerate(settled.names):
            first, second = (
                (matches.one == row) & (matches.two == column),
                (matches.one == column) & (matches.two == row),
            )
            chosen = first | second
            if chosen.any():
                won = np.where(first, matches.outcome, 1 - matches.outcome)[chosen]
                rows.append([name, other, estimate_cells.share(won, matches.item[chosen])])
    hint = {"kind": "heat", "row": "contestant", "column": "against", "value": "won"}
    return Table(
        "wins",
        Note("standings.title.who-beats-whom", "Who beats whom"),
        headings("contestant", "against", "won"),
        rows,
        (),
        {},
        hint,
    )


def families(record: Record, settled: Matches, tag: str, reference: str | None = None) -> Table:
    """The share of matches each contestant won in each family of items; against the reference alone where named.

    Families of which no match was settled are named below the table.
    """
    if reference is not None and reference not in settled.names:
        raise InputError(f"the reference {reference!r} is not among the contestants: {', '.join(settled.names)}")
    tags = {item.id: item.tags.get(tag, "") for item in record.items.values()}
    if tags and not any(tags.values()):
        there = sorted({name for item in record.items.values() for name in item.tags})
        raise InputError(f"no item has the tag {tag!r}; tags there: {', '.join(there) or 'none'}")
    matches = settled.rows
    labels = np.array([tags.get(item, "") for item in settled.items] or [""])[matches.item]
    rows: list[list[Cell]] = []
    for family in sorted(set(labels.tolist()) - {""}):
        for who, name in enumerate(settled.names):
            first, second = (matches.one == who) & (labels == family), (matches.two == who) & (labels == family)
            if name == reference:
                continue
            if reference is not None:
                other = settled.names.index(reference)
                first, second = first & (matches.two == other), second & (matches.one == other)
            chosen = first | second
            if chosen.any():
                won = np.where(first, matches.outcome, 1 - matches.outcome)[chosen]
                rows.append([family, name, estimate_cells.share(won, matches.item[chosen])])
    empty = sorted(set(tags.values()) - {"", *(str(row[0]) for row in rows)})
    notes = (
        [Note("standings.no-match-was-settled-in", "No match was settled in: {names}.", names=", ".join(empty))]
        if empty
        else []
    )
    hint = {"kind": "heat", "row": tag, "column": "contestant", "value": "won"}
    words = "" if reference is None else Note("standings.against", " against {reference}", reference=reference)
    return Table(
        f"by {tag}" if reference is None else f"by {tag} against {reference}",
        Note("standings.title.matches-won-by", "Matches won{words} by {tag}", words=words, tag=tag),
        headings(named(tag), "contestant", "won"),
        rows,
        notes,
        {},
        hint,
    )


def fit(ranked: Board) -> Table:
    """What the ratings say each pair should do beside what it did."""
    names = ranked.matches.names
    notes: list[str] = []
    rows: list[list[Cell]] = []
    if ranked.ratings is not None:
        pairs = foreseen(ranked.ratings, battles(ranked.matches))
        missed = sum(pair.missed for pair in pairs)
        rows = [[names[pair.first], names[pair.second], pair.observed, pair.predicted] for pair in pairs]
        notes.append(
            Note(
                "standings.of-predictions-lie-outside-the",
                "{missed} of {n} predictions lie outside the interval; about 1 in 20 would by chance.",
                missed=missed,
                n=len(pairs),
            )
        )
    hint = {"kind": "scatter", "x": "predicted", "y": "observed", "label": "contestant"}
    return Table(
        "fit",
        Note("standings.title.observed-and-predicted", "Observed and predicted"),
        headings("contestant", "against", "observed", "predicted"),
        rows,
        notes,
        {},
        hint,
    )


Feature = Callable[[str], float]
Place = tuple[str, str, int]
FEATURES: dict[str, Feature] = {
    "words": lambda text: float(len(words_of(text))),
    "list items": lambda text: float(
        sum(line.lstrip()[:2] in {"- ", "* ", "1.", "2.", "3."} for line in text.split("\n"))
    ),
    "bold": lambda text: text.count("**") / 2,
}


def style(record: Record, settled: Matches) -> list[Table]:
    """What length and format are worth, and the ratings with both taken out."""
    rows, sides = _with_texts(record, settled)
    leads = _leads(record, sides)
    used = {name: differences for name, differences in leads.items() if len(np.unique(differences)) > 1}
    effects: list[list[Cell]] = []
    ratings: list[list[Cell]] = []
    notes = [
        Note(
            "standings.an-effect-is-in-log",
            "An effect is in log odds for one standard deviation of the lead (a - b) / (a + b).",
        )
    ]
    if len(rows) and used:
        known, codes = np.unique(np.concatenate([rows.one, rows.two]), return_inverse=True)
        names = [settled.names[code] for code in known]
        one, two = np.split(codes, 2)
        try:
            controlled = style_controlled(one, two, rows.outcome, list(used.values()), cluster=rows.item)
            effects += [[name, effect] for name, effect in zip(used, controlled.effects, strict=True)]
            ratings += [[name, rating] for name, rating in zip(names, controlled.estimates, strict=True)]
        except Undefined as reason:
            effects += [[name, None] for name in used]
            notes.append(
                Note(
                    "standings.style-cannot-be-told-apart",
                    "Style cannot be told apart: {reason}.",
                    reason=sentence(reason),
                )
            )
    hint = {"kind": "intervals", "label": "contestant", "value": "rating"}
    return [
        Table(
            "style",
            Note("standings.title.what-style-is-worth", "What style is worth"),
            headings("more", "effect"),
            effects,
            notes,
        ),
        Table(
            "style ratings",
            Note("standings.title.ratings-with-style-alike", "Ratings with style alike"),
            headings("contestant", "rating"),
            ratings,
            (),
            {},
            hint,
        ),
    ]


_Sides = tuple[list[Place], npt.NDArray[np.intp], npt.NDArray[np.intp]]
"""Each response that was in a match, and its number for the first and for the second side of every match."""


def _with_texts(record: Record, settled: Matches) -> tuple[Rows, _Sides]:
    """The matches of which both responses are at hand."""
    rows = settled.rows
    sides = np.concatenate([
        np.column_stack([rows.item, rows.one, rows.samples[0]]), np.column_stack([rows.item, rows.two, rows.samples[1]])
    ])  # fmt: skip
    different, number = np.unique(sides, axis=0, return_inverse=True)
    places = [(settled.items[item], settled.names[who], sample) for item, who, sample in different.tolist()]
    there = np.array([place in record.responses for place in places] or [False])
    first, second = np.split(number.reshape(-1), 2)
    chosen = there[first] & there[second]
    return rows.where(chosen), (places, first[chosen], second[chosen])


def _leads(record: Record, sides: _Sides) -> dict[str, Floats]:
    """By how much the first answer of each match has more of a feature than the second; nothing where none has any."""
    places, first, second = sides
    shown = np.unique(np.concatenate([first, second]))
    texts = [record.responses[places[number]].text for number in shown.tolist()]
    leads: dict[str, Floats] = {}
    for name, feature in FEATURES.items():
        worth = np.zeros(len(places))
        worth[shown] = [feature(text) for text in texts]
        leads[name] = np.zeros(0) if math.isclose(worth.sum(), 0) else lead(worth[first], worth[second])
    return leads
