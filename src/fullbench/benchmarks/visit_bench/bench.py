"""The benchmark: what is asked, what is heard, what is shown."""

from __future__ import annotations

from fullbench.core.benchmark import Benchmark, Late

visit_bench = Benchmark(
    name="visitbench",
    paper="Bitton et al., VisIT-Bench, NeurIPS 2023, arXiv:2308.06595",
    items=Late("fullbench.benchmarks.visit_bench.data:items"),
    cases=Late("fullbench.benchmarks.visit_bench.data:cases"),
    tables=Late("fullbench.benchmarks.visit_bench.tables:tables"),
    wording=Late("fullbench.benchmarks.visit_bench.wording:words"),
    manners=("seeing", "ref-free", "ref-backed"),
    manner_of_paper="ref-free",
    references=Late("fullbench.benchmarks.visit_bench.items_from_release:references"),
    submission=Late("fullbench.benchmarks.visit_bench.data:submitted"),
    bring=Late("fullbench.benchmarks.visit_bench.data:bring"),
    reproduce=Late("fullbench.benchmarks.visit_bench.reproduce:reproduce"),
)
"""VisIT-Bench: pairs of answers to real-world instructions about images."""
