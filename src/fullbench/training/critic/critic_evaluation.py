"""Evaluation of a critic on answers it was not trained on, compared with a constant and with its base model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from fullbench.analysis.agreement import critic_with_people as agreement
from fullbench.analysis.item_clustered_means_and_shares import Gaps
from fullbench.analysis.standard_verdict_tables import fault_table
from fullbench.core.built_in_table_columns import table_columns
from fullbench.core.case import Case
from fullbench.core.judge import CallsNoModel, Judge, Kind
from fullbench.core.table import Cell, Table
from fullbench.core.translatable_note import Note
from fullbench.core.verdict import Failure, Verdict
from fullbench.core.verdict_record import Record
from fullbench.errors import InputError
from fullbench.files.row_readers import read_rows
from fullbench.stats.agreement.two_raters import absolute_error
from fullbench.stats.intervals import statistics_for_bootstrap
from fullbench.stats.paired_comparison_and_test_corrections import paired_difference
from fullbench.studies.engines.job_runner_with_ledger_storage import JobCounts
from fullbench.studies.run.progress_display import watch_progress
from fullbench.training.critic.critic_judge import CUT
from fullbench.training.critic.critic_metadata import Critic
from fullbench.training.critic.data.scored_answers import ScoredAnswer, tag_splits
from fullbench.training.critic.load_critic import load_judge


@dataclass(frozen=True)
class Constant(CallsNoModel):
    """Judge that gives every answer the same mark: the baseline that a critic has to beat."""

    kind: ClassVar[Kind] = "metric"

    name: str
    mark: float

    @property
    def settings(self) -> Mapping[str, Any]:
        return {"mark": self.mark}

    def judge(self, cases: Iterable[Case]) -> Iterator[Verdict]:
        for case in cases:
            yield Verdict.from_case(case, self.name, (self.mark,))


def constant_baseline(critic: Critic) -> Constant:
    """Return the median training mark: no other constant has a smaller absolute error on these marks."""
    scale = critic.asking.scale
    mark = min(
        range(scale.low, scale.high + 1),
        key=lambda candidate: (abs(candidate - float(critic.trained["median"])), candidate),
    )
    return Constant(f"always {mark}", float(mark))


def held_out_answers(scored_answers: Sequence[ScoredAnswer]) -> list[ScoredAnswer]:
    """Return the answers that were not used for training."""
    answers = [answer for answer in scored_answers if answer.split != "train"]
    if not answers:
        raise InputError("all scored answers were used for training, so none is left to evaluate the critic")
    return answers


def judge_held_out_answers(
    record: Record,
    scored_answers: Sequence[ScoredAnswer],
    judges: Sequence[Judge],
    people: str = "human",
    *,
    quiet: bool = True,
) -> Record:
    """Return people's labels and the verdicts of the judges on the held-out answers, each judged once."""
    cases = {answer.case.key: answer.case for answer in held_out_answers(scored_answers)}
    verdicts: list[Verdict] = []
    with watch_progress("trying", [judge.name for judge in judges], len(cases), quiet=quiet) as watch:
        for judge in judges:
            counts = JobCounts(judge.name)
            for outcome in judge.judge(cases.values()):
                if isinstance(outcome, Failure):
                    raise InputError(f"{judge.name} gave no reply: {outcome.error}")
                verdicts.append(outcome)
                counts.finished_count += 1
                counts.faults.update([outcome.fault] if outcome.fault else [])
                if watch is not None:
                    watch.step(counts)
    labels = tuple(label for label in record.verdicts if label.judge == people)
    return tag_splits(Record((*labels, *verdicts), record.items, record.responses), scored_answers)


def evaluation_tables(
    record: Record,
    scored_answers: Sequence[ScoredAnswer],
    folder: Path,
    *,
    before: Judge | None = None,
    people: str = "human",
    device: str = "auto",
    seed: int = 0,
    quiet: bool = True,
) -> list[Table]:
    """Return tables on held-out answers.

    Args:
        record: Items, responses and people's scores.
        scored_answers: The examples, with their splits.
        folder: Folder of the critic.
        before: The critic's base model as a judge, to compare with; None leaves it out.
        people: Name under which people's scores are stored.
        device: Device of the critic.
        seed: Seed of resampled intervals.
        quiet: Whether to hide the progress.
    """
    critic, after = Critic.read(folder), load_judge(folder, device=device)
    judges = [constant_baseline(critic), *([before] if before else []), after]
    judged_record = judge_held_out_answers(record, scored_answers, judges, people, quiet=quiet)
    spec, marked_record = critic.asking.ballot, judged_record.where(fault=None)
    tables = [
        *agreement.critic_tables(judged_record, people, spec=spec, seed=seed),
        error_table(judged_record, critic, people, seed=seed),
    ]
    if before and {before.name, after.name} <= set(marked_record.judges):
        tables.append(agreement.before_after(marked_record, before.name, after.name, people, spec=spec, seed=seed))
    critic_record = judged_record.where(lambda verdict: verdict.judge in {judge.name for judge in judges[1:]})
    return [*tables, _note_cut_answers(fault_table(critic_record), critic_record)]


def error_table(record: Record, critic: Critic, people: str = "human", *, seed: int = 0) -> Table:
    """Return the mean absolute error of each judge, compared with always answering the mean training mark."""
    gaps = Gaps()
    rows: list[list[Cell]] = []
    for judge, parts in agreement.pairings_by_split(record, people, spec=critic.asking.ballot).items():
        pairs = parts["all"]
        marks, truth = [pair.marks[0] for pair in pairs], [pair.other_marks[0] for pair in pairs]
        constant, items = [critic.mean] * len(pairs), [pair.verdict.item for pair in pairs]
        ways = (
            partial(absolute_error, marks, truth, cluster=items, seed=seed),
            partial(absolute_error, constant, truth, cluster=items, seed=seed),
            partial(
                paired_difference,
                statistics_for_bootstrap.absolute_error,
                marks,
                constant,
                truth,
                cluster=items,
                seed=seed,
            ),
        )
        rows.append([judge, *(gaps.cell(judge, way) for way in ways)])
    notes = [Note("training.critic.evaluation.mean-absolute-error-on-answers", mean=critic.mean), *gaps.notes]
    columns = table_columns("judge", "e", "e of the mean", "difference")
    return Table(
        "errors",
        Note("training.critic.evaluation.title.beside-always-answering-the-mean"),
        columns,
        rows,
        notes,
        {"seed": seed},
    )


def _note_cut_answers(table: Table, record: Record) -> Table:
    cut_count = sum(CUT in verdict.earlier for verdict in record)
    note = Note("training.critic.evaluation.answers-were-longer-than-the", cut=cut_count)
    return replace(table, notes=(*table.notes, note)) if cut_count else table


def tag_training_split(folder: Path, record: Record) -> Record:
    """Return the record with every response tagged by its part in the critic's training.

    Responses that training did not have are `external` if their contestant was never trained on. Otherwise they are
    `train` if their item was trained on, because the question is known, or else `internal`.
    """
    rows = [row for _, row in read_rows(folder / "run" / "split.jsonl")]
    split_by_response = {
        (str(row["item"]), str(row["contestant"]), int(row.get("sample") or 0)): str(row["split"]) for row in rows
    }
    trained_items = {item for (item, _, _), split in split_by_response.items() if split == "train"}
    trained_contestants = {contestant for (_, contestant, _), split in split_by_response.items() if split == "train"}
    responses = {}
    for response_key, response in record.responses.items():
        new_split = (
            "external"
            if response.contestant not in trained_contestants
            else "train"
            if response.item in trained_items
            else "internal"
        )
        responses[response_key] = replace(
            response, tags={**response.tags, "split": split_by_response.get(response_key, new_split)}
        )
    return Record(record.verdicts, record.items, responses)
