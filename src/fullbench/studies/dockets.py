"""Which cases of a study are for which judge, and how many they are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from fullbench.errors import InputError
from fullbench.nouns.benchmark import Benchmark
from fullbench.nouns.case import Case
from fullbench.nouns.judge import Judge
from fullbench.studies.engines import Stop, Tally


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
