"""The summary of a peer review: who leads without labels, which reviewers count, and what limits the ranking."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from fullbench.analysis.peer_review.reviews_from_record import match_judges_to_contestants
from fullbench.analysis.peer_review.shared_bias_warnings import warning_names
from fullbench.analysis.summary.judge_trust import Trust, judge_trusts, trust_note
from fullbench.analysis.summary.paper_study_summary_with_main_table import lead_sentence, pool_criteria
from fullbench.analysis.summary.study_summary import JUDGES, join_names, sentences_of, summary_tables, trust_text
from fullbench.columns.column_builder import columns_from_verdicts
from fullbench.core.built_in_table_columns import table_columns
from fullbench.core.table import Cell, Column, Table
from fullbench.core.translatable_note import Note, join_notes
from fullbench.core.verdict import PEOPLE
from fullbench.core.verdict_record import Record

_METHOD = "UPME"
_LITTLE_WEIGHT = 0.05
"""Weight, of 1 for the reviewer that counts most, below which a reviewer hardly counts."""


def add_peer_review_summary(tables: Sequence[Table], record: Record, *, seed: int = 0) -> list[Table]:
    """Return the tables of a peer review behind their summary; the ranking, UPME's main table, comes right after it.

    Args:
        tables: The tables of the peer review.
        record: Its reviews, perhaps with people's and the planted truth.
        seed: Seed of resampled intervals.
    """
    by_name = {table.name: table for table in tables}
    ranking, reviewers = by_name.get("ranking"), by_name.get("reviewers")
    if ranking is None or reviewers is None or ranking.place(_METHOD) is None:
        return list(tables)
    reviewer_by_judge = match_judges_to_contestants(record)
    columns = pool_criteria(
        columns_from_verdicts(record.where(lambda verdict: verdict.judge in {*reviewer_by_judge, PEOPLE}))
    )
    summary = summary_tables(columns, [], texts=record, seed=seed)
    trusts = [trust for trust in judge_trusts(columns, record, seed=seed) if trust.judge in reviewer_by_judge]
    if not summary or not trusts:
        return list(tables)
    lead, limits = lead_sentence(ranking), sentences_of(summary)[-1]
    names = warning_names(by_name["warnings"]) if "warnings" in by_name else []
    if names and isinstance(limits, Note):
        text = Note("list.and", first=limits.values["text"], second=Note("summary.warnings", names=join_names(names)))
        limits = Note("summary.limits", text=text)
    sentences = [lead, Note("summary.reviewers", text=_reviewer_text(trusts, reviewers)), limits]
    old_sentences = sentences_of(summary)
    first = replace(
        summary[0],
        notes=(*sentences, *summary[0].notes[len(old_sentences) :]),
        source={**summary[0].source, "sentences": len(sentences)},
    )
    return [first, _reviewer_table(trusts, reviewers, reviewer_by_judge), *tables]


def _weights(reviewers: Table) -> dict[str, float]:
    """Return the weight of each reviewer, the largest first."""
    weights = {str(name): float(str(weight)) for name, weight in zip(
        reviewers.column("reviewer"), reviewers.column("weight"), strict=True
    )}  # fmt: skip
    return dict(sorted(weights.items(), key=lambda pair: -pair[1]))


def _reviewer_text(trusts: Sequence[Trust], reviewers: Table) -> str:
    weights = _weights(reviewers)
    most = max(weights.values())
    parts = [trust_text(trusts), Note("summary.most-weight", names=join_names([next(iter(weights))]))]
    if little := [name for name, weight in weights.items() if weight < _LITTLE_WEIGHT * most]:
        parts.append(Note("summary.little-weight", names=join_names(little)))
    return join_notes(parts)


def _reviewer_table(trusts: Sequence[Trust], reviewers: Table, reviewer_by_judge: Mapping[str, str]) -> Table:
    """Return the judges of the summary: each reviewer with its trust and its weight in the ranking."""
    weights = _weights(reviewers)
    rows: list[list[Cell]] = [
        [trust.judge, trust_note(trust.word), trust.why or None, weights.get(reviewer_by_judge[trust.judge]),
         trust.agreement, trust.unusable]
        for trust in sorted(trusts, key=lambda trust: -weights.get(reviewer_by_judge[trust.judge], 0.0))
    ]  # fmt: skip
    heads = table_columns(
        "judge", "trust", "why", "weight", "agreement", Column("share unusable", "unusable", "metric", "less")
    )
    return Table(JUDGES, Note("summary.title.judges"), heads, rows, [Note("summary.words")])
