"""A peer review as a kind of study: contestants that review each other, from pictures alone."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Unpack, get_args

from fullbench.analysis.peer_review.ground_truth import Truth
from fullbench.analysis.peer_review.repeated_runs import Run, runs
from fullbench.analysis.peer_review.reviews_from_record import PARTS
from fullbench.core.item import Item
from fullbench.core.judge import Judge
from fullbench.core.model import Model, family_of
from fullbench.core.response import Response
from fullbench.core.table import Table
from fullbench.core.text import language_named
from fullbench.core.verdict import PEOPLE
from fullbench.errors import InputError
from fullbench.files.picture_folders import Pictures
from fullbench.files.question_sets import read_questions
from fullbench.judges.peer_review import review_protocol
from fullbench.judges.peer_review.multiple_choice_answers import KeyedTruth
from fullbench.judges.peer_review.review_prompts import Wording, read_wording, shipped
from fullbench.judges.peer_review.review_protocol import KEY
from fullbench.judges.prompt_templates import Template
from fullbench.judges.prompted import Mode, read_template
from fullbench.ledger.ledger import Ledger
from fullbench.stats.peer_review.equation_variants import USUAL as USUAL_READING
from fullbench.stats.peer_review.equation_variants import initial_named, reading_named
from fullbench.studies import judge_and_model_specs
from fullbench.studies.engines import Budget
from fullbench.studies.peer_review.peer_review_steps import COSTS, PeerReview, Reviewed
from fullbench.studies.peer_review.true_scores import called, read_scores
from fullbench.studies.run import study_plan
from fullbench.studies.run.cost_forecast import TOKENS_OUT, Load, Seen
from fullbench.studies.run.run_options import RunTerms, RunTermsByName
from fullbench.studies.run.study_run import Conducted
from fullbench.studies.study_file import Study
from fullbench.studies.table_sources import looked_at
from fullbench.synthetic.contestants import reviewers
from fullbench.synthetic.sample_items import sample
from fullbench.synthetic.truth import PictureTruth

_SAMPLE = 25
_QUESTION = 20
"""So many tokens a question is taken to have that is not written yet."""


class Reviewing:
    """Who reviews whom on which pictures or questions; nothing was asked yet.

    `runs` holds one peer review for each seed. `unreadable` says why pictures or
    questions were left out.
    """

    def __init__(self, study: Study) -> None:
        self.study, options = study, study.options
        models = (
            [judge_and_model_specs.contestant(spec) for spec in study.contestants]
            if study.contestants
            else list(reviewers())
        )
        if options.get("best_first") and not study.contestants:
            raise InputError("--best-first says in which order --contestants are named; name them")
        seeds = _seeds(options.get("seeds", [study.seed]))
        self.unreadable: list[str] = []
        self.runs = [self._run(models, seed, drawn=len(seeds) > 1) for seed in seeds]
        self.specs = dict(zip(self.review.names, study.contestants, strict=False))

    @property
    def review(self) -> PeerReview:
        """The first run."""
        return self.runs[0]

    def _run(self, models: Sequence[Model], seed: int, *, drawn: bool) -> PeerReview:
        options = self.study.options
        about, truth = self._about(seed, drawn=drawn)
        correlation, scores = options.get("correlation"), options.get("human_scores")
        names = [model.name for model in models]
        kin = families(options.get("families", ()), names)
        return PeerReview(
            models, **about, reviews=options.get("reviews"),
            families=None if options.get("kin", True) else {name: kin.get(name) or family_of(name) for name in names},
            orders="both" if options.get("both_orders") else "shuffled", mode=_mode(options.get("mode", "analyze")),
            constrained=options.get("constrained", False),
            correlation=None if correlation is None else judge_and_model_specs.correlation(correlation),
            gamma=_gamma(options.get("gamma", [0.4, 0.4, 0.2])), truth=truth,
            reading=reading_named(options.get("reading", USUAL_READING)).name,
            initial=initial_named(options.get("initial", "many")),
            best_first=options.get("best_first", False), seed=seed, kin=kin,
            scores=Truth({}) if scores is None else read_scores(scores, names),
            wording=_wording(options), template=_template(options),
        )  # fmt: skip

    def _about(self, seed: int, *, drawn: bool) -> tuple[dict[str, Any], Judge | None]:
        """The pictures or the questions of a run, and who knows the truth about them."""
        options = self.study.options
        images, questions = options.get("images"), options.get("questions")
        limit = options.get("limit", self.study.limit)
        if questions is not None:
            if images is not None:
                raise InputError("a peer review is about pictures (images) or about given questions; name one of them")
            asked, left_out = read_questions(questions)
            self.unreadable += [line for line in left_out if line not in self.unreadable]
            if not asked:
                raise InputError("none of the questions is about a picture", path=questions)
            if drawn:
                random.Random(seed).shuffle(asked)
            asked = asked[:limit]
            return {"given": asked}, KeyedTruth() if any(KEY in item.tags for item in asked) else None
        if images is not None:
            shown = Pictures.read(images, limit, drawn=seed if drawn else None)
            self.unreadable += [line for line in shown.unreadable if line not in self.unreadable]
            return {"images": shown.images}, None
        known = sample(7 + seed, limit or _SAMPLE)
        return {"images": {scene.item.id: scene.item.pictures[0] for scene in known}}, PictureTruth(known)

    def plan(self, ledger: Ledger) -> Table:
        """Questions, answers and reviews that would be asked for, and what they would take; stand-ins are weighed for
        questions and answers that are still to be options."""
        seen = study_plan.seen(ledger)
        loads: list[Load] = []
        rulings: list[Load] = []
        for review in self.runs:
            more, ruled = _loads(review, ledger, seen)
            loads += more
            rulings += ruled
        return study_plan.laid_out(loads, rulings)

    def ready(self, budget: float | None = None, *, spent: float = 0.0) -> Budget | None:
        """Refuse a missing key, or a budget without prices."""
        return self.review.ready(budget, spent=spent)

    def conduct(self, ledger: Ledger, **named: Unpack[RunTermsByName]) -> Conducted:
        """Write, answer, review what is due, and look at the record; run by run where there are several seeds."""
        terms = RunTerms(**named)
        conducted: list[Reviewed] = []
        for review in self.runs:
            done = review.conduct_on(terms, ledger, self.specs)
            terms = replace(terms, spent=terms.spent + sum(tally.usage.dollars or 0.0 for tally in done.tallies))
            conducted.append(done)
            if terms.stop.reason:
                break
        first = conducted[0]
        # What this run cost depends on what the ledger knew: a replay could not say it again.
        tables = [table for table in first.tables if table.name != COSTS] + self._runs(ledger)
        tallies = [tally for done in conducted for tally in done.tallies]
        found = looked_at(self.study, first.record, tables, self._judges(), tallies)
        found.run_tables = [table for table in first.tables if table.name == COSTS]
        return found

    def _judges(self) -> list[str]:
        return [judge.name for judge in self.review.judges()]

    def _runs(self, ledger: Ledger) -> list[Table]:
        """Every method over all runs; nothing where there is one."""
        if len(self.runs) < 2:
            return []
        conducted: list[Run] = []
        for review in self.runs:
            items = review.questions(ledger)
            responses = review.responses(ledger, items)
            conducted.append(Run(review.record(ledger, items, responses), review.terms, review.known(responses)))
        return [runs([run for run in conducted if len(run.record)])]

    def replay(self, ledger: Ledger) -> Conducted:
        """The ranking by what the ledger holds."""
        due = 0
        for review in self.runs:
            items = review.questions(ledger)
            responses = review.responses(ledger, items)
            heard = len(review.record(ledger, items, responses).where(lambda verdict: verdict.judge != PEOPLE))
            due += sum(sum(1 for _ in review.docket(judge, items, responses)) for judge in review.judges()) - heard
        review = self.review
        items = review.questions(ledger)
        responses = review.responses(ledger, items)
        record = review.record(ledger, items, responses)
        if not len(record):
            raise InputError(f"{ledger.place} holds no verdict of this study; `fullbench run` asks for them")
        tables = [*review.tables(record, responses), *self._runs(ledger)]
        done = looked_at(self.study, record, tables, self._judges())
        done.missing = due
        return done


def _loads(review: PeerReview, ledger: Ledger, seen: Seen) -> tuple[list[Load], list[Load]]:
    """Questions and answers of one run, and its rulings, as far as the ledger does not hold them."""
    names = review.names
    writing = review.writing()
    requests = {item.key: item for items in writing.values() for item in items}
    written = list(ledger.responses(names, item_keys=list(requests))) if requests else []
    written += _stand_ins(writing, written, _QUESTION)
    items = review.questions(ledger) if review.given else review.wanted(
        review_protocol.questions(review.images, written, review.wording)
    )  # fmt: skip
    asked = review.asked(items)
    answered = list(ledger.responses(names, item_keys=[item.key for item in items]))
    answered += _stand_ins(asked, answered, TOKENS_OUT["answer"])
    questions = [
        replace(study_plan.answers(model, writing[model.name], 1, ledger, seen), what="questions")
        for model in review.contestants
    ]
    answers = [study_plan.answers(model, asked[model.name], 1, ledger, seen) for model in review.contestants]
    rulings = [
        study_plan.verdicts(judge, review.docket(judge, items, answered), ledger, seen) for judge in review.judges()
    ]
    return [*([] if review.given else questions), *answers], rulings


def _stand_ins(asked: dict[str, list[Item]], answered: Sequence[Response], tokens: int) -> list[Response]:
    known = {(response.item, response.contestant) for response in answered}
    return [
        Response.say(item.id, name, study_plan.filler(tokens))
        for name, items in asked.items() for item in items if (item.id, name) not in known
    ]  # fmt: skip


def _mode(word: str) -> Mode:
    known: tuple[Mode, ...] = get_args(Mode)
    if word not in known:
        raise InputError(f"unknown mode {word!r}; known: {', '.join(known)}")
    return known[known.index(word)]


def _gamma(numbers: Sequence[Any]) -> dict[str, float]:
    if not all(isinstance(number, int | float) for number in numbers) or len(numbers) != len(PARTS):
        raise InputError(f"gamma takes three numbers such as 0.4, 0.4, 0.2; found {list(numbers)!r}")
    if min(numbers) < 0 or not 0 < sum(numbers[:2]) < float("inf"):
        raise InputError(
            f"gamma takes three numbers of 0 or more, the first two not both 0: {', '.join(PARTS)}; "
            f"found {list(numbers)!r}"
        )
    return dict(zip(PARTS, map(float, numbers), strict=True))


def _seeds(numbers: Sequence[Any]) -> list[int]:
    if not numbers or not all(isinstance(number, int) and not isinstance(number, bool) for number in numbers):
        raise InputError(f"seeds are whole numbers such as 1, 2, 3, 4; found {list(numbers)!r}")
    if len(set(numbers)) < len(numbers):
        raise InputError(f"two runs of one seed are one run: the seeds {list(numbers)!r} must differ")
    return list(numbers)


def _wording(options: Mapping[str, Any]) -> Wording:
    language = language_named(options.get("language", "en"))
    path = options.get("wording")
    return shipped(language) if path is None else read_wording(path, language)


def _template(options: Mapping[str, Any]) -> Template | None:
    path = options.get("template")
    return None if path is None else read_template(path)


def families(entries: Sequence[Any], names: Sequence[str]) -> dict[str, str]:
    """Contestants' families as they were given, NAME=FAMILY each; a name may lack what follows its first @ or +.

    >>> families(["gpt-4o=openai"], ["gpt-4o@127.0.0.1:8000/v1", "o1"])
    {'gpt-4o@127.0.0.1:8000/v1': 'openai'}
    """
    found: dict[str, str] = {}
    for entry in entries:
        name, _, family = str(entry).partition("=")
        whole = [known for known in names if called(name.strip(), known)]
        if not family.strip() or not whole:
            raise InputError(f"a family is CONTESTANT=FAMILY, for {', '.join(names)}; found {entry!r}")
        found |= dict.fromkeys(whole, family.strip())
    return found
