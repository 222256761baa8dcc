"""A peer review as a kind of study: contestants that review each other, from pictures alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, get_args

from fullbench.court.contestants import contestants as court
from fullbench.court.sample import sample
from fullbench.court.truth import PictureTruth
from fullbench.errors import InputError
from fullbench.figures.peers.reviews import PARTS
from fullbench.judges.peer_review import asking
from fullbench.judges.prompted import Mode
from fullbench.ledger.store import Ledger
from fullbench.nouns.item import Item
from fullbench.nouns.model import family_of
from fullbench.nouns.response import Response
from fullbench.nouns.table import Table
from fullbench.studies import correlations, plan, specs
from fullbench.studies.conduct import Conducted
from fullbench.studies.engines import HERE, USUAL, Budget, Engine, Insistence, Stop
from fullbench.studies.forecast import TOKENS_OUT
from fullbench.studies.kinds.looking import looked_at
from fullbench.studies.peer_review import COSTS, PeerReview, Pictures
from fullbench.studies.study import Study

_SAMPLE = 25
_QUESTION = 20
"""So many tokens a question is taken to have that is not written yet."""


class Reviewing:
    """Who reviews whom on which pictures; nothing was asked yet. `unreadable` says why pictures were left out."""

    def __init__(self, study: Study) -> None:
        self.study, options = study, study.options
        models = [specs.contestant(spec) for spec in study.contestants] if study.contestants else list(court())
        if options.get("best_first") and not study.contestants:
            raise InputError("--best-first says in which order --contestants are named; name them")
        images, limit = options.get("images"), options.get("limit", study.limit)
        known = sample(7 + study.seed, limit or _SAMPLE) if images is None else ()
        shown = (
            Pictures({scene.item.id: scene.item.pictures[0] for scene in known})
            if images is None
            else Pictures.read(images, limit)
        )
        self.unreadable: Sequence[str] = shown.unreadable
        correlation = options.get("correlation")
        self.review = PeerReview(
            models, shown.images, reviews=options.get("reviews"),
            families=None if options.get("kin", True) else {model.name: family_of(model.name) for model in models},
            orders="both" if options.get("both_orders") else "shuffled", mode=_mode(options.get("mode", "analyze")),
            constrained=options.get("constrained", False),
            correlation=None if correlation is None else correlations.correlation(correlation),
            gamma=_gamma(options.get("gamma", [0.4, 0.4, 0.2])), truth=PictureTruth(known) if known else None,
            best_first=options.get("best_first", False), seed=study.seed,
        )  # fmt: skip
        self.specs = dict(zip(self.review.names, study.contestants, strict=False))

    def plan(self, ledger: Ledger) -> Table:
        """Questions, answers and reviews that would be asked for, and what they would take; stand-ins are weighed for
        questions and answers that are still to be options."""
        review, names = self.review, self.review.names
        writing = review.writing()
        requests = {item.key: item for items in writing.values() for item in items}
        written = list(ledger.responses(names, item_keys=list(requests)))
        written += _stand_ins(writing, written, _QUESTION)
        items = review.wanted(asking.questions(review.images, written))
        asked = review.asked(items)
        answered = list(ledger.responses(names, item_keys=[item.key for item in items]))
        answered += _stand_ins(asked, answered, TOKENS_OUT["answer"])
        seen = plan.seen(ledger)
        loads = [
            *(replace(plan.answers(model, writing[model.name], 1, ledger, seen), what="questions")
              for model in review.contestants),
            *(plan.answers(model, asked[model.name], 1, ledger, seen) for model in review.contestants),
        ]  # fmt: skip
        rulings = [
            plan.verdicts(judge, review.docket(judge, items, answered), ledger, seen) for judge in review.judges()
        ]
        return plan.laid_out(loads, rulings)

    def ready(self, budget: float | None = None, *, spent: float = 0.0) -> Budget | None:
        """Refuse a missing key, or a budget without prices."""
        return self.review.ready(budget, spent=spent)

    def conduct(
        self,
        ledger: Ledger,
        *,
        engine: Engine = HERE,
        budget: float | None = None,
        spent: float = 0.0,
        stop: Stop | None = None,
        insist: Insistence = USUAL,
        quiet: bool = False,
        whole: bool = True,
    ) -> Conducted:
        """Write, answer, review what is due, and look at the record."""
        done = self.review.conduct(
            ledger, engine=engine, specs=self.specs, budget=budget, spent=spent, stop=stop, insist=insist, quiet=quiet
        )
        # What this run cost depends on what the ledger knew: a replay could not say it again.
        tables = [table for table in done.tables if table.name != COSTS]
        found = looked_at(self.study, done.record, tables, [judge.name for judge in self.review.judges()], done.tallies)
        found.run_tables = [table for table in done.tables if table.name == COSTS]
        return found

    def replay(self, ledger: Ledger) -> Conducted:
        """The ranking by what the ledger holds."""
        review = self.review
        items = review.questions(ledger)
        responses = review.responses(ledger, items)
        record = review.record(ledger, items, responses)
        if not len(record):
            raise InputError(f"{ledger.place} holds no verdict of this study; `fullbench run` asks for them")
        done = looked_at(self.study, record, review.tables(record), [judge.name for judge in review.judges()])
        due = sum(sum(1 for _ in review.docket(judge, items, responses)) for judge in review.judges())
        done.missing = due - len(record)
        return done


def _stand_ins(asked: dict[str, list[Item]], answered: Sequence[Response], tokens: int) -> list[Response]:
    known = {(response.item, response.contestant) for response in answered}
    return [
        Response.say(item.id, name, "word" * tokens)
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
