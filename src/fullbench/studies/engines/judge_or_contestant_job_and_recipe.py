"""Job of an engine: the work of one judge or contestant, and the recipe from which a remote worker builds it."""

from __future__ import annotations

import platform
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar

from fullbench.core.judge import Judge, models_of
from fullbench.core.model import Model
from fullbench.errors import DataWarning, EngineError, FullbenchError

if TYPE_CHECKING:
    from fullbench.ledger.contents_and_cost import Role
    from fullbench.ledger.ledger import Ledger


class _HasName(Protocol):
    @property
    def name(self) -> str: ...


_NamedType = TypeVar("_NamedType", bound=_HasName)


def wants_gpu(who: object) -> bool:
    """Return True if a judge or one of its models computes on a device other than the CPU."""
    parts = (who, *(models_of(who) or () if isinstance(who, Judge) else ()))
    devices = (getattr(part, "device", "cpu") for part in parts)
    return any(isinstance(device, str) and not device.startswith("cpu") for device in devices)


def rebuild_from_spec(name: str, make: Callable[[str], _NamedType], recipe: str | _NamedType) -> _NamedType:
    """Return the judge or contestant called `name`, built from its spec if `recipe` is one.

    The name contains everything that can change a verdict. A machine where the same spec means something else (other
    files, another precision, another version) is therefore detected before its first call.
    """
    if not isinstance(recipe, str):
        return recipe
    try:
        judge_or_model = make(recipe)
    except FullbenchError as error:
        # The run has built this spec before, so something is missing on this machine.
        raise EngineError(
            f"the worker on {platform.node()} cannot make {recipe!r}: {error}; install the same plugins and extras "
            f"there as where the run was started"
        ) from error
    if judge_or_model.name != name:
        raise EngineError(
            f"the spec {recipe!r} means {judge_or_model.name!r} on the worker {platform.node()} and {name!r} "
            "where the run was started; use the same version of fullbench and the same files on all machines, and set "
            "precision and device in the spec"
        )
    return judge_or_model


Key = tuple[str, int]
Ask = Callable[[Iterable[Any]], Iterator[Any]]
"""Takes tasks lazily and yields one outcome for each, in any order."""


class Job(ABC):
    """Work of one judge or contestant: source of tasks, lookup of stored ones, the calls, storage of outcomes.

    Outcomes have `case`, `trial` and `usage`, like `Verdict` and `Failure`.
    """

    role: ClassVar[Role]
    is_locked_by_caller = False

    def __init__(self, who: Judge | Model, ledger: Ledger, spec: str | None) -> None:
        """Register the judge or contestant in the ledger; remote workers get its spec, or a pickle without one."""
        self.name, self.ledger = who.name, ledger
        self.recipe = Recipe(type(self), who.name, wants_gpu(who), spec or who)
        self.ask: Ask = partial(self.call, who)
        self.notices = register_in_ledger(ledger, self.role, who)

    @staticmethod
    @abstractmethod
    def from_spec(spec: str) -> Any:
        """Build a judge or contestant."""

    @staticmethod
    @abstractmethod
    def call(who: Any, tasks: Iterable[Any]) -> Iterator[Any]:
        """Take tasks lazily and yield one outcome of the judge or contestant for each, in any order."""

    @abstractmethod
    def tasks(self) -> Iterable[Any]:
        """Return all tasks, stored or not."""

    @abstractmethod
    def key(self, task: Any) -> Key:
        """Return the key of a task."""

    @abstractmethod
    def stored_keys(self, keys: Sequence[Key]) -> set[Key]:
        """Return keys with an outcome in any study; their tasks become members of this study."""

    @abstractmethod
    def enter(self, tasks: Sequence[Any]) -> None:
        """Enter due tasks in the ledger."""

    @abstractmethod
    def keep(self, outcome: Any) -> None:
        """Store an outcome or a failure."""

    def prepare_task(self, task: Any) -> Any:
        """Transform a due task before it is handed to the engine."""
        return task

    @property
    def has_succeeded(self) -> bool:
        """True if it ever had a usable outcome; otherwise it is stopped after `HOPELESS` tries."""
        return True

    def failed_keys(self) -> Collection[Key]:
        """Return keys that failed permanently in earlier runs."""
        return self.ledger.failed_for_good(self.name)

    def hold_lock(self) -> AbstractContextManager[Any]:
        """Keep other runs from calling the same judge or contestant."""
        return nullcontext() if self.is_locked_by_caller else self.ledger.hold_lock(self.name)


@dataclass(frozen=True)
class Recipe:
    """Picklable builder of `Ask` for a remote worker. `gpu` is True if a GPU helps."""

    job_class: type[Job]
    name: str
    gpu: bool
    spec_or_instance: str | Judge | Model

    def __call__(self) -> Ask:
        return partial(
            self.job_class.call, rebuild_from_spec(self.name, self.job_class.from_spec, self.spec_or_instance)
        )


def register_in_ledger(ledger: Ledger, role: Role, who: Judge | Model) -> tuple[str, ...]:
    """Register a judge or contestant in the ledger, and return the ledger's notices."""
    notice = ledger.declare(role, who.name, who.settings)
    if role == "judge" and (twin := ledger.twin_of(who.name)) is not None:
        warnings.warn(
            f"{ledger.place}: {twin!r} has verdicts here and the same settings as {who.name!r}, which is called "
            f"again. If they are the same judge, stop and run: fullbench ledger alias {twin!r} {who.name!r} --ledger "
            f"{ledger.place}",
            DataWarning,
            stacklevel=2,
        )
    return (notice,) if notice else ()
