"""Feedback loop: draw pictures, judge them, tune the generator, and compare before and after blindly."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from fullbench.core.item import Item
from fullbench.core.json_digests_and_cached_properties import digest
from fullbench.core.judge import Judge
from fullbench.core.model import Model, draws_pictures
from fullbench.core.picture import Picture
from fullbench.core.response import Response
from fullbench.errors import InputError, require_extra
from fullbench.files.item_response_verdict_files import read_items
from fullbench.ledger.ledger import Ledger
from fullbench.models.local.diffusers_pipeline import PipelineModel
from fullbench.studies import best_of_n_ranking, judge_contestant_and_benchmark_specs
from fullbench.studies.engines import HERE, Budget, Engine, Stop
from fullbench.studies.run.call_context import CallContext
from fullbench.training.generator.ledger_calls_and_tuning_comparison import (
    LedgerCaller,
    PictureContestant,
    TuningJob,
    TuningResult,
)

if TYPE_CHECKING:
    from fullbench.training.generator.judge_preference_tuning_methods import (
        Feedback,
        StepCallback,
        Tunable,
        TuningSettings,
    )


@dataclass(frozen=True)
class _TuningRun:
    job: TuningJob
    settings: TuningSettings
    caller: LedgerCaller
    model: Model
    judge: Judge
    student: Trainee
    step: StepCallback


@dataclass(frozen=True)
class Choices:
    """Judge's choices: all pictures with their worth, and the best and worst of prompts with a preference."""

    ranked_responses: Sequence[best_of_n_ranking.RankedResponse]
    best: Sequence[Response]
    worst: Sequence[Response]


def read_prompts(path: Path) -> tuple[list[Item], int]:
    """Read prompts from a text file (one per line) or a file of items; return each once, and the number of repeats."""
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
    items_by_question = {item.question: item for item in reversed(items)}
    return [item for item in items if items_by_question[item.question] is item], len(items) - len(items_by_question)


def split_prompts(items: Sequence[Item], share: float = 0.2) -> tuple[list[Item], list[Item]]:
    """Split prompts into training and held-out ones, by a digest of their text."""
    held_out_flags = [int(digest(["held out", item.question])[:8], 16) % 1000 < 1000 * share for item in items]
    training_items = [item for item, is_held_out in zip(items, held_out_flags, strict=True) if not is_held_out]
    comparison_items = [item for item, is_held_out in zip(items, held_out_flags, strict=True) if is_held_out]
    if not training_items or not comparison_items:
        raise InputError(f"{len(items)} prompts are too few to hold some out; add test prompts with --held-out")
    return training_items, comparison_items


def tune_generator(
    job: TuningJob,
    settings: TuningSettings,
    ledger: Ledger,
    *,
    engine: Engine = HERE,
    budget: Budget | None = None,
    stop: Stop | None = None,
    quiet: bool = False,
    step: StepCallback = lambda *_: None,
) -> TuningResult:
    """Run the whole loop. If killed, the same call resumes from the ledger and the folder.

    Args:
        job: Generator, prompts and judge.
        settings: Settings of the tuning.
        ledger: Ledger for pictures and verdicts.
        engine: Where judges are called: on this machine or on a cluster.
        budget: Dollars that judges may spend; None for no limit.
        stop: Asks the loop to stop.
        quiet: Whether to hide the progress.
        step: Gets each step of the training.
    """
    stop = stop or Stop()
    tuning_result = TuningResult()
    model, judge = (
        judge_contestant_and_benchmark_specs.contestant_from_spec(job.generator),
        judge_contestant_and_benchmark_specs.judge_from_spec(job.judge),
    )
    if not draws_pictures(model):
        raise InputError(f"{job.generator!r} answers with text. Give --generator diffusers:FOLDER.")
    caller = LedgerCaller(CallContext(ledger, engine, None, budget, stop, quiet), tuning_result)
    tuning_run = _TuningRun(job, settings, caller, model, judge, make_trainee(model, job.lora), step)
    tuning_result.spec = _tune_by_policy(tuning_run) if settings.way == "ddpo" else _tune_by_choices(tuning_run)
    if not tuning_result.spec or not (job.compare or job.people):
        return tuning_result
    after = judge_contestant_and_benchmark_specs.contestant_from_spec(tuning_result.spec)
    responses = caller.draw([(model, job.generator), (after, tuning_result.spec)], job.held_out, job.compared_samples)
    if not stop.reason:
        tuning_result.before, tuning_result.after = model.name, after.name
        table = caller.comparison_table(job, responses, model.name, after.name)
        tuning_result.tables += [table] if table.rows else []
    return tuning_result


def _tune_by_choices(tuning_run: _TuningRun) -> str:
    job, caller, model, judge = tuning_run.job, tuning_run.caller, tuning_run.model, tuning_run.judge
    responses = caller.draw([(model, job.generator)], job.prompts, job.samples)
    ranked_responses = (
        caller.rank_pictures(judge, job, job.prompts, responses) if not caller.context.stop.reason else []
    )
    if caller.context.stop.reason:
        return ""
    choice = Choices(ranked_responses, *_best_and_worst(ranked_responses))
    if not choice.best:
        raise InputError(
            f"{judge.name} preferred no picture to another of the same prompt ({caller.faults_text(judge)}): "
            "nothing can be "
            "learned"
        )
    counts_text = f"{len(choice.best):,} of {len(job.prompts):,} prompts"
    caller.tuning_result.messages.append(f"{judge.name} tells pictures of {counts_text} apart.")
    return _tune_on_choices(tuning_run, choice)


def _tune_by_policy(tuning_run: _TuningRun) -> str:
    job, caller, model, judge = tuning_run.job, tuning_run.caller, tuning_run.model, tuning_run.judge
    from fullbench.training.generator.ddpo import train_policy

    settings, student = tuning_run.settings, tuning_run.student
    words = [item.question for item in job.prompts]
    identity = digest([settings.values, words, model.name, judge.name, job.criterion, job.samples, job.lora])
    if stored_spec := _read_tuned_spec(job, identity):
        return stored_spec

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
        picture_contestant = PictureContestant(f"{model.name}~{identity[:8]}~{number}", files, about)
        responses = caller.draw([(picture_contestant, "")], items, job.samples)
        ranked_responses = caller.rank_pictures(judge, job, items, responses) if not caller.context.stop.reason else []
        if caller.context.stop.reason:
            return None
        marks = {(entry.response.item, entry.response.sample): entry.worth for entry in ranked_responses}
        if all(mark is None for mark in marks.values()):
            raise InputError(f"{judge.name} marked none of {len(files):,} pictures ({caller.faults_text(judge)})")
        return [[marks.get((item.id, sample)) for sample in range(job.samples)] for item in items]

    job.out.mkdir(parents=True, exist_ok=True)
    policy_result = train_policy(
        student.tunable, words, job.samples, reward, settings, state=job.out / "state.pt", say=tuning_run.step
    )  # fmt: skip
    if not policy_result.is_complete:
        return ""
    if not policy_result.losses:
        raise InputError(
            f"{judge.name} preferred no picture of any prompt ({caller.faults_text(judge)}), so nothing was learned"
        )
    first, last = policy_result.marks[0], policy_result.marks[-1]
    caller.tuning_result.messages.append(
        f"The mean mark of a round went from {first:.4g} to {last:.4g} in {settings.rounds:,} rounds."
    )
    return _save_generator(job, identity, student, {"losses": policy_result.losses, "marks": policy_result.marks})


def _tune_on_choices(tuning_run: _TuningRun, choice: Choices) -> str:
    """Train, resume, or use the result of an earlier call with the same feedback; return the spec."""
    from fullbench.training.generator.judge_preference_tuning_methods import tune_weights

    job, settings, student = tuning_run.job, tuning_run.settings, tuning_run.student
    feedback = _build_feedback(settings.way, job, student, choice)
    identity = digest([settings.values, feedback.digest(), job.generator, job.lora])
    if stored_spec := _read_tuned_spec(job, identity):
        return stored_spec
    job.out.mkdir(parents=True, exist_ok=True)
    losses = tune_weights(
        student.tunable, student.base(), feedback, settings, state=job.out / "state.pt", say=tuning_run.step
    )
    return _save_generator(job, identity, student, {"losses": losses})


def _read_tuned_spec(job: TuningJob, identity: str) -> str:
    path = job.out / "tuned.json"
    note = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return str(note["spec"]) if note.get("identity") == identity else ""


def _save_generator(job: TuningJob, identity: str, student: Trainee, history: dict[str, list[float]]) -> str:
    """Write `tuned.json` last: it shows that the result is complete."""
    spec = str(student.save(job.out / "generator"))
    path = job.out / "tuned.json"
    part = path.with_suffix(".part")
    part.write_text(json.dumps({"identity": identity, "spec": spec, **history}), encoding="utf-8")
    part.replace(path)
    return spec


def _build_feedback(way: str, job: TuningJob, student: Trainee, choice: Choices) -> Feedback:
    import torch

    from fullbench.training.generator.judge_preference_tuning_methods import Feedback

    words = {item.id: item.question for item in job.prompts}
    if way == "weighted":
        decided_items = {response.item for response in choice.best}
        rows = [
            entry
            for entry in choice.ranked_responses
            if entry.response.item in decided_items and entry.worth is not None
        ]
        worths: dict[str, list[float]] = defaultdict(list)
        for entry in rows:
            worths[entry.response.item].append(entry.worth or 0.0)
        scale = float(np.mean([np.std(group) for group in worths.values()])) or 1.0
        top = {item: max(group) for item, group in worths.items()}
        weights = [np.exp(((entry.worth or 0.0) - top[entry.response.item]) / scale) for entry in rows]
        pictures = student.encode([entry.response.pictures[0] for entry in rows])
        return Feedback([words[entry.response.item] for entry in rows], pictures, torch.tensor(weights).float())
    better = student.encode([response.pictures[0] for response in choice.best])
    worse = student.encode([response.pictures[0] for response in choice.worst]) if way == "dpo" else None
    return Feedback([words[response.item] for response in choice.best], better, worse=worse)


def _best_and_worst(
    ranked_responses: Iterable[best_of_n_ranking.RankedResponse],
) -> tuple[list[Response], list[Response]]:
    by_item: dict[str, list[best_of_n_ranking.RankedResponse]] = defaultdict(list)
    for entry in ranked_responses:
        if entry.worth is not None:
            by_item[entry.response.item].append(entry)
    decided_groups = [group for group in by_item.values() if (group[0].worth or 0.0) > (group[-1].worth or 0.0)]
    return [group[0].response for group in decided_groups], [group[-1].response for group in decided_groups]


class Trainee(Protocol):
    """Generator in tuning."""

    @property
    def tunable(self) -> Tunable: ...

    def base(self) -> Tunable:
        """Return the initial generator, for tuning methods that compare with it."""
        ...

    def encode(self, pictures: Sequence[Picture]) -> Any:
        """Return the pictures in the form that `tunable.errors` takes."""
        ...

    def save(self, folder: Path) -> str:
        """Write the tuned generator and return its spec."""
        ...


def make_trainee(model: Model, lora: int) -> Trainee:
    """Prepare a contestant for tuning; `lora` is the rank of adapters, 0 for all weights."""
    with require_extra("tuning a generator", "train"):
        import torch  # noqa: F401
    if isinstance(model, PipelineModel):
        from fullbench.training.generator.trainable_diffusers_pipeline import PipelineTrainee

        return PipelineTrainee(model, lora)
    raise InputError(f"{model.name!r} cannot be tuned. Give --generator diffusers:FOLDER.")
