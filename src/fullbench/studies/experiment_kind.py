"""Experiments as a kind of study: a model writes something first, and judges rule on what came of it.

`lengthening` lets a model say every answer at greater length, and judges score both: what they gain is the bias.
`vision-expert` lets it describe every picture, and each judge rules seeing, reading the descriptions, and with neither.
`captions` lets it write references from two kinds of captions, and judges say which are right. `references` lets it
write the references of items, for people to verify. What the model writes is kept in the ledger like any answer: it is
planned, paid for once, and asked for again alone where it failed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Unpack

from fullbench.analysis.experiment_tables import gains, right, sights
from fullbench.core.item import Item
from fullbench.core.model import Model, Prompt, Reply
from fullbench.core.note import Note
from fullbench.core.record import Record
from fullbench.core.response import Response
from fullbench.core.table import Table
from fullbench.errors import InputError
from fullbench.files.item_files import read_items, write_items
from fullbench.judges.texts_for_experiments import Composing, Describing, Lengthening, Writing, Written
from fullbench.ledger.ledger import Ledger
from fullbench.studies import judge_and_model_specs
from fullbench.studies.engines import Budget, Tally
from fullbench.studies.run import study_plan
from fullbench.studies.run.answer_items import Kept, answer, remembered
from fullbench.studies.run.missing_pictures import counted
from fullbench.studies.run.run_options import RunTerms, RunTermsByName
from fullbench.studies.run.study_run import Conducted, Conductor
from fullbench.studies.study_file import Study

EXPERIMENTS = ("lengthening", "vision-expert", "captions", "references")
SIGHTS = ("image", "described", "none")
CONDITIONED, PLAIN = "conditioned captions", "plain captions"


class Experimenting(Conductor):
    """A study whose items or responses a model completes before anybody judges."""

    def __init__(self, study: Study) -> None:
        options = study.options
        self.what = str(options.get("what", ""))
        if self.what not in EXPERIMENTS:
            known = ", ".join(EXPERIMENTS)
            raise InputError(f"what under [experiment] is one of {known}; found {self.what!r}", path=study.path)
        plainly: Path | None = options.get("plain")
        if (self.what == "captions") != (plainly is not None):
            raise InputError(
                "captions are compared with plain ones, and nothing else is: name the items with plain captions as "
                "plain under [experiment]",
                path=study.path,
            )
        if self.what == "references" and "out" not in options:
            raise InputError("references go to a file of items: name it as out under [experiment]", path=study.path)
        self.writer: Model = judge_and_model_specs.contestant(str(options["model"]))
        judges = study.judges
        if self.what == "vision-expert":
            judges = tuple(_with_sight(spec, sight) for spec in judges for sight in SIGHTS)
        # A rule that asks nobody stands in where nobody judges.
        super().__init__(replace(study, judges=judges or ("length",)))
        self.original = list(self.items)
        self.plain_items = [] if plainly is None else list(read_items(plainly))
        self.written: list[Written] = []

    def _writings(self, responses: Sequence[Response]) -> list[Writing]:
        """What the model is to write."""
        if self.what == "lengthening":
            return [Lengthening(self.original, [response for response in responses if response.text.strip()])]
        if self.what == "vision-expert":
            return [Describing(self.original)]
        if self.what == "captions":
            return [Composing(self.original, CONDITIONED), Composing(self.plain_items, PLAIN)]
        return [Composing(self.original, self.writer.name)]

    def _take(self, writings: Sequence[Writing], model: Model) -> None:
        """Take in what the model writes, or wrote before."""
        self.written = [writing.taken(model.answer(writing.prompts())) for writing in writings]
        if self.what in {"vision-expert", "references"}:
            done = {item.id: item for item in self.written[0].items}
            self.items = [done.get(item.id, item) for item in self.original]

    def responses(self, ledger: Ledger) -> list[Response]:
        """The responses at hand, and those that the model wrote."""
        if self.what == "captions":
            return [
                Response.say(item.id, name, item.reference or "")
                for name, done in zip((CONDITIONED, PLAIN), self.written, strict=False)
                for item in done.items
            ]
        own = super().responses(ledger)
        return [*own, *(response for done in self.written for response in done.responses)]

    def plan(self, ledger: Ledger) -> Table:
        """What would be asked: contestants, the writing, and the judges, as if all of it were written."""
        own = Conductor.responses(self, ledger)
        coming = study_plan.stand_ins(self.contestants, self.original, self.study.samples, own)
        writings = self._writings([*own, *coming])
        asked = [Item(prompt.digest, prompt.turns) for writing in writings for prompt in writing.prompts()]
        used = study_plan.seen(ledger)
        self._take(writings, _Lavish(self.writer))
        expected = [*self.responses(ledger), *coming]
        judges = [] if self.what == "references" else self.judges
        answering = [
            study_plan.answers(model, self.original, self.study.samples, ledger, used) for model in self.contestants
        ]
        answering.append(replace(study_plan.answers(self.writer, asked, 1, ledger, used), what="writing"))
        judging = [study_plan.verdicts(judge, self.docket(judge, expected), ledger, used) for judge in judges]
        note = Note(
            "experiment.first",
            "{model} writes first: verdicts on what it has not written yet are counted as if it had.",
            model=self.writer.name,
        )
        return study_plan.laid_out(answering, judging, [note])

    def ready(self, budget: float | None = None, *, spent: float = 0.0) -> Budget | None:
        """Refuse what cannot go well, of the writer too."""
        study_plan.ready([self.writer], budget, spent=spent)
        return super().ready(budget, spent=spent)

    def conduct(self, ledger: Ledger, **named: Unpack[RunTermsByName]) -> Conducted:
        """Let contestants answer, the model write, and the judges rule on what is due."""
        terms = RunTerms(**named)
        purse = self.ready(terms.budget, spent=terms.spent)
        tallies: list[Tally] = []
        if self.contestants:
            tallies += answer(
                self.contestants, self.original, ledger, samples=self.study.samples, engine=terms.engine,
                specs=self.specs, budget=purse, stop=terms.stop, insist=terms.insist,
            )  # fmt: skip
        writer = Kept(self.writer, ledger, str(self.study.options["model"]), terms.engine, purse, terms.stop)
        self._take(self._writings(Conductor.responses(self, ledger)), writer)
        tallies += writer.tallies
        if self.what == "references":
            return self._told(self._unjudged(tallies))
        spent_now = 0.0 if terms.budget is None else sum(tally.usage.dollars or 0.0 for tally in tallies)
        # The same stop for both halves, and what the first half cost counts against the budget.
        named["stop"], named["spent"], named["whole"] = terms.stop, terms.spent + spent_now, True
        done = super().conduct(ledger, **named)
        answered = {model.name for model in self.contestants}
        done.tallies = [*tallies, *(tally for tally in done.tallies if tally.name not in answered)]
        return self._told(done)

    def replay(self, ledger: Ledger) -> Conducted:
        """The tables of what the ledger holds; the writer is not asked again."""
        self._take(self._writings(Conductor.responses(self, ledger)), remembered(self.writer, ledger))
        if self.what == "references":
            return self._told(self._unjudged([]))
        return self._told(super().replay(ledger))

    def _unjudged(self, tallies: list[Tally]) -> Conducted:
        """What came of writing that nobody judges: its file is all."""
        return Conducted(self.study, Record((), {item.id: item for item in self.items}, {}), (), tallies=tallies)

    def _own_tables(self, record: Record) -> list[Table]:
        """The experiment's own tables, before those of its benchmark."""
        if self.what == "lengthening":
            return [gains(record)]
        if self.what == "captions":
            return [right(record)]
        if self.what == "vision-expert":
            names = [judge.name for judge in self.judges[: len(self.study.judges)]]
            starts = range(0, len(names), len(SIGHTS))
            return [sights(record, [dict(zip(SIGHTS, names[start:], strict=False)) for start in starts])]
        return []

    def _told(self, done: Conducted) -> Conducted:
        failed = [reason for written in self.written for reason in written.failed]
        if failed:
            done.said.append(f"{len(failed):,} were not written; the first is {failed[0]}")
        made = counted([table for table in self._own_tables(done.record) if table.rows], self.items)
        done.tables = [*(replace(table, source={**done.source, **table.source}) for table in made), *done.tables]
        out: Path | None = self.study.options.get("out")
        if out is not None:
            items = self.written[0].items if self.what in {"captions", "references"} else self.items
            done.files[out] = lambda path, place: write_items(path, items, place=place)
        return done


def _with_sight(spec: str, sight: str) -> str:
    """A judge's spec with another sight."""
    if "sight=" in spec:
        raise InputError(f"the judge {spec!r} is heard with every sight here: leave out its own")
    return f"{spec}{'&' if '?' in spec else '?'}sight={sight}"


class _Lavish:
    """A model that writes twice as much as it is given, for a plan: nobody is asked."""

    def __init__(self, model: Model) -> None:
        self.name, self.settings, self.price = model.name, model.settings, model.price

    def answer(self, prompts: Iterable[Prompt]) -> Iterator[Reply]:
        for prompt in prompts:
            yield Reply(prompt, "word " * (2 * sum(len(turn.text.split()) for turn in prompt.turns) + 10))
