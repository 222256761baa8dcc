"""Sets of released verdicts under the names by which `fullbench reproduce` knows them.

Their questions and answers were not released with them, so nothing can be asked or heard anew: they have no items.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from fullbench.errors import InputError
from fullbench.nouns.record import Record
from fullbench.nouns.reproduction import Brought, Reproduction


@dataclass(frozen=True)
class Released:
    """Verdicts that were released, and what they let us compute again."""

    name: str
    paper: str
    module: str
    verdicts: str = ""

    def reproduce(self, data: Path) -> Reproduction:
        """The published figures, computed again from the released files."""
        reproduction = import_module(f"fullbench.reproduce.{self.module}").reproduce(data)
        if not isinstance(reproduction, Reproduction):
            raise TypeError(f"{self.module} made a {type(reproduction).__name__}, not a Reproduction")
        return reproduction

    def bring(self, source: Path | None = None) -> Brought:
        """The released verdicts, one by one, of a folder."""
        if source is None:
            raise InputError(f"{self.name!r} ships no sample: give the folder with the released files (--data)")
        if not self.verdicts:
            raise InputError(f"{self.name!r} was released as counts, not as single verdicts: there is no record of it")
        record = getattr(import_module("fullbench.reproduce.records"), self.verdicts)(source)
        if not isinstance(record, Record):
            raise TypeError(f"{self.verdicts} made a {type(record).__name__}, not a Record")
        return Brought(record)

    def record(self, source: Path | None = None) -> Record:
        """The released verdicts as a record."""
        return self.bring(source).record


wildvision_bench = Released(
    "wildvision_bench",
    "Lu et al., WildVision, NeurIPS 2024, arXiv:2406.11069",
    "wildvision_bench",
    "wildvision_bench_verdicts",
)
wildvision_arena = Released(
    "wildvision_arena", "Lu et al., WildVision, NeurIPS 2024, arXiv:2406.11069", "wildvision_arena"
)
vicuna_oa_battles = Released(
    "vicuna_oa_battles", "Dettmers et al., QLoRA, NeurIPS 2023, arXiv:2305.14314", "vicuna_oa", "vicuna_oa_battles"
)
alpaca_eval = Released(
    "alpaca_eval", "Dubois et al., AlpacaEval, COLM 2024, arXiv:2404.04475", "alpaca_eval", "alpaca_eval_preferences"
)
pandalm = Released("pandalm", "Wang et al., PandaLM, ICLR 2024, arXiv:2306.05087", "pandalm", "pandalm_votes")
