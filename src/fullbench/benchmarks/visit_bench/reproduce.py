"""All of the paper that the released data allow: counts, labels, the consistency of the Elo tables, lengths."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from fullbench.benchmarks.visit_bench.release_files import FLAGS, KINDS, Instance, Label, Release, Standing
from fullbench.core.column_labels import headings, named
from fullbench.core.estimate import Estimate
from fullbench.core.note import Note
from fullbench.core.reproduction import Reproduced, Reproduction
from fullbench.core.table import Cell, Table
from fullbench.stats.agreement.two_raters import spearman
from fullbench.stats.intervals.share_intervals import wilson

TABLE2: Mapping[str, tuple[float, float, float]] = {
    "overall": (87.3, 4.0, 7.7),
    "single": (91.5, 3.6, 3.8),
    "multi": (63.0, 6.0, 30.0),
}
"""Table 2 of the paper: per cent correct, with a faulty caption, with a faulty reference."""
JUDGMENTS: Mapping[str, float] = {"human_single": 5000, "auto_single": 12000}
"""How many judgments the captions of Tables 3 and 4 speak of."""


HUMAN, AUTOMATIC, REFERENCE = "human_single", "auto_single", "reference"
FORESEEN: Mapping[str, float] = {"llava": 69, "pandagpt": 93}
"""Section 4.2: how often the reference should beat these, in per cent, by the printed ratings."""


def reproduce(data: Path) -> Reproduction:
    """Read the release in a folder and compute every cell again."""
    release = Release.read(data)
    return Reproduction(list(cells(release)), [labels(release), odd(release)])


def cells(release: Release) -> Iterator[Reproduced]:
    """All cells, family by family."""
    yield from flags(release)
    yield from counts(release)
    yield from standings(release)
    yield from lengths(release)


def flags(release: Release) -> Iterator[Reproduced]:
    """Table 2: what people said of references and captions."""
    groups: dict[str, Sequence[Instance]] = {"overall": release.of(), **{kind: release.of(kind) for kind in KINDS}}
    for group, rows in groups.items():
        if not rows:
            continue
        row_flags = [(row.correct, row.caption_at_fault, row.reference_at_fault) for row in rows]
        for place, flag in enumerate(FLAGS):
            share = _per_cent(wilson(sum(row[place] for row in row_flags), len(rows)))
            printed = TABLE2[group][place] if group != "overall" or not release.absent else None
            yield Reproduced(f"table2/{group}/{flag}", share.value, share.n, "", share, printed, "Table 2")


def _per_cent(share: Estimate) -> Estimate:
    return Estimate(100 * share.value, 100 * share.low, 100 * share.high, share.n, share.level, share.method)


def counts(release: Release) -> Iterator[Reproduced]:
    """How many instances and families there are, of each kind."""
    rows = release.of()
    verified = [row for row in rows if row.verified]
    families = {row.family: row.origin for row in rows}
    by_kind = {kind: kind_rows for kind in KINDS if (kind_rows := release.of(kind))}
    n, whole = len(rows), not release.absent
    yield Reproduced("instances", n, n, paper=678 if whole else None, source="section 2")
    yield Reproduced("instances/verified", len(verified), n, paper=592 if whole else None, source="section 4")
    for kind, kind_rows in by_kind.items():
        yield Reproduced(f"instances/{kind}_image", len(kind_rows), n)
        yield Reproduced(f"verified_{kind}", sum(row.verified for row in kind_rows), len(kind_rows))
    yield Reproduced("families", len(families), n, paper=70 if whole else None, source="section 2")
    for kind, kind_rows in by_kind.items():
        printed = 10 if kind == "multi" else None
        yield Reproduced(
            f"families/{kind}_image",
            len({row.family for row in kind_rows}),
            len(kind_rows),
            paper=printed,
            source="section 2",
        )
    origins = Counter(families.values())
    for name, printed in (("new", 45), ("existing", 25)):
        yield Reproduced(f"families/{name}", origins[name], n, paper=printed if whole else None, source="section 2")
    images = {image for row in rows for image in row.images}
    yield Reproduced("images", len(images), n, paper=1159 if whole else None, source="section 2")


def standings(release: Release) -> Iterator[Reproduced]:
    """Do the Elo tables hold together? Sequential Elo keeps the sum; a win rate is a whole number of its matches."""
    tables: dict[str, list[Standing]] = defaultdict(list)
    for row in release.standings:
        tables[row.table].append(row)
    for name, rows in tables.items():
        total, battles = sum(row.elo for row in rows), sum(row.matches for row in rows) / 2
        yield Reproduced(
            f"elo/{name}/sum", 1000 * len(rows), len(rows), paper=total, source="Tables 3 and 4", basis="printed"
        )
        yield Reproduced(
            f"elo/{name}/battles", battles, int(battles), paper=JUDGMENTS.get(name),
            source="captions of Tables 3 and 4", basis="printed",
        )  # fmt: skip
        for row in rows:
            if row.win is not None:
                share = _per_cent(wilson(round(row.win * row.win_n / 100), row.win_n))
                yield Reproduced(
                    f"elo/{name}/{row.model}/win_pct", share.value, share.n, "", share, row.win, "Tables 3 and 4",
                    "printed",
                )  # fmt: skip
    yield from between(tables)


def between(tables: Mapping[str, Sequence[Standing]]) -> Iterator[Reproduced]:
    """What the printed ratings foresee against the reference, and whether both tables put the systems in one order."""
    people, judge = ({row.model: row.elo for row in tables.get(name, ())} for name in (HUMAN, AUTOMATIC))
    for model, printed in FORESEEN.items():
        if {REFERENCE, model} <= set(people):
            chance = 100 / (1 + 10 ** ((people[model] - people[REFERENCE]) / 400))
            yield Reproduced(
                f"elo/expected/reference_vs_{model}", chance, len(people), paper=printed, source="section 4.2",
                basis="printed",
            )  # fmt: skip
    both = sorted(set(people) & set(judge))
    if len(both) > 2:
        rho = spearman([people[name] for name in both], [judge[name] for name in both])
        yield Reproduced("elo/system_spearman", rho.value, len(both), paper=1.0, source="section 4.3", basis="printed")


def lengths(release: Release) -> Iterator[Reproduced]:
    """The length baseline: mean number of words of each model's answers."""
    words: dict[str, list[int]] = defaultdict(list)
    for prediction in release.predictions:
        words[prediction.model].append(len((prediction.text or "").split()))
    for model, word_counts in words.items():
        yield Reproduced(f"length/{model}/mean_tokens", sum(word_counts) / len(word_counts), len(word_counts))


def labels(release: Release) -> Table:
    """Counts of people's labels: overall, one image, several images."""
    columns = headings("label", "overall", *(named(kind) for kind in KINDS))
    by = {group: Counter(row.label for row in release.of(group)) for group in (None, *KINDS)}
    names: tuple[Label, ...] = ("correct", "caption at fault", "reference at fault", "not correct")
    rows: list[list[Cell]] = [[name, *(counts[name] for counts in by.values())] for name in names]
    rows.append(["judged", *(sum(row.verified for row in release.of(group)) for group in (None, *KINDS))])
    notes = [
        Note(
            "visit-bench.reproduction.only-instances-with-a-correct",
            "Only instances with a correct reference and a sound caption are judged.",
        )
    ]
    return Table(
        "labels",
        Note("visit-bench.reproduction.title.what-people-said-of-the", "What people said of the references"),
        columns,
        rows,
        notes,
    )


def odd(release: Release) -> Table:
    """What is odd in the released files, and what was done about it."""
    twice = Counter((prediction.row, prediction.model) for prediction in release.predictions)
    pairs = Counter(release.pairs)
    oddities = {
        **{
            f"the file of instances with {words} is not here: what is printed of all is left out": kind
            in release.absent
            for kind, words in (("single", "one image"), ("multi", "several images"))
        },
        "instances whose texts are blanked: counted, not judged": sum(row.instruction is None for row in release.of()),
        "instances that are not correct though no fault is named: not judged": sum(
            row.label == "not correct" for row in release.of()
        ),
        "predictions without a text: an empty answer": sum(not prediction.text for prediction in release.predictions),
        "predictions that answer a row a second time": sum(count - 1 for count in twice.values()),
        "pairs that were asked about twice": sum(count - 1 for count in pairs.values()),
    }
    rows: list[list[Cell]] = [[int(count), what] for what, count in oddities.items() if count]
    return Table(
        "oddities",
        Note("visit-bench.reproduction.title.what-was-odd-in-the", "What was odd in the released files"),
        headings("rows", "what, and what was done"),
        rows,
    )
