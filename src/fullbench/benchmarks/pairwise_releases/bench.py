"""Sets of released verdicts under the names by which `fullbench reproduce` knows them.

Their questions and answers were not released with them, so nothing can be asked or heard anew: they have no items.
"""

from __future__ import annotations

from pathlib import Path

from fullbench.core.benchmark import Benchmark, Late
from fullbench.core.reproduction import Brought
from fullbench.errors import InputError


def released(name: str, paper: str, module: str, verdicts: str = "") -> Benchmark:
    """Verdicts that were released, and what they let us compute again."""

    def bring(source: Path | None = None) -> Brought:
        """The released verdicts, one by one, of a folder."""
        if source is None:
            raise InputError(f"{name!r} ships no sample: give the folder with the released files (--data)")
        if not verdicts:
            raise InputError(f"{name!r} was released as counts, not as single verdicts: there is no record of it")
        return Brought(Late(f"fullbench.benchmarks.pairwise_releases.releases_as_records:{verdicts}")(source))

    return Benchmark(
        name=name,
        paper=paper,
        bring=bring,
        reproduce=Late(f"fullbench.benchmarks.pairwise_releases.{module}:reproduce"),
    )


wildvision_bench = released(
    "wildvision_bench",
    "Lu et al., WildVision, NeurIPS 2024, arXiv:2406.11069",
    "wildvision_bench",
    "wildvision_bench_verdicts",
)
wildvision_arena = released(
    "wildvision_arena", "Lu et al., WildVision, NeurIPS 2024, arXiv:2406.11069", "wildvision_arena"
)
vicuna_oa_battles = released(
    "vicuna_oa_battles", "Dettmers et al., QLoRA, NeurIPS 2023, arXiv:2305.14314", "vicuna_oa", "vicuna_oa_battles"
)
alpaca_eval = released(
    "alpaca_eval", "Dubois et al., AlpacaEval, COLM 2024, arXiv:2404.04475", "alpaca_eval", "alpaca_eval_preferences"
)
pandalm = released("pandalm", "Wang et al., PandaLM, ICLR 2024, arXiv:2306.05087", "pandalm", "pandalm_votes")
