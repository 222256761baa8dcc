"""The benchmark: what is asked, what is heard, what is shown."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fullbench.core.reproduced import Reproduction


class VisitBench:
    """VisIT-Bench: pairs of answers to real-world instructions about images."""

    name = "visitbench"
    paper = "Bitton et al., VisIT-Bench, NeurIPS 2023, arXiv:2308.06595"

    def reproduce(self, data: Path) -> Reproduction:
        """The paper's figures, computed again from the released files."""
        from fullbench.benchmarks.visit_bench.reproduction import reproduce

        return reproduce(data)


visit_bench = VisitBench()
