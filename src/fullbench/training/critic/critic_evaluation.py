"""Is the critic any good? Six figures on answers it did not learn from, beside what needs no learning at all."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from fullbench.analysis.agreement import critic_with_people as agreement
from fullbench.analysis.all_tables import faults
from fullbench.analysis.estimate_cells import Gaps
from fullbench.core.case import Case
from fullbench.core.column_labels import headings
from fullbench.core.judge import AsksNobody, Judge, Kind
from fullbench.core.note import Note
from fullbench.core.record import Record
from fullbench.core.table import Cell, Table
from fullbench.core.verdict import Failure, Verdict
from fullbench.errors import InputError
from fullbench.files.readers import read_rows
from fullbench.stats.agreement.two_raters import absolute_error
from fullbench.stats.intervals import weighted_statistics
from fullbench.stats.paired_comparison_of_judges import paired_difference
from fullbench.studies.engines.run_jobs import Tally
from fullbench.studies.run.progress_display import watching
from fullbench.training.critic.critic_judge import CUT
from fullbench.training.critic.critic_metadata import Critic
from fullbench.training.critic.data.scored_answers import Scored, tagged
from fullbench.training.critic.load_critic import judge_in


@dataclass(frozen=True)
class Constant(AsksNobody):
    """A judge that gives every answer the same mark: what a critic has to beat."""

    kind: ClassVar[Kind] = "metric"

    name: str
    mark: float

    @property
    def settings(self) -> Mapping[str, Any]:
        return {"mark": self.mark}

    def hear(self, cases: Iterable[Case]) -> Iterator[Verdict]:
        for case in cases:
            yield Verdict.of(case, self.name, (self.mark,))


def usual(critic: Critic) -> Constant:
    """The median of the marks that were trained on: no other constant has a smaller absolute error on them."""
    scale = critic.asking.scale
    mark = min(
        range(scale.low, scale.high + 1),
        key=lambda candidate: (abs(candidate - float(critic.trained["median"])), candidate),
    )
    return Constant(f"always {mark}", float(mark))


def held_out(scored: Sequence[Scored]) -> list[Scored]:
    """What was not trained on."""
    held = [answer for answer in scored if answer.split != "train"]
    if not held:
        raise InputError("every scored answer was trained on: none is left to try the critic on")
    return held


def tried(
    record: Record, scored: Sequence[Scored], judges: Sequence[Judge], people: str = "human", *, quiet: bool = True
) -> Record:
    """The people's labels with what the judges say of the answers that were held out, each heard once."""
    cases = {answer.case.key: answer.case for answer in held_out(scored)}
    verdicts: list[Verdict] = []
    with watching("trying", [judge.name for judge in judges], len(cases), quiet=quiet) as watch:
        for judge in judges:
            tally = Tally(judge.name)
            for outcome in judge.hear(cases.values()):
                if isinstance(outcome, Failure):
                    raise InputError(f"{judge.name} gave no reply: {outcome.error}")
                verdicts.append(outcome)
                tally.done += 1
                tally.faults.update([outcome.fault] if outcome.fault else [])
                if watch is not None:
                    watch.step(tally)
    labels = tuple(label for label in record.verdicts if label.judge == people)
    return tagged(Record((*labels, *verdicts), record.items, record.responses), scored)


def report(
    record: Record,
    scored: Sequence[Scored],
    folder: Path,
    *,
    before: Judge | None = None,
    people: str = "human",
    device: str = "auto",
    seed: int = 0,
    quiet: bool = True,
) -> list[Table]:
    """The six figures of the critic in a folder beside those of a constant and of its base; what changed; the faults.

    Everything is heard on answers that it did not learn from.
    """
    critic, after = Critic.read(folder), judge_in(folder, device=device)
    judges = [usual(critic), *([before] if before else []), after]
    heard = tried(record, scored, judges, people, quiet=quiet)
    spec, marked = critic.asking.ballot, heard.where(fault=None)
    tables = [*agreement.tables(heard, people, spec=spec, seed=seed), errors(heard, critic, people, seed=seed)]
    if before and {before.name, after.name} <= set(marked.judges):
        tables.append(agreement.before_after(marked, before.name, after.name, people, spec=spec, seed=seed))
    own = heard.where(lambda verdict: verdict.judge in {judge.name for judge in judges[1:]})
    return [*tables, _cut(faults(own), own)]


def errors(record: Record, critic: Critic, people: str = "human", *, seed: int = 0) -> Table:
    """How far off each judge is, beside answering the mean of the training marks every time."""
    gaps = Gaps()
    rows: list[list[Cell]] = []
    for judge, parts in agreement.pairings(record, people, spec=critic.asking.ballot).items():
        pairs = parts["all"]
        marks, truth = [pair.marks[0] for pair in pairs], [pair.other[0] for pair in pairs]
        constant, items = [critic.mean] * len(pairs), [pair.verdict.item for pair in pairs]
        ways = (
            partial(absolute_error, marks, truth, cluster=items, seed=seed),
            partial(absolute_error, constant, truth, cluster=items, seed=seed),
            partial(
                paired_difference, weighted_statistics.absolute_error, marks, constant, truth, cluster=items, seed=seed
            ),
        )
        rows.append([judge, *(gaps.cell(judge, way) for way in ways)])
    notes = [
        Note(
            "training.critic.evaluation.mean-absolute-error-on-answers",
            "Mean absolute error on answers that were not trained on. The mean of those that were is {mean:.2f}, "
            "taken as it is, though no ballot would hold it. Below 0 in the last column is better than the mean.",
            mean=critic.mean,
        ),
        *gaps.notes,
    ]
    columns = headings("judge", "e", "e of the mean", "difference")
    return Table(
        "errors",
        Note("training.critic.evaluation.title.beside-always-answering-the-mean", "Beside always answering the mean"),
        columns,
        rows,
        notes,
        {"seed": seed},
    )


def _cut(table: Table, record: Record) -> Table:
    """The table with a sentence about the answers that were cut."""
    cut = sum(CUT in verdict.earlier for verdict in record)
    note = Note(
        "training.critic.evaluation.answers-were-longer-than-the",
        "{cut} answers were longer than the window and were cut at their end.",
        cut=cut,
    )
    return replace(table, notes=(*table.notes, note)) if cut else table


def resplit(folder: Path, record: Record) -> Record:
    """The record with every response tagged by what the critic's training made of it.

    Of responses that training did not have, those of contestants it never saw are `external`; those to items that it
    learned from are `train`, for the words of the question are known; the rest is `internal`.
    """
    rows = [row for _, row in read_rows(folder / "run" / "split.jsonl")]
    known = {(str(row["item"]), str(row["contestant"]), int(row.get("sample") or 0)): str(row["split"]) for row in rows}
    items = {item for (item, _, _), split in known.items() if split == "train"}
    seen = {contestant for (_, contestant, _), split in known.items() if split == "train"}
    responses = {}
    for place, response in record.responses.items():
        new = "external" if response.contestant not in seen else "train" if response.item in items else "internal"
        responses[place] = replace(response, tags={**response.tags, "split": known.get(place, new)})
    return Record(record.verdicts, record.items, responses)
