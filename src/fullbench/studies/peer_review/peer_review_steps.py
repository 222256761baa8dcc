"""Steps of a peer review: contestants write questions, answer those of others, and review the answers.

Questions and answers are responses, reviews are verdicts. All are stored in the ledger at once, so the same call
resumes a run that was stopped.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Unpack

from fullbench.analysis.peer_review.answer_key_scores_as_truth import answer_key_score_table, truth_from_answer_key
from fullbench.analysis.peer_review.ground_truth import Truth, truth_from_order
from fullbench.analysis.peer_review.ranking_methods import RankingOptions
from fullbench.analysis.peer_review.reviews_from_record import GAMMA, Gamma
from fullbench.core.built_in_table_columns import table_columns
from fullbench.core.case import Case, Orders
from fullbench.core.item import Item
from fullbench.core.judge import Judge
from fullbench.core.model import Model, takes_schemas
from fullbench.core.model_call import Usage
from fullbench.core.picture import Picture
from fullbench.core.response import Response
from fullbench.core.rubric import CORRECTNESS
from fullbench.core.table import Cell, Table
from fullbench.core.translatable_note import Note
from fullbench.core.verdict import PEOPLE, Verdict
from fullbench.core.verdict_record import Record
from fullbench.errors import InputError
from fullbench.judges.peer_review import multiple_choice_answers, review_items_and_cases, reviewer_assignment
from fullbench.judges.peer_review.review_prompts import ReviewTemplate, default_review_template
from fullbench.judges.prompt_templates import Template
from fullbench.judges.prompted_judge import Mode, PromptedJudge
from fullbench.ledger.ledger import Ledger
from fullbench.stats.peer_review.equation_variants import USUAL as USUAL_READING
from fullbench.stats.peer_review.peer_rankings import Initial
from fullbench.studies.engines import JobCounts
from fullbench.studies.judge_contestant_and_benchmark_specs import refuse_duplicates
from fullbench.studies.run import call_and_cost_plan
from fullbench.studies.run.call_context import CallContext
from fullbench.studies.run.run_options import RunOptions, RunOptionsByName

COSTS = "cost a picture"
"""Name of the table with the usage of one run."""


@dataclass
class PeerReviewResult:
    """Result of a peer review."""

    record: Record
    tables: Sequence[Table]
    job_counts: list[JobCounts] = field(default_factory=list)


@dataclass(frozen=True)
class PeerReview:
    """Design of a peer review: the reviewers, the answerers, and the pictures or questions. No model was called yet.

    `reviews` selects a balanced part of the full design. `families` (contestant to family) keeps reviewers from judging
    their own family. `kin` gives families only to the tables, which show how reviewers treat their own. `correlation`
    and `truth` are additional judges: how well an answer fits its picture, and the correct verdict if it is known.
    `constrained` requests structured output from every reviewer whose server supports it, and changes its name. With
    `best_first`, the contestants are listed in their true order and the ranking is compared with it; `scores` are given
    true scores.

    With `given_questions` no questions are written. All contestants answer them, and each reviews all pairs of answers
    by others. That is the plain peer review with which UPME is compared. `review_template` has the texts of the
    requests, `template` is a reviewer's prompt.
    """

    contestants: Sequence[Model]
    images: Mapping[str, Picture] = field(default_factory=dict)
    given_questions: Sequence[Item] = ()
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
    review_template: ReviewTemplate = field(default_factory=default_review_template)
    template: Template | None = None
    seed: int = 0
    slots: Sequence[reviewer_assignment.ReviewSlot] = field(init=False)
    _question_items: Sequence[Item] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if self.constrained and not any(map(takes_schemas, self.contestants)):
            raise InputError("no contestant supports a forced output format; leave 'constrained' out")
        names = self.names
        refuse_duplicates("contestants", names)
        if bool(self.given_questions) == bool(self.images):
            raise InputError("a peer review needs either pictures or given questions: add --images or --questions")
        question_items = review_items_and_cases.prepare_given_questions(self.given_questions, self.review_template)
        object.__setattr__(self, "_question_items", question_items)
        if self.families is not None and self.reading == "sum":
            raise InputError(
                "--reading sum compares sums of weights, so every contestant needs the same reviewers; with "
                "--no-own-family they differ, and the best may come last. Use another reading, such as range"
            )
        slots = reviewer_assignment.full_design(
            [item.id for item in question_items] or list(self.images), names, self.families
        )
        object.__setattr__(self, "slots", reviewer_assignment.sample_design(slots, self.reviews, self.seed))

    @property
    def names(self) -> list[str]:
        return [model.name for model in self.contestants]

    def judge(self, model: Model) -> PromptedJudge:
        """Return a contestant as a reviewer."""
        is_constrained = self.constrained and takes_schemas(model)
        return PromptedJudge(
            model,
            mode=self.mode,
            criteria=self.review_template.criteria,
            constrained=is_constrained,
            language=self.review_template.language,
            template=self.template,
            ends=False,
        )

    @property
    def terms(self) -> RankingOptions:
        """The options of the ranking."""
        return RankingOptions(self.gamma, self.seed, self.reading, self.initial)

    @property
    def units(self) -> int:
        """Number of pictures or given questions."""
        return len(self.given_questions) or len(self.images)

    def plan(self) -> Table:
        """Return the maximum number of calls per contestant."""
        both = 2 if self.orders == "both" else 1
        rows: list[list[Cell]] = []
        for name in self.names:
            reviews = [slot for slot in self.slots if slot.reviewer == name]
            answers = {
                (slot.image, "" if self.given_questions else slot.reviewer)
                for slot in self.slots
                if name in {slot.first, slot.second}
            }
            question_count = 0 if self.given_questions else len({slot.image for slot in reviews})
            rows.append([name, question_count, len(answers), 2 * both * len(reviews)])
        notes = [Note("peer-review.reviews-on-pictures-each-ruled", n=len(self.slots), n_2=self.units)]
        return Table(
            "plan",
            Note("peer-review.title.what-would-be-asked"),
            table_columns("contestant", "questions", "answers", "verdicts"),
            rows,
            notes,
        )

    def execute(self, ledger: Ledger, **keyword_options: Unpack[RunOptionsByName]) -> PeerReviewResult:
        """Collect questions, answers and reviews. The same call resumes a run that was stopped."""
        options = RunOptions(**keyword_options)
        budget = call_and_cost_plan.check_keys_and_budget(
            self.contestants, options.budget, spent_dollars=options.spent_dollars
        )
        return self.execute_with(CallContext.from_options(ledger, options, budget, {}))

    def execute_with(self, calls: CallContext) -> PeerReviewResult:
        """Collect everything with these calls, which have the specs of contestants by name."""
        ledger = calls.ledger
        steps: dict[str, list[JobCounts]] = {}
        if not self.given_questions:
            steps["questions"] = self._collect_answers("questions", self.question_requests(), calls)
        items = self.questions(ledger)
        steps["answers"] = self._collect_answers("answers", self.questions_to_answer(items), calls)
        responses = self.responses(ledger, items)
        if not calls.stop.reason:
            steps["reviews"] = self._judge_cases(items, responses, calls)
        record = self.record(ledger, items, responses)
        job_counts = [counts for step in steps.values() for counts in step]
        return PeerReviewResult(record, [*self.tables(record, responses), self._costs_table(steps)], job_counts)

    def _collect_answers(
        self, what: str, items_by_contestant: Mapping[str, Sequence[Item]], calls: CallContext
    ) -> list[JobCounts]:
        if calls.stop.reason:
            return []
        return calls.collect_answers(self.contestants, lambda model: items_by_contestant[model.name], what=what)

    def question_requests(self) -> dict[str, list[Item]]:
        """Return the requests for questions by contestant; empty lists if questions were given."""
        requests = dict(
            zip(self.images, review_items_and_cases.question_requests(self.images, self.review_template), strict=True)
        )
        design_keys = {(slot.reviewer, slot.image) for slot in self.slots}
        return {name: [item for image, item in requests.items() if (name, image) in design_keys] for name in self.names}

    def questions(self, ledger: Ledger) -> list[Item]:
        """Return the questions written so far, or the given ones."""
        if self.given_questions:
            return self.questions_in_design(self._question_items)
        keys = [item.key for item in review_items_and_cases.question_requests(self.images, self.review_template)]
        written_questions = ledger.responses(self.names, item_keys=keys)
        return self.questions_in_design(
            review_items_and_cases.written_questions(self.images, written_questions, self.review_template)
        )

    def questions_in_design(self, items: Iterable[Item]) -> list[Item]:
        """Return the questions that the design has a review of."""
        if self.given_questions:
            ids = {slot.image for slot in self.slots}
            return [item for item in items if item.id in ids]
        design_keys = {(slot.image, slot.reviewer) for slot in self.slots}
        return [item for item in items if (item.tags["image"], item.tags["reviewer"]) in design_keys]

    def questions_to_answer(self, items: Sequence[Item]) -> dict[str, list[Item]]:
        """Return the questions of others that each contestant must answer for some review."""
        if self.given_questions:
            pairs = {(name, slot.image) for slot in self.slots for name in (slot.first, slot.second)}
            return {name: [item for item in items if (name, item.id) in pairs] for name in self.names}
        design_keys = {(name, slot.image, slot.reviewer) for slot in self.slots for name in (slot.first, slot.second)}
        return {
            name: [item for item in items if (name, item.tags["image"], item.tags["reviewer"]) in design_keys]
            for name in self.names
        }

    def responses(self, ledger: Ledger, items: Sequence[Item]) -> list[Response]:
        """Return the answers given so far."""
        return list(ledger.responses(self.names, item_keys=[item.key for item in items])) if items else []

    def stored(self, ledger: Ledger) -> tuple[list[Item], list[Response], Record]:
        """Return the questions, answers and reviews given so far."""
        items = self.questions(ledger)
        responses = self.responses(ledger, items)
        return items, responses, self.record(ledger, items, responses)

    def cases(self, items: Sequence[Item], responses: Sequence[Response]) -> list[Case]:
        """Return the reviews of the design that have both answers."""
        reviews = review_items_and_cases.review_cases(items, responses, orders=self.orders, seed=self.seed)
        return reviewer_assignment.cases_in_slots(reviews, self.slots, has_given_questions=bool(self.given_questions))

    def _reviews_by(self, owner: str, items: Sequence[Item], responses: Sequence[Response]) -> list[Case]:
        """Return the cases that one contestant reviews.

        For given questions, each reviewer has its own order, drawn from the seed. With a shared order, the same answer
        would come first for everyone.
        """
        if not self.given_questions:
            return self.cases([item for item in items if item.tags["reviewer"] == owner], responses)
        slots = [slot for slot in self.slots if slot.reviewer == owner]
        # Multiples of a large prime do not collide with the small seeds of other runs.
        seed = self.seed + 1_000_003 * (1 + self.names.index(owner))
        reviews = review_items_and_cases.review_cases(items, responses, orders=self.orders, seed=seed)
        return reviewer_assignment.cases_in_slots(reviews, slots, has_given_questions=True)

    def cases_to_judge(self, judge: Judge, items: Sequence[Item], responses: Sequence[Response]) -> Iterator[Case]:
        """Yield the cases of a judge: a reviewer gets the answers to its own questions."""
        if judge is self.correlation:
            yield from review_items_and_cases.correlation_cases(items, responses)
        elif judge is self.truth:
            yield from (case for case in self.cases(items, responses) if case.criterion == CORRECTNESS)
        else:
            owner = {self.judge(model).name: model.name for model in self.contestants}[judge.name]
            yield from self._reviews_by(owner, items, responses)

    def judges(self) -> list[Judge]:
        """Return every contestant as a reviewer, plus `correlation` and `truth`."""
        extra_judges = [judge for judge in (self.correlation, self.truth) if judge is not None]
        return [*map(self.judge, self.contestants), *extra_judges]

    def _judge_cases(self, items: Sequence[Item], responses: Sequence[Response], calls: CallContext) -> list[JobCounts]:
        if not self.cases(items, responses):
            raise InputError(
                f"there is nothing to review: {len(items)} questions were written and {len(responses)} answers given, "
                "and no question has two answers by others; `fullbench show` shows the replies"
            )
        judges = self.judges()
        total = max(sum(1 for _ in self.cases_to_judge(judge, items, responses)) for judge in judges)
        # Reviewers are pickled for remote workers: specs are those of contestants.
        return replace(calls, specs=None).judge_cases(
            judges, lambda judge: self.cases_to_judge(judge, items, responses), total, what="reviews"
        )

    def record(self, ledger: Ledger, items: Sequence[Item], responses: Sequence[Response]) -> Record:
        """Return the reviews of the design with their questions and answers."""
        judges = self.judges()
        due = {(judge.name, case.key) for judge in judges for case in self.cases_to_judge(judge, items, responses)}
        keys = {key for _, key in due}
        stored_verdicts = ledger.record([judge.name for judge in judges], cases=keys).verdicts
        # With given questions, another run in this ledger may have assigned the same case to another reviewer.
        design_verdicts = [
            verdict for verdict in stored_verdicts if not self.given_questions or (verdict.judge, verdict.case) in due
        ]
        responses_by_key = {(response.item, response.contestant): response for response in responses}
        items_by_id = {item.id: item for item in items}
        return Record((*design_verdicts, *self._people_votes(ledger, items_by_id, keys)), items_by_id, responses_by_key)

    def _people_votes(self, ledger: Ledger, items: Mapping[str, Item], cases: Collection[str]) -> list[Verdict]:
        """Return people's votes on answers to these questions, in any order shown, and on reviews."""
        votes: dict[tuple[object, ...], Verdict] = {}
        for study in ledger.studies():
            people_record = ledger.record([PEOPLE], study=study)
            for vote in people_record:
                voted_item = people_record.items.get(vote.item)
                ours = items.get(vote.item)
                if vote.item in cases or (voted_item is not None and ours is not None and voted_item.key == ours.key):
                    votes.setdefault((vote.case, vote.rater, vote.trial, vote.revision), vote)
        return list(votes.values())

    def known_truth(self, responses: Sequence[Response] = ()) -> Truth:
        """Return the truth given with the review: scores, an order, or the answer key of its questions."""
        if self.scores:
            return self.scores
        if self.best_first:
            return truth_from_order(tuple(self.names))
        return truth_from_answer_key(multiple_choice_answers.score_by_key(self._question_items, responses))

    def tables(self, record: Record, responses: Sequence[Response] = ()) -> list[Table]:
        """Return tables of rankings, reviewers, convergence and ablations; empty without reviews."""
        from fullbench.analysis.peer_review.peer_review_summary import add_peer_review_summary
        from fullbench.analysis.peer_review.peer_review_tables import build_peer_review_tables

        if not len(record):
            return []
        order = self.names if self.best_first else ()
        by_review = build_peer_review_tables(
            record, terms=self.terms, truth=self.known_truth(responses), best_first=order, families=self.kin
        )
        answer_key_table = answer_key_score_table(multiple_choice_answers.score_by_key(self._question_items, responses))
        ordered_tables = [*by_review[:1], *([answer_key_table] if answer_key_table.rows else ()), *by_review[1:]]
        return add_peer_review_summary(ordered_tables, record)

    def _costs_table(self, steps: Mapping[str, Sequence[JobCounts]]) -> Table:
        rows: list[list[Cell]] = []
        for step, job_counts in steps.items():
            usage = sum((counts.usage for counts in job_counts), Usage())
            seconds = max((counts.seconds for counts in job_counts), default=0.0)
            dollars = None if usage.dollars is None else usage.dollars / self.units
            started_count, stored_count = (
                sum(counts.started_count for counts in job_counts),
                sum(counts.stored_count for counts in job_counts),
            )
            rows.append(
                [step, started_count, stored_count, usage.tokens_in, usage.tokens_out, seconds / self.units, dollars]
            )
        columns = table_columns(
            "step", "called", "reused", "tokens in", "tokens out", "seconds a picture", "dollars a picture"
        )
        notes = [Note("peer-review.of-this-run-alone-what")]
        return Table(COSTS, Note("peer-review.title.what-a-picture-costs"), columns, rows, notes)
