"""Which cases of a study are for which judge, and how many they are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from fullbench.core.benchmark import Benchmark
from fullbench.core.case import Case
from fullbench.core.judge import Judge
from fullbench.core.record import Record
from fullbench.core.response import Response
from fullbench.errors import InputError
from fullbench.files.item_files import samples_of
from fullbench.files.readers import read_rows
from fullbench.files.row_fields import Fields
from fullbench.files.writers import write_rows
from fullbench.studies.engines import Stop, Tally

MOST_TRIALS = 1_000_000
"""So often a case may be heard: what is more is a slip of the hand, and would be counted for hours."""


def refuse_slip(trials: int) -> None:
    """Refuse a number of trials that nobody means."""
    if trials > MOST_TRIALS:
        raise InputError(f"trials are {MOST_TRIALS:,} at the most; found {trials:,}")


def cases_for(judge: Judge, cases: Iterable[Case], benchmark: Benchmark | None) -> Iterator[Case]:
    """The cases that are for a judge: all of them, unless the benchmark says otherwise."""
    hears = None if benchmark is None else benchmark.hears
    return (case for case in cases if hears is None or hears(judge, case))


def unanswered(tallies: Sequence[Tally]) -> str:
    """Why there is nothing to judge where no contestant has answered: what each was last told; else nothing.

    >>> from collections import Counter
    >>> unanswered([Tally("a", failures=Counter({"the key was refused": 3}))])
    'none of the 3 answers came, so there is nothing to judge: a: the key was refused; the same command asks again'
    """
    failed = [tally for tally in tallies if tally.failures]
    if not failed:
        return ""
    total = sum(tally.failed for tally in failed)
    reasons = [f"{tally.name}: {tally.failures.most_common(1)[0][0]}" for tally in failed[:3]]
    reasons += [f"and {len(failed) - 3} more"] if len(failed) > 3 else []
    why = "; ".join(reasons)
    return f"none of the {total:,} answers came, so there is nothing to judge: {why}; the same command asks again"


def nothing_to_hear(responses: Sequence[Response]) -> str:
    """Why there is no case, and what to do.

    >>> nothing_to_hear([Response.say("q1", "a", "Red."), Response.say("q2", "a", "Blue.")])[:99]
    'there is no case to hear: no item has as many responses as the ballots show at once (one at the mos'
    """
    each = Counter(item for item, _ in {(response.item, response.contestant) for response in responses})
    most = max(each.values(), default=0)
    found = {0: "there are none at all", 1: "one at the most"}.get(most, f"{most} at the most")
    return (
        f"there is no case to hear: no item has as many responses as the ballots show at once ({found}); let another "
        "contestant answer, or take a ballot that shows one response, such as score:1-5"
    )


def counted(
    judges: Sequence[Judge],
    cases: Iterable[Case],
    benchmark: Benchmark | None,
    stop: Stop,
    responses: Sequence[Response],
) -> dict[str, int] | None:
    """How many cases each judge is to hear; None where somebody stopped it, for there may be very many."""
    hears = None if benchmark is None else benchmark.hears
    total = 0
    counts = dict.fromkeys((judge.name for judge in judges), 0)
    for case in cases:
        total += 1
        for judge in judges if hears is not None else ():
            counts[judge.name] += hears is not None and hears(judge, case)
        if stop.reason:
            return None
    if not total:
        raise InputError(nothing_to_hear(responses))
    return dict.fromkeys(counts, total) if hears is None else counts


# A study of chosen cases: only the panels that a file lists are heard, in the orders that the study says.

Panel = tuple[str, frozenset[tuple[str, int]], str]
"""An item, which answers to it are judged together (contestants with the numbers of their samples), and on which
criterion; without one, on every criterion of the study."""


def read_panels(path: Path) -> frozenset[Panel]:
    """The panels of a file: rows with `item`, `contestants`, `samples` where they are not all the first, and
    `criterion` where one alone is meant."""
    panels = set()
    for line, row in read_rows(path):
        fields = Fields(path, line, row, {})
        item, contestants, samples = fields.name("item"), fields.contestants(), samples_of(fields)
        shown = frozenset(zip(contestants, samples or [0] * len(contestants), strict=True))
        panels.add((item, shown, fields.text("criterion") or ""))
    return frozenset(panels)


def write_panels(path: Path, record: Record) -> int:
    """The panels that a record's verdicts are on, each once; how many there are."""
    panels = {(verdict.item, frozenset(verdict.shown), verdict.criterion) for verdict in record}
    rows = (
        {
            "item": item, "contestants": [name for name, _ in sorted(shown)],
            "samples": [at for _, at in sorted(shown)], "criterion": criterion,
        }
        for item, shown, criterion in sorted(panels, key=lambda panel: (panel[0], sorted(panel[1]), panel[2]))
    )  # fmt: skip
    return write_rows(path, rows, {"item": "text", "contestants": "json", "samples": "json", "criterion": "text"})


def among(cases: Iterable[Case], panels: frozenset[Panel]) -> Iterator[Case]:
    """The cases on these panels."""
    for case in cases:
        shown = frozenset((answer.contestant, answer.sample) for answer in case.responses)
        if panels & {(case.item.id, shown, case.criterion), (case.item.id, shown, "")}:
            yield case
