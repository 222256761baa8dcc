"""The fourteen source data sets of the benchmark, with the paper's column names and required abilities."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Dataset:
    """A source data set: its name in the released files, its column in the paper, its abilities."""

    name: str
    column: str
    abilities: tuple[str, ...]
    first_release: bool = True

    @property
    def tags(self) -> dict[str, str]:
        """Tags of its items."""
        return {"dataset": self.name, "abilities": "+".join(self.abilities)}


_SEE = ("recognition", "comprehension")
_ALL = (*_SEE, "inference")

DATASETS = (
    Dataset("coco", "COCO", _SEE),
    Dataset("Concept Caption", "C.C.", _SEE),
    Dataset("diffusiondb", "Diff.", _ALL),
    Dataset("infographicsVQA", "Graphics", _SEE),
    Dataset("mathvista", "Math", _ALL),
    Dataset("textVQA", "Text", _SEE),
    Dataset("WIT", "WIT", ("recognition", "multilingual")),
    Dataset("ChartQA", "Chart", _SEE),
    Dataset("VisitBench", "VisIT", _ALL),
    Dataset("llava_bench", "CC-3M", _ALL),
    Dataset("mind2web", "M2W", _ALL, first_release=False),
    Dataset("ScienceQA", "SciQA", ("comprehension", "inference"), first_release=False),
    Dataset("AesBench", "Aes", _ALL, first_release=False),
    Dataset("mm-vet", "MM-Vet", _ALL, first_release=False),
)
BY_NAME = {dataset.name: dataset for dataset in DATASETS}
FIRST_TEN = tuple(dataset.name for dataset in DATASETS if dataset.first_release)
