"""A judge: whoever can mark a response."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Literal, Protocol, runtime_checkable

from fullbench.core.case import Case
from fullbench.core.model import Model, Prompt
from fullbench.core.verdict import Failure, Verdict


@runtime_checkable
class Judge(Protocol):
    """Anything that rules on cases.

    A judge may also say what it is (`kind`), which models it asks (`models`) and what it would send (`prompts(case)`):
    the functions below read that, and what it does not say is unknown, never nothing.

    `hear` takes cases lazily and yields one verdict or failure for each, in any order. `name` is the identity: two
    judges that may rule differently never share one.
    """

    @property
    def name(self) -> str: ...

    @property
    def settings(self) -> Mapping[str, Any]: ...

    def hear(self, cases: Iterable[Case]) -> Iterator[Verdict | Failure]: ...


Kind = Literal["model", "metric", "scorer", "person", "panel"]


class AsksNobody:
    """What a judge is that computes its rulings by itself: it asks no model, sends nothing and costs nothing."""

    kind: ClassVar[Kind]
    models: ClassVar[tuple[Model, ...]] = ()

    def prompts(self, case: Case) -> tuple[Prompt, ...]:
        """Nothing is sent."""
        return ()


def kind_of(judge: Judge) -> Kind | None:
    """What a judge is, where it says so by an attribute `kind`; None where it does not."""
    return getattr(judge, "kind", None)


def models_of(judge: Judge) -> tuple[Model, ...] | None:
    """The models that a judge asks, where it says so by an attribute `models`; None where nobody knows.

    An empty tuple means that it asks none, and so costs nothing; unknown is never taken for that.
    """
    models = getattr(judge, "models", None)
    return None if models is None else tuple(models)


def prompts_of(judge: Judge, case: Case) -> tuple[Prompt, ...] | None:
    """What a judge would send for a case, by its method `prompts`; None where it has none, or cannot say."""
    ask = getattr(judge, "prompts", None)
    prompts = None if ask is None else ask(case)
    return None if prompts is None else tuple(prompts)


def with_models(judge: Judge, models: Sequence[Model]) -> Judge | None:
    """The judge with other models in the place of its own, in their order; None where it has no `with_models`."""
    swap = getattr(judge, "with_models", None)
    swapped: Judge | None = None if swap is None else swap(models)
    return swapped
