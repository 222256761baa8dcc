"""What simulated courts show: which method finds the planted order, from how many pictures, and what cheats can do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from statistics import fmean, stdev

from fullbench.analysis.peer_review.ground_truth import Truth
from fullbench.analysis.peer_review.ranking_methods import METHODS, ROBUST, Nearness, Terms, consensus, nearness, scores
from fullbench.analysis.peer_review.shared_bias_warnings import warned, warnings
from fullbench.core.column_labels import headings, with_deviation
from fullbench.core.note import Note, word
from fullbench.core.table import Cell, Table
from fullbench.errors import Undefined
from fullbench.stats.peer_review.equation_variants import READINGS
from fullbench.studies.peer_review.simulation import Court, Setting, court

SIZES = (5, 10, 25, 50, 100)
_WARNED = 8
"""In so many courts at most warnings are looked for: each takes a moment."""
_FIGURES = ("pearson", "spearman", "kendall", "entropy")


def recovered(setting: Setting, method: str, seeds: Sequence[int]) -> list[Nearness]:
    """How near a method comes to the planted skills, in each court that says something of every contestant."""
    return list(_recovered([court(setting, seed) for seed in seeds], method))


def _recovered(courts: Sequence[Court], method: str) -> Iterator[Nearness]:
    for simulated in courts:
        try:
            yield nearness(_scores(simulated, method), simulated.skill.tolist())
        except Undefined:
            continue


def _scores(simulated: Court, method: str) -> Sequence[float]:
    """A method's scores; `UPME, NAME` is UPME by the reading of that name."""
    name, _, reading = method.partition(", ")
    if name == "UPME" and reading in READINGS:
        return scores(simulated.reviews, name, Terms(reading=reading), starts=1)
    return scores(simulated.reviews, method, starts=1)


def tables(setting: Setting, *, seeds: int = 20, sizes: Sequence[int] = SIZES) -> list[Table]:
    """All that a court shows; the table of cheats only where some collude."""
    numbers = range(seeds)
    base_tables = [
        methods_table(setting, numbers),
        readings_table(setting, numbers),
        sizes_table(setting, numbers, sizes),
        warnings_table(setting, numbers),
    ]
    return (
        [*base_tables, cheats_table(setting, numbers), influence_table(setting, numbers)]
        if setting.colluders
        else base_tables
    )


def methods_table(setting: Setting, seeds: Sequence[int]) -> Table:
    """Every method beside the planted skills: mean and sample standard deviation over seeds."""
    courts = [court(setting, seed) for seed in seeds]
    rows: list[list[Cell]] = []
    for method in METHODS:
        nearnesses = list(_recovered(courts, method))
        rows.append([method, *(cell for figure in _FIGURES for cell in _spread(nearnesses, figure)), len(nearnesses)])
    columns = headings("method", *(column for figure in _FIGURES for column in with_deviation(figure)), "courts")
    notes = [
        _described(setting),
        Note(
            "simulation.tables.entropy-is-of-the-list",
            "Entropy is of the list of true ranks (0 is sorted). sd: over courts, n - 1.",
        ),
    ]
    hint = {"kind": "bars", "label": "method", "value": "pearson"}
    return Table(
        "methods",
        Note("simulation.tables.title.which-method-finds-the-planted", "Which method finds the planted order"),
        columns,
        rows,
        notes,
        {},
        hint,
    )


def readings_table(setting: Setting, seeds: Sequence[int]) -> Table:
    """Each reading of the paper beside the planted skills, and how far it is from peer rank."""
    courts = [court(setting, seed) for seed in seeds]
    prd = list(_recovered(courts, "PRD"))
    rows: list[list[Cell]] = []
    for name, reading in READINGS.items():
        found = list(_recovered(courts, f"UPME, {name}"))
        ahead = fmean(near.pearson for near in found) - fmean(near.pearson for near in prd) if found and prd else None
        rows.append([name, reading.meaning, *_spread(found, "pearson"), *_spread(found, "spearman"), ahead])
    title = Note("simulation.tables.title.readings", "UPME by each reading of its equations")
    note = Note(
        "simulation.tables.ahead",
        "Ahead of PRD: by how much its mean Pearson is larger. The paper prints 0.106 on MMstar, 0.178 on ScienceQA.",
    )
    columns = headings(
        "reading", "what it means", *with_deviation("pearson"), *with_deviation("spearman"), "ahead of PRD"
    )
    return Table("readings", title, columns, rows, [note])


def warnings_table(setting: Setting, seeds: Sequence[int]) -> Table:
    """In how many of the courts the ranking comes with a warning, by what it warns of."""
    found: dict[str, list[bool]] = {}
    for simulated in (court(setting, seed) for seed in list(seeds)[:_WARNED]):
        kin = dict(zip(simulated.reviews.names, simulated.families, strict=True)) if setting.families else None
        shown = warnings(simulated.reviews, terms=Terms(), truth=Truth({}), families=kin)
        warned_of = warned(shown)
        for what in dict.fromkeys(map(str, shown.column("what"))):
            found.setdefault(what, []).append(what in warned_of)
    rows: list[list[Cell]] = [[what, fmean(fired), len(fired)] for what, fired in found.items()]
    title = Note("simulation.tables.title.warnings", "How often a ranking comes with a warning")
    note = Note(
        "simulation.tables.warnings",
        "Of the first {n} courts at most; what is warned of without being there is a false alarm.",
        n=_WARNED,
    )
    return Table("warnings", title, headings("what", "share", "courts"), rows, [note])


def sizes_table(setting: Setting, seeds: Sequence[int], sizes: Sequence[int]) -> Table:
    """From how many pictures the order is found, by learned weights and without."""
    rows: list[list[Cell]] = []
    for size in sizes:
        courts = [court(replace(setting, images=size), seed) for seed in seeds]
        nearnesses = {method: list(_recovered(courts, method)) for method in ("UPME", "uniform")}
        best = [_best_is_first(simulated) for simulated in courts]
        cells = [cell for method in nearnesses for cell in _spread(nearnesses[method], "kendall")]
        rows.append([size, len(courts[0].reviews), *cells, fmean(best)])
    columns = headings("pictures", "reviews", "UPME tau", "sd", "uniform tau", "uniform sd", "best one first")
    notes = [
        Note(
            "simulation.tables.tau-kendall-s-against-the",
            "tau: Kendall's, against the planted order. Best one first: share of courts in which UPME says who is "
            "best.",
        )
    ]
    return Table(
        "pictures",
        Note("simulation.tables.title.how-many-pictures-are-needed", "How many pictures are needed"),
        columns,
        rows,
        notes,
    )


def cheats_table(setting: Setting, seeds: Sequence[int]) -> Table:
    """The same courts with the colluders ruling honestly and colluding: how far that moves each method."""
    honest, cheated = ([court(kind, seed) for seed in seeds] for kind in (setting.honest(), setting))
    rows: list[list[Cell]] = []
    for method in METHODS:
        before, after = (
            fmean(near.kendall for near in _recovered(courts, method)) for courts in (honest, cheated)
        )  # fmt: skip
        rows.append([method, before, after, after - before])
    notes = [
        Note(
            "simulation.tables.of-rule-for-each-other",
            "{colluders} of {models} rule for each other in every review; mean over {n} courts.",
            colluders=setting.colluders,
            models=setting.models,
            n=len(seeds),
        )
    ]
    columns = headings("method", "tau, honest", "tau, colluding", "moved")
    return Table(
        "cheats", Note("simulation.tables.title.what-colluders-can-do", "What colluders can do"), columns, rows, notes
    )


def influence_table(setting: Setting, seeds: Sequence[int]) -> Table:
    """How far a colluder's and an honest reviewer's reviews move the scores."""
    from fullbench.stats.peer_review.peer_rankings import influence

    rows: list[list[Cell]] = []
    for method in ("UPME", ROBUST, "uniform"):
        bad, good = [], []
        for simulated in (court(setting, seed) for seed in list(seeds)[:10]):
            moved = influence(simulated.reviews.peers(), partial(consensus, method=method, starts=1))
            bad += [moved[who] for who in simulated.colluders]
            good += [far for who, far in enumerate(moved) if who not in simulated.colluders]
        rows.append([method, fmean(bad), fmean(good)])
    notes = [
        Note(
            "simulation.tables.the-furthest-that-a-score",
            "The furthest that a score moves when one reviewer's reviews are left out; mean over reviewers and courts.",
        )
    ]
    return Table(
        "influence",
        Note("simulation.tables.title.how-far-one-reviewer-moves", "How far one reviewer moves the scores"),
        headings("method", "colluder", "honest"),
        rows,
        notes,
    )


def _best_is_first(simulated: Court) -> bool:
    try:
        estimated = scores(simulated.reviews, "UPME", starts=1)
    except Undefined:
        return False
    return estimated.index(max(estimated)) == 0


def _spread(nearnesses: Sequence[Nearness], figure: str) -> tuple[Cell, Cell]:
    values = [getattr(near, figure) for near in nearnesses]
    return fmean(values) if values else None, stdev(values) if len(values) > 1 else None


def _described(setting: Setting) -> str:
    kinds = {1.0: word("goes with"), 0.0: word("has nothing to do with")}
    return Note(
        "simulation.setting",
        "{models} contestants, {images} pictures; judging ability {kind} skill (related = {related:g}); weak judges "
        "like length (up to {length:g} marks for each doubling).",
        models=setting.models, images=setting.images, kind=kinds.get(setting.related, word("partly goes with")),
        related=setting.related, length=setting.length,
    )  # fmt: skip
