"""A peer review from pictures to a ranking: contestants write questions, answer each other's, and review the answers.

Each step is a step like any other: questions and answers are responses, reviews are verdicts, all of them are in the
ledger before the next is waited for, and the same call goes on where the last one stopped.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Unpack

from fullbench.analysis.peer_review.ground_truth import Truth, in_this_order
from fullbench.analysis.peer_review.ranking_methods import Terms
from fullbench.analysis.peer_review.reviews_from_record import GAMMA, Gamma
from fullbench.analysis.peer_review.scores_from_answer_key import benchmark, by_key
from fullbench.core.call import Usage
from fullbench.core.case import Case, Orders
from fullbench.core.column_labels import headings
from fullbench.core.item import Item
from fullbench.core.judge import Judge
from fullbench.core.model import Model, takes_schemas
from fullbench.core.note import Note
from fullbench.core.picture import Picture
from fullbench.core.record import Record
from fullbench.core.response import Response
from fullbench.core.rubric import CORRECTNESS
from fullbench.core.table import Cell, Table
from fullbench.core.verdict import PEOPLE, Verdict
from fullbench.errors import InputError
from fullbench.judges.peer_review import multiple_choice_answers, review_protocol, reviewer_assignment
from fullbench.judges.peer_review.review_prompts import Wording, shipped
from fullbench.judges.prompt_templates import Template
from fullbench.judges.prompted import Mode, PromptedJudge
from fullbench.ledger.ledger import Ledger
from fullbench.stats.peer_review.equation_variants import USUAL as USUAL_READING
from fullbench.stats.peer_review.peer_rankings import Initial
from fullbench.studies.engines import Budget, Tally
from fullbench.studies.run import study_plan
from fullbench.studies.run.answer_items import answer
from fullbench.studies.run.judge_cases import hear
from fullbench.studies.run.progress_display import watching
from fullbench.studies.run.run_options import RunTerms, RunTermsByName

COSTS = "cost a picture"
"""The table that says what one run used."""


@dataclass
class Reviewed:
    """What came of a peer review."""

    record: Record
    tables: Sequence[Table]
    tallies: list[Tally] = field(default_factory=list)


@dataclass(frozen=True)
class _Run:
    """What every step of a run needs."""

    ledger: Ledger
    purse: Budget | None
    terms: RunTerms
    specs: Mapping[str, str]


@dataclass(frozen=True)
class PeerReview:
    """Who reviews whom on which pictures; nothing was asked yet.

    `reviews` asks for an even part of the full design. `families` (contestant to family) keeps reviewers from their own
    family; `kin` names families to the tables alone, which show how reviewers treat their own. `correlation` and
    `truth` are heard beside the reviewers: how well each answer fits its picture, and who is right where that is known.
    With `constrained` every reviewer whose server can hold it to a form of ruling is held to it, and named so. With
    `best_first` the contestants are named in their true order, and the ranking is compared with it; `scores` are true
    scores that were given.

    With `given` questions nobody writes any: all contestants answer them, and each reviews every two answers of others.
    That is the plain peer review that UPME is compared with. `wording` is what is said, `template` a reviewer's prompt.
    """

    contestants: Sequence[Model]
    images: Mapping[str, Picture] = field(default_factory=dict)
    given: Sequence[Item] = ()
    reviews: int | None = None
    families: Mapping[str, str] | None = None
    orders: Orders = "shuffled"
    mode: Mode = "analyze"
    constrained: bool = False
    correlation: Judge | None = None
    gamma: Gamma = field(default_factory=lambda: GAMMA)
    reading: str = USUAL_READING
    initial: Initial = "many"
    truth: Judge | None = None
    best_first: bool = False
    scores: Truth = field(default_factory=lambda: Truth({}))
    kin: Mapping[str, str] | None = None
    wording: Wording = field(default_factory=shipped)
    template: Template | None = None
    seed: int = 0
    slots: Sequence[reviewer_assignment.Slot] = field(init=False)
    _asked: Sequence[Item] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if self.constrained and not any(map(takes_schemas, self.contestants)):
            raise InputError("no contestant can be held to a form of ruling: leave 'constrained' out")
        names = [model.name for model in self.contestants]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise InputError(f"two of the contestants are the same: {', '.join(twice)}; leave one out")
        if bool(self.given) == bool(self.images):
            raise InputError("a peer review is about pictures or about questions that were given: name one of them")
        asked = review_protocol.given(self.given, self.wording)
        object.__setattr__(self, "_asked", asked)
        slots = reviewer_assignment.full([item.id for item in asked] or list(self.images), names, self.families)
        object.__setattr__(self, "slots", reviewer_assignment.sampled(slots, self.reviews, self.seed))

    @property
    def names(self) -> list[str]:
        return [model.name for model in self.contestants]

    def judge(self, model: Model) -> PromptedJudge:
        """A contestant as reviewer."""
        held = self.constrained and takes_schemas(model)
        return PromptedJudge(
            model, mode=self.mode, criteria=self.wording.criteria, constrained=held, language=self.wording.language,
            template=self.template, ends=False,
        )  # fmt: skip

    @property
    def terms(self) -> Terms:
        """On what terms the ranking is made."""
        return Terms(self.gamma, self.seed, self.reading, self.initial)

    @property
    def units(self) -> int:
        """How many pictures, or given questions, there are."""
        return len(self.given) or len(self.images)

    def plan(self) -> Table:
        """How many calls each contestant would be asked for at most, before any is made."""
        both = 2 if self.orders == "both" else 1
        rows: list[list[Cell]] = []
        for name in self.names:
            reviews = [slot for slot in self.slots if slot.reviewer == name]
            answers = {
                (slot.image, "" if self.given else slot.reviewer)
                for slot in self.slots if name in {slot.one, slot.two}
            }  # fmt: skip
            written = 0 if self.given else len({slot.image for slot in reviews})
            rows.append([name, written, len(answers), 2 * both * len(reviews)])
        notes = [
            Note(
                "peer-review.reviews-on-pictures-each-ruled",
                "{n:,} reviews on {n_2} pictures, each ruled by correctness and by visual understanding. What the "
                "ledger knows already is not asked again.",
                n=len(self.slots),
                n_2=self.units,
            )
        ]
        return Table(
            "plan",
            Note("peer-review.title.what-would-be-asked", "What would be asked"),
            headings("contestant", "questions", "answers", "rulings"),
            rows,
            notes,
        )

    def ready(self, budget: float | None = None, *, spent: float = 0.0) -> Budget | None:
        """Refuse what cannot go well (a missing key, a budget without prices) before anything is asked."""
        return study_plan.ready(self.contestants, budget, spent=spent)

    def conduct(self, ledger: Ledger, **named: Unpack[RunTermsByName]) -> Reviewed:
        """Write, answer, review, and look at the record. Stopped half-way, the same call goes on from there."""
        return self.conduct_on(RunTerms(**named), ledger)

    def conduct_on(self, terms: RunTerms, ledger: Ledger, specs: Mapping[str, str] | None = None) -> Reviewed:
        """The same on some terms. `specs` gives the spec of contestants by their name, as for `answer`; reviewers are
        sent as they are."""
        run = _Run(ledger, self.ready(terms.budget, spent=terms.spent), terms, specs or {})
        steps: dict[str, list[Tally]] = {}
        if not self.given:
            steps["questions"] = self._ask("questions", self.writing(), run)
        items = self.questions(ledger)
        steps["answers"] = self._ask("answers", self.asked(items), run)
        responses = self.responses(ledger, items)
        if not run.terms.stop.reason:
            steps["reviews"] = self._hear(items, responses, run)
        record = self.record(ledger, items, responses)
        tallies = [tally for step in steps.values() for tally in step]
        return Reviewed(record, [*self.tables(record, responses), self._costs(steps)], tallies)

    def _ask(self, what: str, asked: Mapping[str, Sequence[Item]], run: _Run) -> list[Tally]:
        if run.terms.stop.reason:
            return []
        with watching(what, self.names, max(map(len, asked.values())), quiet=run.terms.quiet) as watch:
            return answer(
                self.contestants, lambda model: asked[model.name], run.ledger, engine=run.terms.engine,
                specs=run.specs, budget=run.purse, stop=run.terms.stop, watch=watch, insist=run.terms.insist,
            )  # fmt: skip

    def writing(self) -> dict[str, list[Item]]:
        """The requests for a question, by who is to write one; none where questions were given."""
        requests = dict(zip(self.images, review_protocol.writing(self.images, self.wording), strict=True))
        wanted = {(slot.reviewer, slot.image) for slot in self.slots}
        return {
            name: [item for image, item in requests.items() if (name, image) in wanted] for name in self.names
        }  # fmt: skip

    def questions(self, ledger: Ledger) -> list[Item]:
        """The questions written so far, or those that were given."""
        if self.given:
            return self.wanted(self._asked)
        keys = [item.key for item in review_protocol.writing(self.images, self.wording)]
        written = ledger.responses(self.names, item_keys=keys)
        return self.wanted(review_protocol.questions(self.images, written, self.wording))

    def wanted(self, items: Iterable[Item]) -> list[Item]:
        """Those of some questions that a review of the design is about."""
        if self.given:
            ids = {slot.image for slot in self.slots}
            return [item for item in items if item.id in ids]
        wanted = {(slot.image, slot.reviewer) for slot in self.slots}
        return [item for item in items if (item.tags["image"], item.tags["reviewer"]) in wanted]

    def asked(self, items: Sequence[Item]) -> dict[str, list[Item]]:
        """The questions that each contestant is to answer: those of others, where a review needs its answer."""
        if self.given:
            pairs = {(name, slot.image) for slot in self.slots for name in (slot.one, slot.two)}
            return {name: [item for item in items if (name, item.id) in pairs] for name in self.names}
        wanted = {(name, slot.image, slot.reviewer) for slot in self.slots for name in (slot.one, slot.two)}
        return {
            name: [item for item in items if (name, item.tags["image"], item.tags["reviewer"]) in wanted]
            for name in self.names
        }

    def responses(self, ledger: Ledger, items: Sequence[Item]) -> list[Response]:
        """The answers given so far."""
        return list(ledger.responses(self.names, item_keys=[item.key for item in items])) if items else []

    def cases(self, items: Sequence[Item], responses: Sequence[Response]) -> list[Case]:
        """The reviews of the design for which both answers are there."""
        reviews = review_protocol.reviews(items, responses, orders=self.orders, seed=self.seed)
        return reviewer_assignment.within(reviews, self.slots, given=bool(self.given))

    def _reviews_by(self, owner: str, items: Sequence[Item], responses: Sequence[Response]) -> list[Case]:
        """What one contestant reviews. Of given questions each reviewer has an order of its own, drawn from the seed:
        were it the same for all, what is shown first would be first for everybody."""
        if not self.given:
            return self.cases([item for item in items if item.tags["reviewer"] == owner], responses)
        slots = [slot for slot in self.slots if slot.reviewer == owner]
        # A large prime apart: another run's seed, which is small, meets none of these.
        seed = self.seed + 1_000_003 * (1 + self.names.index(owner))
        reviews = review_protocol.reviews(items, responses, orders=self.orders, seed=seed)
        return reviewer_assignment.within(reviews, slots, given=True)

    def docket(self, judge: Judge, items: Sequence[Item], responses: Sequence[Response]) -> Iterator[Case]:
        """What a judge hears: a reviewer the answers to its own questions, the others what is theirs to hear."""
        if judge is self.correlation:
            yield from review_protocol.correlations(items, responses)
        elif judge is self.truth:
            yield from (case for case in self.cases(items, responses) if case.criterion == CORRECTNESS)
        else:
            owner = {self.judge(model).name: model.name for model in self.contestants}[judge.name]
            yield from self._reviews_by(owner, items, responses)

    def judges(self) -> list[Judge]:
        """Every contestant as reviewer, and who else is heard."""
        others = [judge for judge in (self.correlation, self.truth) if judge is not None]
        return [*map(self.judge, self.contestants), *others]

    def _hear(self, items: Sequence[Item], responses: Sequence[Response], run: _Run) -> list[Tally]:
        if not self.cases(items, responses):
            raise InputError(
                f"there is nothing to review: {len(items)} questions were written and {len(responses)} answers given, "
                "and no question has two answers by others; look at what the contestants said with 'fullbench ledger'"
            )
        judges = self.judges()
        total = max(sum(1 for _ in self.docket(judge, items, responses)) for judge in judges)
        with watching("reviews", [judge.name for judge in judges], total, quiet=run.terms.quiet) as watch:
            return hear(
                judges, lambda judge: self.docket(judge, items, responses), run.ledger, engine=run.terms.engine,
                budget=run.purse, stop=run.terms.stop, watch=watch, insist=run.terms.insist,
            )  # fmt: skip

    def record(self, ledger: Ledger, items: Sequence[Item], responses: Sequence[Response]) -> Record:
        """The reviews of the design, with their questions and answers."""
        judges = self.judges()
        due = {(judge.name, case.key) for judge in judges for case in self.docket(judge, items, responses)}
        keys = {key for _, key in due}
        heard = ledger.record([judge.name for judge in judges], cases=keys).verdicts
        # Of given questions another run in this ledger may have shown one reviewer what this run shows another.
        ruled = [verdict for verdict in heard if not self.given or (verdict.judge, verdict.case) in due]
        shown = {(response.item, response.contestant): response for response in responses}
        asked = {item.id: item for item in items}
        return Record((*ruled, *self._people(ledger, asked, keys)), asked, shown)

    def _people(self, ledger: Ledger, items: Mapping[str, Item], cases: Collection[str]) -> list[Verdict]:
        """People's votes on answers to these very questions, in whatever order these were shown, and on reviews."""
        votes: dict[tuple[object, ...], Verdict] = {}
        for study in ledger.studies():
            heard = ledger.record([PEOPLE], study=study)
            for vote in heard:
                asked = heard.items.get(vote.item)
                ours = items.get(vote.item)
                if vote.item in cases or (asked is not None and ours is not None and asked.key == ours.key):
                    votes.setdefault((vote.case, vote.rater, vote.trial, vote.revision), vote)
        return list(votes.values())

    def known(self, responses: Sequence[Response] = ()) -> Truth:
        """The truth that was given with the review: scores, an order, or the key of its questions."""
        if self.scores:
            return self.scores
        if self.best_first:
            return in_this_order(tuple(self.names))
        return by_key(multiple_choice_answers.scored(self._asked, responses))

    def tables(self, record: Record, responses: Sequence[Response] = ()) -> list[Table]:
        """Rankings, reviewers, convergence, ablations; nothing where no review was kept yet."""
        from fullbench.analysis.peer_review.peer_review_tables import tables

        if not len(record):
            return []
        order = self.names if self.best_first else ()
        by_review = tables(
            record, terms=self.terms, truth=self.known(responses), best_first=order, families=self.kin
        )  # fmt: skip
        scored = benchmark(multiple_choice_answers.scored(self._asked, responses))
        return [*by_review[:1], *([scored] if scored.rows else ()), *by_review[1:]]

    def _costs(self, steps: Mapping[str, Sequence[Tally]]) -> Table:
        rows: list[list[Cell]] = []
        for step, tallies in steps.items():
            used = sum((tally.usage for tally in tallies), Usage())
            seconds = max((tally.seconds for tally in tallies), default=0.0)
            dollars = None if used.dollars is None else used.dollars / self.units
            asked, known = sum(tally.asked for tally in tallies), sum(tally.known for tally in tallies)
            rows.append([step, asked, known, used.tokens_in, used.tokens_out, seconds / self.units, dollars])
        columns = headings(
            "step", "asked", "known", "tokens in", "tokens out", "seconds a picture", "dollars a picture"
        )
        notes = [
            Note(
                "peer-review.of-this-run-alone-what",
                "Of this run alone: what the ledger knew cost nothing. Seconds are of the slowest at each step.",
            )
        ]
        return Table(
            COSTS,
            Note("peer-review.title.what-a-picture-costs", "What a picture costs"),
            columns,
            rows,
            notes,
        )
