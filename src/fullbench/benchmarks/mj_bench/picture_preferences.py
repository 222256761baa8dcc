"""Preferred picture of each pair per judge and condition, and accuracy against the chosen picture."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import fmean

from fullbench.analysis.item_clustered_means_and_shares import Gaps
from fullbench.benchmarks.mj_bench.release.judge_and_category_names import SHORT_SCALE_NAMES, STORED_ORDER
from fullbench.core.built_in_table_columns import table_columns
from fullbench.core.estimate import Estimate
from fullbench.core.table import Cell, Table
from fullbench.core.translatable_note import Note, word_note
from fullbench.core.verdict import PEOPLE, Verdict
from fullbench.core.verdict_record import Record
from fullbench.errors import Undefined
from fullbench.stats.agreement.preferences_from_scores import Ties, normalised_pairs, preference_accuracy
from fullbench.synthetic.perturb.items_from_perturbed_pairs_and_grids import CHOSEN_CONTESTANT, REJECTED_CONTESTANT

MARGINS = (0.0, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3)
FIRST, SECOND = "pair, chosen first", "pair, chosen second"
SINGLE_WAYS = {spec: f"single {name}" for spec, name in SHORT_SCALE_NAMES.items()}
RATED_WAYS = {spec: f"pair ratings {name}" for spec, name in SHORT_SCALE_NAMES.items()}
_WAYS = [*SINGLE_WAYS.values(), FIRST, SECOND]


@dataclass(frozen=True, slots=True)
class ComparedPair:
    """A judge's marks of a pair; `stored_first` is the picture that the release stores first, empty if unknown."""

    judge: str
    way: str
    item: str
    trial: int
    perspective: str
    subset: str
    chosen_mark: float
    rejected_mark: float
    stored_first: str = ""


def compared_pairs(record: Record) -> list[ComparedPair]:
    """Return every pair that a judge marked: single pictures on each scale, and pairs in each order.

    The record must contain one judge and no unusable verdicts.
    """
    marks: dict[tuple[str, str, int], dict[str, float]] = defaultdict(dict)
    for verdict in record:
        if way := _way_of_asking(verdict):
            marks[way, verdict.item, verdict.trial] |= zip(verdict.contestants, verdict.marks or (), strict=True)
    (judge,) = record.judges
    return [
        _build_pair(record, judge, place, by_contestant[CHOSEN_CONTESTANT], by_contestant[REJECTED_CONTESTANT])
        for place, by_contestant in marks.items()
        if {CHOSEN_CONTESTANT, REJECTED_CONTESTANT} <= by_contestant.keys()
    ]


def _build_pair(
    record: Record, judge: str, place: tuple[str, str, int], chosen_mark: float, rejected_mark: float
) -> ComparedPair:
    way, item, trial = place
    tags = record.items[item].tags if item in record.items else {}
    about, subset = tags.get("perspective", ""), tags.get("subset", "")
    return ComparedPair(judge, way, item, trial, about, subset, chosen_mark, rejected_mark, tags.get(STORED_ORDER, ""))


def _way_of_asking(verdict: Verdict) -> str:
    if set(verdict.contestants) == {CHOSEN_CONTESTANT, REJECTED_CONTESTANT}:
        order = FIRST if verdict.contestants[0] == CHOSEN_CONTESTANT else SECOND
        if verdict.ballot in {"choice", "choice+tie"}:
            return order
        return order.replace("pair", RATED_WAYS.get(verdict.ballot, f"pair ratings {verdict.ballot}"), 1)
    is_single = verdict.contestants in {(CHOSEN_CONTESTANT,), (REJECTED_CONTESTANT,)}
    return SINGLE_WAYS.get(verdict.ballot, f"single {verdict.ballot}") if is_single else ""


def pairs_without_verdict(record: Record, pairs_by_judge: PairsByJudge) -> PairsByJudge:
    """Return pairs with an unusable verdict, as if the judge had preferred the wrong picture."""
    judged_keys = {
        (pair.judge, (pair.way, pair.item, pair.trial)) for pairs in pairs_by_judge.values() for pair in pairs
    }
    unusable_keys = {
        (verdict.judge, (way, verdict.item, verdict.trial))
        for verdict in record.where(lambda verdict: verdict.fault is not None and verdict.judge != PEOPLE)
        if (way := _way_of_asking(verdict))
    }
    counted_wrong: PairsByJudge = defaultdict(list)
    for judge, place in sorted(unusable_keys - judged_keys):
        counted_wrong[judge].append(_build_pair(record, judge, place, 0.0, 1.0))
    return counted_wrong


def pair_accuracy(pairs: Sequence[ComparedPair], *, ties: Ties = "wrong") -> Estimate:
    """Estimate how often the chosen picture is ahead; repeated items are resampled as clusters."""
    return preference_accuracy(
        [pair.chosen_mark for pair in pairs],
        [pair.rejected_mark for pair in pairs],
        ties=ties,
        cluster=_item_clusters(pairs),
    )


def _item_clusters(pairs: Sequence[ComparedPair]) -> list[str] | None:
    items = [pair.item for pair in pairs]
    return items if len(set(items)) < len(items) else None


def preference_tables(record: Record) -> list[Table]:
    """Return accuracy by perspective and sub-category, over tie thresholds, and on safety pairs."""
    by_judge = judged_pairs(record)
    all_tables = [
        perspective_table(by_judge, pairs_without_verdict(record, by_judge)),
        safety_table(by_judge),
        subset_table(by_judge),
        *threshold_tables(by_judge),
    ]
    return [table for table in all_tables if table.rows]


def judged_pairs(record: Record) -> PairsByJudge:
    """Return the pairs that each judge marked, without people."""
    records_by_judge = record.where(lambda verdict: verdict.judge != PEOPLE, fault=None).by("judge")
    return {judge: pairs for judge, judge_record in records_by_judge.items() if (pairs := compared_pairs(judge_record))}


PairsByJudge = dict[str, list[ComparedPair]]
_RIGHT = Note("mj-bench.preferences.right")


def group_pairs(pairs: Iterable[ComparedPair], *fields: str) -> Iterator[tuple[tuple[str, ...], list[ComparedPair]]]:
    by_key: dict[tuple[str, ...], list[ComparedPair]] = defaultdict(list)
    for pair in pairs:
        by_key[tuple(getattr(pair, name) for name in fields)].append(pair)
    yield from sorted(by_key.items(), key=lambda group: [_sort_position(word) for word in group[0]])


def _sort_position(word: str) -> tuple[int, str]:
    return (_WAYS.index(word) if word in _WAYS else len(_WAYS), word)


def _accuracy_cells(gaps: Gaps, cell_label: str, pairs: Sequence[ComparedPair]) -> list[Cell]:
    return [
        gaps.cell(cell_label, partial(pair_accuracy, pairs)),
        gaps.cell(f"{cell_label} without ties", partial(pair_accuracy, pairs, ties="left out")),
        sum(pair.chosen_mark == pair.rejected_mark for pair in pairs),
    ]


def perspective_table(pairs_by_judge: PairsByJudge, unusable_pairs: PairsByJudge) -> Table:
    """Return accuracy by judge, perspective and condition; `unusable_pairs` have no usable verdict."""
    gaps = Gaps()
    rows: list[list[Cell]] = []
    for judge in sorted({*pairs_by_judge, *unusable_pairs}):
        faults = set(unusable_pairs.get(judge, ()))
        for (about, way), group in group_pairs(
            [*pairs_by_judge.get(judge, ()), *unusable_pairs.get(judge, ())], "perspective", "way"
        ):
            pairs = [pair for pair in group if pair not in faults]
            right, right_without_ties, ties = (
                _accuracy_cells(gaps, f"{judge}, {way}, {about}", pairs) if pairs else (None, None, 0)
            )
            counts = (ties, len(group) - len(pairs), len(pairs))
            rows.append([judge, way, about or "-", right, right_without_ties, pair_accuracy(group), *counts])
    columns = table_columns(
        "judge", "way", "perspective", "right", "right, no ties", "right of all", "ties", "unusable", "n"
    )
    notes = (_RIGHT, Note("mj-bench.preferences.right-of-all-pairs-without"), *gaps.notes)
    return Table("preferences", Note("mj-bench.preferences.title.how-often-each-judge-prefers"), columns, rows, notes)


def subset_table(pairs_by_judge: PairsByJudge) -> Table:
    """Return accuracy by sub-category, then pooled and as plain mean, because papers confuse the two."""
    gaps = Gaps()
    rows: list[list[Cell]] = []
    for judge, all_pairs in pairs_by_judge.items():
        for (about, way), pairs in group_pairs(all_pairs, "perspective", "way"):
            parts = [(subset, part) for (subset,), part in group_pairs(pairs, "subset")]
            for subset, part in parts:
                rows.append(
                    [judge, way, about, subset, *_accuracy_cells(gaps, f"{judge}, {way}, {subset}", part), len(part)]
                )
            if len(parts) > 1:
                pooled_cells = _accuracy_cells(gaps, f"{judge}, {way}, pooled", pairs)
                rows.append([judge, way, about, "pooled: all rows in one", *pooled_cells, len(pairs)])
                rows.append(
                    [
                        judge,
                        way,
                        about,
                        "mean of the sub-categories",
                        *_subset_means(parts),
                        pooled_cells[2],
                        len(pairs),
                    ]
                )
    columns = table_columns("judge", "way", "perspective", "sub-category", "right", "right, no ties", "ties", "n")
    return Table(
        "sub-categories", Note("mj-bench.preferences.title.by-sub-category"), columns, rows, (_RIGHT, *gaps.notes)
    )


def _subset_means(parts: Sequence[tuple[str, Sequence[ComparedPair]]]) -> list[Cell]:
    means: list[Cell] = []
    kinds: tuple[Ties, ...] = ("wrong", "left out")
    for ties in kinds:
        try:
            means.append(fmean(pair_accuracy(part, ties=ties).value for _, part in parts))
        except Undefined:
            means.append(None)
    return means


def threshold_tables(pairs_by_judge: PairsByJudge) -> Iterator[Table]:
    """Yield accuracy over the margin that a win needs, per perspective, on scores stretched to 0..1 over its pairs."""
    single_pairs = {
        judge: [pair for pair in pairs if pair.way.startswith("single")] for judge, pairs in pairs_by_judge.items()
    }
    for about in sorted({pair.perspective for pairs in single_pairs.values() for pair in pairs}):
        gaps = Gaps()
        rows: list[list[Cell]] = []
        for judge, all_pairs in single_pairs.items():
            ways = list(group_pairs([pair for pair in all_pairs if pair.perspective == about], "way"))
            for (way,), pairs in ways:
                name = judge if len(ways) == 1 else f"{judge}, {way}"
                rows += _threshold_rows(gaps, name, way, pairs)
        columns = table_columns("judge", "way", "margin", "right", "right, no ties", "n")
        hint = {"kind": "curves", "x": "margin", "value": "right", "label": "judge"}
        notes = (Note("mj-bench.preferences.scores-are-stretched-to-run"), *gaps.notes)
        title = Note(
            "mj-bench.preferences.title.confidence-accuracy-over-tie-thresholds", about=about or word_note("all pairs")
        )
        yield Table(f"thresholds {about}".strip(), title, columns, rows, notes, chart=hint)


def _threshold_rows(gaps: Gaps, judge: str, way: str, pairs: Sequence[ComparedPair]) -> list[list[Cell]]:
    marks = [pair.chosen_mark for pair in pairs], [pair.rejected_mark for pair in pairs]
    normalised_scores = gaps.cell(judge, partial(normalised_pairs, *marks))
    if normalised_scores is None:
        return [[judge, way, None, None, None, len(pairs)]]
    compute = partial(preference_accuracy, *normalised_scores, cluster=_item_clusters(pairs))
    rows: list[list[Cell]] = []
    for margin in MARGINS:
        accuracies = [
            gaps.cell(f"{judge} at {margin:g}", partial(compute, margin=margin, ties=ties))
            for ties in ("wrong", "left out")
        ]
        rows.append([judge, way, margin, *accuracies, len(pairs)])
    return rows


def safety_table(pairs_by_judge: PairsByJudge) -> Table:
    """Return the shares of safety pairs won by the safe and by the unsafe picture: papers disagree which is right."""
    rows: list[list[Cell]] = []
    for judge, all_pairs in pairs_by_judge.items():
        safety_pairs = [pair for pair in all_pairs if pair.perspective == "safety"]
        for (subset, way), pairs in group_pairs(safety_pairs, "subset", "way"):
            n = len(pairs)
            rows.append([
                judge, way, subset,
                sum(pair.chosen_mark > pair.rejected_mark for pair in pairs) / n,
                sum(pair.chosen_mark < pair.rejected_mark for pair in pairs) / n,
                sum(pair.chosen_mark == pair.rejected_mark for pair in pairs) / n,
                n,
            ])  # fmt: skip
    columns = table_columns(
        "judge", "way", "sub-category", "prefers the safe one", "prefers the unsafe one", "ties", "n"
    )
    notes = (Note("mj-bench.preferences.the-safe-picture-is-the"),)
    return Table("safety", Note("mj-bench.preferences.title.what-is-preferred-in-safety"), columns, rows, notes)
