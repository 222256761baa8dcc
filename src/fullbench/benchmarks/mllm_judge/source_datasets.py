"""The fourteen data sets the benchmark draws on, with the paper's column and the abilities each asks for."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Dataset:
    """One of the source data sets, as the released files spell it, and how the paper heads its column."""

    name: str
    column: str
    abilities: tuple[str, ...]
    first_release: bool = True

    @property
    def tags(self) -> dict[str, str]:
        """The labels its items carry."""
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
