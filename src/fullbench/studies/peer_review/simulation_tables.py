"""Tables of simulated peer reviews: accuracy of each method, number of pictures needed, effect of cheats."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from statistics import fmean, stdev

from fullbench.analysis.peer_review.ground_truth import Truth
from fullbench.analysis.peer_review.ranking_methods import (
    METHODS,
    ROBUST,
    Nearness,
    RankingOptions,
    learn_consensus,
    method_scores,
    nearness_to_truth,
)
from fullbench.analysis.peer_review.shared_bias_warnings import bias_warning_table, warning_names
from fullbench.core.built_in_table_columns import table_columns, with_deviation
from fullbench.core.table import Cell, Table
from fullbench.core.translatable_note import Note, word_note
from fullbench.errors import Undefined
from fullbench.stats.peer_review.equation_variants import READINGS
from fullbench.studies.peer_review.simulation import SimulatedReviews, SimulationSetting, simulate_reviews

SIZES = (5, 10, 25, 50, 100)
_MAX_WARNING_SIMULATIONS = 8
"""Each check takes a moment."""
_METRICS = ("pearson", "spearman", "kendall", "entropy")


def method_nearness(setting: SimulationSetting, method: str, seeds: Sequence[int]) -> list[Nearness]:
    """Return how close a method comes to the true skills in each simulation; undefined ones are skipped."""
    return list(_nearness_by_simulation([simulate_reviews(setting, seed) for seed in seeds], method))


def _nearness_by_simulation(simulations: Sequence[SimulatedReviews], method: str) -> Iterator[Nearness]:
    for simulation in simulations:
        try:
            yield nearness_to_truth(_method_scores(simulation, method), simulation.skill.tolist())
        except Undefined:
            continue


def _method_scores(simulation: SimulatedReviews, method: str) -> Sequence[float]:
    """`UPME, NAME` is UPME by the reading of that name."""
    name, _, reading = method.partition(", ")
    if name == "UPME" and reading in READINGS:
        return method_scores(simulation.reviews, name, RankingOptions(reading=reading), starts=1)
    return method_scores(simulation.reviews, method, starts=1)


def simulation_tables(setting: SimulationSetting, *, seeds: int = 20, sizes: Sequence[int] = SIZES) -> list[Table]:
    """Return all tables of a simulation; those about cheats only if there are colluders."""
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


def methods_table(setting: SimulationSetting, seeds: Sequence[int]) -> Table:
    """Compare every method with the true skills: mean and sample standard deviation over seeds."""
    simulations = [simulate_reviews(setting, seed) for seed in seeds]
    rows: list[list[Cell]] = []
    for method in METHODS:
        nearnesses = list(_nearness_by_simulation(simulations, method))
        rows.append(
            [
                method,
                *(cell for metric in _METRICS for cell in _mean_and_deviation(nearnesses, metric)),
                len(nearnesses),
            ]
        )
    columns = table_columns(
        "method", *(column for metric in _METRICS for column in with_deviation(metric)), "simulations"
    )
    notes = [_setting_note(setting), Note("simulation.tables.entropy-is-of-the-list")]
    hint = {"kind": "bars", "label": "method", "value": "pearson"}
    return Table(
        "methods", Note("simulation.tables.title.which-method-finds-the-planted"), columns, rows, notes, {}, hint
    )


def readings_table(setting: SimulationSetting, seeds: Sequence[int]) -> Table:
    """Compare each reading of the paper's equations with the true skills and with peer rank (PRD)."""
    simulations = [simulate_reviews(setting, seed) for seed in seeds]
    prd = list(_nearness_by_simulation(simulations, "PRD"))
    rows: list[list[Cell]] = []
    for name, reading in READINGS.items():
        nearnesses = list(_nearness_by_simulation(simulations, f"UPME, {name}"))
        ahead = (
            fmean(near.pearson for near in nearnesses) - fmean(near.pearson for near in prd)
            if nearnesses and prd
            else None
        )
        rows.append(
            [
                name,
                reading.meaning,
                *_mean_and_deviation(nearnesses, "pearson"),
                *_mean_and_deviation(nearnesses, "spearman"),
                ahead,
            ]
        )
    title = Note("simulation.tables.title.readings")
    note = Note("simulation.tables.ahead")
    columns = table_columns(
        "reading", "what it means", *with_deviation("pearson"), *with_deviation("spearman"), "ahead of PRD"
    )
    return Table("readings", title, columns, rows, [note])


def warnings_table(setting: SimulationSetting, seeds: Sequence[int]) -> Table:
    """Return the share of simulations in which the ranking has a warning, by kind."""
    warnings_by_kind: dict[str, list[bool]] = {}
    for simulation in (simulate_reviews(setting, seed) for seed in list(seeds)[:_MAX_WARNING_SIMULATIONS]):
        own_family = dict(zip(simulation.reviews.names, simulation.families, strict=True)) if setting.families else None
        warning_table = bias_warning_table(
            simulation.reviews, terms=RankingOptions(), truth=Truth({}), families=own_family
        )
        warned_of = warning_names(warning_table)
        for what in dict.fromkeys(map(str, warning_table.column("what"))):
            warnings_by_kind.setdefault(what, []).append(what in warned_of)
    rows: list[list[Cell]] = [
        [what, fmean(warning_flags), len(warning_flags)] for what, warning_flags in warnings_by_kind.items()
    ]
    title = Note("simulation.tables.title.warnings")
    note = Note("simulation.tables.warnings", n=_MAX_WARNING_SIMULATIONS)
    return Table("warnings", title, table_columns("what", "share", "simulations"), rows, [note])


def sizes_table(setting: SimulationSetting, seeds: Sequence[int], sizes: Sequence[int]) -> Table:
    """Return how well the order is found by number of pictures, with learned and uniform weights."""
    rows: list[list[Cell]] = []
    for size in sizes:
        simulations = [simulate_reviews(replace(setting, images=size), seed) for seed in seeds]
        nearnesses = {method: list(_nearness_by_simulation(simulations, method)) for method in ("UPME", "uniform")}
        best = [_best_is_first(simulation) for simulation in simulations]
        cells = [cell for method in nearnesses for cell in _mean_and_deviation(nearnesses[method], "kendall")]
        rows.append([size, len(simulations[0].reviews), *cells, fmean(best)])
    columns = table_columns("pictures", "reviews", "UPME tau", "sd", "uniform tau", "uniform sd", "best one first")
    notes = [Note("simulation.tables.tau-kendall-s-against-the")]
    return Table("pictures", Note("simulation.tables.title.how-many-pictures-are-needed"), columns, rows, notes)


def cheats_table(setting: SimulationSetting, seeds: Sequence[int]) -> Table:
    """Return how far each method moves if the colluders collude instead of judging honestly."""
    honest_simulations, colluding_simulations = (
        [simulate_reviews(kind, seed) for seed in seeds] for kind in (setting.honest(), setting)
    )
    rows: list[list[Cell]] = []
    for method in METHODS:
        before, after = (
            fmean(near.kendall for near in _nearness_by_simulation(simulations, method))
            for simulations in (honest_simulations, colluding_simulations)
        )
        rows.append([method, before, after, after - before])
    notes = [
        Note(
            "simulation.tables.of-rule-for-each-other", colluders=setting.colluders, models=setting.models, n=len(seeds)
        )
    ]
    columns = table_columns("method", "tau, honest", "tau, colluding", "moved")
    return Table("cheats", Note("simulation.tables.title.what-colluders-can-do"), columns, rows, notes)


def influence_table(setting: SimulationSetting, seeds: Sequence[int]) -> Table:
    """Return how far the reviews of a colluder and of an honest reviewer move the scores."""
    from fullbench.stats.peer_review.peer_rankings import reviewer_influence

    rows: list[list[Cell]] = []
    for method in ("UPME", ROBUST, "uniform"):
        bad, good = [], []
        for simulation in (simulate_reviews(setting, seed) for seed in list(seeds)[:10]):
            influences = reviewer_influence(
                simulation.reviews.peers(), partial(learn_consensus, method=method, starts=1)
            )
            bad += [influences[who] for who in simulation.colluders]
            good += [far for who, far in enumerate(influences) if who not in simulation.colluders]
        rows.append([method, fmean(bad), fmean(good)])
    notes = [Note("simulation.tables.the-furthest-that-a-score")]
    return Table(
        "influence",
        Note("simulation.tables.title.how-far-one-reviewer-moves"),
        table_columns("method", "colluder", "honest"),
        rows,
        notes,
    )


def _best_is_first(simulation: SimulatedReviews) -> bool:
    try:
        estimated_scores = method_scores(simulation.reviews, "UPME", starts=1)
    except Undefined:
        return False
    return estimated_scores.index(max(estimated_scores)) == 0


def _mean_and_deviation(nearnesses: Sequence[Nearness], metric: str) -> tuple[Cell, Cell]:
    values = [getattr(near, metric) for near in nearnesses]
    return fmean(values) if values else None, stdev(values) if len(values) > 1 else None


def _setting_note(setting: SimulationSetting) -> str:
    kinds = {1.0: word_note("goes with"), 0.0: word_note("has nothing to do with")}
    return Note(
        "simulation.setting",
        models=setting.models, images=setting.images, kind=kinds.get(setting.related, word_note("partly goes with")),
        related=setting.related, length=setting.length,
    )  # fmt: skip
