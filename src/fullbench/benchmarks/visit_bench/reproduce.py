"""Numbers of the paper recomputed from the release: counts, labels, consistency of the Elo tables, lengths."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from fullbench.benchmarks.visit_bench.release_files import FLAGS, KINDS, EloRow, Instance, Label, Release
from fullbench.core.benchmark import Reproduced, Reproduction
from fullbench.core.built_in_table_columns import data_column, table_columns
from fullbench.core.estimate import Estimate
from fullbench.core.table import Cell, Table
from fullbench.core.translatable_note import Note
from fullbench.stats.agreement.two_raters import spearman_correlation
from fullbench.stats.intervals.share_intervals import wilson_interval

TABLE2: Mapping[str, tuple[float, float, float]] = {
    "overall": (87.3, 4.0, 7.7),
    "single": (91.5, 3.6, 3.8),
    "multi": (63.0, 6.0, 30.0),
}
"""Table 2 of the paper: percentages correct, with a faulty caption, with a faulty reference."""
JUDGMENTS: Mapping[str, float] = {"human_single": 5000, "auto_single": 12000}
"""Numbers of judgments in the captions of Tables 3 and 4."""


HUMAN, AUTOMATIC, REFERENCE = "human_single", "auto_single", "reference"
EXPECTED_WIN_RATES: Mapping[str, float] = {"llava": 69, "pandagpt": 93}
"""Section 4.2: percentage of wins of the reference against these, predicted by the printed ratings."""


def reproduce(data: Path) -> Reproduction:
    """Read the release in a folder and recompute every cell."""
    release = Release.read(data)
    return Reproduction(list(visit_bench_cells(release)), [label_table(release), oddities_table(release)])


def visit_bench_cells(release: Release) -> Iterator[Reproduced]:
    """Yield all cells, family by family."""
    yield from flag_cells(release)
    yield from count_cells(release)
    yield from elo_cells(release)
    yield from length_cells(release)


def flag_cells(release: Release) -> Iterator[Reproduced]:
    """Yield Table 2: people's labels of references and captions."""
    groups: dict[str, Sequence[Instance]] = {
        "overall": release.instances_of_kind(),
        **{kind: release.instances_of_kind(kind) for kind in KINDS},
    }
    for group, rows in groups.items():
        if not rows:
            continue
        row_flags = [(row.correct, row.caption_at_fault, row.reference_at_fault) for row in rows]
        for place, flag in enumerate(FLAGS):
            share = _per_cent(wilson_interval(sum(row[place] for row in row_flags), len(rows)))
            printed_share = TABLE2[group][place] if group != "overall" or not release.absent_kinds else None
            yield Reproduced(f"table2/{group}/{flag}", share.value, share.n, "", share, printed_share, "Table 2")


def _per_cent(share: Estimate) -> Estimate:
    return Estimate(100 * share.value, 100 * share.low, 100 * share.high, share.n, share.level, share.method)


def count_cells(release: Release) -> Iterator[Reproduced]:
    """Yield the numbers of instances and families of each kind."""
    rows = release.instances_of_kind()
    verified_rows = [row for row in rows if row.is_verified]
    families = {row.family: row.origin for row in rows}
    by_kind = {kind: kind_rows for kind in KINDS if (kind_rows := release.instances_of_kind(kind))}
    n, is_complete = len(rows), not release.absent_kinds
    yield Reproduced("instances", n, n, paper=678 if is_complete else None, source="section 2")
    yield Reproduced(
        "instances/verified", len(verified_rows), n, paper=592 if is_complete else None, source="section 4"
    )
    for kind, kind_rows in by_kind.items():
        yield Reproduced(f"instances/{kind}_image", len(kind_rows), n)
        yield Reproduced(f"verified_{kind}", sum(row.is_verified for row in kind_rows), len(kind_rows))
    yield Reproduced("families", len(families), n, paper=70 if is_complete else None, source="section 2")
    for kind, kind_rows in by_kind.items():
        printed_count = 10 if kind == "multi" else None
        yield Reproduced(
            f"families/{kind}_image",
            len({row.family for row in kind_rows}),
            len(kind_rows),
            paper=printed_count,
            source="section 2",
        )
    origins = Counter(families.values())
    for name, printed_count in (("new", 45), ("existing", 25)):
        yield Reproduced(
            f"families/{name}", origins[name], n, paper=printed_count if is_complete else None, source="section 2"
        )
    images = {image for row in rows for image in row.images}
    yield Reproduced("images", len(images), n, paper=1159 if is_complete else None, source="section 2")


def elo_cells(release: Release) -> Iterator[Reproduced]:
    """Check the printed Elo tables: sequential Elo keeps the sum, and win rates are whole numbers of matches."""
    tables: dict[str, list[EloRow]] = defaultdict(list)
    for row in release.elo_rows:
        tables[row.table].append(row)
    for name, rows in tables.items():
        total, match_count = sum(row.elo for row in rows), sum(row.matches for row in rows) / 2
        yield Reproduced(
            f"elo/{name}/sum", 1000 * len(rows), len(rows), paper=total, source="Tables 3 and 4", basis="printed"
        )
        yield Reproduced(
            f"elo/{name}/battles", match_count, int(match_count), paper=JUDGMENTS.get(name),
            source="captions of Tables 3 and 4", basis="printed",
        )  # fmt: skip
        for row in rows:
            if row.win is not None:
                # The nearest whole number of wins; the paper prints only the percentage.
                share = _per_cent(wilson_interval(round(row.win * row.win_n / 100), row.win_n))
                yield Reproduced(
                    f"elo/{name}/{row.model}/win_pct", share.value, share.n, "", share, row.win, "Tables 3 and 4",
                    "printed",
                )  # fmt: skip
    yield from elo_comparison_cells(tables)


def elo_comparison_cells(tables: Mapping[str, Sequence[EloRow]]) -> Iterator[Reproduced]:
    """Yield win rates of the reference that the printed ratings predict, and the correlation of both tables."""
    people, judge = ({row.model: row.elo for row in tables.get(name, ())} for name in (HUMAN, AUTOMATIC))
    for model, printed_chance in EXPECTED_WIN_RATES.items():
        if {REFERENCE, model} <= set(people):
            chance = 100 / (1 + 10 ** ((people[model] - people[REFERENCE]) / 400))
            yield Reproduced(
                f"elo/expected/reference_vs_{model}", chance, len(people), paper=printed_chance, source="section 4.2",
                basis="printed",
            )  # fmt: skip
    shared_models = sorted(set(people) & set(judge))
    if len(shared_models) > 2:
        rho = spearman_correlation([people[name] for name in shared_models], [judge[name] for name in shared_models])
        yield Reproduced(
            "elo/system_spearman", rho.value, len(shared_models), paper=1.0, source="section 4.3", basis="printed"
        )


def length_cells(release: Release) -> Iterator[Reproduced]:
    """Yield the length baseline: mean number of words of each model's answers."""
    words: dict[str, list[int]] = defaultdict(list)
    for prediction in release.predictions:
        words[prediction.model].append(len((prediction.text or "").split()))
    for model, word_counts in words.items():
        yield Reproduced(f"length/{model}/mean_tokens", sum(word_counts) / len(word_counts), len(word_counts))


def label_table(release: Release) -> Table:
    """Count people's labels: overall, one image, several images."""
    columns = table_columns("label", "overall", *(data_column(kind) for kind in KINDS))
    counts_by_kind = {group: Counter(row.label for row in release.instances_of_kind(group)) for group in (None, *KINDS)}
    names: tuple[Label, ...] = ("correct", "caption at fault", "reference at fault", "not correct")
    rows: list[list[Cell]] = [[name, *(counts[name] for counts in counts_by_kind.values())] for name in names]
    rows.append(
        ["judged", *(sum(row.is_verified for row in release.instances_of_kind(group)) for group in (None, *KINDS))]
    )
    notes = [Note("visit-bench.reproduction.only-instances-with-a-correct")]
    return Table("labels", Note("visit-bench.reproduction.title.what-people-said-of-the"), columns, rows, notes)


def oddities_table(release: Release) -> Table:
    """List oddities of the released files and their treatment."""
    answer_counts = Counter((prediction.row, prediction.model) for prediction in release.predictions)
    pair_counts = Counter(release.pairs)
    oddities = {
        **{
            f"the file of instances with {words} is not here: what is printed of all is left out": kind
            in release.absent_kinds
            for kind, words in (("single", "one image"), ("multi", "several images"))
        },
        "instances whose texts are blanked: counted, not judged": sum(
            row.instruction is None for row in release.instances_of_kind()
        ),
        "instances that are not correct though no fault is named: not judged": sum(
            row.label == "not correct" for row in release.instances_of_kind()
        ),
        "predictions without a text: an empty answer": sum(not prediction.text for prediction in release.predictions),
        "predictions that answer a row a second time": sum(count - 1 for count in answer_counts.values()),
        "pairs that were asked about twice": sum(count - 1 for count in pair_counts.values()),
    }
    rows: list[list[Cell]] = [[int(count), description] for description, count in oddities.items() if count]
    return Table(
        "oddities",
        Note("visit-bench.reproduction.title.what-was-odd-in-the"),
        table_columns("rows", "what, and what was done"),
        rows,
    )
