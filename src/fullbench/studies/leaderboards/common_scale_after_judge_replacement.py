"""Judge replacement: rate contestants by a new judge on the scale of an old one.

Both share one model (`stats.ratings.joint_rating_model`), fitted on the cases that both judged. Strengths are on the
old judge's scale. The new judge has its own discrimination and its own bias towards the first position. Contestants
that only the new judge has seen thus get ratings on the old scale, without judging anything again. The table shows who
judged each contestant.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np

from fullbench.columns.verdict_columns import STUDY
from fullbench.core.built_in_table_columns import table_columns
from fullbench.core.estimate import Estimate
from fullbench.core.table import Cell, Table
from fullbench.core.translatable_note import Note, join_notes, word_note
from fullbench.core.verdict_record import Match, Record
from fullbench.errors import InputError
from fullbench.ledger.judge_replacements import JudgeReplacement, load_replacements
from fullbench.ledger.ledger import Ledger
from fullbench.stats.ratings.joint_rating_model import JointRatings, Votes, fit_joint_model
from fullbench.studies import ledger_verdicts_with_panels

Pairs = Collection[tuple[str, str]]

BOARDS = ("leaderboard", "board")
FEW = 30
"""With fewer shared matches, the new judge's scale is very uncertain."""


@dataclass(frozen=True)
class CommonScale:
    """Ratings on the old judge's scale.

    `matches` has the number by the old and the new judge per contestant, `trials` the number of trials of either.
    """

    old: str
    new: str
    criterion: str
    ratings: dict[str, Estimate]
    matches: dict[str, tuple[int, int]]
    shared_matches: int
    trials: tuple[int, int]
    fit: JointRatings

    def judged_by(self, contestant: str) -> str:
        """Return which judges judged a contestant: old, new or both."""
        old, new = self.matches[contestant]
        return "both judges" if old and new else "old judge" if old else "new judge"


def fit_common_scales(record: Record, old: str, new: str) -> list[CommonScale]:
    """Fit the new judge on the old judge's scale, for every criterion that both judged."""
    for name in (old, new):
        if name not in record.judges:
            raise InputError(f"there is no verdict of {name!r}; judges there: {', '.join(record.judges) or 'none'}")
    if old == new:
        raise InputError("the old and the new judge are the same; give two judges")
    scales = []
    for criterion, part in record.by("criterion").items():
        matches_by_judge = {name: list(part.where(judge=name).matches()) for name in (old, new)}
        if all(matches_by_judge.values()):
            trials = [len({verdict.trial for verdict in part.where(judge=name)}) for name in (old, new)]
            scales.append(_fit_common_scale(criterion, old, new, matches_by_judge, (trials[0], trials[1])))
    if not scales:
        raise InputError(f"{old!r} and {new!r} have no criterion in common. Let both judge some of the same cases")
    return scales


def _match_key(match: Match) -> tuple[str, frozenset[tuple[str, int]]]:
    return match.item, frozenset(zip((match.first, match.second), match.samples, strict=True))


def _fit_common_scale(
    criterion: str, old: str, new: str, matches_by_judge: dict[str, list[Match]], trials: tuple[int, int]
) -> CommonScale:
    rows = [*matches_by_judge[old], *matches_by_judge[new]]
    names = sorted({name for match in rows for name in (match.first, match.second)})
    items = {name: place for place, name in enumerate(dict.fromkeys(match.item for match in rows))}
    place = {name: number for number, name in enumerate(names)}
    votes = Votes(
        np.array([place[match.first] for match in rows]),
        np.array([place[match.second] for match in rows]),
        np.array([match.outcome for match in rows]),
        np.array([int(match.judge == new) for match in rows]),
        np.array([items[match.item] for match in rows]),
        np.array([float(match.together) for match in rows]),
        np.zeros(len(rows)),
    )
    shared_count = len(
        {_match_key(match) for match in matches_by_judge[old]} & {_match_key(match) for match in matches_by_judge[new]}
    )
    if not shared_count:
        raise InputError(
            f"{old!r} and {new!r} share no match ({criterion}). Let {new!r} judge some cases that {old!r} judged"
        )
    fit = fit_joint_model(votes, len(names), 2, anchor=0)
    matches = {
        name: Counter(who for match in matches_by_judge[name] for who in (match.first, match.second))
        for name in (old, new)
    }
    return CommonScale(
        old, new, criterion, dict(zip(names, fit.ratings, strict=True)),
        {name: (matches[old][name], matches[new][name]) for name in names}, shared_count, trials, fit,
    )  # fmt: skip


def common_scale_table(scale: CommonScale, study: str = STUDY) -> Table:
    """Return the leaderboard on the common scale, with the judges of each contestant."""
    sorted_names = sorted(scale.ratings, key=lambda name: -scale.ratings[name].value)
    rows: list[list[Cell]] = [
        [name, scale.ratings[name], word_note(scale.judged_by(name)), *scale.matches[name]] for name in sorted_names
    ]
    notes = [Note("judge-replacement.seam", old=scale.old, n=scale.shared_matches), _sharpness_note(scale)]
    if max(scale.trials) > 1:
        old_trials, new_trials = scale.trials
        notes.append(
            Note("judge-replacement.trials", old=scale.old, old_trials=old_trials, new=scale.new, new_trials=new_trials)
        )
    if scale.shared_matches < FEW:
        notes.append(Note("judge-replacement.few", few=FEW))
    title = Note("judge-replacement.title", new=scale.new, old=scale.old, criterion=scale.criterion)
    columns = table_columns("contestant", "rating", "judged by", "matches by the old judge", "matches by the new judge")
    source = {"old": scale.old, "new": scale.new, "criterion": scale.criterion}
    source |= {} if study == STUDY else {"study": study}
    return Table("judge replacement", title, columns, rows, notes, source)


def _sharpness_note(scale: CommonScale) -> Note:
    """Return how sharply the new judge separates contestants, unless no verdict contradicts the order of a judge."""
    names = [name for name, fit in zip((scale.old, scale.new), scale.fit.judges, strict=True) if fit.is_separated]
    sharp = scale.fit.judges[1].discrimination
    if names or sharp is None:
        return Note("judge-replacement.separated", judges=join_notes(names), old=scale.old, new=scale.new)
    if sharp.low <= 1 <= sharp.high:
        return Note("judge-replacement.as-sharp", new=scale.new, times=sharp.value, low=sharp.low, high=sharp.high)
    return Note("judge-replacement.sharp", new=scale.new, times=sharp.value, low=sharp.low, high=sharp.high)


def with_judge_changes(
    tables: Sequence[Table], ledger: Ledger, study: str | None, *, judges: Collection[str] = (), extra_pairs: Pairs = ()
) -> list[Table]:
    """Add common-scale tables and notes for all judge changes in the ledger and in `extra_pairs` (old, new).

    The common scales come first, and every leaderboard of either judge gets a note. `study` is the study of the tables
    (None: all), `judges` are the judges that they show (empty: all).
    """
    judge_changes = load_replacements(ledger, study)
    if extra_pairs:
        study_name = ledger.one_study(study) or ""
        judge_changes += [
            judge_change
            for judge_change in (JudgeReplacement(study_name, *pair) for pair in extra_pairs)
            if judge_change not in judge_changes
        ]
    common: list[Table] = []
    noted_tables = list(tables)
    for judge_change in judge_changes:
        if judges and not {judge_change.old, judge_change.new} & set(judges):
            continue
        try:
            boards = fit_common_scales(
                ledger_verdicts_with_panels.load_record(
                    ledger, [judge_change.old, judge_change.new], study=judge_change.study
                ),
                judge_change.old,
                judge_change.new,
            )
        except InputError as error:
            if (judge_change.old, judge_change.new) in extra_pairs:
                raise
            noted_tables = [
                _add_board_note(table, judge_change, _no_common_scale_note(judge_change, error))
                for table in noted_tables
            ]
            continue
        common += [common_scale_table(scale, judge_change.study) for scale in boards]
        noted_tables = [_add_board_note(table, judge_change, judge_change_note(judge_change)) for table in noted_tables]
    return [*common, *noted_tables]


def judge_change_note(judge_change: JudgeReplacement) -> Note:
    """Return the note about a judge change for leaderboards of either judge."""
    return Note("judge-replacement.board", new=judge_change.new, old=judge_change.old)


def _no_common_scale_note(judge_change: JudgeReplacement, error: InputError) -> Note:
    return Note("judge-replacement.unknown", new=judge_change.new, old=judge_change.old, why=str(error).rstrip("."))


def _add_board_note(table: Table, judge_change: JudgeReplacement, note: Note) -> Table:
    source = table.source
    board = table.name.startswith(BOARDS) and source.get("judge") in {judge_change.old, judge_change.new}
    return (
        replace(table, notes=[*table.notes, note])
        if board and source.get("study", STUDY) == judge_change.study
        else table
    )
