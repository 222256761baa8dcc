"""PandaLM's test set: votes of three people and two judges on 999 pairs of answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import get_args

from fullbench.benchmarks.pairwise_releases.released_and_printed_number_readers import printed_numbers
from fullbench.core.benchmark import Reproduced, Reproduction
from fullbench.core.estimate import Estimate
from fullbench.files.release_rows import released_rows
from fullbench.stats.agreement.many_raters import fleiss_kappa
from fullbench.stats.agreement.two_raters import accuracy, cohen_kappa, macro_score
from fullbench.stats.intervals.statistics_for_bootstrap import ClassScore

NAME = "pandalm"
SOURCE = "README of the PandaLM repository"
PEOPLE = ("annotator1", "annotator2", "annotator3")
JUDGES = ("gpt-3.5-turbo", "pandalm-7b")
LABELS = (0, 1, 2)
GARBAGE = 3
_JUDGE_LABELS = {"0": 0, "1": 1, "2": 2, "Tie": 0, "garbage": GARBAGE}


@dataclass(frozen=True)
class Votes:
    """Labels of each voter by row: 0 tie, 1 first, 2 second, 3 an invalid label by a judge."""

    labels: Mapping[str, Sequence[int]]

    @classmethod
    def read(cls, folder: Path) -> Votes:
        """Read the votes from a folder."""
        labels: dict[str, list[int]] = {voter: [] for voter in (*PEOPLE, *JUDGES)}
        for row in released_rows(folder, "votes.csv"):
            for voter in PEOPLE:
                labels[voter].append(int(row.one_of(voter, [str(label) for label in LABELS])))
            for voter in JUDGES:
                labels[voter].append(_JUDGE_LABELS.get(row.text(voter), GARBAGE))
        return cls(labels)

    def majority(self) -> list[int]:
        """Return the majority label of the people; a tie if all three differ."""
        labels = []
        for opinions in zip(*(self.labels[voter] for voter in PEOPLE), strict=True):
            label, count = Counter(opinions).most_common(1)[0]
            labels.append(label if count > 1 else 0)
        return labels


def reproduce(data: Path) -> Reproduction:
    """Recompute the agreement among people, and of judges with the majority of people."""
    votes = Votes.read(data)
    return Reproduction([*people_cells(votes), *judge_cells(votes)])


def people_cells(votes: Votes) -> Iterator[Reproduced]:
    """Yield Cohen's kappa of every two annotators and Fleiss' kappa of all."""
    for first, second in combinations(PEOPLE, 2):
        name = f"cohen_kappa/{first}_{second[-1]}"
        kappa = cohen_kappa(votes.labels[first], votes.labels[second])
        yield Reproduced(name, kappa.value, kappa.n, "", kappa, printed_numbers(NAME).get(name), SOURCE)
    row_count = len(votes.labels[PEOPLE[0]])
    kappa = fleiss_kappa(list(range(row_count)) * 3, [label for voter in PEOPLE for label in votes.labels[voter]])
    yield Reproduced("fleiss_kappa", kappa.value, kappa.n, "", kappa)
    yield Reproduced("items", row_count, row_count, paper=printed_numbers(NAME).get("items"), source=SOURCE)
    counts = Counter(votes.majority())
    yield Reproduced("majority_label_counts", [counts[label] for label in LABELS], row_count)


def judge_cells(votes: Votes) -> Iterator[Reproduced]:
    """Compare each judge with the majority; an invalid label is always wrong."""
    truth = votes.majority()
    decided_mask = [label != 0 for label in truth]
    n = len(truth)
    for judge in JUDGES:
        labels = votes.labels[judge]
        hits = accuracy(labels, truth)
        untied_accuracy = accuracy(
            [label for label, keep in zip(labels, decided_mask, strict=True) if keep], [t for t in truth if t != 0]
        )
        kappa = cohen_kappa(labels, truth)
        yield Reproduced(f"{judge}/accuracy", hits.value, n, "", hits)
        for metric in get_args(ClassScore):
            macro = macro_score(metric, labels, truth)
            yield Reproduced(f"{judge}/macro_{metric}", _mean_over_labels(macro, labels), n)
        yield Reproduced(f"{judge}/accuracy_no_tie", untied_accuracy.value, untied_accuracy.n, "", untied_accuracy)
        yield Reproduced(f"{judge}/unparsed", sum(label == GARBAGE for label in labels), n)
        yield Reproduced(f"{judge}/cohen_kappa_vs_majority", kappa.value, kappa.n, "", kappa)


def _mean_over_labels(estimate: Estimate, labels: Sequence[int]) -> float:
    """An invalid label adds a class without hits, so rescale the macro mean to the three labels."""
    return estimate.value * (len(LABELS) + (GARBAGE in labels)) / len(LABELS)
