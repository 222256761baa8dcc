"""The benchmark, and two small ones beside it that compute their forerunners' figures again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fullbench.nouns.benchmark import Benchmark
from fullbench.nouns.case import Case
from fullbench.nouns.item import Item
from fullbench.nouns.response import Response

if TYPE_CHECKING:
    from fullbench.nouns.record import Record
    from fullbench.nouns.reproduction import Brought, Reproduction
    from fullbench.nouns.table import Table


def items(source: Path | None = None) -> Iterable[Item]:
    """Questions of a file (tags `image` and `reviewer` on each), or those that the court's contestants wrote."""
    from fullbench.files.nouns import read_items

    if source is not None:
        return read_items(source)
    from fullbench.benchmarks.upme.sample import sample

    return sample()


def cases(items: Sequence[Item], responses: Iterable[Response], *, trials: int = 1) -> Iterator[Case]:
    """Every two answers to each question, by correctness and by visual understanding, never the author's own."""
    from fullbench.judges.peer_review.asking import reviews

    return reviews(items, list(responses), trials=trials)


def wording() -> Mapping[str, Any]:
    """What each of the two rulings goes by; the words around it are those of any judge of pairs: no scale has ends."""
    from fullbench.judges.peer_review.asking import CRITERIA

    return {"criteria": CRITERIA, "ends": False}


def tables(record: Record) -> Sequence[Table]:
    """Rankings by every method, weights and influence, convergence, ablations, sample size, biases, faults."""
    from fullbench.figures.peers.tables import tables

    return tables(record)


def _benchmark(name: str, paper: str, released: str) -> Benchmark:
    """Peer review: the items are questions that contestants wrote, each with its author and picture as tags.

    `released` names the module that computes published figures again.
    """

    def bring(source: Path | None = None) -> Brought:
        """The verdicts that were released; of the sample, the reviews by those who wrote its questions."""
        from fullbench.benchmarks.upme.brought import bring

        return bring(released, source)

    def reproduce(data: Path) -> Reproduction:
        """The published figures, computed again from the released files."""
        reproduction: Reproduction = import_module(f"fullbench.benchmarks.upme.{released}").reproduce(data)
        return reproduction

    return Benchmark(
        name=name,
        paper=paper,
        items=items,
        cases=cases,
        tables=tables,
        wording=wording,
        bring=bring,
        reproduce=reproduce,
    )


_UPME = "Zhang et al., UPME, CVPR 2025, arXiv:2503.14941"
upme = replace(
    _benchmark("upme", _UPME, "table1"),
    commands={
        "peer-review": "contestants write questions, answer and review each other",
        "simulate": "which method finds a planted truth, from how many pictures",
    },
)
upme_tables = _benchmark("upme_tables", _UPME, "table1")
prd_peer_review = _benchmark("prd_peer_review", "Li et al., PRD, TMLR 2024, arXiv:2307.02762", "prd")
pico_peer_review = _benchmark("pico_peer_review", "Ning et al., PiCO, ICLR 2025, arXiv:2402.01830", "pico")
