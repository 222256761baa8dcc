"""Two biases of reviewers, each as a 2x2 table: towards longer answers, and towards the own family."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fullbench.analysis.peer_review.ground_truth import Pair, pair_of, true_outcomes
from fullbench.analysis.peer_review.reviews_from_record import TRUTHS, Reviews, match_judges_to_contestants, reviewer_of
from fullbench.core.built_in_table_columns import table_columns
from fullbench.core.language_and_words import length_of
from fullbench.core.model import family_of
from fullbench.core.rubric import CORRECTNESS, VISUAL
from fullbench.core.table import Cell, Table
from fullbench.core.translatable_note import Note, error_sentence, word_note
from fullbench.core.verdict import Verdict
from fullbench.core.verdict_record import Record
from fullbench.errors import Undefined
from fullbench.stats.bias.two_by_two_chi_square import Association, chi_square_association

if TYPE_CHECKING:
    from fullbench.stats.array_checks import Floats
    from fullbench.stats.peer_review.shared_and_mutual_reviewer_biases import BiasEstimate
    from fullbench.stats.ratings.joint_rating_model import Votes

TraitCheck = Callable[[Verdict, int], bool | None]
"""Return True if only the response at this place has the trait, False if only the other has, None otherwise."""


@dataclass(frozen=True)
class BiasCounts:
    """2x2 counts: answers with the trait chosen or not (columns), by wrong and right reviews (rows).
    `test` is None if the counts allow no test, and `why` gives the reason.
    """

    wrong: tuple[int, int]
    right: tuple[int, int]
    test: Association | None
    why: str = ""


def longer_answer_check(record: Record) -> TraitCheck:
    """Return a check for the longer answer."""

    def is_longer(verdict: Verdict, place: int) -> bool | None:
        responses = [record.responses.get((verdict.item, *response_key)) for response_key in verdict.shown_responses]
        if None in responses:
            return None
        lengths = [length_of(response.text) for response in responses if response is not None]
        return None if lengths[0] == lengths[1] else lengths[place] > lengths[1 - place]

    return is_longer


Families = Callable[[str], str]
LONGER = "longer answer"
OWN = "own family"


def family_lookup(known_families: Mapping[str, str] | None = None) -> Families:
    """Return a function for the family of a contestant: the given one, or else derived from its name."""
    return lambda name: (known_families or {}).get(name) or family_of(name)


def own_family_check(record: Record, families: Mapping[str, str] | None = None) -> TraitCheck:
    """Return a check for the answer of the reviewer's own family."""
    family, contestant_by_judge = family_lookup(families), match_judges_to_contestants(record)

    def is_own_family(verdict: Verdict, place: int) -> bool | None:
        reviewer = reviewer_of(record, verdict, contestant_by_judge)
        kin = [family(name) == family(reviewer) for name in verdict.contestants]
        return None if kin[0] == kin[1] else kin[place]

    return is_own_family


def count_choices(record: Record, criterion: str, check_trait: TraitCheck) -> BiasCounts:
    """Count reviews that chose one of two answers, right or wrong by the judges in `TRUTHS`. Ties are left out."""
    truth = true_outcomes(record, criterion)
    cells = {(right, has_trait): 0 for right in (False, True) for has_trait in (True, False)}
    for verdict in record.where(criterion=criterion, fault=None):
        winner = None if verdict.judge in TRUTHS or len(verdict.contestants) != 2 else _winner_name(verdict)
        true = _true_winner(truth, verdict) if winner is not None else None
        if winner is None or true is None:
            continue
        has_trait = check_trait(verdict, verdict.contestants.index(winner))
        if has_trait is not None:
            cells[winner == true, has_trait] += 1
    wrong, right = ((cells[row, True], cells[row, False]) for row in (False, True))
    try:
        return BiasCounts(wrong, right, chi_square_association([wrong, right]))
    except ValueError as error:
        return BiasCounts(wrong, right, None, error_sentence(error))


def _true_winner(truth: Mapping[Pair, float], verdict: Verdict) -> str | None:
    pair = pair_of(verdict)
    true = truth.get(pair, 0.5)
    return None if true == 0.5 else pair[1 if true > 0.5 else 2]


def estimate_bias(reviews: Reviews, record: Record, criterion: str, kind: str, families: Families) -> BiasEstimate:
    """Estimate the bias to `longer answer` or `own family` at equal truth, contestants and picture."""
    import numpy as np

    from fullbench.stats.peer_review.shared_and_mutual_reviewer_biases import fit_vote_model_with_truth

    truth = true_outcomes(record, criterion)
    votes, rows = reviews.joint_votes(criterion)
    names = reviews.names
    pairs = [(reviews.items[row], names[reviews.first[row]], names[reviews.second[row]]) for row in rows]
    has_truth = np.array([pair in truth for pair in pairs], dtype=bool)
    if reviews.lead is not None:
        has_truth &= ~np.isnan(reviews.lead[rows])
    if not has_truth.any():
        raise Undefined(Note("undefined.no-true-ruling"))
    compared_votes = votes.select_rows(has_truth)
    true = np.array([truth[pair] for pair, there in zip(pairs, has_truth, strict=True) if there])
    model = fit_vote_model_with_truth(compared_votes, len(names), true)
    return model.estimate_bias(
        compared_votes.lead if kind == LONGER else own_family_of(compared_votes, names, families)
    )


def own_family_of(votes: Votes, names: Sequence[str], families: Families) -> Floats:
    """Return 1 if only the first answer is of the reviewer's family, -1 if only the second is, else 0."""
    import numpy as np

    family = [families(name) for name in names]
    places = {name: place for place, name in enumerate(sorted(set(family)))}
    code = np.array([places[name] for name in family])
    kin = code[votes.judge]
    toward: Floats = (kin == code[votes.first]).astype(np.float64) - (kin == code[votes.second])
    return toward


def _winner_name(verdict: Verdict) -> str | None:
    if verdict.marks is None or verdict.marks[0] == verdict.marks[1]:
        return None
    return verdict.contestants[0] if verdict.marks[0] > verdict.marks[1] else verdict.contestants[1]


def reviewer_bias_table(record: Record, families: Mapping[str, str] | None = None) -> Table:
    """Return the two biases by the paper's 2x2 test, and by a test that compares like with like."""
    reviews, lookup_family = Reviews.from_record(record), family_lookup(families)
    rows: list[list[Cell]] = []
    notes: list[str] = []
    for criterion in (CORRECTNESS, VISUAL):
        for name, check_trait in ((LONGER, longer_answer_check(record)), (OWN, own_family_check(record, families))):
            counts = count_choices(record, criterion, check_trait)
            if not sum(counts.wrong + counts.right):
                continue
            test = counts.test
            metrics: list[Cell] = [None] * 3 if test is None else [test.chi_square, test.p, test.phi]
            if test is None:
                notes.append(Note("peers.tables.no-test", name=word_note(name), criterion=criterion, why=counts.why))
            try:
                bias_estimate = estimate_bias(reviews, record, criterion, name, lookup_family)
                metrics += [bias_estimate.share, bias_estimate.p]
            except Undefined as reason:
                metrics += [None, None]
                notes.append(
                    Note(
                        "peers.tables.no-leaning", name=word_note(name), criterion=criterion, why=error_sentence(reason)
                    )
                )
            rows.append([name, criterion, *counts.wrong, *counts.right, *metrics])
    columns = table_columns(
        "chosen", "criterion", "wrong: yes", "wrong: no", "right: yes", "right: no", "chi-square", "p", "phi",
        "chosen over an equal", "p, like with like",
    )  # fmt: skip
    title = Note("peers.tables.title.whether-wrong-reviews-lean-one")
    counts_of = ["wrong: yes", "wrong: no", "right: yes", "right: no"]
    heat = {"kind": "matrix", "row": "chosen", "columns": counts_of, "column": "verdict", "value": "reviews"}
    # With one criterion each bias has one row. With two, the chart needs the criterion to distinguish rows.
    chart_hint = heat if len({str(row[0]) for row in rows}) == len(rows) else heat | {"within": "criterion"}
    return Table("biases", title, columns, rows, [*_NOTES, *notes], {}, chart_hint)


_NOTES = (Note("peers.tables.reviews-that-chose-one-of"), Note("peers.tables.like-with-like"))
