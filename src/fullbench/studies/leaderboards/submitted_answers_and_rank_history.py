"""Submissions to a leaderboard: store whole sets of answers, and show the history of ranks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from fullbench.analysis.boards.leaderboard import Settings
from fullbench.analysis.boards.leaderboard import build_boards as boards_of
from fullbench.analysis.boards.rank_history_by_contestant_arrival import Step, history_table
from fullbench.core.built_in_table_columns import table_columns
from fullbench.core.item import Item
from fullbench.core.response import Response
from fullbench.core.table import Cell, Table
from fullbench.core.translatable_note import Note
from fullbench.core.verdict_record import Record
from fullbench.errors import InputError
from fullbench.ledger.ledger import Ledger

_MAX_NAMES = 3


@dataclass(frozen=True)
class Submission:
    """Counts of a submission."""

    name: str
    answers: int
    new_answers: int
    items: int

    @property
    def unanswered_items(self) -> int:
        return self.items - self.answers


def submit_answers(
    ledger: Ledger, name: str, predictions: Path, *, benchmark: str, data: Path | None, partial: bool = False,
    withheld: bool = False,
) -> Submission:  # fmt: skip
    """Store all answers of a submission.

    Args:
        ledger: Ledger of the leaderboard.
        name: Name of the contestant.
        predictions: File of answers.
        benchmark: Benchmark whose items were answered.
        data: Folder of the benchmark's data; None for its sample.
        partial: Whether items may be unanswered; otherwise they are an error.
        withheld: Whether the items are a test set that is not published.
    """
    # Imported late: showing a leaderboard needs no models, and these imports take a fifth of its time.
    from fullbench.studies import judge_contestant_and_benchmark_specs
    from fullbench.studies.leaderboards import leaderboard_inputs_from_options
    from fullbench.studies.leaderboards.withheld_test_sets import mark_withheld_items

    bench = judge_contestant_and_benchmark_specs.benchmark_from_name(benchmark)
    # No calls are made here, so missing pictures do not matter.
    items: Sequence[Item] = mark_withheld_items(ledger, bench.items(data), withheld=withheld)
    responses: Sequence[Response] = leaderboard_inputs_from_options.read_answers(bench, predictions, items, data, name)
    strangers = sorted({response.contestant for response in responses} - {name})
    if strangers:
        raise InputError(
            f"a submission has one contestant, but this file also has {', '.join(strangers)}", path=predictions
        )
    answered_ids = {response.item for response in responses}
    missing = [item.id for item in items if item.id not in answered_ids]
    if missing and not partial:
        missing_text = ", ".join(missing[:_MAX_NAMES]) + (
            f" and {len(missing) - _MAX_NAMES} more" if len(missing) > _MAX_NAMES else ""
        )
        raise InputError(
            f"{name!r} leaves {len(missing):,} of {len(items):,} items unanswered ({missing_text}); answer all of "
            f"them, or add --partial",
            path=predictions,
        )
    new_count = leaderboard_inputs_from_options.store_submissions(ledger, items, responses)
    return Submission(name, len(answered_ids), new_count, len(items))


def history_tables(
    record: Record, ledger: Ledger, judge: str, settings: Settings, items: Sequence[Item]
) -> list[Table]:
    """Return how ranks went on these items, and who answered how many of them."""
    names = {item.id for item in items}
    visible_record = record.where(lambda verdict: verdict.item in names)
    return [rank_history_table(visible_record, judge, settings), coverage_table(ledger, items)]


def rank_history_table(record: Record, judge: str, settings: Settings) -> Table:
    """Return the ranks after each newcomer's matches, in the order in which contestants were first judged."""
    judge_verdicts = sorted(record.where(judge=judge), key=lambda verdict: verdict.at)
    first_places: dict[str, int] = {}
    for place, verdict in enumerate(judge_verdicts):
        for name in sorted(verdict.contestants):
            first_places.setdefault(name, place)
    starts = sorted(set(first_places.values()))
    history_settings = replace(settings, elo=False, reference=None)

    def steps() -> Iterator[Step]:
        for start, end in zip(starts, [*starts[1:], len(judge_verdicts)], strict=True):
            part = replace(record, verdicts=tuple(judge_verdicts[:end]))
            day = (
                datetime.fromtimestamp(judge_verdicts[end - 1].at, UTC).strftime("%Y-%m-%d")
                if judge_verdicts[end - 1].at
                else ""
            )
            yield Step(
                day, [name for name, place in first_places.items() if place == start], boards_of(part, history_settings)
            )

    notes = [Note("submissions.history")]
    return history_table(judge, steps(), notes)


def coverage_table(ledger: Ledger, items: Sequence[Item]) -> Table:
    """Return the number of answers and of unanswered items per contestant."""
    item_ids_by_contestant: dict[str, set[str]] = {}
    for response in ledger.responses(None, item_keys=[item.key for item in items]):
        item_ids_by_contestant.setdefault(response.contestant, set()).add(response.item)
    rows: list[list[Cell]] = [
        [name, len(ids), len(items) - len(ids)]
        for name, ids in sorted(item_ids_by_contestant.items(), key=lambda entry: entry[0])
    ]
    title = Note("submissions.title.whole")
    return Table("submissions", title, table_columns("contestant", "answers", "unanswered"), rows)
