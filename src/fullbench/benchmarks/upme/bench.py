"""The benchmark, and two small ones beside it that compute their forerunners' figures again."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from fullbench.core.benchmark import Benchmark, Late


def _benchmark(name: str, paper: str, released: str) -> Benchmark:
    """Peer review: the items are questions that contestants wrote, each with its author and picture as tags.

    `released` names the module that computes published figures again.
    """
    return Benchmark(
        name=name,
        paper=paper,
        items=Late("fullbench.benchmarks.upme.sample:items"),
        cases=Late("fullbench.judges.peer_review.review_protocol:reviews"),
        tables=Late("fullbench.analysis.peer_review.peer_review_tables:tables"),
        wording=Late("fullbench.judges.peer_review.review_protocol:wording"),
        bring=partial(Late("fullbench.benchmarks.upme.released_verdicts:bring"), released),
        reproduce=Late(f"fullbench.benchmarks.upme.{released}:reproduce"),
    )


_UPME = "Zhang et al., UPME, CVPR 2025, arXiv:2503.14941"
upme = replace(
    _benchmark("upme", _UPME, "printed_table_arithmetic"),
    commands={
        "peer-review": "contestants write questions, answer and review each other",
        "simulate": "which method finds a planted truth, from how many pictures",
    },
)
upme_tables = _benchmark("upme_tables", _UPME, "printed_table_arithmetic")
prd_peer_review = _benchmark("prd_peer_review", "Li et al., PRD, TMLR 2024, arXiv:2307.02762", "prd_reproduction")
pico_peer_review = _benchmark("pico_peer_review", "Ning et al., PiCO, ICLR 2025, arXiv:2402.01830", "pico_reproduction")
