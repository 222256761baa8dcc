"""Which cases of a study are for which judge, and how many they are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from fullbench.errors import InputError
from fullbench.nouns.benchmark import Benchmark
from fullbench.nouns.case import Case
from fullbench.nouns.judge import Judge
from fullbench.studies.engines import Stop


def cases_for(judge: Judge, cases: Iterable[Case], benchmark: Benchmark | None) -> Iterator[Case]:
    """The cases that are for a judge: all of them, unless the benchmark says otherwise."""
    hears = None if benchmark is None else benchmark.hears
    return (case for case in cases if hears is None or hears(judge, case))


def counted(
    judges: Sequence[Judge], cases: Iterable[Case], benchmark: Benchmark | None, stop: Stop
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
        raise InputError("there is no case to hear: no item has as many responses as the ballots show at once")
    return dict.fromkeys(counts, total) if hears is None else counts
