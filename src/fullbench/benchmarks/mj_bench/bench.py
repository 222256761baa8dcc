"""The benchmarks by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from fullbench.benchmarks.mj_bench.judging_protocol import Protocol, hears
from fullbench.benchmarks.mj_bench.judging_protocol import protocol as protocol_of
from fullbench.benchmarks.mj_bench.release.judge_and_category_names import SCALE_BALLOTS as SCALES
from fullbench.core.benchmark import Benchmark, Late


def asked_by(said: Mapping[str, Any]) -> Benchmark:
    """The benchmark, asked by the protocol that a study's file names."""
    wanted = protocol_of(said)
    return replace(mj_bench, cases=wanted.cases, together=wanted.pairs == "rated")


mj_bench = Benchmark(
    name="mjbench",
    paper="Chen et al., MJ-Bench: Is Your Multimodal Reward Model Really a Good Judge?, arXiv:2407.04842",
    items=Late("fullbench.benchmarks.mj_bench.data:items"),
    cases=Protocol().cases,
    hears=hears,
    together=True,
    protocol=asked_by,
    tables=Late("fullbench.benchmarks.mj_bench.tables:tables"),
    wording=Late("fullbench.benchmarks.mj_bench.wording:words"),
    bring=Late("fullbench.benchmarks.mj_bench.data:bring"),
    reproduce=Late("fullbench.benchmarks.mj_bench.reproduce.all_cells:mj_bench"),
)
"""MJ-Bench: judges of generated pictures, for alignment, safety, quality and bias."""
mj_bench_scales = replace(
    mj_bench, name="mjbench-scales", cases=Protocol(tuple(SCALES.values()), orders="stored").cases, protocol=None
)
"""The scale study: every scale, pairs in the order of the release."""
genai_bench = replace(
    mj_bench,
    name="genai_bench",
    paper="Jiang et al., GenAI Arena: An Open Evaluation Platform for Generative Models, arXiv:2406.04485",
    cases=Protocol((), "choice").cases,
    together=False,
    protocol=None,
    reproduce=Late("fullbench.benchmarks.mj_bench.reproduce.all_cells:genai_bench"),
)
"""GenAI-Bench: judges beside people's votes on generated pictures, edits and videos; pairs only."""
