"""Which cases of a study are for which judge, and how many they are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from fullbench.errors import InputError
from fullbench.core.benchmark import Benchmark
from fullbench.core.case import Case
from fullbench.core.judge import Judge
from fullbench.core.response import Response
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
