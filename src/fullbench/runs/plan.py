"""What a study would ask and cost, before anything is sent."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import TypeVar

from fullbench.core.cases import Case
from fullbench.core.errors import InputError
from fullbench.core.items import Item
from fullbench.core.models import Judge, Model, Prompt
from fullbench.core.results import Cell, Table
from fullbench.judges.extracting import SecondReader
from fullbench.judges.prompted import PromptedJudge
from fullbench.ledger.store import Ledger
from fullbench.runs.engines import LOOKUP, Budget, Key

SAMPLE = 200
_WORDS_OUT = {"direct": 8, "analyze": 300, "steps": 300, "answer": 300}
_Task = TypeVar("_Task")

Cases = Callable[[], Iterator[Case]]


def table(
    ledger: Ledger, *, contestants: Sequence[Model], items: Sequence[Item], judges: Sequence[Judge], cases: Cases
) -> Table:
    """One row for each contestant and judge: what is known, what would be asked, tokens and dollars."""
    rows = [_contestant_row(model, items, ledger) for model in contestants]
    rows += [_judge_row(judge, cases(), ledger) for judge in judges]
    notes = [
        f"Tokens are estimated from {SAMPLE} of the prompts at most, and the length of replies is assumed "
        f"({_WORDS_OUT['analyze']} tokens, {_WORDS_OUT['direct']} where no analysis is asked for); retries and "
        "resampled replies come on top."
    ]
    if contestants and any(row[0] == "answers" and row[3] for row in rows):
        notes.append("Verdicts on answers that are still to be given are not counted yet.")
    columns = ("what", "who", "known", "to ask", "tokens in", "tokens out", "dollars")
    return Table("plan", "What would be asked", columns, rows, notes)


def purse(limit: float, models: Sequence[Model]) -> Budget:
    """A budget, refused where a price is not known: money cannot be counted then."""
    for model in models:
        if model.price is None:
            raise InputError(
                f"no price is known for {model.name!r}, so a budget cannot be kept: give its price in dollars per "
                "million tokens (?price_in=..&price_out=..), or leave out the budget"
            )
    return Budget(limit)


def model_of(judge: Judge) -> Model | None:
    """The model that a judge asks; None where it asks none."""
    if isinstance(judge, SecondReader):
        return model_of(judge.judge)
    return judge.model if isinstance(judge, PromptedJudge) else None


def _split(
    tasks: Iterable[_Task], key: Callable[[_Task], Key], known: Callable[[Sequence[Key]], set[Key]]
) -> tuple[int, int, list[_Task]]:
    """How many tasks are known, how many are due, and some of the due ones."""
    source = iter(tasks)
    counted, due = 0, 0
    sample: list[_Task] = []
    while chunk := list(islice(source, LOOKUP)):
        found = known([key(task) for task in chunk])
        fresh = [task for task in chunk if key(task) not in found]
        counted += len(chunk) - len(fresh)
        due += len(fresh)
        sample += fresh[: SAMPLE - len(sample)]
    return counted, due, sample


def _contestant_row(model: Model, items: Sequence[Item], ledger: Ledger) -> list[Cell]:
    known, due, sample = _split(items, lambda item: (item.key, 0), lambda keys: ledger.answered(model.name, keys))
    return ["answers", model.name, known, due, *_price(model, due, [Prompt(item.turns) for item in sample], "answer")]


def _judge_row(judge: Judge, cases: Iterable[Case], ledger: Ledger) -> list[Cell]:
    known, due, sample = _split(cases, lambda case: (case.key, case.trial), lambda keys: ledger.heard(judge.name, keys))
    inner = judge.judge if isinstance(judge, SecondReader) else judge
    if not isinstance(inner, PromptedJudge):
        return ["verdicts", judge.name, known, due, 0, 0, 0.0]
    heard = [case for case in sample if not inner.recuses(case)]
    asked = round(due * len(heard) / len(sample)) if sample else 0
    prompts = [inner.prompt(case) for case in heard]
    return ["verdicts", judge.name, known, due, *_price(inner.model, asked, prompts, inner.mode)]


def _price(model: Model, calls: int, prompts: Sequence[Prompt], mode: str) -> tuple[int, int, float | None]:
    """Tokens in, tokens out and dollars of so many calls."""
    from fullbench.models.tokens import estimate

    mean = sum(map(estimate, prompts)) / len(prompts) if prompts else 0.0
    tokens_in, tokens_out = round(mean * calls), _WORDS_OUT[mode] * calls
    price = model.price
    dollars = None if price is None else (tokens_in * price[0] + tokens_out * price[1]) / 1e6
    return tokens_in, tokens_out, dollars
