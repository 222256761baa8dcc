"""The benchmarks by name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from fullbench.benchmarks.mj_bench.names import SCALE_BALLOTS as SCALES
from fullbench.nouns.ballot import Choice, ballot
from fullbench.nouns.case import Case
from fullbench.nouns.case import cases as cases_of
from fullbench.nouns.item import Item
from fullbench.nouns.response import Response

if TYPE_CHECKING:
    from fullbench.nouns.record import Record
    from fullbench.nouns.reproduction import Brought, Reproduction
    from fullbench.nouns.table import Table


@dataclass(frozen=True)
class MjBench:
    """MJ-Bench: judges of generated pictures, for alignment, safety, quality and bias.

    `scales` are the ballots on which each picture is scored alone; none of them leaves the pairs.
    """

    name: str = "mjbench"
    scales: tuple[str, ...] = ("real:0-10",)
    paper: ClassVar[str] = (
        "Chen et al., MJ-Bench: Is Your Multimodal Reward Model Really a Good Judge?, arXiv:2407.04842"
    )

    def items(self, source: Path | None = None) -> Iterable[Item]:
        """The sample, a file of items, or the released data set."""
        from fullbench.benchmarks.mj_bench import sources

        return sources.items(source)

    def cases(self, items: Sequence[Item], responses: Iterable[Response], *, trials: int = 1) -> Iterator[Case]:
        """Every picture alone on each scale; and, bias apart, every two of an item together in both orders.

        The criterion is the item's perspective.
        """
        from fullbench.benchmarks.mj_bench.making.pairs import criterion as about

        given = list(responses)
        by_criterion: dict[str, list[Item]] = {}
        for item in items:
            by_criterion.setdefault(about(item), []).append(item)
        for criterion, mine in by_criterion.items():
            for spec in self.scales:
                yield from cases_of(mine, given, ballot(spec), criterion=criterion, trials=trials)
            if criterion != "bias":
                yield from cases_of(mine, given, Choice(), size=2, orders="both", criterion=criterion, trials=trials)

    def wording(self) -> Mapping[str, Any]:
        """A wording for judges of pictures, and a rubric for each perspective."""
        from fullbench.benchmarks.mj_bench import asking

        return asking.words()

    def tables(self, record: Record) -> Sequence[Table]:
        """Preferences with and without ties, thresholds, scales, orders, safety, evenness by axis, faults."""
        from fullbench.benchmarks.mj_bench.tables import tables

        return tables(record)

    def bring(self, source: Path | None = None) -> Brought:
        """Items, pictures and labels; the sample also as measures without weights judge it."""
        from fullbench.benchmarks.mj_bench import sources

        return sources.bring(source)

    def reproduce(self, data: Path) -> Reproduction:
        """The paper's figures, computed again from the released files."""
        from fullbench.benchmarks.mj_bench import reproduction

        return reproduction.mj_bench(data)


@dataclass(frozen=True)
class GenAiBench(MjBench):
    """GenAI-Bench: judges beside people's votes on generated pictures, edits and videos; pairs only."""

    name: str = "genai_bench"
    scales: tuple[str, ...] = ()
    paper: ClassVar[str] = (
        "Jiang et al., GenAI Arena: An Open Evaluation Platform for Generative Models, arXiv:2406.04485"
    )

    def reproduce(self, data: Path) -> Reproduction:
        """The repository's results table, computed again from the released votes."""
        from fullbench.benchmarks.mj_bench import reproduction

        return reproduction.genai_bench(data)


mj_bench = MjBench()
mj_bench_scales = MjBench("mjbench-scales", tuple(SCALES.values()))
genai_bench = GenAiBench()
