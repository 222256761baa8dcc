"""A peer review from pictures to a ranking: contestants write questions, answer each other's, and review the answers.

Each step is a step like any other: questions and answers are responses, reviews are verdicts, all of them are in the
ledger before the next is waited for, and the same call goes on where the last one stopped.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from fullbench.errors import InputError
from fullbench.figures.peers.reviews import GAMMA, Gamma
from fullbench.files.pictures import read_picture
from fullbench.judges.peer_review import asking, design
from fullbench.judges.prompted import Mode, PromptedJudge
from fullbench.ledger.store import Ledger
from fullbench.nouns.call import Usage
from fullbench.nouns.case import Case, Orders
from fullbench.nouns.criteria import CORRECTNESS
from fullbench.nouns.headings import headings
from fullbench.nouns.item import Item
from fullbench.nouns.judge import Judge
from fullbench.nouns.model import Model, takes_schemas
from fullbench.nouns.note import Note
from fullbench.nouns.picture import SUFFIXES, Picture
from fullbench.nouns.record import Record
from fullbench.nouns.response import Response
from fullbench.nouns.table import Cell, Table
from fullbench.studies import plan
from fullbench.studies.answer import answer
from fullbench.studies.engines import HERE, USUAL, Budget, Engine, Insistence, Stop, Tally
from fullbench.studies.hear import hear
from fullbench.studies.progress import watching

COSTS = "cost a picture"
"""The table that says what one run used."""


@dataclass(frozen=True)
class Pictures:
    """The pictures of a folder by the name of their file, and why others could not be read."""

    images: Mapping[str, Picture]
    unreadable: Sequence[str] = ()

    @classmethod
    def read(cls, folder: str | Path, limit: int | None = None) -> Pictures:
        """The first `limit` of the pictures that can be read, by name; one that cannot is named, and left out."""
        path = Path(folder)
        if not path.is_dir():
            raise InputError("this is no folder of pictures", path=path)
        images: dict[str, Picture] = {}
        bad: list[str] = []
        for file in sorted(file for file in path.iterdir() if file.suffix.lower() in SUFFIXES):
            if limit is not None and len(images) == limit:
                break
            try:
                picture = read_picture(path, file.name)
                _decode(picture, file)
            except InputError as error:
                bad.append(str(error))
                continue
            images[file.name] = picture
        if not images:
            unread = f"; {len(bad)} could not be read: {bad[0]}" if bad else ""
            raise InputError(f"the folder holds no picture{unread}", path=path)
        return cls(images, bad)


def _decode(picture: Picture, file: Path) -> None:
    """Refuse a picture that begins well and does not go on."""
    from PIL import Image

    try:
        with Image.open(file) as opened:
            opened.load()
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        raise InputError(f"the picture {str(file)!r} ({picture.media}) cannot be decoded: {error}") from error


@dataclass
class Reviewed:
    """What came of a peer review."""

    record: Record
    tables: Sequence[Table]
    tallies: list[Tally] = field(default_factory=list)


@dataclass(frozen=True)
class _Going:
    """What every step of a run needs."""

    ledger: Ledger
    purse: Budget | None
    stop: Stop
    quiet: bool
    engine: Engine
    specs: Mapping[str, str]
    insist: Insistence


@dataclass(frozen=True)
class PeerReview:
    """Who reviews whom on which pictures; nothing was asked yet.

    `reviews` asks for an even part of the full design. `families` (contestant to family) keeps reviewers from their own
    kin. `correlation` and `truth` are heard beside the reviewers: how well each answer fits its picture, and who is
    right where that is known. With `constrained` every reviewer whose server can hold it to a form of ruling is held to
    it, and named so. With `best_first` the contestants are named in their true order, and the ranking is
    compared with it.
    """

    contestants: Sequence[Model]
    images: Mapping[str, Picture]
    reviews: int | None = None
    families: Mapping[str, str] | None = None
    orders: Orders = "shuffled"
    mode: Mode = "analyze"
    constrained: bool = False
    correlation: Judge | None = None
    gamma: Gamma = field(default_factory=lambda: GAMMA)
    truth: Judge | None = None
    best_first: bool = False
    seed: int = 0
    slots: Sequence[design.Slot] = field(init=False)

    def __post_init__(self) -> None:
        if self.constrained and not any(map(takes_schemas, self.contestants)):
            raise InputError("no contestant can be held to a form of ruling: leave 'constrained' out")
        names = [model.name for model in self.contestants]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise InputError(f"two of the contestants are the same: {', '.join(twice)}; leave one out")
        slots = design.full(list(self.images), names, self.families)
        object.__setattr__(self, "slots", design.sampled(slots, self.reviews, self.seed))

    @property
    def names(self) -> list[str]:
        return [model.name for model in self.contestants]

    def judge(self, model: Model) -> PromptedJudge:
        """A contestant as reviewer."""
        held = self.constrained and takes_schemas(model)
        return PromptedJudge(model, mode=self.mode, criteria=asking.CRITERIA, constrained=held)

    def plan(self) -> Table:
        """How many calls each contestant would be asked for at most, before any is made."""
        both = 2 if self.orders == "both" else 1
        rows: list[list[Cell]] = []
        for name in self.names:
            reviews = [slot for slot in self.slots if slot.reviewer == name]
            answers = {(slot.image, slot.reviewer) for slot in self.slots if name in {slot.one, slot.two}}
            rows.append([name, len({slot.image for slot in reviews}), len(answers), 2 * both * len(reviews)])
        notes = [
            Note(
                "peer-review.reviews-on-pictures-each-ruled",
                "{n:,} reviews on {n_2} pictures, each ruled by correctness and by visual understanding. What the "
                "ledger knows already is not asked again.",
                n=len(self.slots),
                n_2=len(self.images),
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
        for model in self.contestants:
            model.answer(())
        return plan.purse(budget, list(self.contestants), spent=spent) if budget is not None else None

    def conduct(
        self,
        ledger: Ledger,
        *,
        engine: Engine = HERE,
        specs: Mapping[str, str] | None = None,
        budget: float | None = None,
        spent: float = 0.0,
        stop: Stop | None = None,
        insist: Insistence = USUAL,
        quiet: bool = False,
    ) -> Reviewed:
        """Write, answer, review, and look at the record. Stopped half-way, the same call goes on from there.

        `specs` gives the spec of contestants by their name, as for `answer`; reviewers are sent as they are.
        """
        going = _Going(ledger, self.ready(budget, spent=spent), stop or Stop(), quiet, engine, specs or {}, insist)
        steps: dict[str, list[Tally]] = {}
        steps["questions"] = self._ask("questions", self.writing(), going)
        items = self.questions(ledger)
        steps["answers"] = self._ask("answers", self.asked(items), going)
        responses = self.responses(ledger, items)
        if not going.stop.reason:
            steps["reviews"] = self._hear(items, responses, going)
        record = self.record(ledger, items, responses)
        tallies = [tally for step in steps.values() for tally in step]
        return Reviewed(record, [*self.tables(record), self._costs(steps)], tallies)

    def _ask(self, what: str, asked: Mapping[str, Sequence[Item]], going: _Going) -> list[Tally]:
        if going.stop.reason:
            return []
        with watching(what, self.names, max(map(len, asked.values())), quiet=going.quiet) as watch:
            return answer(
                self.contestants, lambda model: asked[model.name], going.ledger, engine=going.engine, specs=going.specs,
                budget=going.purse, stop=going.stop, watch=watch, insist=going.insist,
            )  # fmt: skip

    def writing(self) -> dict[str, list[Item]]:
        """The requests for a question, by who is to write one."""
        requests = dict(zip(self.images, asking.writing(self.images), strict=True))
        wanted = {(slot.reviewer, slot.image) for slot in self.slots}
        return {
            name: [item for image, item in requests.items() if (name, image) in wanted] for name in self.names
        }  # fmt: skip

    def questions(self, ledger: Ledger) -> list[Item]:
        """The questions written so far."""
        keys = [item.key for item in asking.writing(self.images)]
        return self.wanted(asking.questions(self.images, ledger.responses(self.names, item_keys=keys)))

    def wanted(self, items: Iterable[Item]) -> list[Item]:
        """Those of some questions that a review of the design is about."""
        wanted = {(slot.image, slot.reviewer) for slot in self.slots}
        return [item for item in items if (item.tags["image"], item.tags["reviewer"]) in wanted]

    def asked(self, items: Sequence[Item]) -> dict[str, list[Item]]:
        """The questions that each contestant is to answer: those of others, where a review needs its answer."""
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
        reviews = asking.reviews(items, responses, orders=self.orders, seed=self.seed)
        return design.within(reviews, self.slots)

    def docket(self, judge: Judge, items: Sequence[Item], responses: Sequence[Response]) -> Iterator[Case]:
        """What a judge hears: a reviewer the answers to its own questions, the others what is theirs to hear."""
        if judge is self.correlation:
            yield from asking.correlations(items, responses)
        elif judge is self.truth:
            yield from (case for case in self.cases(items, responses) if case.criterion == CORRECTNESS)
        else:
            owner = {self.judge(model).name: model.name for model in self.contestants}[judge.name]
            yield from self.cases([item for item in items if item.tags["reviewer"] == owner], responses)

    def judges(self) -> list[Judge]:
        """Every contestant as reviewer, and who else is heard."""
        others = [judge for judge in (self.correlation, self.truth) if judge is not None]
        return [*map(self.judge, self.contestants), *others]

    def _hear(self, items: Sequence[Item], responses: Sequence[Response], going: _Going) -> list[Tally]:
        if not self.cases(items, responses):
            raise InputError(
                f"there is nothing to review: {len(items)} questions were written and {len(responses)} answers given, "
                "and no question has two answers by others; look at what the contestants said with 'fullbench ledger'"
            )
        judges = self.judges()
        total = max(sum(1 for _ in self.docket(judge, items, responses)) for judge in judges)
        with watching("reviews", [judge.name for judge in judges], total, quiet=going.quiet) as watch:
            return hear(
                judges, lambda judge: self.docket(judge, items, responses), going.ledger, engine=going.engine,
                budget=going.purse, stop=going.stop, watch=watch, insist=going.insist,
            )  # fmt: skip

    def record(self, ledger: Ledger, items: Sequence[Item], responses: Sequence[Response]) -> Record:
        """The reviews of the design, with their questions and answers."""
        judges = self.judges()
        keys = {case.key for judge in judges for case in self.docket(judge, items, responses)}
        ruled = ledger.record([judge.name for judge in judges], cases=keys).verdicts
        shown = {(response.item, response.contestant): response for response in responses}
        return Record(ruled, {item.id: item for item in items}, shown)

    def tables(self, record: Record) -> list[Table]:
        """Rankings, reviewers, convergence, ablations; nothing where no review was kept yet."""
        from fullbench.figures.peers.tables import tables

        known = self.names if self.best_first else None
        return tables(record, gamma=self.gamma, seed=self.seed, best_first=known) if len(record) else []

    def _costs(self, steps: Mapping[str, Sequence[Tally]]) -> Table:
        rows: list[list[Cell]] = []
        for step, tallies in steps.items():
            used = sum((tally.usage for tally in tallies), Usage())
            seconds = max((tally.seconds for tally in tallies), default=0.0)
            dollars = None if used.dollars is None else used.dollars / len(self.images)
            asked, known = sum(tally.asked for tally in tallies), sum(tally.known for tally in tallies)
            rows.append([step, asked, known, used.tokens_in, used.tokens_out, seconds / len(self.images), dollars])
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
