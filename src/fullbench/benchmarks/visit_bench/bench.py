"""The benchmark: what is asked, what is heard, what is shown."""

from __future__ import annotations

from fullbench.core.benchmark import Benchmark, Late

visit_bench = Benchmark(
    name="visitbench",
    paper="Bitton et al., VisIT-Bench, NeurIPS 2023, arXiv:2308.06595",
    items=Late("fullbench.benchmarks.visit_bench.asked:items"),
    cases=Late("fullbench.benchmarks.visit_bench.cases:cases"),
    tables=Late("fullbench.benchmarks.visit_bench.tables:tables"),
    wording=Late("fullbench.benchmarks.visit_bench.asking:words"),
    manners=("seeing", "ref-free", "ref-backed"),
    manner_of_paper="ref-free",
    references=Late("fullbench.benchmarks.visit_bench.sources:references"),
    submission=Late("fullbench.benchmarks.visit_bench.asked:submitted"),
    bring=Late("fullbench.benchmarks.visit_bench.known:bring"),
    reproduce=Late("fullbench.benchmarks.visit_bench.reproduction:reproduce"),
)
"""VisIT-Bench: pairs of answers to real-world instructions about images."""
