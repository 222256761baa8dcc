"""The `Judge` protocol, and functions that read a judge's optional attributes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Literal, Protocol, runtime_checkable

from fullbench.core.case import Case
from fullbench.core.dialogue_turn_answers_and_criteria import case_as_shown
from fullbench.core.item import Item
from fullbench.core.model import Model, Prompt
from fullbench.core.verdict import Failure, Verdict


@runtime_checkable
class Judge(Protocol):
    """Anything that judges cases.

    `judge` takes cases lazily and yields one verdict or failure for each, in any order. `name` is the identity: two
    judges that may decide differently never share one.

    A judge may also define `kind`, `models` (those it calls) and `prompts(case)` (what it would send). The functions
    below read them. A missing attribute means unknown, never nothing. A judge that answers the question first has
    `answers_first = True` and `answer_request(case)`: the request for its answer, which depends on the item only, or
    None if it needs none.
    """

    @property
    def name(self) -> str: ...

    @property
    def settings(self) -> Mapping[str, Any]: ...

    def judge(self, cases: Iterable[Case]) -> Iterator[Verdict | Failure]: ...


def explain_missing_parts(candidate: object) -> str:
    """Return one sentence that names what an object lacks to be a judge."""
    if hasattr(candidate, "hear") and not hasattr(candidate, "judge"):
        return "Its method `hear` is called `judge` now; rename it."
    missing = [name for name in ("name", "settings", "judge") if not hasattr(candidate, name)]
    return f"A judge has name, settings and judge; missing: {', '.join(missing)}."


Kind = Literal["model", "metric", "scorer", "person", "panel"]


class CallsNoModel:
    """Base of judges that compute verdicts themselves: they call no model, send nothing and cost nothing."""

    kind: ClassVar[Kind]
    models: ClassVar[tuple[Model, ...]] = ()

    def prompts(self, case: Case) -> tuple[Prompt, ...]:
        """Return no prompts, because nothing is sent."""
        return ()


def kind_of(judge: Judge) -> Kind | None:
    """Return `judge.kind`, or None if it is not defined."""
    return getattr(judge, "kind", None)


def models_of(judge: Judge) -> tuple[Model, ...] | None:
    """Return `judge.models`, or None if unknown; an empty tuple means that it calls none and costs nothing."""
    models = getattr(judge, "models", None)
    return None if models is None else tuple(models)


def prompts_of(judge: Judge, case: Case) -> tuple[Prompt, ...] | None:
    """Return the prompts that a judge would send for a case, or None if unknown."""
    ask = getattr(judge, "prompts", None)
    prompts = None if ask is None else ask(case_as_shown(case))
    return None if prompts is None else tuple(prompts)


def answers_first(judge: Judge) -> bool:
    """Return True if the judge answers the question itself before it sees the responses, by its attribute."""
    return bool(getattr(judge, "answers_first", False))


def answer_request_of(judge: Judge, case: Case) -> Item | None:
    """Return the request for the judge's own answer to the item, or None if it needs none."""
    request = getattr(judge, "answer_request", None) if answers_first(judge) else None
    item: Item | None = None if request is None else request(case_as_shown(case))
    return item


def with_models(judge: Judge, models: Sequence[Model]) -> Judge | None:
    """Return the judge with other models in place of its own, in order, or None if it has no `with_models`."""
    swap = getattr(judge, "with_models", None)
    new_judge: Judge | None = None if swap is None else swap(models)
    return new_judge
