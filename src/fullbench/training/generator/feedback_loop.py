"""From prompts and a judge to a better generator: draw, ask the judge, learn, and compare before and after blindly."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from fullbench.core.digests import digest
from fullbench.core.item import Item
from fullbench.core.judge import Judge
from fullbench.core.model import Model, draws
from fullbench.core.response import Response
from fullbench.errors import InputError
from fullbench.files.item_files import read_items
from fullbench.ledger.ledger import Ledger
from fullbench.studies import best_of_n, judge_and_model_specs
from fullbench.studies.engines import HERE, Budget, Engine, Stop
from fullbench.training.generator.ledger_calls import Asker, Done, Drawn, Tuning
from fullbench.training.generator.trainable import Trainee, trainee

if TYPE_CHECKING:
    from fullbench.training.generator.preference_tuning import Feedback, Manner, Step


@dataclass(frozen=True)
class _Course:
    """Everything that a way of tuning works with."""

    job: Tuning
    manner: Manner
    asker: Asker
    model: Model
    judge: Judge
    student: Trainee
    step: Step


@dataclass(frozen=True)
class Choices:
    """What the judge chose: all pictures with their worths, and the best and the worst of prompts it tells apart."""

    ranked: Sequence[best_of_n.Ranked]
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
    model, judge = judge_and_model_specs.contestant(job.generator), judge_and_model_specs.judge(job.judge)
    if not draws(model):
        raise InputError(f"{job.generator!r} answers in words. Give --generator diffusers:FOLDER.")
    asker = Asker(ledger, engine, budget, stop, quiet, done)
    course = _Course(job, manner, asker, model, judge, trainee(model, job.lora), step)
    done.spec = _by_policy(course) if manner.way == "ddpo" else _by_choices(course)
    if not done.spec or not (job.compare or job.people):
        return done
    after = judge_and_model_specs.contestant(done.spec)
    both = asker.draw([(model, job.generator), (after, done.spec)], job.held_out, job.compared_samples)
    if not stop.reason:
        done.before, done.after = model.name, after.name
        table = asker.compared(job, both, model.name, after.name)
        done.tables += [table] if table.rows else []
    return done


def _by_choices(course: _Course) -> str:
    """Learn from pictures that are drawn and judged once; gives the spec, or nothing where it was stopped."""
    job, asker, model, judge = course.job, course.asker, course.model, course.judge
    responses = asker.draw([(model, job.generator)], job.prompts, job.samples)
    chosen = asker.choose(judge, job, job.prompts, responses) if not asker.stop.reason else []
    if asker.stop.reason:
        return ""
    choice = Choices(chosen, *_ends(chosen))
    if not choice.best:
        raise InputError(
            f"{judge.name} preferred no picture to another of the same prompt ({asker.why(judge)}): nothing can be "
            "learned"
        )
    told_apart = f"{len(choice.best):,} of {len(job.prompts):,} prompts"
    asker.done.said.append(f"{judge.name} tells pictures of {told_apart} apart.")
    return _learned(course, choice)


def _by_policy(course: _Course) -> str:
    """Draw, be marked and learn in rounds; gives the spec, or nothing where it was stopped."""
    job, asker, model, judge = course.job, course.asker, course.model, course.judge
    from fullbench.training.generator.ddpo import improve

    manner, student = course.manner, course.student
    words = [item.question for item in job.prompts]
    identity = digest([manner.values, words, model.name, judge.name, job.criterion, job.samples, job.lora])
    if known := _noted(job, identity):
        return known

    def reward(
        number: int, places: Sequence[int], pictures: Sequence[Sequence[bytes]]
    ) -> list[list[float | None]] | None:
        items = [job.prompts[place] for place in places]
        files = {
            (item.question, sample): data
            for item, group in zip(items, pictures, strict=True)
            for sample, data in enumerate(group)
        }
        about = {"tuned from": model.name, "run": identity, "round": number}
        drawn = Drawn(f"{model.name}~{identity[:8]}~{number}", files, about)
        responses = asker.draw([(drawn, "")], items, job.samples)
        ranked = asker.choose(judge, job, items, responses) if not asker.stop.reason else []
        if asker.stop.reason:
            return None
        marks = {(entry.response.item, entry.response.sample): entry.worth for entry in ranked}
        if all(mark is None for mark in marks.values()):
            raise InputError(f"{judge.name} marked none of {len(files):,} pictures ({asker.why(judge)})")
        return [[marks.get((item.id, sample)) for sample in range(job.samples)] for item in items]

    job.out.mkdir(parents=True, exist_ok=True)
    learned = improve(
        student.tunable, words, job.samples, reward, manner, state=job.out / "state.pt", say=course.step
    )  # fmt: skip
    if not learned.whole:
        return ""
    if not learned.losses:
        raise InputError(f"{judge.name} told no pictures of a prompt apart ({asker.why(judge)}): nothing was learned")
    first, last = learned.marks[0], learned.marks[-1]
    asker.done.said.append(f"The mean mark of a round went from {first:.4g} to {last:.4g} in {manner.rounds:,} rounds.")
    return _note(job, identity, student, {"losses": learned.losses, "marks": learned.marks})


def _learned(course: _Course, choice: Choices) -> str:
    """Train, or go on, or take what is there from an earlier call with the same feedback; gives the spec."""
    from fullbench.training.generator.preference_tuning import tune

    job, manner, student = course.job, course.manner, course.student
    feedback = _feedback(manner.way, job, student, choice)
    identity = digest([manner.values, feedback.digest(), job.generator, job.lora])
    if known := _noted(job, identity):
        return known
    job.out.mkdir(parents=True, exist_ok=True)
    losses = tune(student.tunable, student.base(), feedback, manner, state=job.out / "state.pt", say=course.step)
    return _note(job, identity, student, {"losses": losses})


def _noted(job: Tuning, identity: str) -> str:
    """The spec of what an earlier call with the same feedback has tuned, where there was one."""
    path = job.out / "tuned.json"
    note = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return str(note["spec"]) if note.get("identity") == identity else ""


def _note(job: Tuning, identity: str, student: Trainee, course: dict[str, list[float]]) -> str:
    """Save what was tuned, and note last of all that it is whole."""
    spec = str(student.save(job.out / "generator"))
    path = job.out / "tuned.json"
    part = path.with_suffix(".part")
    part.write_text(json.dumps({"identity": identity, "spec": spec, **course}), encoding="utf-8")
    part.replace(path)
    return spec


def _feedback(way: str, job: Tuning, student: Trainee, choice: Choices) -> Feedback:
    import torch

    from fullbench.training.generator.preference_tuning import Feedback

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


def _ends(ranked: Iterable[best_of_n.Ranked]) -> tuple[list[Response], list[Response]]:
    """The best and the worst picture of every prompt whose pictures the judge tells apart."""
    by_item: dict[str, list[best_of_n.Ranked]] = defaultdict(list)
    for entry in ranked:
        if entry.worth is not None:
            by_item[entry.response.item].append(entry)
    apart = [group for group in by_item.values() if (group[0].worth or 0.0) > (group[-1].worth or 0.0)]
    return [group[0].response for group in apart], [group[-1].response for group in apart]
