"""MJ-Bench, its scale study and GenAI-Bench as `Benchmark` objects."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from fullbench.benchmarks.mj_bench.judging_protocol import Protocol, can_judge
from fullbench.benchmarks.mj_bench.judging_protocol import parse_protocol as protocol_of
from fullbench.benchmarks.mj_bench.release.judge_and_category_names import SCALE_BALLOTS as SCALES
from fullbench.core.benchmark import UNPUBLISHED_TABLES, Benchmark, LazyFunction


def with_protocol(settings: Mapping[str, Any]) -> Benchmark:
    """Return MJ-Bench with the protocol of a study file."""
    protocol = protocol_of(settings)
    return replace(mj_bench, cases=protocol.cases, together=protocol.pairs == "rated")


mj_bench = Benchmark(
    name="mjbench",
    paper="Chen et al., MJ-Bench: Is Your Multimodal Reward Model Really a Good Judge?, arXiv:2407.04842",
    items=LazyFunction("fullbench.benchmarks.mj_bench.item_picture_and_label_loader:items"),
    cases=Protocol().cases,
    can_judge=can_judge,
    together=True,
    protocol=with_protocol,
    tables=LazyFunction("fullbench.benchmarks.mj_bench.tables:tables"),
    prompt_template=LazyFunction("fullbench.benchmarks.mj_bench.picture_prompt_template_and_rubrics:judge_options"),
    bring=LazyFunction("fullbench.benchmarks.mj_bench.item_picture_and_label_loader:bring"),
    reproduce=LazyFunction("fullbench.benchmarks.mj_bench.reproduce.all_cells:reproduce_mj_bench"),
    reproduce_from=UNPUBLISHED_TABLES,
)
mj_bench_scales = replace(
    mj_bench,
    name="mjbench-scales",
    cases=Protocol(tuple(SCALES.values()), orders="stored").cases,
    protocol=None,
    tables=LazyFunction("fullbench.benchmarks.mj_bench.tables:scale_study_tables"),
)
"""Scale study: every scale, pairs in the order of the release."""
genai_bench = replace(
    mj_bench,
    name="genai_bench",
    paper="Jiang et al., GenAI Arena: An Open Evaluation Platform for Generative Models, arXiv:2406.04485",
    cases=Protocol((), "choice").cases,
    together=False,
    protocol=None,
    reproduce=LazyFunction("fullbench.benchmarks.mj_bench.reproduce.all_cells:reproduce_genai_bench"),
)
"""Pairs only: judges compared with people's votes on generated pictures, edits and videos."""
