"""What a study would ask and cost, before anything is sent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Generic, TypeVar

from fullbench.core.case import Case
from fullbench.core.column_labels import headings
from fullbench.core.item import WITHOUT_PICTURES, Item
from fullbench.core.judge import Judge, models_of, prompts_of
from fullbench.core.model import Model, Prompt
from fullbench.core.note import Note
from fullbench.core.response import Response
from fullbench.core.table import Cell, Table
from fullbench.errors import InputError
from fullbench.judges.rubric_in_one_call import SheetJudge, response_of
from fullbench.ledger.ledger import Ledger
from fullbench.studies.engines import LOOKUP, Budget, Key
from fullbench.studies.run.cost_forecast import SECONDS, TOKENS_OUT, Load, Seen, duration, weighed
from fullbench.studies.run.missing_pictures import carried, carrying
from fullbench.studies.run.progress_display import clock

SAMPLE = 200
_COUNTS = ("known", "due", "calls", "tokens_in", "tokens_out")
_Task = TypeVar("_Task")

Cases = Callable[[Judge], Iterator[Case]]
"""The cases that a judge is to hear."""


def table(
    ledger: Ledger,
    *,
    contestants: Sequence[Model],
    items: Sequence[Item],
    judges: Sequence[Judge],
    cases: Cases,
    samples: int = 1,
    notes: Sequence[str] = (),
) -> Table:
    """One row for each contestant and judge, and one for all: what is known, what would be asked, and what it takes."""
    used = seen(ledger)
    return laid_out(
        [answers(model, items, samples, ledger, used) for model in contestants],
        [verdicts(judge, cases(judge), ledger, used) for judge in judges],
        [*notes, *_twins(ledger, judges)],
    )


def _twins(ledger: Ledger, judges: Sequence[Judge]) -> Iterator[str]:
    """Judges that have ruled under another name: nobody should pay for that twice unawares."""
    for judge in judges:
        if (twin := ledger.twin_of(judge.name)) is not None:
            yield Note(
                "plan.twin",
                "{twin} has ruled here and has the same settings as {name}, which would be asked anew; where they are "
                "one, type first: fullbench ledger alias '{twin}' '{name}'",
                twin=twin, name=judge.name,
            )  # fmt: skip


def filler(tokens: int) -> str:
    """A text of so many tokens: many words, not one long one, which a study without short answers would leave out."""
    return " ".join(["one"] * tokens) + "."


def stand_ins(
    contestants: Sequence[Model], items: Sequence[Item], samples: int, responses: Iterable[Response]
) -> list[Response]:
    """A stand-in for every answer that a contestant has not given yet."""
    answered = {(response.item, response.contestant, response.sample) for response in responses}
    words = filler(TOKENS_OUT["answer"])
    return [
        Response.say(item.id, model.name, words, sample=sample)
        for model in contestants for item in items for sample in range(samples)
        if (item.id, model.name, sample) not in answered
    ]  # fmt: skip


def seen(ledger: Ledger) -> Seen:
    """What everybody in the ledger has used so far."""
    return {account.name: account.usage for account in ledger.bill()}


def laid_out(answering: Sequence[Load], judging: Sequence[Load], notes: Sequence[str] = ()) -> Table:
    """Loads as a table; those who judge begin when all have answered."""
    loads = [*answering, *judging]
    times = [time for time in (duration(answering), duration(judging)) if time is not None]
    rows = [_row(load.what, load.who, [load], load.seconds) for load in loads]
    if len(loads) > 1:
        rows.append(_row("all", "", loads, sum(times) if times else None))
    columns = headings(
        "what", "who", "known", "to ask", "calls", "tokens in", "tokens out", "dollars", "in batches", "time"
    )
    source = {"seconds": sum(times) if times else None}
    return Table(
        "plan",
        Note("plan.title.what-would-be-asked", "What would be asked"),
        columns,
        rows,
        [*_notes(loads), *notes],
        source,
    )


def _row(what: str, who: str, loads: Sequence[Load], seconds: float | None) -> list[Cell]:
    """A row of one load or of several; in batches, what takes none counts at its live price where it is not alone."""
    counts = [_sum([getattr(load, name) for load in loads]) for name in _COUNTS]
    batches = [load.dollars if load.batch_dollars is None else load.batch_dollars for load in loads]
    filed = any(load.batch_dollars is not None for load in loads)
    time = None if seconds is None else clock(seconds)
    return [what, who, *counts, _sum([load.dollars for load in loads]), _sum(batches) if filed else None, time]


def _sum(amounts: Sequence[float | None]) -> float | None:
    """The sum; None where a part is not known."""
    known = [amount for amount in amounts if amount is not None]
    return sum(known) if len(known) == len(amounts) else None


def _notes(loads: Sequence[Load]) -> Iterator[str]:
    if silent := [load.who for load in loads if load.calls is None]:
        yield Note(
            "plan.silent",
            "What {judges} asks is not known, so its calls and its price are not: a judge says so by `models` and "
            "`prompts`.",
            judges=", ".join(silent),
        )
    if over := sum(load.passed_over for load in loads):
        yield Note(
            "plan.passed-over",
            "{n:,} failed for good before and would not be asked; --again asks for them anew.",
            n=over,
        )
    asked = [load for load in loads if load.calls]
    for load in asked:
        if load.blind or any(load.pictures):
            yield carrying(load.who, load.pictures, load.blind)
    if not asked:
        return
    yield from _price_notes(asked)
    yield Note(
        "plan.sampled",
        "Tokens are estimated from {n} of the prompts at most; retries and resampled replies come on top.",
        n=SAMPLE,
    )
    if not all(load.observed for load in asked):
        yield Note(
            "plan.unseen",
            "Where the ledger has seen no call, a reply is taken to have {tokens} tokens and to take {seconds:g} s "
            "({direct} tokens and {direct_seconds:g} s without an analysis).",
            tokens=TOKENS_OUT["analyze"], seconds=SECONDS["analyze"],
            direct=TOKENS_OUT["direct"], direct_seconds=SECONDS["direct"],
        )  # fmt: skip
    filed = [load.batch_dollars is not None for load in asked]
    if any(filed) and not all(filed):
        yield Note("plan.live", "In batches, what takes none counts at its live price.")
    if any(load.seconds for load in asked):
        yield Note(
            "plan.time",
            "Time is what the limits allow: rpm and tpm, and concurrency at a time, or 8 where it adapts and may grow.",
        )


def _price_notes(asked: Sequence[Load]) -> Iterator[str]:
    """Where what a picture takes is not the provider's own word, and where no price is known."""
    from fullbench.models.wire.token_estimates import source

    looking = {str(getattr(load.model, "model", load.who)) for load in asked if any(load.pictures)}
    if measured := sorted(model for model in looking if source(model) == "measured"):
        yield Note(
            "plan.pictures-measured",
            "What a picture takes of {models} is estimated by what others found out, not by its provider's own rule.",
            models=", ".join(measured),
        )
    if unknown := sorted(model for model in looking if source(model) == "unknown"):
        yield Note(
            "plan.pictures-unknown",
            "What a picture takes of {models} is not known: a token for every 750 pixels is assumed, 1,600 at most.",
            models=", ".join(unknown),
        )
    if priceless := sorted({load.who for load in asked if load.model is not None and load.model.price is None}):
        yield Note(
            "plan.priceless",
            "No price is known for {models}: give it in dollars per million tokens (?price_in=..&price_out=..), or "
            "install the list of prices (pip install '.[prices]').",
            models=", ".join(priceless),
        )


def purse(limit: float, models: Sequence[Model], *, spent: float = 0.0) -> Budget:
    """A budget, refused where a price is not known: money cannot be counted then. `spent` was taken from it before."""
    for model in models:
        if model.price is None:
            raise InputError(
                f"no price is known for {model.name!r}, so a budget cannot be kept: give its price in dollars per "
                "million tokens (?price_in=..&price_out=..), or leave out the budget"
            )
    return Budget(limit, before=spent)


def ready(models: Sequence[Model], budget: float | None, *, spent: float = 0.0) -> Budget | None:
    """Refuse what cannot go well before anything is asked: a key that is missing, a budget without prices.

    The budget, with what was `spent` of it before; None where there is none.
    """
    for model in models:
        model.answer(())  # asks nothing, and looks for the key
    return None if budget is None else purse(budget, models, spent=spent)


def models_asked(judges: Iterable[Judge]) -> list[Model]:
    """The models that judges say they ask; one that does not say is watched by what it reports as it goes."""
    return [model for judge in judges for model in models_of(judge) or ()]


@dataclass
class _Split(Generic[_Task]):
    """How many tasks are known, are due, and failed for good, what pictures the due ones show, and some of these."""

    known: int = 0
    due: int = 0
    over: int = 0
    blind: int = 0
    pictures: Counter[int] = field(default_factory=Counter)
    sample: list[_Task] = field(default_factory=list)
    sheets: int = 0
    """So many calls the due ones take where those in a row that belong together are asked in one."""

    def load(self, what: str, who: str) -> Load:
        return Load(what, who, self.known, self.due, passed_over=self.over, pictures=self.pictures, blind=self.blind)


def _split(
    tasks: Iterable[_Task],
    key: Callable[[_Task], Key],
    known: Callable[[Sequence[Key]], set[Key]],
    gone: set[Key],
    shows: Callable[[_Task], tuple[Item, int]],
    *,
    belongs: Callable[[_Task], Hashable] = id,
) -> _Split[_Task]:
    """Tasks by whether they are due; `shows` gives a task's item and how many pictures its prompt carries, `belongs`
    what tasks that are asked in one call have in common."""
    source = iter(tasks)
    sheet: Hashable = None
    split: _Split[_Task] = _Split()
    while chunk := list(islice(source, LOOKUP)):
        keys = [key(task) for task in chunk]
        answered = known(keys)
        lost = gone.intersection(keys) - answered
        fresh = [task for place, task in zip(keys, chunk, strict=True) if place not in answered and place not in lost]
        split.known += len(chunk) - len(fresh) - len(lost)
        split.due += len(fresh)
        split.over += len(lost)
        split.sample += fresh[: SAMPLE - len(split.sample)]
        for item, pictures in map(shows, fresh):
            split.pictures[pictures] += 1
            split.blind += WITHOUT_PICTURES in item.tags
        for task in fresh:
            before, sheet = sheet, belongs(task)
            split.sheets += sheet != before
    return split


def answers(model: Model, items: Sequence[Item], samples: int, ledger: Ledger, used: Seen) -> Load:
    """What a contestant would be asked."""
    name = model.name
    asked = ((item, number) for item in items for number in range(samples))
    split = _split(
        asked, lambda task: (task[0].key, task[1]), lambda keys: ledger.answered(name, keys),
        ledger.failed_for_good(name), lambda task: (task[0], len(task[0].pictures)),
    )  # fmt: skip
    hearings = [(Prompt(item.turns),) for item, _ in split.sample]
    return weighed(split.load("answers", model.name), model, used, asked=split.due, hearings=hearings, mode="answer")


def verdicts(judge: Judge, cases: Iterable[Case], ledger: Ledger, used: Seen) -> Load:
    """What a judge would be asked."""
    name = judge.name
    split = _split(
        cases, lambda case: (case.key, case.trial), lambda keys: ledger.heard(name, keys),
        ledger.failed_for_good(name), lambda case: (case.item, carried(case, judge)),
        belongs=response_of if isinstance(judge, SheetJudge) else id,
    )  # fmt: skip
    base = split.load("verdicts", judge.name)
    models = models_of(judge)
    if models == () or not split.due:
        return base
    sent = [prompts_of(judge, case) for case in split.sample] if models else []
    if models is None or None in sent:
        return replace(base, calls=None, tokens_in=None, tokens_out=None, dollars=None)
    hearings = [prompts for prompts in sent if prompts]
    asked = round(split.due * len(hearings) / len(sent))
    if isinstance(judge, SheetJudge):
        hearings, asked = judge.prompts_together(split.sample), split.sheets
    mode = str(judge.settings.get("mode", "analyze"))
    return weighed(base, models[0], used, asked=asked, hearings=hearings, mode=mode)
