"""The benchmarks by name."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fullbench.core.reproduced import Reproduction


class MjBench:
    """MJ-Bench: judges of generated pictures, for alignment, safety, quality and bias."""

    name = "mjbench"
    paper = "Chen et al., MJ-Bench: Is Your Multimodal Reward Model Really a Good Judge?, arXiv:2407.04842"

    def reproduce(self, data: Path) -> Reproduction:
        """The paper's figures, computed again from the released files."""
        from fullbench.benchmarks.mj_bench import reproduction

        return reproduction.mj_bench(data)


class GenAiBench:
    """GenAI-Bench: judges beside people's votes on generated pictures, edits and videos."""

    name = "genai_bench"
    paper = "Jiang et al., GenAI Arena: An Open Evaluation Platform for Generative Models, arXiv:2406.04485"

    def reproduce(self, data: Path) -> Reproduction:
        """The repository's results table, computed again from the released votes."""
        from fullbench.benchmarks.mj_bench import reproduction

        return reproduction.genai_bench(data)


mj_bench = MjBench()
genai_bench = GenAiBench()
