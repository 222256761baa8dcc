"""UPME as a `Benchmark`, and two small benchmarks that recompute the numbers of PRD and PiCO."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from fullbench.core.benchmark import UNPUBLISHED_TABLES, Benchmark, LazyFunction


def _peer_review_benchmark(name: str, paper: str, release_name: str) -> Benchmark:
    """Items are questions by contestants; `release_name` is the module that recomputes published numbers."""
    return Benchmark(
        name=name,
        paper=paper,
        items=LazyFunction("fullbench.benchmarks.upme.sample_pictures_and_questions:items"),
        cases=LazyFunction("fullbench.judges.peer_review.review_items_and_cases:review_cases"),
        tables=LazyFunction("fullbench.analysis.peer_review.peer_review_tables:build_peer_review_tables"),
        prompt_template=LazyFunction("fullbench.judges.peer_review.review_items_and_cases:review_judge_options"),
        bring=partial(
            LazyFunction("fullbench.benchmarks.upme.prd_pico_reviews_and_synthetic_sample_reviews:bring"), release_name
        ),
        reproduce=LazyFunction(f"fullbench.benchmarks.upme.{release_name}:reproduce"),
        reproduce_from=UNPUBLISHED_TABLES,
    )


_UPME = "Zhang et al., UPME, CVPR 2025, arXiv:2503.14941"
upme = replace(
    _peer_review_benchmark("upme", _UPME, "printed_table_arithmetic"),
    commands={
        "peer-review": "contestants write questions, answer and review each other",
        "simulate": "which method finds a planted truth, from how many pictures",
    },
)
upme_tables = _peer_review_benchmark("upme_tables", _UPME, "printed_table_arithmetic")
prd_peer_review = _peer_review_benchmark(
    "prd_peer_review", "Li et al., PRD, TMLR 2024, arXiv:2307.02762", "prd_reproduction"
)
pico_peer_review = _peer_review_benchmark(
    "pico_peer_review", "Ning et al., PiCO, ICLR 2025, arXiv:2402.01830", "pico_reproduction"
)
