"""Job of an engine: the work of one judge or contestant, and the recipe from which a remote worker builds it."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from fullbench.core.judge import Judge
from fullbench.core.model import Model
from fullbench.errors import DataWarning
from fullbench.studies.engines.remote_factory import rebuild_from_spec, wants_gpu

if TYPE_CHECKING:
    # The ledger is loaded late, so that commands that need none start fast.
    from fullbench.ledger.contents_and_cost import Role
    from fullbench.ledger.ledger import Ledger

Key = tuple[str, int]
Ask = Callable[[Iterable[Any]], Iterator[Any]]
"""Takes tasks lazily and yields one outcome for each, in any order."""


class Job(ABC):
    """Work of one judge or contestant: source of tasks, lookup of stored ones, the calls, storage of outcomes.

    Outcomes have `case`, `trial` and `usage`, like `Verdict` and `Failure`.
    """

    role: ClassVar[Role]

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
        """Whether it has ever had a usable outcome; otherwise it is stopped after `HOPELESS` tries."""
        return True

    def failed_keys(self) -> Collection[Key]:
        """Return keys that failed permanently in earlier runs."""
        return self.ledger.failed_for_good(self.name)

    def hold_lock(self) -> AbstractContextManager[Any]:
        """Keep other runs from calling the same judge or contestant."""
        return self.ledger.hold_lock(self.name)


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
            f"{ledger.place}: {twin!r} has ruled here and has the same settings as {who.name!r}, which is asked anew; "
            f"where they are one, stop and type: fullbench ledger alias {twin!r} {who.name!r} --ledger {ledger.place}",
            DataWarning,
            stacklevel=2,
        )
    return (notice,) if notice else ()
