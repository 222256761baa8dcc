"""Selection of the voted rows of a corrected board: the assumption in words, and a check of it on what is known.

The rows that are compared are what people voted on: pairs, or single responses if people gave marks. Two responses
with marks make a pair, so pairs of one item are voted on together, and comparing them would warn too often.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fullbench.analysis.people.paired_verdicts_and_votes import Floats, Ints, Votes
from fullbench.columns.verdict_columns import group_rows
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
    """Variables that differ between voted and unvoted rows; `chances` post-stratify voted pairs on them, or None."""

    differences: tuple[RowDifference[Note], ...] = ()
    chances: Floats | None = None

    def notes(self, *, is_reweighted: bool) -> Iterator[Note]:
        """Yield a warning that names the clearest differences, and whether the board has reweighted ratings."""
        if not self.differences:
            return
        row_texts = [
            Note("voted.difference", what=entry.name, voted=entry.voted_mean, unvoted=entry.unvoted_mean)
            for entry in self.differences[:_SHOWN]
        ]
        yield Note("voted.warning", n=len(self.differences), shown=join_notes(row_texts))
        yield Note("voted.reweighted") if is_reweighted else Note("voted.not-reweighted")


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
    if not _is_comparable(votes):
        return VotedRowsCheck()
    is_voted = ~np.isnan(votes.vote)
    variables = dict(_pair_variables(votes, contestants, items, facts))
    differences = differing_variables(is_voted, variables, votes.item)
    chances = stratified_chances(is_voted, [variables[entry.name] for entry in differences[:2]])
    return VotedRowsCheck(tuple(differences), chances if differences else None)


def check_marked_responses(
    marks_by_ballot: Sequence[Votes],
    pairs: Votes,
    contestants: Sequence[str],
    items: Sequence[str],
    facts: CaseFacts | None = None,
) -> VotedRowsCheck:
    """Compare responses that people marked with the others; `chances` are of the pairs that the responses make.

    Args:
        marks_by_ballot: Responses with the judges' marks, and people's marks on some, one for each ballot.
        pairs: Pairs of these responses.
        contestants: Names of contestants by code.
        items: Names of items by code.
        facts: Tags and lengths; None if only verdicts are known.
    """
    comparable = [marks for marks in marks_by_ballot if _is_comparable(marks)]
    differences: list[RowDifference[Note]] = []
    pair_variables: list[Floats] = []
    for marks in comparable:
        variables = dict(_mark_variables(marks, contestants, items, facts))
        found = differing_variables(~np.isnan(marks.vote), variables, marks.item, level=0.05 / len(comparable))
        differences += found
        pair_variables += [_sum_of_responses(variables[entry.name], marks, pairs) for entry in found[:2]]
    if not pair_variables or not len(pairs):
        return VotedRowsCheck(tuple(differences))
    return VotedRowsCheck(tuple(differences), stratified_chances(~np.isnan(pairs.vote), pair_variables))


def _is_comparable(votes: Votes) -> bool:
    return bool(votes.vote_count) and votes.selection not in {"all", "designed"}


def _sum_of_responses(values: Floats, marks: Votes, pairs: Votes) -> Floats:
    """Return the sum of a variable over the two responses of each pair; NaN if it is unknown for both."""
    samples = pairs.samples or (np.zeros(len(pairs), dtype=np.int64),) * 2
    mark_samples = marks.samples[0] if marks.samples else np.zeros(len(marks), dtype=np.int64)
    code, first = group_rows(
        np.concatenate([marks.item, pairs.item, pairs.item]),
        np.concatenate([marks.sides[0], *pairs.sides]),
        np.concatenate([mark_samples, *samples]),
    )
    value_by_code = np.full(len(first), np.nan)
    value_by_code[code[: len(marks)]] = values
    both = value_by_code[code[len(marks) :]].reshape(2, len(pairs))
    sums: Floats = np.where(np.isnan(both).all(axis=0), np.nan, np.nansum(both, axis=0))
    return sums


def _mark_variables(
    votes: Votes, contestants: Sequence[str], items: Sequence[str], facts: CaseFacts | None
) -> Iterator[tuple[Note, Floats]]:
    has_verdict = ~np.isnan(votes.judge_values)
    counts = has_verdict.sum(axis=0)
    mark = np.where(has_verdict, votes.judge_values, 0.0).sum(axis=0) / counts
    yield Note("voted.mark"), mark
    yield Note("voted.extreme"), np.abs(mark - mark.mean())
    if len(votes.judge_values) > 1:
        yield _disagreement_of_judges(votes, mark)
    (who,) = votes.sides
    if facts is not None:
        (samples,) = votes.samples or (np.zeros(len(votes), dtype=np.int64),)
        lengths = _response_lengths(facts, (votes.item, who, samples), contestants, items)
        if not np.isnan(lengths).all():
            yield Note("voted.response-length"), lengths
        yield from _tag_variables(votes, items, facts)
    for code in np.unique(who).tolist():
        yield Note("voted.response", contestant=contestants[code]), (who == code).astype(np.float64)
        yield Note("voted.contestant-mark", contestant=contestants[code]), np.where(who == code, mark, np.nan)


def _disagreement_of_judges(votes: Votes, centre: Floats) -> tuple[Note, Floats]:
    has_verdict = ~np.isnan(votes.judge_values)
    counts = has_verdict.sum(axis=0)
    spread = np.where(has_verdict, (votes.judge_values - centre) ** 2, 0.0).sum(axis=0)
    return Note("voted.judges"), np.where(counts > 1, np.sqrt(spread / np.maximum(counts, 1)), np.nan)


def _pair_variables(
    votes: Votes, contestants: Sequence[str], items: Sequence[str], facts: CaseFacts | None
) -> Iterator[tuple[Note, Floats]]:
    has_verdict = ~np.isnan(votes.judge_values)
    judge_values = np.where(has_verdict, votes.judge_values, 0.0)
    counts = has_verdict.sum(axis=0)
    outcome = judge_values.sum(axis=0) / np.maximum(counts, 1)
    yield Note("voted.decided"), np.abs(2 * outcome - 1)
    yield Note("voted.tie"), (outcome == 0.5).astype(np.float64)
    if votes.order_gap is not None and not np.isnan(votes.order_gap).all():
        yield Note("voted.orders"), votes.order_gap
    if len(votes.judge_values) > 1:
        yield _disagreement_of_judges(votes, outcome)
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
        _response_lengths(facts, (votes.item, side, numbers), contestants, items)
        for side, numbers in zip(votes.sides, samples, strict=True)
    )
    lead = first - second
    if not np.isnan(lead).all():
        yield Note("voted.length"), np.abs(lead)
        yield Note("voted.longer-won"), np.sign(lead) * (2 * outcome - 1)
    yield from _tag_variables(votes, items, facts)


def _response_lengths(
    facts: CaseFacts, responses: tuple[Ints, Ints, Ints], contestants: Sequence[str], items: Sequence[str]
) -> Floats:
    """Return the length of responses, given by codes of item and contestant and a sample number; NaN if unknown."""
    keys = zip(*(part.tolist() for part in responses), strict=True)
    return np.array([facts.lengths.get((items[item], contestants[who], sample), np.nan) for item, who, sample in keys])


def _tag_variables(votes: Votes, items: Sequence[str], facts: CaseFacts) -> Iterator[tuple[Note, Floats]]:
    tags_by_row = [facts.tags.get(items[item], {}) for item in votes.item.tolist()]
    for tag in sorted({tag for tags in tags_by_row for tag in tags}):
        values = [tags.get(tag, "") for tags in tags_by_row]
        if len(set(values)) <= _MOST_TAG_VALUES:
            for value in sorted(set(values) - {""}):
                yield Note("voted.tag", tag=tag, value=value), np.array([float(other == value) for other in values])
