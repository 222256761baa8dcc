"""From prompts and a judge to a better generator: draw, ask the judge, learn, and compare before and after blindly."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from fullbench.errors import InputError
from fullbench.figures.clustered import mean
from fullbench.files.nouns import read_items
from fullbench.ledger.store import Ledger
from fullbench.nouns.ballot import Ballot, Choice
from fullbench.nouns.case import Case
from fullbench.nouns.case import cases as cases_of
from fullbench.nouns.digests import digest
from fullbench.nouns.headings import headings
from fullbench.nouns.item import Item
from fullbench.nouns.judge import Judge, kind_of
from fullbench.nouns.model import Model, draws
from fullbench.nouns.note import Note
from fullbench.nouns.number import Number
from fullbench.nouns.response import Response
from fullbench.nouns.table import Cell, Table
from fullbench.nouns.verdict import Verdict
from fullbench.studies import rerank, specs
from fullbench.studies.answer import answer
from fullbench.studies.engines import HERE, Budget, Engine, Stop, Tally
from fullbench.studies.hear import hear
from fullbench.studies.progress import watching
from fullbench.training.generator.trainees import Trainee, trainee

if TYPE_CHECKING:
    from fullbench.training.generator.tuning import Feedback, Manner, Step


@dataclass(frozen=True)
class Tuning:
    """What is tuned by whom on what. `held_out` are the prompts on which before and after are compared."""

    generator: str
    judge: str
    prompts: Sequence[Item]
    held_out: Sequence[Item]
    out: Path
    compare: tuple[str, ...] = ()
    samples: int = 4
    compared_samples: int = 2
    lora: int = 0
    criterion: str = "overall"


@dataclass
class Done:
    """What came of it: sentences, tables, tallies, and the tuned generator's spec (empty where it was stopped)."""

    said: list[str] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    tallies: list[Tally] = field(default_factory=list)
    spec: str = ""


@dataclass(frozen=True)
class Choices:
    """What the judge chose: all pictures with their worths, and the best and the worst of prompts it tells apart."""

    ranked: Sequence[rerank.Ranked]
    best: Sequence[Response]
    worst: Sequence[Response]


def read_prompts(path: Path) -> tuple[list[Item], int]:
    """Prompts of a text file, one a line, or of a file of items; each once, and how many came again."""
    if path.suffix == ".txt":
        try:
            lines = [line.strip() for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"the prompts cannot be read as UTF-8 text ({error})", path=path) from error
        items = [Item.ask(f"prompt-{digest(line)[:12]}", line) for line in lines]
    else:
        items = list(read_items(path))
    if not items:
        raise InputError("the file has no prompts", path=path)
    once = {item.question: item for item in reversed(items)}
    return [item for item in items if once[item.question] is item], len(items) - len(once)


def split(items: Sequence[Item], share: float = 0.2) -> tuple[list[Item], list[Item]]:
    """Prompts to learn from and prompts to compare on, drawn by their words."""
    held = [int(digest(["held out", item.question])[:8], 16) % 1000 < 1000 * share for item in items]
    learn = [item for item, out in zip(items, held, strict=True) if not out]
    compare = [item for item, out in zip(items, held, strict=True) if out]
    if not learn or not compare:
        raise InputError(f"{len(items)} prompts are too few to hold some out; name others with --held-out")
    return learn, compare


def tune_generator(
    job: Tuning,
    manner: Manner,
    ledger: Ledger,
    *,
    engine: Engine = HERE,
    budget: Budget | None = None,
    stop: Stop | None = None,
    quiet: bool = False,
    step: Step = lambda *_: None,
) -> Done:
    """The whole way. Stopped or killed anywhere, the same call goes on: pictures and rulings are in the ledger, and the
    training is in the folder."""
    stop = stop or Stop()
    done = Done()
    model, judge = specs.contestant(job.generator), specs.judge(job.judge)
    if not draws(model):
        raise InputError(f"{job.generator!r} answers in words; a generator draws: sheets:, diffusers:")
    asker = _Asker(ledger, engine, budget, stop, quiet, done)
    student = trainee(model, job.lora)
    responses = asker.draw([(model, job.generator)], job.prompts, job.samples)
    chosen = asker.choose(judge, job, job.prompts, responses) if not stop.reason else []
    if stop.reason:
        return done
    choice = Choices(chosen, *_ends(chosen))
    if not choice.best:
        raise InputError(
            f"{judge.name} preferred no picture to another of the same prompt ({asker.why(judge)}): nothing can be "
            "learned"
        )
    done.said.append(f"{judge.name} tells pictures of {len(choice.best):,} of {len(job.prompts):,} prompts apart.")
    done.spec = _learned(job, manner, student, choice, step)
    after = specs.contestant(done.spec)
    if job.compare:
        both = asker.draw([(model, job.generator), (after, done.spec)], job.held_out, job.compared_samples)
        if not stop.reason:
            done.tables.append(asker.compared(job, both, model, after))
    return done


def _learned(job: Tuning, manner: Manner, student: Trainee, choice: Choices, step: Step) -> str:
    """Train, or go on, or take what is there from an earlier call with the same feedback; gives the spec."""
    from fullbench.training.generator.tuning import tune

    feedback = _feedback(manner.way, job, student, choice)
    identity = digest([manner.values, feedback.digest(), job.generator, job.lora])
    note, folder = job.out / "tuned.json", job.out / "generator"
    if note.exists() and json.loads(note.read_text(encoding="utf-8"))["identity"] == identity:
        return str(json.loads(note.read_text(encoding="utf-8"))["spec"])
    job.out.mkdir(parents=True, exist_ok=True)
    losses = tune(student.tunable, student.base(), feedback, manner, state=job.out / "state.pt", say=step)
    spec = str(student.save(folder))
    part = note.with_suffix(".part")
    part.write_text(json.dumps({"identity": identity, "spec": spec, "losses": losses}), encoding="utf-8")
    part.replace(note)
    return spec


def _feedback(way: str, job: Tuning, student: Trainee, choice: Choices) -> Feedback:
    import torch

    from fullbench.training.generator.tuning import Feedback

    words = {item.id: item.question for item in job.prompts}
    if way == "weighted":
        apart = {response.item for response in choice.best}
        rows = [entry for entry in choice.ranked if entry.response.item in apart and entry.worth is not None]
        worths: dict[str, list[float]] = defaultdict(list)
        for entry in rows:
            worths[entry.response.item].append(entry.worth or 0.0)
        scale = float(np.mean([np.std(group) for group in worths.values()])) or 1.0
        top = {item: max(group) for item, group in worths.items()}
        weights = [np.exp(((entry.worth or 0.0) - top[entry.response.item]) / scale) for entry in rows]
        pictures = student.encode([entry.response.pictures[0] for entry in rows])
        return Feedback([words[entry.response.item] for entry in rows], pictures, torch.tensor(weights).float())
    better = student.encode([response.pictures[0] for response in choice.best])
    lost = student.encode([response.pictures[0] for response in choice.worst]) if way == "dpo" else None
    return Feedback([words[response.item] for response in choice.best], better, worse=lost)


def _ends(ranked: Iterable[rerank.Ranked]) -> tuple[list[Response], list[Response]]:
    """The best and the worst picture of every prompt whose pictures the judge tells apart."""
    by_item: dict[str, list[rerank.Ranked]] = defaultdict(list)
    for entry in ranked:
        if entry.worth is not None:
            by_item[entry.response.item].append(entry)
    apart = [group for group in by_item.values() if (group[0].worth or 0.0) > (group[-1].worth or 0.0)]
    return [group[0].response for group in apart], [group[-1].response for group in apart]


@dataclass
class _Asker:
    """Whoever is asked is asked through the ledger, so that nothing is drawn or paid for twice."""

    ledger: Ledger
    engine: Engine
    budget: Budget | None
    stop: Stop
    quiet: bool
    done: Done
    faults: dict[str, Counter[str]] = field(default_factory=dict)

    def draw(self, models: Sequence[tuple[Model, str]], items: Sequence[Item], samples: int) -> list[Response]:
        """Their pictures; what was refused or came to nothing is counted and left out."""
        contestants = [model for model, _ in models]
        names = {model.name: spec for model, spec in models}
        with watching("pictures", list(names), len(items) * samples, quiet=self.quiet) as watch:
            self.done.tallies += answer(
                contestants, items, self.ledger, engine=self.engine, samples=samples, specs=names, budget=self.budget,
                stop=self.stop, watch=watch,
            )  # fmt: skip
        keys = [item.key for item in items]
        responses = [
            response for response in self.ledger.responses(list(names), item_keys=keys) if response.sample < samples
        ]
        usable = [response for response in responses if len(response.pictures) == 1 and response.stop != "black"]
        if len(usable) < len(responses):
            ends = Counter(response.stop or "no picture" for response in responses if response not in usable)
            why = ", ".join(f"{count:,} {end}" for end, count in ends.most_common())
            self.done.said.append(
                f"{len(responses) - len(usable):,} of {len(responses):,} pictures are left out: {why}."
            )
        return usable

    def _hear(self, judge: Judge, spec: str, cases: Sequence[Case]) -> list[Verdict]:
        with watching("verdicts", [judge.name], len(cases), quiet=self.quiet) as watch:
            self.done.tallies += hear(
                [judge], lambda _: cases, self.ledger, engine=self.engine, specs={judge.name: spec}, budget=self.budget,
                stop=self.stop, watch=watch,
            )  # fmt: skip
        verdicts = list(self.ledger.verdicts([judge.name], cases={case.key for case in cases}))
        self.faults[judge.name] = Counter(verdict.fault for verdict in verdicts if verdict.fault)
        return verdicts

    def why(self, judge: Judge) -> str:
        faults = self.faults.get(judge.name, Counter())
        return ", ".join(f"{count:,} {fault}" for fault, count in faults.most_common()) or "all its marks are equal"

    def choose(
        self, judge: Judge, job: Tuning, items: Sequence[Item], responses: Sequence[Response]
    ) -> list[rerank.Ranked]:
        """Every prompt's pictures, best first, by the judge."""
        cases = [replace(case, criterion=job.criterion) for case in rerank.cases(items, responses, ballot_for(judge))]
        return rerank.rank(items, responses, cases, self._hear(judge, job.judge, cases))

    def compared(self, job: Tuning, responses: Sequence[Response], before: Model, after: Model) -> Table:
        """How often each held-out judge prefers the tuned generator's picture, not knowing whose it is."""
        rows: list[list[Cell]] = []
        for spec in job.compare:
            judge = specs.judge(spec)
            form = ballot_for(judge)
            size = 2 if isinstance(form, Choice) else 1
            cases = list(cases_of(job.held_out, responses, form, size=size, orders="both", criterion=job.criterion))
            verdicts = self._hear(judge, spec, cases)
            shares, items = _won(verdicts, before.name, after.name)
            prompts = np.unique(items, return_inverse=True)[1]
            share = mean(np.array(shares), prompts, (0.0, 1.0)) if shares else None
            rows.append([judge.name, share, sum(verdict.fault is not None for verdict in verdicts), len(shares)])
        note = Note(
            "tune.compared",
            "Won: how often the tuned generator's picture is preferred to that of the one it began as, for the same "
            "prompt and seed; a tie is half. The prompts are held out, and judges see no names.",
        )
        title = Note("tune.title", "After tuning by {judge}", judge=job.judge)
        return Table("tuned", title, headings("judge", "won", "faults", "n"), rows, (note,))


def ballot_for(judge: Judge) -> Ballot:
    """Score models give numbers of their own; everybody else chooses between two."""
    return Number() if kind_of(judge) == "scorer" else Choice()


def _won(verdicts: Iterable[Verdict], before: str, after: str) -> tuple[list[float], list[str]]:
    """The tuned generator's share of each comparison, and its prompt."""
    marks: dict[tuple[str, int, tuple[str, ...]], dict[str, float]] = defaultdict(dict)
    for verdict in verdicts:
        if verdict.marks is not None:
            sample = verdict.shown[0][1]
            order = verdict.contestants if len(verdict.contestants) > 1 else ()
            marks[verdict.item, sample, order] |= zip(verdict.contestants, verdict.marks, strict=True)
    whole = {place: by for place, by in marks.items() if {before, after} <= by.keys()}
    shares = [0.5 + 0.5 * float(np.sign(by[after] - by[before])) for by in whole.values()]
    return shares, [item for item, _, _ in whole]
