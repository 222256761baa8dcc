"""Succession: a new judge on the scale of an old one, from the cases that both have ruled on.

One model for both (`stats.ratings.joint_rating_model`): strengths are those in the old judge's eyes, and the new one is
told by how sharply it separates them and how it leans to the first place. So contestants that only the new judge has
met get ratings on the old scale, and nobody is judged again. Where the seam runs is said for every contestant.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np

from fullbench.columns.verdict_columns import STUDY
from fullbench.core.column_labels import headings
from fullbench.core.estimate import Estimate
from fullbench.core.note import Note, word
from fullbench.core.record import Duel, Record
from fullbench.core.table import Cell, Table
from fullbench.errors import InputError
from fullbench.ledger.judge_replacements import Succession, successions
from fullbench.ledger.ledger import Ledger
from fullbench.stats.ratings.joint_rating_model import Joint, Votes, joint
from fullbench.studies import ledger_columns

Pairs = Collection[tuple[str, str]]

BOARDS = ("leaderboard", "standings")
"""How the names of tables begin that are leaderboards."""
FEW = 30
"""With fewer shared matches the successor's scale is hardly known."""


@dataclass(frozen=True)
class Equated:
    """Ratings on the old judge's scale; `matches` counts for each contestant what the old and the new one ruled."""

    old: str
    new: str
    criterion: str
    ratings: dict[str, Estimate]
    matches: dict[str, tuple[int, int]]
    shared: int
    fit: Joint

    def seam(self, contestant: str) -> str:
        """Who judged a contestant: old, new or both."""
        old, new = self.matches[contestant]
        return "both judges" if old and new else "old judge" if old else "new judge"


def equate(record: Record, old: str, new: str) -> list[Equated]:
    """The new judge on the old one's scale, for every criterion that both ruled on."""
    for name in (old, new):
        if name not in record.judges:
            raise InputError(f"there is no verdict of {name!r}; judges there: {', '.join(record.judges) or 'none'}")
    if old == new:
        raise InputError("a judge is its own scale; name its successor too")
    equated = []
    for criterion, part in record.by("criterion").items():
        duels = {name: list(part.where(judge=name).duels()) for name in (old, new)}
        if all(duels.values()):
            equated.append(_equated(criterion, old, new, duels))
    if not equated:
        raise InputError(f"{old!r} and {new!r} ruled by no criterion in common; let both hear some of the same cases")
    return equated


def _meeting(duel: Duel) -> tuple[str, frozenset[tuple[str, int]]]:
    return duel.item, frozenset(zip((duel.first, duel.second), duel.samples, strict=True))


def _equated(criterion: str, old: str, new: str, duels: dict[str, list[Duel]]) -> Equated:
    rows = [*duels[old], *duels[new]]
    names = sorted({name for duel in rows for name in (duel.first, duel.second)})
    items = {name: place for place, name in enumerate(dict.fromkeys(duel.item for duel in rows))}
    place = {name: number for number, name in enumerate(names)}
    votes = Votes(
        np.array([place[duel.first] for duel in rows]),
        np.array([place[duel.second] for duel in rows]),
        np.array([duel.outcome for duel in rows]),
        np.array([int(duel.judge == new) for duel in rows]),
        np.array([items[duel.item] for duel in rows]),
        np.array([float(duel.together) for duel in rows]),
        np.zeros(len(rows)),
    )
    shared = len({_meeting(duel) for duel in duels[old]} & {_meeting(duel) for duel in duels[new]})
    if not shared:
        raise InputError(f"{old!r} and {new!r} share no match ({criterion}); let {new!r} hear some that {old!r} heard")
    fit = joint(votes, len(names), 2, anchor=0)
    matches = {name: Counter(who for duel in duels[name] for who in (duel.first, duel.second)) for name in (old, new)}
    return Equated(
        old, new, criterion, dict(zip(names, fit.ratings, strict=True)),
        {name: (matches[old][name], matches[new][name]) for name in names}, shared, fit,
    )  # fmt: skip


def equated_table(found: Equated, study: str = STUDY) -> Table:
    """The board with its seam."""
    ordered = sorted(found.ratings, key=lambda name: -found.ratings[name].value)
    rows: list[list[Cell]] = [
        [name, found.ratings[name], word(found.seam(name)), *found.matches[name]] for name in ordered
    ]
    sharp = found.fit.judges[1].discrimination
    notes = [
        Note(
            "equate.seam",
            "The scale is that of {old}; who was judged by the new judge alone stands beyond the seam. Both ruled on "
            "{n:,} matches in common.",
            old=found.old, n=found.shared,
        )
    ]  # fmt: skip
    if sharp is not None:
        notes.append(
            Note(
                "equate.sharp", "{new} separates contestants {times:.2f} [{low:.2f}, {high:.2f}] times as sharply.",
                new=found.new, times=sharp.value, low=sharp.low, high=sharp.high,
            )
        )  # fmt: skip
    if found.shared < FEW:
        notes.append(
            Note("equate.few", "With fewer than {few} shared matches the new judge's scale is hardly known.", few=FEW)
        )
    title = Note("equate.title", "{new} on the scale of {old} ({criterion})", new=found.new, old=found.old,
                 criterion=found.criterion)  # fmt: skip
    columns = headings("contestant", "rating", "judged by", "matches by the old judge", "matches by the new judge")
    source = {"old": found.old, "new": found.new, "criterion": found.criterion}
    source |= {} if study == STUDY else {"study": study}
    return Table("equated", title, columns, rows, notes, source)


def with_seams(
    tables: Sequence[Table], ledger: Ledger, study: str | None, *, judges: Collection[str] = (), more: Pairs = ()
) -> list[Table]:
    """Tables with every seam in view that the ledger knows of, and `more` pairs of an old judge and its successor.

    The common scale of both stands first, and a note on every leaderboard of either. `study` is the one that the tables
    are of (None: they are of all), `judges` those that they are about (empty: about all).
    """
    wanted = successions(ledger, study)
    if more:
        one = ledger.one_study(study) or ""
        wanted += [each for each in (Succession(one, *pair) for pair in more) if each not in wanted]
    common: list[Table] = []
    noted = list(tables)
    for each in wanted:
        if judges and not {each.old, each.new} & set(judges):
            continue
        try:
            boards = equate(ledger_columns.record(ledger, [each.old, each.new], study=each.study), each.old, each.new)
        except InputError as error:
            if (each.old, each.new) in more:
                raise
            noted = [_noted(table, each, _unknown(each, error)) for table in noted]
            continue
        common += [equated_table(found, each.study) for found in boards]
        noted = [_noted(table, each, seam_note(each)) for table in noted]
    return [*common, *noted]


def seam_note(succession: Succession) -> Note:
    """What a board of either judge says of the seam."""
    return Note(
        "equate.board",
        "A seam runs here: {new} succeeds {old}. Ratings by one are not comparable with those by the other; the table "
        "of both on one scale says who was judged by whom.",
        new=succession.new, old=succession.old,
    )  # fmt: skip


def _unknown(succession: Succession, error: InputError) -> Note:
    return Note(
        "equate.unknown",
        "A seam runs here: {new} succeeds {old}. They cannot be put on one scale: {why}.",
        new=succession.new, old=succession.old, why=str(error).rstrip("."),
    )  # fmt: skip


def _noted(table: Table, succession: Succession, note: Note) -> Table:
    """The table, with a note where it is a leaderboard of one of both judges in that study."""
    source = table.source
    board = table.name.startswith(BOARDS) and source.get("judge") in {succession.old, succession.new}
    return (
        replace(table, notes=[*table.notes, note])
        if board and source.get("study", STUDY) == succession.study
        else table
    )
