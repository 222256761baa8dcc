"""Cases of each judge in a study, their number, and the selection of cases by a file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from fullbench.core.benchmark import Benchmark
from fullbench.core.case import Case
from fullbench.core.judge import Judge
from fullbench.core.response import Response
from fullbench.core.verdict_record import Record
from fullbench.errors import InputError
from fullbench.files.item_response_verdict_files import samples_of
from fullbench.files.row_fields import Fields
from fullbench.files.row_readers import read_rows
from fullbench.files.row_writers import write_rows
from fullbench.studies.engines import JobCounts, Stop

MOST_TRIALS = 1_000_000
"""More are surely a typo, and would take hours to count."""


def refuse_excessive_trials(trials: int) -> None:
    """Refuse more than 1,000,000 trials, which is surely a typo."""
    if trials > MOST_TRIALS:
        raise InputError(f"at most {MOST_TRIALS:,} trials are possible; found {trials:,}")


def cases_for(judge: Judge, cases: Iterable[Case], benchmark: Benchmark | None) -> Iterator[Case]:
    """Return the cases of a judge: all of them, unless the benchmark restricts them."""
    can_judge = None if benchmark is None else benchmark.can_judge
    return (case for case in cases if can_judge is None or can_judge(judge, case))


def no_answers_message(job_counts: Sequence[JobCounts]) -> str:
    """Return why there is nothing to judge, with the most common error of each contestant; "" if none failed.

    >>> from collections import Counter
    >>> no_answers_message([JobCounts("a", failures=Counter({"the key was refused": 3}))])
    'none of the 3 answers came, so there is nothing to judge: a: the key was refused; the same command asks again'
    """
    failed_jobs = [counts for counts in job_counts if counts.failures]
    if not failed_jobs:
        return ""
    total = sum(counts.failure_count for counts in failed_jobs)
    reasons = [f"{counts.name}: {counts.failures.most_common(1)[0][0]}" for counts in failed_jobs[:3]]
    reasons += [f"and {len(failed_jobs) - 3} more"] if len(failed_jobs) > 3 else []
    why = "; ".join(reasons)
    return f"none of the {total:,} answers came, so there is nothing to judge: {why}; the same command asks again"


def no_cases_message(responses: Sequence[Response]) -> str:
    """Return why there is no case, and what to do.

    >>> no_cases_message([Response.say("q1", "a", "Red."), Response.say("q2", "a", "Blue.")])[:99]
    'there is no case to hear: no item has as many responses as the ballots show at once (one at the mos'
    """
    each = Counter(item for item, _ in {(response.item, response.contestant) for response in responses})
    most = max(each.values(), default=0)
    count_text = {0: "there are none at all", 1: "one at the most"}.get(most, f"{most} at the most")
    return (
        f"there is no case to hear: no item has as many responses as the ballots show at once ({count_text}); "
        "let another "
        "contestant answer, or take a ballot that shows one response, such as score:1-5"
    )


def count_cases_per_judge(
    judges: Sequence[Judge],
    cases: Iterable[Case],
    benchmark: Benchmark | None,
    stop: Stop,
    responses: Sequence[Response],
) -> dict[str, int] | None:
    """Return the number of cases per judge, or None if stopped: counting can take long."""
    can_judge = None if benchmark is None else benchmark.can_judge
    total = 0
    counts = dict.fromkeys((judge.name for judge in judges), 0)
    for case in cases:
        total += 1
        for judge in judges if can_judge is not None else ():
            counts[judge.name] += can_judge is not None and can_judge(judge, case)
        if stop.reason:
            return None
    if not total:
        raise InputError(no_cases_message(responses))
    return dict.fromkeys(counts, total) if can_judge is None else counts


ResponseSet = tuple[str, frozenset[tuple[str, int]], str]
"""Item, the responses judged together (contestants with sample numbers), and the criterion ("" for all)."""


def read_response_sets(path: Path) -> frozenset[ResponseSet]:
    """Read sets of responses: rows with `item`, `contestants`, and optional `samples` and `criterion`.

    The default sample is the first one; the default criterion is every one of the study.
    """
    response_sets = set()
    for line, row in read_rows(path):
        fields = Fields(path, line, row, {})
        item, contestants, samples = fields.name("item"), fields.contestants(), samples_of(fields)
        shown_responses = frozenset(zip(contestants, samples or [0] * len(contestants), strict=True))
        response_sets.add((item, shown_responses, fields.text("criterion") or ""))
    return frozenset(response_sets)


def write_response_sets(path: Path, record: Record) -> int:
    """Write the sets of responses that a record has verdicts on, each once; return their number."""
    response_sets = {(verdict.item, frozenset(verdict.shown_responses), verdict.criterion) for verdict in record}
    rows = (
        {
            "item": item,
            "contestants": [name for name, _ in sorted(shown_responses)],
            "samples": [at for _, at in sorted(shown_responses)],
            "criterion": criterion,
        }
        for item, shown_responses, criterion in sorted(
            response_sets, key=lambda response_set: (response_set[0], sorted(response_set[1]), response_set[2])
        )
    )
    return write_rows(path, rows, {"item": "text", "contestants": "json", "samples": "json", "criterion": "text"})


def select_cases(cases: Iterable[Case], response_sets: frozenset[ResponseSet]) -> Iterator[Case]:
    """Yield the cases on these sets of responses, in the orders that the study defines."""
    for case in cases:
        shown_responses = frozenset((answer.contestant, answer.sample) for answer in case.responses)
        # A row without a criterion selects every criterion.
        if response_sets & {(case.item.id, shown_responses, case.criterion), (case.item.id, shown_responses, "")}:
            yield case
