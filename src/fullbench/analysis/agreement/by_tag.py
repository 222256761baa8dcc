"""Agreement tables with one row per judge and tag value, averages over tag values, accuracy without ties."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from fullbench.analysis.agreement.judges_with_people import (
    AGREEMENT_METRICS,
    TIED_RANKS,
    UNTAGGED_GROUP,
    Agreement,
    Groups,
    PeopleComparison,
    class_of,
    distance_of_orders,
    groups_by_tag,
    has_tied_ranks,
    judge_agreements,
    scale_of,
    winner_index,
)
from fullbench.core.built_in_table_columns import data_column, table_columns
from fullbench.core.estimate import Estimate
from fullbench.core.table import Cell, Table
from fullbench.core.translatable_note import Note, join_notes, word_note
from fullbench.core.verdict_record import Pairing
from fullbench.errors import Undefined
from fullbench.stats.agreement import per_item_ranking_agreement
from fullbench.stats.intervals import statistics_for_bootstrap
from fullbench.stats.intervals.bootstrap_and_jackknife import Statistic, mean_of_groups

WIDTH = 2
"""Number of metric columns per table."""


def agreement_tables(
    comparison: PeopleComparison,
    tags: Sequence[str],
    *,
    judges: Sequence[str] | None = None,
    brief: bool = False,
    p_values: bool = False,
    seed: int = 0,
) -> list[Table]:
    """Return a table of judges and groups for each verdict shape and tag, followed by the mean over groups.

    `brief` leaves out the tables of further metrics. `p_values` adds the p-value of each correlation with people.
    """
    tables: list[Table] = []
    table_judges = comparison.judges if judges is None else judges
    for tag in tags:
        groups = groups_by_tag(comparison.record, tag)
        entries = [entry for judge in table_judges for entry in judge_agreements(comparison, judge, groups, seed=seed)]
        means = {judge: group_averages(comparison, judge, groups, first=brief, seed=seed) for judge in table_judges}
        for kind, metrics in AGREEMENT_METRICS.items():
            of_kind = [entry for entry in entries if entry.shape == kind]
            names = list(metrics)
            for start in range(0, WIDTH if brief else len(names), WIDTH):
                part = names[start : start + WIDTH]
                tables.append(_agreement_table(comparison, kind, tag, names=part, entries=of_kind, means=means,
                                     p_values=p_values and kind == "scores" and start == 0))  # fmt: skip
    return [table for table in tables if table.rows]


def _agreement_table(
    comparison: PeopleComparison,
    kind: str,
    tag: str,
    *,
    names: Sequence[str],
    entries: Sequence[Agreement],
    means: Mapping[str, Mapping[str, Mapping[str, Estimate]]],
    p_values: bool,
) -> Table:
    main = names[0] == next(iter(AGREEMENT_METRICS[kind]))
    rows: list[list[Cell]] = []
    notes = [Note("judging.beside-people-on-the-same", rule=word_note(comparison.rule(kind))), *comparison.notes(kind)]
    if p_values:
        notes.append(Note("judging.p"))
    if kind == "rankings" and any(has_tied_ranks(comparison, entry.judge) for entry in entries):
        notes.append(TIED_RANKS)
    for judge in dict.fromkeys(entry.judge for entry in entries):
        of_judge = [entry for entry in entries if entry.judge == judge]
        for entry in of_judge:
            cells = [entry.metrics.get(name) for name in names]
            first = entry.metrics.get(names[0])
            chances: list[Cell] = [None if first is None else first.p] if p_values else []
            rows.append([judge, entry.group or UNTAGGED_GROUP, *cells, *chances, entry.n, entry.faults])
            notes += [
                Note(
                    "judging.undefined",
                    judge=judge,
                    group=entry.group or UNTAGGED_GROUP,
                    figure=word_note(name),
                    why=why,
                )
                for name, why in entry.undefined_reasons.items()
                if name in names
            ]
        group_count = sum(entry.first is not None and not entry.of_one_item for entry in of_judge)
        group_means = means[judge].get(kind, {})
        if group_count > 1 and any(name in group_means for name in names):
            notes += _single_item_notes(judge, sum(entry.of_one_item for entry in of_judge)) if main else []
            faults = sum(entry.faults for entry in of_judge)
            values = [group_means.get(name) for name in names]
            n = max(mean.n for mean in values if mean is not None)
            blank: list[Cell] = [None] if p_values else []
            rows.append([judge, Note("judging.mean-of", n=group_count), *values, *blank, n, faults])
    heat = {"kind": "heat", "row": "judge", "column": tag, "value": names[0]}
    intervals = {"kind": "intervals", "label": tag, "value": names[0]}
    hint = None if not main else heat if len({row[0] for row in rows}) > 1 else intervals
    title: str = Note("judging.title", kind=word_note(kind), tag=tag)
    if not main:
        metrics = join_notes([word_note(name) for name in names])
        title = Note("judging.title.more", title=title, figures=metrics)
    columns = table_columns("judge", data_column(tag), *names, *(["p"] if p_values else []), "n", "unusable")
    name = f"{kind} by {tag}" + ("" if main else f", {names[0]}")
    return Table(
        name, title, columns, rows, notes, {"rule": comparison.rule(kind)},
        hint,
    )  # fmt: skip


def _single_item_notes(judge: str, groups: int) -> list[str]:
    """Return a note that groups of one item are not in the mean, because their spread is unknown."""
    note = Note("judging.groups-of-one-item", judge=judge, n=groups)
    return [note] if groups else []


def accuracy_on_decided_pairs(comparison: PeopleComparison, *, seed: int = 0) -> Table:
    """Return accuracy on the pairs that people and all judges decide, so that all judges share the same rows.

    The other meaning of "without ties" (people and this judge decide) is a column of `agreement_tables`.
    """
    pairings_by_judge = {
        judge: {_response_set_key(p): p for p in comparison.pairings(judge, "pairs")}
        for judge in comparison.judges
        if comparison.pairings(judge, "pairs")
    }
    common_keys = (
        set.intersection(*(set(pairings) for pairings in pairings_by_judge.values())) if pairings_by_judge else set()
    )
    decided_keys = [
        place
        for place in sorted(common_keys)
        if all(
            None not in {winner_index(pairings[place].marks), winner_index(pairings[place].other_marks)}
            for pairings in pairings_by_judge.values()
        )
    ]
    rows: list[list[Cell]] = []
    if decided_keys and len(pairings_by_judge) > 1:
        hits = AGREEMENT_METRICS["pairs"]["accuracy with ties"]
        rows = [
            [judge, hits([pairings[place] for place in decided_keys], seed)]
            for judge, pairings in pairings_by_judge.items()
        ]
    note = Note(
        "judging.pairs-were-ruled-on-by", n=len(common_keys), judges=len(pairings_by_judge), decided=len(decided_keys)
    )
    title = Note("judging.title.accuracy-on-pairs-that-everybody")
    return Table("pairs decided by all", title, table_columns("judge", "accuracy"), rows, [note])


def _response_set_key(pairing: Pairing) -> tuple[str, ...]:
    return (pairing.verdict.item, pairing.verdict.criterion, *sorted(pairing.verdict.contestants))


_SCORES: Mapping[str, Statistic] = {
    "Pearson": statistics_for_bootstrap.weighted_pearson,
    "Spearman": statistics_for_bootstrap.weighted_spearman,
    "Kendall": statistics_for_bootstrap.weighted_kendall,
    "error": statistics_for_bootstrap.absolute_error,
    "kappa, quadratic": statistics_for_bootstrap.weighted_quadratic_kappa,
}
_CHOICES: Mapping[str, Statistic] = {
    "accuracy with ties": statistics_for_bootstrap.share_equal,
    "accuracy without ties": statistics_for_bootstrap.share_equal,
    "F1, macro": statistics_for_bootstrap.class_statistic("f1"),
    "F1, by size": statistics_for_bootstrap.class_statistic("f1", by_size=True),
    "recall, macro": statistics_for_bootstrap.class_statistic("recall"),
    "kappa": statistics_for_bootstrap.weighted_cohen_kappa,
}
_ORDERS: Mapping[str, Callable[[str, str], float]] = {
    "edit distance": per_item_ranking_agreement.edit_distance,
    "Kendall": per_item_ranking_agreement.rank_correlation,
    "same order": lambda ours, theirs: float(ours == theirs),
    "same first": lambda ours, theirs: float(ours[0] == theirs[0]),
}


def group_averages(
    comparison: PeopleComparison, judge: str, groups: Groups, *, first: bool = False, seed: int = 0
) -> dict[str, dict[str, Estimate]]:
    """Return the averages of the metrics (or only the `first`) per shape; none if groups share items."""
    means: dict[str, dict[str, Estimate]] = {}
    for kind, names in AGREEMENT_METRICS.items():
        pairs = comparison.pairings(judge, kind)
        rows = [(group, pairing) for pairing in pairs for group in groups(pairing.verdict)]
        if not rows or len(rows) > len(pairs):
            continue
        for name in [*names][: 1 if first else None]:
            counted_rows = [row for row in rows if name != "accuracy without ties" or _is_decided(row[1])]
            if not counted_rows:
                continue
            statistic, columns = _metric_columns(kind, name, [pairing for _, pairing in counted_rows])
            items = [pairing.verdict.item for _, pairing in counted_rows]
            try:
                means.setdefault(kind, {})[name] = mean_of_groups(
                    statistic, [group for group, _ in counted_rows], *columns, cluster=items, seed=seed,
                    within=scale_of(name),
                )  # fmt: skip
            except Undefined:
                continue
    return means


def _is_decided(pairing: Pairing) -> bool:
    return None not in {winner_index(pairing.marks), winner_index(pairing.other_marks)}


def _metric_columns(kind: str, name: str, pairs: Sequence[Pairing]) -> tuple[Statistic, list[list[float]]]:
    if kind == "scores":
        return _SCORES[name], [[p.marks[0] for p in pairs], [p.other_marks[0] for p in pairs]]
    if kind == "pairs":
        return _CHOICES[name], [[class_of(p.marks) for p in pairs], [class_of(p.other_marks) for p in pairs]]
    return statistics_for_bootstrap.weighted_mean, [
        [distance_of_orders(p.marks, p.other_marks, _ORDERS[name]) for p in pairs]
    ]
