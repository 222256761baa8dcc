"""How the voted rows of a corrected board were chosen: the assumption in words, and a check of it on what is known."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fullbench.analysis.people.paired_verdicts_and_votes import Floats, Votes
from fullbench.core.language_and_words import length_of
from fullbench.core.translatable_note import Note, join_notes
from fullbench.core.verdict_record import Record
from fullbench.stats.people.voted_versus_unvoted_row_test import RowDifference, differing_variables, stratified_chances

_MOST_TAG_VALUES = 20
"""Tags with more values than this, such as an author's name, are not compared."""
_SHOWN = 3
"""Differences that the warning names."""


@dataclass(frozen=True)
class CaseFacts:
    """Facts about cases beyond verdicts: tags by item, and lengths by item, contestant and sample."""

    tags: Mapping[str, Mapping[str, str]]
    lengths: Mapping[tuple[str, str, int], float]

    @classmethod
    def from_record(cls, record: Record) -> CaseFacts:
        lengths = {
            (response.item, response.contestant, response.sample): float(np.log2(max(1, length_of(response.text))))
            for response in record.responses.values()
        }
        return cls({item.id: item.tags for item in record.items.values()}, lengths)


@dataclass(frozen=True)
class VotedRowsCheck:
    """Variables that differ between voted and unvoted rows; `chances` post-stratify the votes on them, if possible."""

    differences: tuple[RowDifference[Note], ...] = ()
    chances: Floats | None = None

    def notes(self) -> Iterator[Note]:
        """Yield a warning that names the clearest differences."""
        if not self.differences:
            return
        shown = [
            Note("voted.difference", what=entry.name, voted=entry.voted_mean, unvoted=entry.unvoted_mean)
            for entry in self.differences[:_SHOWN]
        ]
        yield Note("voted.warning", n=len(self.differences), shown=join_notes(shown))
        yield Note("voted.reweighted") if self.chances is not None else Note("voted.not-reweighted")


def selection_note(votes: Votes) -> Note:
    """Return the assumption of a corrected board on how its voted rows were chosen, in one sentence."""
    if votes.selection == "unknown":
        return Note("corrected.selection.unknown")
    if votes.selection == "random":
        return Note("corrected.selection.random")
    return Note("corrected.selection.all") if votes.selection == "all" else Note("corrected.selection.designed")


def check_voted_rows(
    votes: Votes, contestants: Sequence[str], items: Sequence[str], facts: CaseFacts | None = None
) -> VotedRowsCheck:
    """Compare voted with unvoted pairs on what is known about both.

    Rows drawn with unequal chances differ by design, so they are not compared.

    Args:
        votes: Pairs with the judges' outcomes, and people's votes on some.
        contestants: Names of contestants by code.
        items: Names of items by code.
        facts: Tags and lengths; None if only verdicts are known.
    """
    if len(votes.sides) != 2 or votes.selection in {"all", "designed"} or not votes.vote_count:
        return VotedRowsCheck()
    is_voted = ~np.isnan(votes.vote)
    variables = dict(_variables(votes, contestants, items, facts))
    differences = differing_variables(is_voted, variables, votes.item)
    chances = stratified_chances(is_voted, [variables[entry.name] for entry in differences[:2]])
    return VotedRowsCheck(tuple(differences), chances if differences else None)


def _variables(
    votes: Votes, contestants: Sequence[str], items: Sequence[str], facts: CaseFacts | None
) -> Iterator[tuple[Note, Floats]]:
    has_verdict = ~np.isnan(votes.judge_values)
    known = np.where(has_verdict, votes.judge_values, 0.0)
    counts = has_verdict.sum(axis=0)
    outcome = known.sum(axis=0) / np.maximum(counts, 1)
    yield Note("voted.decided"), np.abs(2 * outcome - 1)
    yield Note("voted.tie"), (outcome == 0.5).astype(np.float64)
    if votes.order_gap is not None and not np.isnan(votes.order_gap).all():
        yield Note("voted.orders"), votes.order_gap
    if len(votes.judge_values) > 1:
        spread = np.where(has_verdict, (votes.judge_values - outcome) ** 2, 0.0).sum(axis=0)
        yield Note("voted.judges"), np.where(counts > 1, np.sqrt(spread / np.maximum(counts, 1)), np.nan)
    if facts is not None:
        yield from _fact_variables(votes, contestants, items, facts, outcome)
    for code in np.unique(np.concatenate(votes.sides)).tolist():
        is_first, is_second = votes.sides[0] == code, votes.sides[1] == code
        yield Note("voted.contestant", contestant=contestants[code]), (is_first | is_second).astype(np.float64)
        won = np.where(is_first, outcome, np.where(is_second, 1 - outcome, np.nan))
        yield Note("voted.outcome", contestant=contestants[code]), won


def _fact_variables(
    votes: Votes, contestants: Sequence[str], items: Sequence[str], facts: CaseFacts, outcome: Floats
) -> Iterator[tuple[Note, Floats]]:
    samples = votes.samples or (np.zeros(len(votes), dtype=np.int64),) * 2
    first, second = (
        np.array([
            facts.lengths.get((items[item], contestants[who], sample), np.nan)
            for item, who, sample in zip(votes.item.tolist(), side.tolist(), numbers.tolist(), strict=True)
        ])
        for side, numbers in zip(votes.sides, samples, strict=True)
    )  # fmt: skip
    lead = first - second
    if not np.isnan(lead).all():
        yield Note("voted.length"), np.abs(lead)
        yield Note("voted.longer-won"), np.sign(lead) * (2 * outcome - 1)
    tags_by_row = [facts.tags.get(items[item], {}) for item in votes.item.tolist()]
    for tag in sorted({tag for tags in tags_by_row for tag in tags}):
        values = [tags.get(tag, "") for tags in tags_by_row]
        if len(set(values)) <= _MOST_TAG_VALUES:
            for value in sorted(set(values) - {""}):
                yield Note("voted.tag", tag=tag, value=value), np.array([float(other == value) for other in values])
