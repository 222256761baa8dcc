"""Plan of a study: calls and cost before anything is sent, and checks of keys and prices."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Generic, TypeVar

from fullbench.core.built_in_table_columns import table_columns
from fullbench.core.case import Case
from fullbench.core.dialogue_turn_answers_and_criteria import open_turns
from fullbench.core.item import WITHOUT_PICTURES, Item
from fullbench.core.judge import Judge, answer_request_of, models_of, prompts_of
from fullbench.core.model import Model, Prompt, prepare_prompt
from fullbench.core.model_call import Call
from fullbench.core.response import Response
from fullbench.core.table import Cell, Table
from fullbench.core.translatable_note import Note, join_notes
from fullbench.errors import InputError
from fullbench.judges.rubric_criterion_verdicts_in_one_call import SheetJudge, response_of
from fullbench.ledger.ledger import Ledger
from fullbench.studies.engines import LOOKUP, Budget, Key
from fullbench.studies.run.answer_items import dialogue_prompts
from fullbench.studies.run.call_cost_and_time_forecast import (
    SECONDS,
    TOKENS_OUT,
    Load,
    UsageByName,
    estimate_load,
    parallel_seconds,
)
from fullbench.studies.run.missing_pictures import count_prompt_pictures, prompt_pictures_note
from fullbench.studies.run.own_answers_of_judges import WHAT, group_requests
from fullbench.studies.run.progress_display import format_duration

# Prompts of so many cases are rendered to estimate tokens; the plan shows that it is a sample.
SAMPLE = 200
_COUNTS = ("stored_count", "due", "calls", "tokens_in", "tokens_out")
_Task = TypeVar("_Task")

CasesToJudge = Callable[[Judge], Iterator[Case]]


def plan_table(
    ledger: Ledger,
    *,
    contestants: Sequence[Model],
    items: Sequence[Item],
    judges: Sequence[Judge],
    cases: CasesToJudge,
    samples: int = 1,
    notes: Sequence[str] = (),
) -> Table:
    """Return one row per contestant and judge, and a total: stored, due, calls, tokens, dollars, time.

    Args:
        ledger: Ledger with what is stored already.
        contestants: Models that answer.
        items: Items that they answer.
        judges: The judges.
        cases: Function that returns the cases of a judge.
        samples: Answers of each contestant to each item.
        notes: Notes to show first.
    """
    usage_by_name = ledger_usage(ledger)
    groups = group_requests(judges, cases, ledger)
    own_answer_loads = [
        replace(answer_load(model, groups.items(model), 1, ledger, usage_by_name), what=WHAT)
        for model in groups.models.values()
    ]
    return plan_table_from_loads(
        [*(answer_load(model, items, samples, ledger, usage_by_name) for model in contestants), *own_answer_loads],
        [verdict_load(judge, cases(judge), ledger, usage_by_name) for judge in judges],
        [*notes, *_twin_notes(ledger, judges)],
    )


def _twin_notes(ledger: Ledger, judges: Sequence[Judge]) -> Iterator[str]:
    """Warn of verdicts under another name, so that nobody pays twice by mistake."""
    for judge in judges:
        if (twin := ledger.twin_of(judge.name)) is not None:
            yield Note("plan.twin", twin=twin, name=judge.name)


def filler_text(tokens: int) -> str:
    """Return a text with this many tokens. It has many words, because one long word would be excluded as short."""
    return " ".join(["one"] * tokens) + "."


def placeholder_responses(
    contestants: Sequence[Model], items: Sequence[Item], samples: int, responses: Iterable[Response]
) -> list[Response]:
    """Return a placeholder for every answer that is still missing."""
    answered_keys = {(response.item, response.contestant, response.sample) for response in responses}
    words = filler_text(TOKENS_OUT["answer"])
    return [
        Response(item.id, model.name, (words,) * max(1, len(open_turns(item))), sample=sample)
        for model in contestants for item in items for sample in range(samples)
        if (item.id, model.name, sample) not in answered_keys
    ]  # fmt: skip


def ledger_usage(ledger: Ledger) -> UsageByName:
    """Return the usage of each judge and contestant in the ledger so far."""
    return {account.name: account.usage for account in ledger.bill()}


def plan_table_from_loads(
    answer_loads: Sequence[Load], verdict_loads: Sequence[Load], notes: Sequence[str] = ()
) -> Table:
    """Return the loads as a table; judging starts after answering, so both times add up."""
    loads = [*answer_loads, *verdict_loads]
    times = [time for time in (parallel_seconds(answer_loads), parallel_seconds(verdict_loads)) if time is not None]
    rows = [_plan_row(load.what, load.who, [load], load.seconds) for load in loads]
    if len(loads) > 1:
        rows.append(_plan_row("all", "", loads, sum(times) if times else None))
    columns = table_columns(
        "what", "who", "reused", "due", "calls", "tokens in", "tokens out", "dollars", "in batches", "time"
    )
    source = {"seconds": sum(times) if times else None}
    return Table("plan", Note("plan.title.what-would-be-asked"), columns, rows, [*_plan_notes(loads), *notes], source)


def _plan_row(what: str, who: str, loads: Sequence[Load], seconds: float | None) -> list[Cell]:
    """In a sum, loads without batch prices count at their live price."""
    counts = [_sum_if_known([getattr(load, name) for load in loads]) for name in _COUNTS]
    batches = [load.dollars if load.batch_dollars is None else load.batch_dollars for load in loads]
    has_batch_price = any(load.batch_dollars is not None for load in loads)
    time = None if seconds is None else format_duration(seconds)
    return [
        what,
        who,
        *counts,
        _sum_if_known([load.dollars for load in loads]),
        _sum_if_known(batches) if has_batch_price else None,
        time,
    ]


def _sum_if_known(amounts: Sequence[float | None]) -> float | None:
    known_amounts = [amount for amount in amounts if amount is not None]
    return sum(known_amounts) if len(known_amounts) == len(amounts) else None


def _plan_notes(loads: Sequence[Load]) -> Iterator[str]:
    if silent := [load.who for load in loads if load.calls is None]:
        yield Note("plan.silent", judges=", ".join(silent))
    if skipped_count := sum(load.skipped_count for load in loads):
        yield Note("plan.passed-over", n=skipped_count)
    active_loads = [load for load in loads if load.calls]
    for load in active_loads:
        if load.blind or any(load.pictures):
            yield prompt_pictures_note(load.who, load.pictures, load.blind)
    if not active_loads:
        return
    for load in active_loads:
        yield from _media_notes(load)
    yield from _price_notes(active_loads)
    yield Note("plan.sampled", n=SAMPLE)
    if not all(load.is_observed for load in active_loads):
        yield Note(
            "plan.unseen",
            tokens=TOKENS_OUT["analyze"], seconds=SECONDS["analyze"],
            direct=TOKENS_OUT["direct"], direct_seconds=SECONDS["direct"],
        )  # fmt: skip
    batch_price_flags = [load.batch_dollars is not None for load in active_loads]
    if any(batch_price_flags) and not all(batch_price_flags):
        yield Note("plan.live")
    if any(load.seconds for load in active_loads):
        yield Note("plan.time")


def _media_notes(load: Load) -> Iterator[str]:
    """Yield what a judge or contestant gets of videos, recordings and documents in the sampled prompts."""
    sent = load.sent_media
    phrases = []
    if sent["sounds"]:
        phrases.append(
            Note("plan.sent.frames-and-sound", frames=sent["frames"], n=sent["videos"], sounds=sent["sounds"])
        )
    elif sent["frames"]:
        phrases.append(Note("plan.sent.frames", frames=sent["frames"], n=sent["videos"]))
    phrases += [Note("plan.sent.pages", pages=sent["pages"], n=sent["documents"])] if sent["pages"] else []
    phrases += [Note("plan.sent.video", n=sent["sent video"])] if sent["sent video"] else []
    phrases += [Note("plan.sent.audio", n=sent["sent audio"])] if sent["sent audio"] else []
    phrases += [Note("plan.sent.document", n=sent["sent document"])] if sent["sent document"] else []
    phrases += [Note("plan.sent.still", n=sent["still"])] if sent["still"] else []
    if phrases:
        yield Note("plan.sent", who=load.who, said=join_notes(phrases))
    if sent["unknown"]:
        yield Note("plan.sent-unknown", who=load.who)


def _price_notes(active_loads: Sequence[Load]) -> Iterator[str]:
    from fullbench.models.wire.token_estimates import rule_source

    looking = {str(getattr(load.model, "model", load.who)) for load in active_loads if any(load.pictures)}
    if measured_models := sorted(model for model in looking if rule_source(model) == "measured"):
        yield Note("plan.pictures-measured", models=", ".join(measured_models))
    if unknown := sorted(model for model in looking if rule_source(model) == "unknown"):
        yield Note("plan.pictures-unknown", models=", ".join(unknown))
    if priceless := sorted({load.who for load in active_loads if load.model is not None and load.model.price is None}):
        yield Note("plan.priceless", models=", ".join(priceless))


def priced_budget(limit: float, models: Sequence[Model], *, spent_dollars: float = 0.0) -> Budget:
    """Return a budget; refuse it if a price is unknown. `spent_dollars` was spent before."""
    for model in models:
        if model.price is None:
            raise InputError(
                f"no price is known for {model.name!r}, so the budget cannot be checked: give its price in dollars "
                f"per million tokens (?price_in=..&price_out=..), or leave out the budget"
            )
    return Budget(limit, before=spent_dollars)


def check_keys_and_budget(
    models: Sequence[Model], budget: float | None, *, spent_dollars: float = 0.0
) -> Budget | None:
    """Refuse a missing key or a budget without prices before the first call.

    Return the budget, of which `spent_dollars` are already spent, or None without a limit.
    """
    for model in models:
        model.answer(())  # makes no call, but raises if the key is missing
    return None if budget is None else priced_budget(budget, models, spent_dollars=spent_dollars)


def models_of_judges(judges: Iterable[Judge]) -> list[Model]:
    """Return the models of the judges that declare them; other judges are billed by what they report."""
    return [model for judge in judges for model in models_of(judge) or ()]


@dataclass
class _TaskSplit(Generic[_Task]):
    stored_count: int = 0
    due: int = 0
    skipped_count: int = 0
    blind: int = 0
    pictures: Counter[int] = field(default_factory=Counter)
    sample: list[_Task] = field(default_factory=list)
    sheets: int = 0
    """Calls for the due tasks, if adjacent tasks that belong together share a call."""

    def load(self, what: str, who: str) -> Load:
        return Load(
            what,
            who,
            self.stored_count,
            self.due,
            skipped_count=self.skipped_count,
            pictures=self.pictures,
            blind=self.blind,
        )


def _split_tasks(
    tasks: Iterable[_Task],
    key: Callable[[_Task], Key],
    find_stored_keys: Callable[[Sequence[Key]], set[Key]],
    failed_keys: set[Key],
    shows: Callable[[_Task], tuple[Item, int]],
    *,
    belongs: Callable[[_Task], Hashable] = id,
) -> _TaskSplit[_Task]:
    """`shows` returns a task's item and its number of pictures; `belongs` is equal for tasks in the same call."""
    source = iter(tasks)
    sheet: Hashable = None
    split: _TaskSplit[_Task] = _TaskSplit()
    while chunk := list(islice(source, LOOKUP)):
        keys = [key(task) for task in chunk]
        stored_keys = find_stored_keys(keys)
        skipped_keys = failed_keys.intersection(keys) - stored_keys
        due_tasks = [
            task
            for place, task in zip(keys, chunk, strict=True)
            if place not in stored_keys and place not in skipped_keys
        ]
        split.stored_count += len(chunk) - len(due_tasks) - len(skipped_keys)
        split.due += len(due_tasks)
        split.skipped_count += len(skipped_keys)
        split.sample += due_tasks[: SAMPLE - len(split.sample)]
        for item, pictures in map(shows, due_tasks):
            split.pictures[pictures] += 1
            split.blind += WITHOUT_PICTURES in item.tags
        for task in due_tasks:
            before, sheet = sheet, belongs(task)
            split.sheets += sheet != before
    return split


def answer_load(model: Model, items: Sequence[Item], samples: int, ledger: Ledger, usage_by_name: UsageByName) -> Load:
    """Return the load of a contestant."""
    name = model.name
    tasks = ((item, number) for item in items for number in range(samples))
    split = _split_tasks(
        tasks, lambda task: (task[0].key, task[1]), lambda keys: ledger.answered_keys(name, keys),
        ledger.failed_for_good(name), lambda task: (task[0], len(task[0].pictures)),
    )  # fmt: skip
    prompt_sequences = [_prepared_prompts(model, item) for item, _ in split.sample]
    return estimate_load(
        split.load("answers", model.name),
        model,
        usage_by_name,
        task_count=split.due,
        prompt_sequences=prompt_sequences,
        mode="answer",
    )


def _prepared_prompts(model: Model, item: Item) -> tuple[Prompt, ...]:
    """Return the prompts as they would be sent; as they are if a file cannot be decoded, which fails the call."""
    prompts = dialogue_prompts(item)
    try:
        return tuple(prepare_prompt(model, prompt) for prompt in prompts)
    except InputError:
        return prompts


def _with_placeholder_answer(judge: Judge, case: Case) -> Case:
    """Return the case with a placeholder for the judge's own answer, which is planned apart from the verdicts."""
    has_own_answer = answer_request_of(judge, case) is not None
    return case.with_own_answer(Call("", filler_text(TOKENS_OUT["answer"]))) if has_own_answer else case


def verdict_load(judge: Judge, cases: Iterable[Case], ledger: Ledger, usage_by_name: UsageByName) -> Load:
    """Return the load of a judge."""
    name = judge.name
    split = _split_tasks(
        cases, lambda case: (case.key, case.trial), lambda keys: ledger.judged_keys(name, keys),
        ledger.failed_for_good(name), lambda case: (case.item, count_prompt_pictures(case, judge)),
        belongs=response_of if isinstance(judge, SheetJudge) else id,
    )  # fmt: skip
    base = split.load("verdicts", judge.name)
    models = models_of(judge)
    if models == () or not split.due:
        return base
    sample = [_with_placeholder_answer(judge, case) for case in split.sample]
    prompts_by_case = [prompts_of(judge, case) for case in sample] if models else []
    if models is None or None in prompts_by_case:
        return replace(base, calls=None, tokens_in=None, tokens_out=None, dollars=None)
    prompt_sequences = [prompts for prompts in prompts_by_case if prompts]
    task_count = round(split.due * len(prompt_sequences) / len(prompts_by_case))
    if isinstance(judge, SheetJudge):
        prompt_sequences, task_count = judge.prompts_together(sample), split.sheets
    mode = str(judge.settings.get("mode", "analyze"))
    return estimate_load(
        base, models[0], usage_by_name, task_count=task_count, prompt_sequences=prompt_sequences, mode=mode
    )
