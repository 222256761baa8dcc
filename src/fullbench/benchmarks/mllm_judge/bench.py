"""The benchmark: what is asked, what is heard, what is shown."""

from __future__ import annotations

from fullbench.benchmarks.mllm_judge.cases import cases
from fullbench.core.benchmark import Benchmark, Late

mllm_judge = Benchmark(
    name="mllm-as-a-judge",
    paper="Chen et al., MLLM-as-a-Judge, ICML 2024, arXiv:2402.04788",
    items=Late("fullbench.benchmarks.mllm_judge.sources:items"),
    cases=cases,
    tables=Late("fullbench.benchmarks.mllm_judge.tables:tables"),
    wording=Late("fullbench.benchmarks.mllm_judge.asking:words"),
    asking=Late("fullbench.benchmarks.mllm_judge.asking:contestants_wording"),
    bring=Late("fullbench.benchmarks.mllm_judge.sources:bring"),
    reproduce=Late("fullbench.benchmarks.mllm_judge.reproduction:reproduce"),
    tasks={"agree": "whether a judge's ruling and its reasons hold"},
)
"""MLLM-as-a-Judge: judges beside people on scores, pairs and rankings."""
