"""Two biases of reviewers, each as a table of two by two: a liking for length, and one for one's own family."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fullbench.analysis.peer_review.ground_truth import Pair, pair_of, true_rulings
from fullbench.analysis.peer_review.reviews_from_record import TRUTHS, Reviews, reviewer_of, reviewers
from fullbench.core.column_labels import headings
from fullbench.core.model import family_of
from fullbench.core.note import Note, sentence, word
from fullbench.core.record import Record
from fullbench.core.rubric import CORRECTNESS, VISUAL
from fullbench.core.table import Cell, Table
from fullbench.core.text import length_of
from fullbench.core.verdict import Verdict
from fullbench.errors import Undefined
from fullbench.stats.bias.two_by_two_tables import Association, association

if TYPE_CHECKING:
    from fullbench.stats.array_checks import Floats
    from fullbench.stats.peer_review.shared_bias import Leaning
    from fullbench.stats.ratings.joint_rating_model import Votes

Chosen = Callable[[Verdict, int], bool | None]
"""Whether the response at a place is of the kind that a bias likes, and the other not; None where neither, or both."""


@dataclass(frozen=True)
class Counted:
    """How often the kind was chosen (columns: yes, no) when the reviewer was wrong and when it was right (rows).

    `test` is None, and `why` says why, where the counts allow none.
    """

    wrong: tuple[int, int]
    right: tuple[int, int]
    test: Association | None
    why: str = ""


def longer(record: Record) -> Chosen:
    """The longer answer."""

    def of(verdict: Verdict, place: int) -> bool | None:
        responses = [record.responses.get((verdict.item, *shown)) for shown in verdict.shown]
        if None in responses:
            return None
        lengths = [length_of(response.text) for response in responses if response is not None]
        return None if lengths[0] == lengths[1] else lengths[place] > lengths[1 - place]

    return of


Families = Callable[[str], str]
LONGER = "longer answer"
OWN = "own family"


def families_by(known: Mapping[str, str] | None = None) -> Families:
    """The family of each contestant: as it was given, or what its name shows."""
    return lambda name: (known or {}).get(name) or family_of(name)


def own_family(record: Record, families: Mapping[str, str] | None = None) -> Chosen:
    """The answer of the reviewer's own family. Families are those given, or what the names show."""
    family, known = families_by(families), reviewers(record)

    def of(verdict: Verdict, place: int) -> bool | None:
        reviewer = reviewer_of(record, verdict, known)
        kin = [family(name) == family(reviewer) for name in verdict.contestants]
        return None if kin[0] == kin[1] else kin[place]

    return of


def counted(record: Record, criterion: str, likes: Chosen) -> Counted:
    """Reviews that chose one of two answers, against what those say who stand for the truth. Ties are left out."""
    truth = true_rulings(record, criterion)
    cells = {(right, liked): 0 for right in (False, True) for liked in (True, False)}
    for verdict in record.where(criterion=criterion, fault=None):
        winner = None if verdict.judge in TRUTHS or len(verdict.contestants) != 2 else _winner(verdict)
        true = _named(truth, verdict) if winner is not None else None
        if winner is None or true is None:
            continue
        liked = likes(verdict, verdict.contestants.index(winner))
        if liked is not None:
            cells[winner == true, liked] += 1
    wrong, right = ((cells[row, True], cells[row, False]) for row in (False, True))
    try:
        return Counted(wrong, right, association([wrong, right]))
    except ValueError as error:
        return Counted(wrong, right, None, sentence(error))


def _named(truth: Mapping[Pair, float], verdict: Verdict) -> str | None:
    """The winner of a pair by the truth; None where it ties, or says nothing."""
    pair = pair_of(verdict)
    true = truth.get(pair, 0.5)
    return None if true == 0.5 else pair[1 if true > 0.5 else 2]


def leaning(reviews: Reviews, record: Record, criterion: str, kind: str, families: Families) -> Leaning:
    """Whether reviews lean toward longer answers (`longer answer`) or one's own (`own family`) where the truth, who
    answers and the picture are the same."""
    import numpy as np

    from fullbench.stats.peer_review.shared_bias import beside_truth

    truth = true_rulings(record, criterion)
    votes, rows = reviews.rulings(criterion)
    names = reviews.names
    pairs = [(reviews.items[row], names[reviews.first[row]], names[reviews.second[row]]) for row in rows]
    known = np.array([pair in truth for pair in pairs], dtype=bool)
    if reviews.lead is not None:
        known &= ~np.isnan(reviews.lead[rows])
    if not known.any():
        raise Undefined(Note("undefined.no-true-ruling", "the truth says nothing of these reviews"))
    heard = votes.only(known)
    true = np.array([truth[pair] for pair, there in zip(pairs, known, strict=True) if there])
    model = beside_truth(heard, len(names), true)
    return model.leaning(heard.lead if kind == LONGER else own_family_of(heard, names, families))


def own_family_of(votes: Votes, names: Sequence[str], families: Families) -> Floats:
    """1 where the first answer is of the reviewer's family and the second not, -1 the other way round."""
    import numpy as np

    family = [families(name) for name in names]
    places = {name: place for place, name in enumerate(sorted(set(family)))}
    code = np.array([places[name] for name in family])
    kin = code[votes.judge]
    toward: Floats = (kin == code[votes.one]).astype(np.float64) - (kin == code[votes.two])
    return toward


def _winner(verdict: Verdict) -> str | None:
    if verdict.marks is None or verdict.marks[0] == verdict.marks[1]:
        return None
    return verdict.contestants[0] if verdict.marks[0] > verdict.marks[1] else verdict.contestants[1]


def biases(record: Record, families: Mapping[str, str] | None = None) -> Table:
    """Two biases by the paper's table of two by two, and by a test that compares like with like."""
    reviews, of = Reviews.of(record), families_by(families)
    rows: list[list[Cell]] = []
    notes: list[str] = []
    for criterion in (CORRECTNESS, VISUAL):
        for name, likes in ((LONGER, longer(record)), (OWN, own_family(record, families))):
            counts = counted(record, criterion, likes)
            if not sum(counts.wrong + counts.right):
                continue
            test = counts.test
            figures: list[Cell] = [None] * 3 if test is None else [test.chi_square, test.p, test.phi]
            if test is None:
                notes.append(
                    Note(
                        "peers.tables.no-test",
                        "{name}, {criterion}: no test, {why}.",
                        name=word(name),
                        criterion=criterion,
                        why=counts.why,
                    )
                )
            try:
                lean = leaning(reviews, record, criterion, name, of)
                figures += [lean.share, lean.p]
            except Undefined as reason:
                figures += [None, None]
                notes.append(
                    Note(
                        "peers.tables.no-leaning",
                        "{name}, {criterion}: like was not compared with like, {why}.",
                        name=word(name),
                        criterion=criterion,
                        why=sentence(reason),
                    )
                )
            rows.append([name, criterion, *counts.wrong, *counts.right, *figures])
    columns = headings(
        "chosen", "criterion", "wrong: yes", "wrong: no", "right: yes", "right: no", "chi-square", "p", "phi",
        "chosen over an equal", "p, like with like",
    )  # fmt: skip
    title = Note("peers.tables.title.whether-wrong-reviews-lean-one", "Whether wrong reviews lean one way")
    counts_of = ["wrong: yes", "wrong: no", "right: yes", "right: no"]
    heat = {"kind": "matrix", "row": "chosen", "columns": counts_of, "column": "ruling", "value": "reviews"}
    # One criterion alone has a row for each bias: with two, the criterion tells them apart.
    drawn = heat if len({str(row[0]) for row in rows}) == len(rows) else heat | {"within": "criterion"}
    return Table("biases", title, columns, rows, [*_NOTES, *notes], {}, drawn)


_NOTES = (
    Note(
        "peers.tables.reviews-that-chose-one-of",
        "Reviews that chose one of two, where the truth does too. Chi-square has one degree of freedom.",
    ),
    Note(
        "peers.tables.like-with-like",
        "The chi-square is the paper's: it is large, too, where long answers are simply better, or worse. Like with "
        "like compares reviews on which the truth, who answers and how sharp the reviewer is are alike, pictures kept "
        "together; chosen over an equal is 0.5 without a leaning. Go by its p, and ask for less than 0.01.",
    ),
)
