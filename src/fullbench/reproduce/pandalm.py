"""PandaLM's test set: three people and two judges on 999 pairs of answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

from fullbench.nouns.estimate import Estimate
from fullbench.nouns.reproduction import Reproduced, Reproduction
from fullbench.reproduce.rows import one_of, printed, rows
from fullbench.stats.agreement import accuracy, cohen_kappa, f1, precision, recall
from fullbench.stats.raters import fleiss_kappa

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

    given: Mapping[str, Sequence[int]]

    @classmethod
    def read(cls, folder: Path) -> Votes:
        """The votes in a folder."""
        given: dict[str, list[int]] = {voter: [] for voter in (*PEOPLE, *JUDGES)}
        for fields in rows(folder, "votes.csv"):
            for voter in PEOPLE:
                given[voter].append(int(one_of(fields, voter, [str(label) for label in LABELS])))
            for voter in JUDGES:
                given[voter].append(_SAID.get(fields.name(voter), GARBAGE))
        return cls(given)

    def majority(self) -> list[int]:
        """What most people said; a tie where all three differ."""
        labels = []
        for said in zip(*(self.given[voter] for voter in PEOPLE), strict=True):
            label, count = Counter(said).most_common(1)[0]
            labels.append(label if count > 1 else 0)
        return labels


def reproduce(data: Path) -> Reproduction:
    """People beside each other, and judges beside most people."""
    votes = Votes.read(data)
    return Reproduction([*people(votes), *judges(votes)])


def people(votes: Votes) -> Iterator[Reproduced]:
    """Cohen's kappa of every two annotators, and Fleiss' of all."""
    for one, two in combinations(PEOPLE, 2):
        name = f"cohen_kappa/{one}_{two[-1]}"
        kappa = cohen_kappa(votes.given[one], votes.given[two])
        yield Reproduced(name, kappa.value, kappa.n, "", kappa, printed(NAME).get(name), SOURCE)
    rows_ = len(votes.given[PEOPLE[0]])
    kappa = fleiss_kappa(list(range(rows_)) * 3, [label for voter in PEOPLE for label in votes.given[voter]])
    yield Reproduced("fleiss_kappa", kappa.value, kappa.n, "", kappa)
    yield Reproduced("items", rows_, rows_, paper=printed(NAME).get("items"), source=SOURCE)


def judges(votes: Votes) -> Iterator[Reproduced]:
    """Each judge beside the majority; what it said that is no label is always wrong."""
    truth = votes.majority()
    decided = [label != 0 for label in truth]
    n = len(truth)
    for judge in JUDGES:
        given = votes.given[judge]
        hits = accuracy(given, truth)
        some = accuracy([said for said, keep in zip(given, decided, strict=True) if keep], [t for t in truth if t != 0])
        kappa = cohen_kappa(given, truth)
        yield Reproduced(f"{judge}/accuracy", hits.value, n, "", hits)
        for figure, of in (("precision", precision), ("recall", recall), ("f1", f1)):
            yield Reproduced(f"{judge}/macro_{figure}", _over_labels(of(given, truth), given), n)
        yield Reproduced(f"{judge}/accuracy_no_tie", some.value, some.n, "", some)
        yield Reproduced(f"{judge}/unparsed", sum(said == GARBAGE for said in given), n)
        yield Reproduced(f"{judge}/cohen_kappa_vs_majority", kappa.value, kappa.n, "", kappa)


def _over_labels(figure: Estimate, given: Sequence[int]) -> float:
    """A mean over the three labels alone: garbage, of which nothing is right, adds a class and no hit."""
    return figure.value * (len(LABELS) + (GARBAGE in given)) / len(LABELS)
