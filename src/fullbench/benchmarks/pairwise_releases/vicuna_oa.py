"""The battles of the QLoRA release: GPT-4 in both orders, three human votes a pair, and relative scores."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from fullbench.benchmarks.pairwise_releases.published_numbers import printed
from fullbench.core.column_labels import headings
from fullbench.core.estimate import Estimate
from fullbench.core.note import Note
from fullbench.core.reproduction import Reproduced, Reproduction
from fullbench.core.table import Cell, Table
from fullbench.files.release_rows import released_rows
from fullbench.stats.agreement.many_raters import fleiss_kappa
from fullbench.stats.intervals.share_intervals import wilson
from fullbench.stats.ratings.bradley_terry import bradley_terry
from fullbench.stats.ratings.elo import elo

NAME = "vicuna_oa_battles"
SOURCE = "QLoRA paper, Tables 1, 6 and 7"
Unparsed = Literal["tie", "dropped"]
FILES: Mapping[str, tuple[Unparsed, int]] = {"vicuna_gpt4": ("tie", 3000), "oa_gpt4": ("dropped", 400)}
"""For each file of GPT-4's verdicts, what becomes of one that could not be read, and how many orders are drawn."""
VOTES, SCORES = "vicuna_human", "vicuna_relative_scores"
FIRST, SECOND, TIE, UNPARSED = "1", "2", "3", "-1"
OUTCOMES = {FIRST: 1.0, SECOND: 0.0, TIE: 0.5}
ORDERS = ("chatgpt_first", "sys_first")
Place = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class Battle:
    """One verdict: question, the model shown first, the one shown second, and the score given."""

    question: str
    first: str
    second: str
    score: str

    @property
    def place(self) -> Place:
        return self.question, self.first, self.second


def battles(folder: Path, file: str) -> list[Battle]:
    """The verdicts of one file; a pair may not be ruled twice on one question in one order, but by several voters."""
    fought = []
    seen: set[tuple[str, ...]] = set()
    for row in released_rows(folder, f"{file}.csv"):
        battle = Battle(
            row.text("question"),
            *row.two("model_1", "model_2"),
            row.one_of("score", (*OUTCOMES, UNPARSED)),
        )
        key = (*battle.place, row.values.get("vote") or "")
        if key in seen:
            raise row.error(f"{battle.first!r} meets {battle.second!r} twice on question {battle.question}")
        seen.add(key)
        fought.append(battle)
    return fought


@dataclass(frozen=True)
class Field:
    """Battles as codes, ready to be rated."""

    names: Sequence[str]
    first: Sequence[int]
    second: Sequence[int]
    outcome: Sequence[float]
    question: Sequence[str]

    @classmethod
    def of(cls, fought: Sequence[Battle], unparsed: Unparsed = "tie") -> Field:
        """What was not read is a tie, or left out: the release does the one here and the other there."""
        counted = [battle for battle in fought if battle.score != UNPARSED or unparsed == "tie"]
        names = sorted({name for battle in counted for name in (battle.first, battle.second)})
        code = {name: place for place, name in enumerate(names)}
        return cls(
            names,
            [code[battle.first] for battle in counted],
            [code[battle.second] for battle in counted],
            [OUTCOMES.get(battle.score, 0.5) for battle in counted],
            [battle.question for battle in counted],
        )

    def elo(self, draws: int) -> dict[str, Estimate | None]:
        """The mean over random orders, K = 32."""
        return dict(zip(self.names, elo(self.first, self.second, self.outcome, draws=draws), strict=True))

    def strengths(self) -> dict[str, Estimate | None]:
        """Bradley-Terry ratings, questions as clusters."""
        fitted = bradley_terry(self.first, self.second, self.outcome, cluster=self.question, interval="sandwich")
        return dict(zip(self.names, fitted.estimates, strict=True))


Rule = Callable[[Sequence[str]], str]


def together(votes: Sequence[Battle], rule: Rule) -> list[Battle]:
    """One battle for each question and ordered pair, its votes taken together by a rule."""
    scores_by_place: dict[Place, list[str]] = defaultdict(list)
    for vote in votes:
        scores_by_place[vote.place].append(vote.score)
    return [Battle(*place, rule(scores)) for place, scores in scores_by_place.items()]


def majority(scores: Sequence[str]) -> str:
    """The commonest score; a tie where none is.

    >>> majority(["1", "3", "3"]), majority(["1", "2", "3"])
    ('3', '3')
    """
    ranked = Counter(scores).most_common(2)
    return TIE if len(ranked) > 1 and ranked[0][1] == ranked[1][1] else ranked[0][0]


def more_votes(scores: Sequence[str]) -> str:
    """The model with more votes, votes for a tie left aside; a tie where both have as many.

    >>> more_votes(["1", "3", "3"]), more_votes(["1", "2", "3"])
    ('1', '3')
    """
    for_first, for_second = scores.count(FIRST), scores.count(SECOND)
    return TIE if for_first == for_second else FIRST if for_first > for_second else SECOND


def reproduce(data: Path) -> Reproduction:
    """Elo and Bradley-Terry ratings, agreement of people and GPT-4, relative scores."""
    judged = {file: battles(data, file) for file in FILES}
    votes = battles(data, VOTES)
    reproduced = [
        *ratings(judged, votes),
        *shares({**judged, VOTES: votes}),
        *kappas(judged["vicuna_gpt4"], votes),
        *relative(data),
    ]
    return Reproduction(reproduced, [unread({**judged, VOTES: votes})])


def _cell(name: str, estimate: Estimate) -> Reproduced:
    return Reproduced(name, estimate.value, estimate.n, "", estimate, printed(NAME).get(name), SOURCE)


def ratings(judged: Mapping[str, Sequence[Battle]], votes: Sequence[Battle]) -> Iterator[Reproduced]:
    """Ratings of every model by GPT-4 on both sets of questions, and by the majority of three people."""
    for file, (unparsed, draws) in FILES.items():
        field = Field.of(judged[file], unparsed)
        for figure, estimates in (("elo_mean", field.elo(draws)), ("bt", field.strengths())):
            yield from (_cell(f"{file}/{name}/{figure}", rating) for name, rating in estimates.items() if rating)
    by_people = Field.of(together(votes, more_votes)).elo(6000)
    rated = {name: rating for name, rating in by_people.items() if rating}
    yield from (_cell(f"{VOTES}/{name}/elo_majority", rating) for name, rating in rated.items())
    yield Reproduced(f"{VOTES}/ranking", sorted(rated, key=lambda name: -rated[name].value), len(rated))


def shares(judged: Mapping[str, Sequence[Battle]]) -> Iterator[Reproduced]:
    """How often the answer shown first won, how often there was a tie, and what could not be read."""
    for file, fought in judged.items():
        counts = Counter(battle.score for battle in fought)
        for figure, score in (("first_share", FIRST), ("second_share", SECOND), ("tie_share", TIE)):
            share = wilson(counts[score], len(fought))
            yield Reproduced(f"{file}/{figure}", 100 * share.value, share.n)
        yield Reproduced(f"{file}/unparsed", counts[UNPARSED], len(fought))
        if same := _same_in_both_orders(fought):
            yield Reproduced(f"{file}/order_consistency", 100 * same.value, same.n)


def _same_in_both_orders(fought: Sequence[Battle]) -> Estimate | None:
    """How often a pair that was ruled in both orders got the same ruling; None where none was."""
    turned = {FIRST: SECOND, SECOND: FIRST}
    ruled = {battle.place: battle.score for battle in fought}
    both = [
        (score, ruled[question, second, first])
        for (question, first, second), score in ruled.items()
        if first < second and (question, second, first) in ruled
    ]
    return (
        wilson(sum(forward == turned.get(swapped, swapped) for forward, swapped in both), len(both)) if both else None
    )


def kappas(judged: Sequence[Battle], votes: Sequence[Battle]) -> Iterator[Reproduced]:
    """Fleiss' kappa of the three voters, and of their majority with GPT-4 in the same order."""
    theirs = {battle.place: TIE if battle.score == UNPARSED else battle.score for battle in judged}
    both = [(battle, theirs[battle.place]) for battle in together(votes, majority) if battle.place in theirs]
    items = [" ".join(battle.place) for battle, _ in both]
    marks = [float(battle.score) for battle, _ in both] + [float(score) for _, score in both]
    yield _cell("human_vs_gpt4/fleiss", fleiss_kappa(items * 2, marks))
    voted = [" ".join(vote.place) for vote in votes]
    yield _cell("human/fleiss_three_votes", fleiss_kappa(voted, [float(vote.score) for vote in votes]))


def relative(data: Path) -> Iterator[Reproduced]:
    """A system's scores as a share of ChatGPT's, each order by itself and their mean; no score at all is left out."""
    sums: dict[str, dict[str, list[float]]] = defaultdict(lambda: {order: [0.0, 0.0, 0] for order in ORDERS})
    for row in released_rows(data, f"{SCORES}.csv"):
        ours, theirs = row.number("system_score"), row.number("chatgpt_score")
        total = sums[row.text("system")][row.one_of("order", ORDERS)]
        if ours > 0 and theirs > 0:
            total[0] += ours
            total[1] += theirs
            total[2] += 1
    for system, by_order in sums.items():
        shares_ = {order: 100 * ours / theirs for order, (ours, theirs, _) in by_order.items()}
        for order in ORDERS:
            yield Reproduced(f"relative/{system}/{order}", shares_[order], int(by_order[order][2]))
        name, n = f"relative/{system}/mean", int(sum(total[2] for total in by_order.values()))
        value = sum(shares_.values()) / len(shares_)
        yield Reproduced(name, value, n, paper=printed(NAME).get(name), source=SOURCE)


def unread(judged: Mapping[str, Sequence[Battle]]) -> Table:
    """Verdicts that could not be read, and what was done with them."""
    table: list[list[Cell]] = []
    for file, fought in judged.items():
        count = sum(battle.score == UNPARSED for battle in fought)
        if count:
            table.append([file, count, len(fought), {"tie": "counted as ties"}.get(FILES[file][0], "left out")])
    notes = [
        Note(
            "reproduce.vicuna-oa.as-in-the-release-which", "As in the release, which treats its two files differently."
        )
    ]
    return Table(
        "unread",
        Note("reproduce.vicuna-oa.title.verdicts-that-could-not-be", "Verdicts that could not be read"),
        headings("file", "verdicts", "of", "what was made of them"),
        table,
        notes,
    )
