"""A benchmark: a paper, as one object with every hook in one place."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from fullbench.core.case import Case
from fullbench.core.item import Item
from fullbench.core.judge import Judge
from fullbench.core.model import Model
from fullbench.core.record import Record
from fullbench.core.reproduction import Brought, Reproduction
from fullbench.core.response import Response
from fullbench.core.table import Table
from fullbench.core.verdict import Verdict
from fullbench.errors import InputError


@dataclass(frozen=True)
class Late:
    """A function by its path, `MODULE:NAME`, whose module is imported when it is first called: listing benchmarks needs
    none of what their tables and data need.

    >>> Late("math:hypot")(3, 4)
    5.0
    """

    path: str

    def __call__(self, *values: Any, **named: Any) -> Any:
        return self.function(*values, **named)

    @property
    def function(self) -> Callable[..., Any]:
        """The function itself."""
        module, _, name = self.path.partition(":")
        function: Callable[..., Any] = getattr(import_module(module), name)
        return function


class Items(Protocol):
    """What is asked: the sample that ships with the package where no source is given, else the data in the source."""

    def __call__(self, source: Path | None = None, /) -> Iterable[Item]: ...


class Cases(Protocol):
    """What is judged: the same cases for the same input, in the same order, each time."""

    def __call__(
        self, items: Sequence[Item], responses: Iterable[Response], /, *, trials: int = 1
    ) -> Iterator[Case]: ...


class Labels(Protocol):
    """People's verdicts on responses to the items, one for each person who judged."""

    def __call__(self, source: Path | None = None, /) -> Iterable[Verdict]: ...


class Bring(Protocol):
    """What is known already: items, responses and verdicts of a source, or of the sample."""

    def __call__(self, source: Path | None = None, /) -> Brought: ...


class Submission(Protocol):
    """The answers of a predictions file in the paper's own layout, said to be those of `name`."""

    def __call__(self, path: Path, items: Sequence[Item], data: Path | None, name: str, /) -> Sequence[Response]: ...


def no_items(_: Path | None = None, /) -> Iterable[Item]:
    """The items of a benchmark whose questions were never released."""
    raise InputError("this benchmark has no items: its questions were not released, so nothing can be asked anew")


def no_cases(_: Sequence[Item], __: Iterable[Response], /, *, trials: int = 1) -> Iterator[Case]:  # noqa: ARG001
    """The cases of a benchmark whose questions were never released."""
    raise InputError("this benchmark has no cases: its questions were not released, so nothing can be judged anew")


def no_tables(_: Record, /) -> Sequence[Table]:
    """The tables of a benchmark that has no items."""
    return []


@dataclass(frozen=True, kw_only=True)
class Benchmark:
    """What it is called, which paper it follows, what is asked, what is judged and what is shown; and what else it has.

    The first five are every benchmark's; the others are hooks, None where it has none.
    """

    name: str
    paper: str
    items: Items = no_items
    cases: Cases = no_cases
    tables: Callable[[Record], Sequence[Table]] = no_tables
    """Pure: the same record gives the same tables, and nothing is asked, read or written."""

    wording: Callable[..., Mapping[str, Any]] | None = None
    """Words of its own for models that judge: what a `PromptedJudge` takes besides the model. A study of the benchmark
    asks in them, unless a judge's spec says otherwise; elsewhere the option `wording=NAME` does. It takes one of
    the `manners` where there are some."""
    asking: Callable[[], str] | None = None
    """Words of its own around a question for models that answer: a template with `{pictures}` and `{question}`, which
    a contestant's option `asking=NAME` takes."""
    manners: Sequence[str] = ()
    """The paper's ways of asking a judge, for each of which there are words; the first where none is named."""
    manner_of_paper: str = ""
    """The one of them that the paper's own judge was asked in, where that is not the first: a study then says so."""
    hears: Callable[[Judge, Case], bool] | None = None
    """Whether a case is for a judge, where not every judge hears every case: score models give numbers in units of
    their own, models that are asked rate on a scale."""
    together: bool = False
    """Whether ratings and a choice on the same responses are asked for in one call (see `judges.rating_and_choice`)."""
    protocol: Callable[[Mapping[str, Any]], Benchmark] | None = None
    """The benchmark asked by another protocol, from what a study's table `[protocol]` says."""
    labels: Labels | None = None
    contestants: Callable[[], Sequence[Model]] | None = None
    """Models of its own that answer, for a study that names none."""
    judges: Callable[[], Sequence[Judge]] | None = None
    """Judges of its own, for a study that names none."""
    references: Callable[[Sequence[Item]], Sequence[Response]] | None = None
    """References that play along as a contestant."""
    submission: Submission | None = None
    tasks: Mapping[str, str] | None = None
    """Kinds of tasks in which people do the paper's work: the kind's name, as the door `tasks` knows it, and what it
    is for."""
    commands: Mapping[str, str] | None = None
    """Commands that came with it: the command's name, as the door `commands` knows it, and what it is for."""
    bring: Bring | None = None
    """Verdicts that it brings: people's, and those of judges whose runs were released."""
    reproduce: Callable[[Path], Reproduction] | None = None
    """Published figures, computed again from the data that the authors released."""

    @property
    def asks(self) -> bool:
        """Whether anything can be asked and judged: not where only results were released."""
        return self.items is not no_items

    @property
    def hooks(self) -> list[str]:
        """The names of the hooks that are set."""
        return [hook for hook in HOOKS if getattr(self, hook) is not None]

    def record(self, source: Path | None = None) -> Record:
        """What it brings, as a record."""
        return self.brought(source).record

    def brought(self, source: Path | None = None) -> Brought:
        """What it brings, with people's labels; an error where it brings nothing."""
        if self.bring is None:
            raise InputError(f"the benchmark {self.name!r} brings no verdicts of its own: it has no 'bring'")
        brought = self.bring(source)
        if self.labels is None:
            return brought
        record = brought.record
        return replace(brought, record=replace(record, verdicts=(*record.verdicts, *self.labels(source))))


HOOKS = tuple(field.name for field in fields(Benchmark) if field.default is None)
"""The hooks that a benchmark may have besides what every benchmark has."""
