"""Submissions to a leaderboard: whole sets of answers in the ledger, and how the ranks went as they came."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from fullbench.analysis.boards.leaderboard import Settings
from fullbench.analysis.boards.leaderboard import boards as boards_of
from fullbench.analysis.boards.rank_history import Step, table
from fullbench.core.column_labels import headings
from fullbench.core.item import Item
from fullbench.core.note import Note
from fullbench.core.record import Record
from fullbench.core.response import Response
from fullbench.core.table import Cell, Table
from fullbench.errors import InputError
from fullbench.ledger.ledger import Ledger

_SHOWN = 3


@dataclass(frozen=True)
class Submitted:
    """What came in with a submission."""

    name: str
    answers: int
    entered: int
    items: int

    @property
    def unanswered(self) -> int:
        return self.items - self.answers


def submit(
    ledger: Ledger, name: str, predictions: Path, *, benchmark: str, data: Path | None, partial: bool = False,
    withheld: bool = False,
) -> Submitted:  # fmt: skip
    """Enter all answers of a submission. One that leaves items unanswered is refused, unless it may be `partial`."""
    # Not with the module: a leaderboard that is shown asks nobody, and these take a fifth of its time to import.
    from fullbench.studies import judge_and_model_specs
    from fullbench.studies.leaderboards import leaderboard_from_options
    from fullbench.studies.leaderboards.withheld_test_sets import marked

    bench = judge_and_model_specs.benchmark(benchmark)
    # Nobody is asked here: answers are taken in whether or not the pictures are at hand.
    items: Sequence[Item] = marked(ledger, bench.items(data), withheld=withheld)
    responses: Sequence[Response] = leaderboard_from_options.read_answers(bench, predictions, items, data, name)
    strangers = sorted({response.contestant for response in responses} - {name})
    if strangers:
        raise InputError(
            f"a submission is of one contestant; this file also has {', '.join(strangers)}", path=predictions
        )
    answered = {response.item for response in responses}
    missing = [item.id for item in items if item.id not in answered]
    if missing and not partial:
        named = ", ".join(missing[:_SHOWN]) + (f" and {len(missing) - _SHOWN} more" if len(missing) > _SHOWN else "")
        raise InputError(
            f"{name!r} leaves {len(missing):,} of {len(items):,} items unanswered ({named}); a whole submission "
            "answers all of them, --partial takes it as it is",
            path=predictions,
        )
    entered = leaderboard_from_options.keep(ledger, items, responses)
    return Submitted(name, len(answered), entered, len(items))


def history(record: Record, judge: str, settings: Settings) -> Table:
    """The ranks after each newcomer's matches, in the order in which contestants first met the judge."""
    heard = sorted(record.where(judge=judge), key=lambda verdict: verdict.at)
    came: dict[str, int] = {}
    for place, verdict in enumerate(heard):
        for name in sorted(verdict.contestants):
            came.setdefault(name, place)
    starts = sorted(set(came.values()))
    chosen = replace(settings, elo=False, reference=None)

    def steps() -> Iterator[Step]:
        for start, end in zip(starts, [*starts[1:], len(heard)], strict=True):
            part = replace(record, verdicts=tuple(heard[:end]))
            day = datetime.fromtimestamp(heard[end - 1].at, UTC).strftime("%Y-%m-%d") if heard[end - 1].at else ""
            yield Step(day, [name for name, place in came.items() if place == start], boards_of(part, chosen))

    notes = [
        Note(
            "submissions.history",
            "Each step has all matches up to the first of the next newcomer; the place is by rating alone, the rank "
            "says which places the intervals leave open.",
        )
    ]
    return table(judge, steps(), notes)


def coverage(ledger: Ledger, items: Sequence[Item]) -> Table:
    """How many answers each contestant has in the ledger, and how many items it leaves open."""
    answered: dict[str, set[str]] = {}
    for response in ledger.responses(None, item_keys=[item.key for item in items]):
        answered.setdefault(response.contestant, set()).add(response.item)
    rows: list[list[Cell]] = [
        [name, len(ids), len(items) - len(ids)] for name, ids in sorted(answered.items(), key=lambda entry: entry[0])
    ]
    title = Note("submissions.title.whole", "Submissions in the ledger")
    return Table("submissions", title, headings("contestant", "answers", "unanswered"), rows)
