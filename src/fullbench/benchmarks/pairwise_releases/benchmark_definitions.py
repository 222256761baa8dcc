"""Released pairwise verdicts as `Benchmark` objects for `fullbench reproduce`.

Their questions and answers were not released with them. So they have no items and cannot be judged again.
"""

from __future__ import annotations

from pathlib import Path

from fullbench.core.benchmark import UNPUBLISHED_TABLES, Benchmark, LazyFunction, LoadedData
from fullbench.errors import InputError


def build_released_benchmark(
    name: str, paper: str, module: str, verdicts: str = "", *, reproduce_from: str = UNPUBLISHED_TABLES
) -> Benchmark:
    """Build a benchmark from released verdicts and the numbers that can be recomputed from them."""

    def bring(source: Path | None = None) -> LoadedData:
        """Load the released verdicts from a folder."""
        if source is None:
            raise InputError(f"{name!r} has no bundled sample. Add --data FOLDER with the released files")
        if not verdicts:
            raise InputError(f"{name!r} was released as counts without single verdicts, so it has no record")
        return LoadedData(
            LazyFunction(f"fullbench.benchmarks.pairwise_releases.releases_as_records:{verdicts}")(source)
        )

    return Benchmark(
        name=name,
        paper=paper,
        bring=bring,
        reproduce=LazyFunction(f"fullbench.benchmarks.pairwise_releases.{module}_reproduction:reproduce"),
        reproduce_from=reproduce_from,
    )


wildvision_bench = build_released_benchmark(
    "wildvision_bench",
    "Lu et al., WildVision, NeurIPS 2024, arXiv:2406.11069",
    "wildvision_bench",
    "wildvision_bench_verdicts",
    reproduce_from="a clone of WildVision-AI/WildVision-Bench",
)
wildvision_arena = build_released_benchmark(
    "wildvision_arena", "Lu et al., WildVision, NeurIPS 2024, arXiv:2406.11069", "wildvision_arena"
)
vicuna_oa_battles = build_released_benchmark(
    "vicuna_oa_battles", "Dettmers et al., QLoRA, NeurIPS 2023, arXiv:2305.14314", "qlora_match", "vicuna_oa_battles"
)
alpaca_eval = build_released_benchmark(
    "alpaca_eval",
    "Dubois et al., AlpacaEval, COLM 2024, arXiv:2404.04475",
    "alpaca_eval",
    "alpaca_eval_preferences",
    reproduce_from="a clone of tatsu-lab/alpaca_eval",
)
pandalm = build_released_benchmark(
    "pandalm", "Wang et al., PandaLM, ICLR 2024, arXiv:2306.05087", "pandalm", "pandalm_votes"
)
