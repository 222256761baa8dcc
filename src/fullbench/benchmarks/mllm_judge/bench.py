"""The benchmark: what is asked, what is heard, what is shown."""

from __future__ import annotations

from pathlib import Path

from fullbench.core.reproduced import Reproduction


class MllmJudge:
    """MLLM-as-a-Judge: judges beside people on scores, pairs and rankings."""

    name = "mllm-as-a-judge"
    paper = "Chen et al., MLLM-as-a-Judge, ICML 2024, arXiv:2402.04788"

    def reproduce(self, data: Path) -> Reproduction:
        """The paper's figures, computed again from the released files."""
        from fullbench.benchmarks.mllm_judge.reproduction import reproduce

        return reproduce(data)


mllm_judge = MllmJudge()
