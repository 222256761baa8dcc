"""Matches of the QLoRA release: GPT-4 in both orders, three human votes per pair, and relative scores."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from fullbench.benchmarks.pairwise_releases.released_and_printed_number_readers import printed_numbers
from fullbench.core.benchmark import Reproduced, Reproduction
from fullbench.core.built_in_table_columns import table_columns
from fullbench.core.estimate import Estimate
from fullbench.core.table import Cell, Table
from fullbench.core.translatable_note import Note
from fullbench.files.release_rows import released_rows
from fullbench.stats.agreement.many_raters import fleiss_kappa
from fullbench.stats.intervals.share_intervals import wilson_interval
from fullbench.stats.ratings.bradley_terry import bradley_terry
from fullbench.stats.ratings.elo import elo_ratings

NAME = "vicuna_oa_battles"
SOURCE = "QLoRA paper, Tables 1, 6 and 7"
UnparsedRule = Literal["tie", "dropped"]
FILES: Mapping[str, tuple[UnparsedRule, int]] = {"vicuna_gpt4": ("tie", 3000), "oa_gpt4": ("dropped", 400)}
"""For each file of GPT-4's verdicts: treatment of unreadable ones, and number of orders to draw."""
VOTES, SCORES = "vicuna_human", "vicuna_relative_scores"
FIRST, SECOND, TIE, UNPARSED_SCORE = "1", "2", "3", "-1"
OUTCOMES = {FIRST: 1.0, SECOND: 0.0, TIE: 0.5}
ORDERS = ("chatgpt_first", "sys_first")
MatchKey = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class Match:
    """One verdict: question, model shown first, model shown second, score."""

    question: str
    first: str
    second: str
    score: str

    @property
    def key(self) -> MatchKey:
        return self.question, self.first, self.second


def read_matches(folder: Path, file: str) -> list[Match]:
    """Read the verdicts of one file; a voter may judge a pair only once per question and order."""
    matches = []
    seen_keys: set[tuple[str, ...]] = set()
    for row in released_rows(folder, f"{file}.csv"):
        match = Match(
            row.text("question"),
            *row.contestant_pair("model_1", "model_2"),
            row.one_of("score", (*OUTCOMES, UNPARSED_SCORE)),
        )
        key = (*match.key, row.values.get("vote") or "")
        if key in seen_keys:
            raise row.error(f"{match.first!r} meets {match.second!r} twice on question {match.question}")
        seen_keys.add(key)
        matches.append(match)
    return matches


@dataclass(frozen=True)
class MatchCodes:
    """Matches as integer codes, ready for rating."""

    names: Sequence[str]
    first: Sequence[int]
    second: Sequence[int]
    outcome: Sequence[float]
    question: Sequence[str]

    @classmethod
    def from_matches(cls, matches: Sequence[Match], unparsed_rule: UnparsedRule = "tie") -> MatchCodes:
        """Encode matches. Unparsed scores count as ties or are dropped; the release treats its files differently."""
        counted_matches = [match for match in matches if match.score != UNPARSED_SCORE or unparsed_rule == "tie"]
        names = sorted({name for match in counted_matches for name in (match.first, match.second)})
        code = {name: place for place, name in enumerate(names)}
        return cls(
            names,
            [code[match.first] for match in counted_matches],
            [code[match.second] for match in counted_matches],
            [OUTCOMES.get(match.score, 0.5) for match in counted_matches],
            [match.question for match in counted_matches],
        )

    def elo(self, draws: int) -> dict[str, Estimate | None]:
        """Return mean Elo ratings over random orders, K = 32."""
        return dict(zip(self.names, elo_ratings(self.first, self.second, self.outcome, draws=draws), strict=True))

    def strengths(self) -> dict[str, Estimate | None]:
        """Return Bradley-Terry ratings with questions as clusters."""
        fitted_ratings = bradley_terry(
            self.first, self.second, self.outcome, cluster=self.question, interval="sandwich"
        )
        return dict(zip(self.names, fitted_ratings.estimates, strict=True))


Rule = Callable[[Sequence[str]], str]


def join_votes(votes: Sequence[Match], rule: Rule) -> list[Match]:
    """Combine the votes on each question and ordered pair to one match by a rule."""
    scores_by_key: dict[MatchKey, list[str]] = defaultdict(list)
    for vote in votes:
        scores_by_key[vote.key].append(vote.score)
    return [Match(*key, rule(scores)) for key, scores in scores_by_key.items()]


def majority_score(scores: Sequence[str]) -> str:
    """Return the most common score, or a tie if there is none.

    >>> majority_score(["1", "3", "3"]), majority_score(["1", "2", "3"])
    ('3', '3')
    """
    common_scores = Counter(scores).most_common(2)
    return TIE if len(common_scores) > 1 and common_scores[0][1] == common_scores[1][1] else common_scores[0][0]


def more_votes(scores: Sequence[str]) -> str:
    """Return the model with more votes, ignoring votes for a tie; a tie if both have equally many.

    >>> more_votes(["1", "3", "3"]), more_votes(["1", "2", "3"])
    ('1', '3')
    """
    for_first, for_second = scores.count(FIRST), scores.count(SECOND)
    return TIE if for_first == for_second else FIRST if for_first > for_second else SECOND


def reproduce(data: Path) -> Reproduction:
    """Recompute Elo and Bradley-Terry ratings, agreement of people and GPT-4, and relative scores."""
    matches_by_file = {file: read_matches(data, file) for file in FILES}
    votes = read_matches(data, VOTES)
    all_cells = [
        *rating_cells(matches_by_file, votes),
        *share_cells({**matches_by_file, VOTES: votes}),
        *kappa_cells(matches_by_file["vicuna_gpt4"], votes),
        *relative_score_cells(data),
    ]
    return Reproduction(all_cells, [unread_table({**matches_by_file, VOTES: votes})])


def _estimate_cell(name: str, estimate: Estimate) -> Reproduced:
    return Reproduced(name, estimate.value, estimate.n, "", estimate, printed_numbers(NAME).get(name), SOURCE)


def rating_cells(matches_by_file: Mapping[str, Sequence[Match]], votes: Sequence[Match]) -> Iterator[Reproduced]:
    """Yield ratings of every model by GPT-4 on both question sets, and by the majority of three people."""
    for file, (unparsed_rule, draws) in FILES.items():
        codes = MatchCodes.from_matches(matches_by_file[file], unparsed_rule)
        for metric, estimates in (("elo_mean", codes.elo(draws)), ("bt", codes.strengths())):
            yield from (
                _estimate_cell(f"{file}/{name}/{metric}", rating) for name, rating in estimates.items() if rating
            )
    by_people = MatchCodes.from_matches(join_votes(votes, more_votes)).elo(6000)
    people_ratings = {name: rating for name, rating in by_people.items() if rating}
    yield from (_estimate_cell(f"{VOTES}/{name}/elo_majority", rating) for name, rating in people_ratings.items())
    yield Reproduced(
        f"{VOTES}/ranking", sorted(people_ratings, key=lambda name: -people_ratings[name].value), len(people_ratings)
    )


def share_cells(matches_by_file: Mapping[str, Sequence[Match]]) -> Iterator[Reproduced]:
    """Yield the shares of wins in first and second place and of ties, unparsed scores, and order consistency."""
    for file, matches in matches_by_file.items():
        counts = Counter(match.score for match in matches)
        for metric, score in (("first_share", FIRST), ("second_share", SECOND), ("tie_share", TIE)):
            share = wilson_interval(counts[score], len(matches))
            yield Reproduced(f"{file}/{metric}", 100 * share.value, share.n)
        yield Reproduced(f"{file}/unparsed", counts[UNPARSED_SCORE], len(matches))
        if consistency := _order_consistency(matches):
            yield Reproduced(f"{file}/order_consistency", 100 * consistency.value, consistency.n)


def _order_consistency(matches: Sequence[Match]) -> Estimate | None:
    opposite_score = {FIRST: SECOND, SECOND: FIRST}
    scores_by_key = {match.key: match.score for match in matches}
    score_pairs = [
        (score, scores_by_key[question, second, first])
        for (question, first, second), score in scores_by_key.items()
        if first < second and (question, second, first) in scores_by_key
    ]
    return (
        wilson_interval(
            sum(forward == opposite_score.get(backward, backward) for forward, backward in score_pairs),
            len(score_pairs),
        )
        if score_pairs
        else None
    )


def kappa_cells(judge_matches: Sequence[Match], votes: Sequence[Match]) -> Iterator[Reproduced]:
    """Yield Fleiss' kappa of the three voters, and of their majority with GPT-4 in the same order."""
    judge_scores = {match.key: TIE if match.score == UNPARSED_SCORE else match.score for match in judge_matches}
    matches_with_scores = [
        (match, judge_scores[match.key]) for match in join_votes(votes, majority_score) if match.key in judge_scores
    ]
    items = [" ".join(match.key) for match, _ in matches_with_scores]
    marks = [float(match.score) for match, _ in matches_with_scores] + [
        float(score) for _, score in matches_with_scores
    ]
    yield _estimate_cell("human_vs_gpt4/fleiss", fleiss_kappa(items * 2, marks))
    vote_keys = [" ".join(vote.key) for vote in votes]
    yield _estimate_cell("human/fleiss_three_votes", fleiss_kappa(vote_keys, [float(vote.score) for vote in votes]))


def relative_score_cells(data: Path) -> Iterator[Reproduced]:
    """Yield a system's scores as a share of ChatGPT's, per order and as mean; rows without scores are left out."""
    sums: dict[str, dict[str, list[float]]] = defaultdict(lambda: {order: [0.0, 0.0, 0] for order in ORDERS})
    for row in released_rows(data, f"{SCORES}.csv"):
        system_score, chatgpt_score = row.number("system_score"), row.number("chatgpt_score")
        total = sums[row.text("system")][row.one_of("order", ORDERS)]
        if system_score > 0 and chatgpt_score > 0:
            total[0] += system_score
            total[1] += chatgpt_score
            total[2] += 1
    for system, by_order in sums.items():
        shares_by_order = {
            order: 100 * system_score / chatgpt_score for order, (system_score, chatgpt_score, _) in by_order.items()
        }
        for order in ORDERS:
            yield Reproduced(f"relative/{system}/{order}", shares_by_order[order], int(by_order[order][2]))
        name, n = f"relative/{system}/mean", int(sum(total[2] for total in by_order.values()))
        value = sum(shares_by_order.values()) / len(shares_by_order)
        yield Reproduced(name, value, n, paper=printed_numbers(NAME).get(name), source=SOURCE)


def unread_table(matches_by_file: Mapping[str, Sequence[Match]]) -> Table:
    """Count the verdicts that could not be read, with their treatment."""
    table: list[list[Cell]] = []
    for file, matches in matches_by_file.items():
        count = sum(match.score == UNPARSED_SCORE for match in matches)
        if count:
            table.append([file, count, len(matches), {"tie": "counted as ties"}.get(FILES[file][0], "left out")])
    notes = [Note("reproduce.vicuna-oa.as-in-the-release-which")]
    return Table(
        "unread",
        Note("reproduce.vicuna-oa.title.verdicts-that-could-not-be"),
        table_columns("file", "verdicts", "of", "what was made of them"),
        table,
        notes,
    )
