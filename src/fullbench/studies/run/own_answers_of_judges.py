"""Collect the own answers of judges that answer first: once per item, stored in the ledger like any request."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from fullbench.core.case import Case
from fullbench.core.dialogue_turn_answers_and_criteria import case_as_shown
from fullbench.core.item import Item
from fullbench.core.judge import Judge, answer_request_of, answers_first, models_of
from fullbench.core.model import Model, Prompt
from fullbench.core.model_call import Call
from fullbench.judges.own_answers import failed_answer
from fullbench.ledger.ledger import Ledger
from fullbench.studies.engines import LOOKUP, JobCounts, StagedWatch, Watch
from fullbench.studies.run.answer_items import collect_answers

WHAT = "own answers"


@dataclass
class OwnAnswers:
    """Requests of one judge by item key, and the calls and errors by the request's key."""

    requests: dict[str, Item] = field(default_factory=dict)
    calls: dict[str, Call] = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)

    def is_open(self, case: Case) -> bool:
        """Return True if the answer to the case's item is still to come, because the run was stopped before."""
        request = self.requests.get(case_as_shown(case).item.key)
        return request is not None and not (request.key in self.calls or request.key in self.errors)

    def add_to(self, case: Case) -> Case:
        """Return the case with the judge's own answer, or with the error of its call."""
        request = self.requests.get(case_as_shown(case).item.key)
        if request is None:
            return case
        answer = self.calls.get(request.key)
        return case.with_own_answer(failed_answer(self.errors[request.key]) if answer is None else answer)


def own_answer_requests(judge: Judge, cases: Iterable[Case], ledger: Ledger) -> dict[str, Item]:
    """Return the requests for a judge's own answers that its due cases need, by item key."""
    requests: dict[str, Item] = {}
    source = iter(cases)
    while chunk := list(islice(source, LOOKUP)):
        judged_keys = ledger.judged_keys(judge.name, [(case.key, case.trial) for case in chunk])
        for case in chunk:
            item_key = case_as_shown(case).item.key  # a turn of a dialogue needs an answer of its own
            is_new = item_key not in requests and (case.key, case.trial) not in judged_keys
            if is_new and (request := answer_request_of(judge, case)) is not None:
                requests[item_key] = request
    return requests


def answering_model(judge: Judge) -> Model:
    """Return the model of a judge that answers first."""
    model: Model | None = getattr(judge, "answering_model", None)
    return (models_of(judge) or ())[0] if model is None else model


@dataclass
class RequestsByModel:
    """Requests for own answers by model and by judge; judges with the same model and the same requests share them."""

    models: dict[str, Model] = field(default_factory=dict)
    by_model: dict[str, dict[str, Item]] = field(default_factory=dict)
    by_judge: dict[str, dict[str, Item]] = field(default_factory=dict)
    model_by_judge: dict[str, str] = field(default_factory=dict)

    def items(self, model: Model) -> list[Item]:
        """Return the requests to a model."""
        return list(self.by_model[model.name].values())


def group_requests(
    judges: Sequence[Judge], cases_to_judge: Callable[[Judge], Iterable[Case]], ledger: Ledger
) -> RequestsByModel:
    """Return the requests for own answers that the due cases of these judges need."""
    groups = RequestsByModel()
    for judge in judges:
        if answers_first(judge) and (requests := own_answer_requests(judge, cases_to_judge(judge), ledger)):
            model = answering_model(judge)
            groups.models[model.name] = model
            groups.by_judge[judge.name], groups.model_by_judge[judge.name] = requests, model.name
            groups.by_model.setdefault(model.name, {}).update({request.key: request for request in requests.values()})
    return groups


def collect_own_answers(
    judges: Sequence[Judge],
    cases_to_judge: Callable[[Judge], Iterable[Case]],
    ledger: Ledger,
    *,
    watch: Watch | None = None,
    **run_options: Any,
) -> tuple[dict[str, OwnAnswers], list[JobCounts]]:
    """Let judges that answer first answer the items of their due cases, each once.

    The answer is stored as the model's response to a request. Return the answers by judge name, and the counts of the
    calls. `run_options` are those of `collect_answers`.
    """
    groups = group_requests(judges, cases_to_judge, ledger)
    if not groups.models:
        return {}, []
    totals = {name: len(requests) for name, requests in groups.by_model.items()}
    with watch.stage(WHAT, totals) if isinstance(watch, StagedWatch) else nullcontext():
        job_counts = collect_answers(list(groups.models.values()), groups.items, ledger, watch=watch, **run_options)
    counts_by_model = {counts.name: counts for counts in job_counts}
    answers_by_judge = {}
    for name, requests in groups.by_judge.items():
        model = groups.model_by_judge[name]
        answers_by_judge[name] = _load_answers(requests, model, ledger, counts_by_model[model])
    return answers_by_judge, [counts for counts in job_counts if counts.started_count or counts.skipped_count]


def _load_answers(requests: dict[str, Item], model: str, ledger: Ledger, counts: JobCounts) -> OwnAnswers:
    """Read the answers from the ledger; an item without one gets its error, unless the run stopped before it."""
    keys_by_prompt = {Prompt(request.turns).digest: request.key for request in requests.values()}
    stored_calls = ledger.contestant_calls(model, keys_by_prompt.keys())
    calls = {keys_by_prompt[prompt]: call for prompt, call in stored_calls.items()}
    missing = set() if counts.stop_reason or counts.in_flight else {*keys_by_prompt.values()} - calls.keys()
    errors = dict.fromkeys(missing, "it is not in the ledger")
    for failure in ledger.failures(model) if missing else ():
        if failure.case in missing:
            errors[failure.case] = failure.error
    return OwnAnswers(requests, calls, errors)
