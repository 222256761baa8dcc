"""A judge: whoever can mark a response."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal, Protocol, runtime_checkable

from fullbench.nouns.case import Case
from fullbench.nouns.model import Model, Prompt
from fullbench.nouns.verdict import Failure, Verdict


@runtime_checkable
class Judge(Protocol):
    """Anything that rules on cases.

    `hear` takes cases lazily and yields one verdict or failure for each, in any order. `name` is the identity: two
    judges that may rule differently never share one.
    """

    @property
    def name(self) -> str: ...

    @property
    def settings(self) -> Mapping[str, Any]: ...

    def hear(self, cases: Iterable[Case]) -> Iterator[Verdict | Failure]: ...


Kind = Literal["model", "metric", "scorer", "person", "panel"]


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
    """What a judge would send for a case, by its method `prompts`; None where it has none."""
    ask = getattr(judge, "prompts", None)
    return None if ask is None else tuple(ask(case))
