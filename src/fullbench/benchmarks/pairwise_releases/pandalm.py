"""PandaLM's test set: three people and two judges on 999 pairs of answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

from fullbench.benchmarks.pairwise_releases.published_numbers import printed
from fullbench.core.estimate import Estimate
from fullbench.core.reproduction import Reproduced, Reproduction
from fullbench.files.release_rows import released_rows
from fullbench.stats.agreement.many_raters import fleiss_kappa
from fullbench.stats.agreement.two_raters import accuracy, cohen_kappa, f1, precision, recall

NAME = "pandalm"
SOURCE = "README of the PandaLM repository"
PEOPLE = ("annotator1", "annotator2", "annotator3")
JUDGES = ("gpt-3.5-turbo", "pandalm-7b")
LABELS = (0, 1, 2)
GARBAGE = 3
_SAID = {"0": 0, "1": 1, "2": 2, "Tie": 0, "garbage": GARBAGE}


@dataclass(frozen=True)
class Votes:
    """Labels of each voter, row by row: 0 a tie, 1 the first, 2 the second; 3 where a judge said nothing of these."""

    labels: Mapping[str, Sequence[int]]

    @classmethod
    def read(cls, folder: Path) -> Votes:
        """The votes in a folder."""
        labels: dict[str, list[int]] = {voter: [] for voter in (*PEOPLE, *JUDGES)}
        for row in released_rows(folder, "votes.csv"):
            for voter in PEOPLE:
                labels[voter].append(int(row.one_of(voter, [str(label) for label in LABELS])))
            for voter in JUDGES:
                labels[voter].append(_SAID.get(row.text(voter), GARBAGE))
        return cls(labels)

    def majority(self) -> list[int]:
        """What most people said; a tie where all three differ."""
        labels = []
        for opinions in zip(*(self.labels[voter] for voter in PEOPLE), strict=True):
            label, count = Counter(opinions).most_common(1)[0]
            labels.append(label if count > 1 else 0)
        return labels


def reproduce(data: Path) -> Reproduction:
    """People beside each other, and judges beside most people."""
    votes = Votes.read(data)
    return Reproduction([*people(votes), *judges(votes)])


def people(votes: Votes) -> Iterator[Reproduced]:
    """Cohen's kappa of every two annotators, and Fleiss' of all."""
    for first, second in combinations(PEOPLE, 2):
        name = f"cohen_kappa/{first}_{second[-1]}"
        kappa = cohen_kappa(votes.labels[first], votes.labels[second])
        yield Reproduced(name, kappa.value, kappa.n, "", kappa, printed(NAME).get(name), SOURCE)
    rows_ = len(votes.labels[PEOPLE[0]])
    kappa = fleiss_kappa(list(range(rows_)) * 3, [label for voter in PEOPLE for label in votes.labels[voter]])
    yield Reproduced("fleiss_kappa", kappa.value, kappa.n, "", kappa)
    yield Reproduced("items", rows_, rows_, paper=printed(NAME).get("items"), source=SOURCE)
    counts = Counter(votes.majority())
    yield Reproduced("majority_label_counts", [counts[label] for label in LABELS], rows_)


def judges(votes: Votes) -> Iterator[Reproduced]:
    """Each judge beside the majority; what it said that is no label is always wrong."""
    truth = votes.majority()
    decided = [label != 0 for label in truth]
    n = len(truth)
    for judge in JUDGES:
        labels = votes.labels[judge]
        hits = accuracy(labels, truth)
        some = accuracy(
            [label for label, keep in zip(labels, decided, strict=True) if keep], [t for t in truth if t != 0]
        )
        kappa = cohen_kappa(labels, truth)
        yield Reproduced(f"{judge}/accuracy", hits.value, n, "", hits)
        for figure, of in (("precision", precision), ("recall", recall), ("f1", f1)):
            yield Reproduced(f"{judge}/macro_{figure}", _over_labels(of(labels, truth), labels), n)
        yield Reproduced(f"{judge}/accuracy_no_tie", some.value, some.n, "", some)
        yield Reproduced(f"{judge}/unparsed", sum(label == GARBAGE for label in labels), n)
        yield Reproduced(f"{judge}/cohen_kappa_vs_majority", kappa.value, kappa.n, "", kappa)


def _over_labels(figure: Estimate, labels: Sequence[int]) -> float:
    """A mean over the three labels alone: garbage, of which nothing is right, adds a class and no hit."""
    return figure.value * (len(LABELS) + (GARBAGE in labels)) / len(LABELS)
