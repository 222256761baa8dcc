"""`Benchmark`: a paper as one object with all its hooks, their protocols, and the data that they return."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, Protocol

from fullbench.core.case import Case, Orders
from fullbench.core.estimate import Estimate
from fullbench.core.item import Item
from fullbench.core.judge import Judge
from fullbench.core.model import Model
from fullbench.core.response import Response
from fullbench.core.table import Table
from fullbench.core.verdict import Verdict
from fullbench.core.verdict_record import Record
from fullbench.errors import InputError

PAPER_PROTOCOL: Mapping[str, Any] = {"paper": True}
"""What `protocol = "paper"` of a study means; a table `[protocol]` never has the key `paper`."""

UNPUBLISHED_TABLES = "our condensed tables, which are not published (docs/reference/data.md)"
"""`reproduce_from` of a benchmark whose authors released its data in another form only, or not at all."""


Basis = Literal["data", "printed"]


@dataclass(frozen=True)
class Reproduced:
    """One published cell, computed again from the released data.

    `value` is a number or a mapping of numbers. `metric` names the one shown in a table (`""` if the value is a
    number), `estimate` is that one with its interval, and `paper` is the published number. `basis` is the origin of
    the value: the released `data`, or numbers `printed` elsewhere in the same paper, which only shows that these are
    consistent. `decimals` is the number of decimals of `paper`, if its line of the paper shows it and the rest of the
    table does not.
    """

    id: str
    value: Any
    n: int
    metric: str = ""
    estimate: Estimate | None = None
    paper: float | None = None
    source: str = ""
    basis: Basis = "data"
    decimals: int | None = None

    @property
    def table_value(self) -> Any:
        """The one number that represents the cell in a table."""
        value = self.value
        for name in filter(None, self.metric.split(".")):
            value = value[name]
        return value

    @property
    def cell(self) -> Mapping[str, Any]:
        """The cell as written to a file."""
        basis = {} if self.basis == "data" else {"from": self.basis}
        return {"id": self.id, "value": self.value, "n": self.n, **basis}


@dataclass(frozen=True)
class Reproduction:
    """All cells of a paper that its released data allow, and tables of oddities in these data."""

    cells: Sequence[Reproduced]
    tables: Sequence[Table] = ()


@dataclass(frozen=True)
class LoadedData:
    """Data that a benchmark brings: items, responses and verdicts, and tables of oddities in their files."""

    record: Record
    tables: Sequence[Table] = ()


@dataclass(frozen=True)
class LazyFunction:
    """A function by its path, `MODULE:NAME`, imported at its first call.

    So listing benchmarks imports nothing that their tables and data need.

    >>> LazyFunction("math:hypot")(3, 4)
    5.0
    """

    path: str

    def __call__(self, *values: Any, **keywords: Any) -> Any:
        return self.function(*values, **keywords)

    @property
    def function(self) -> Callable[..., Any]:
        """The function itself."""
        module, _, name = self.path.partition(":")
        function: Callable[..., Any] = getattr(import_module(module), name)
        return function


class Items(Protocol):
    """Hook that returns the items in a source; without a source, the sample that ships with the package."""

    def __call__(self, source: Path | None = None, /) -> Iterable[Item]: ...


class Cases(Protocol):
    """Hook that returns the cases to judge: the same input gives the same cases in the same order."""

    def __call__(
        self, items: Sequence[Item], responses: Iterable[Response], /, *, trials: int = 1
    ) -> Iterator[Case]: ...


class Labels(Protocol):
    """Hook that returns people's verdicts on responses to the items, one for each person who judged."""

    def __call__(self, source: Path | None = None, /) -> Iterable[Verdict]: ...


class Bring(Protocol):
    """Hook that returns existing data: items, responses and verdicts of a source, or of the sample."""

    def __call__(self, source: Path | None = None, /) -> LoadedData: ...


class Submission(Protocol):
    """Hook that reads a predictions file in the paper's own layout as the answers of `name`."""

    def __call__(self, path: Path, items: Sequence[Item], data: Path | None, name: str, /) -> Sequence[Response]: ...


def no_items(_: Path | None = None, /) -> Iterable[Item]:
    """Raise, for a benchmark whose questions were never released."""
    raise InputError("this benchmark has no items: its questions were not released, so no model can be called")


def no_cases(_: Sequence[Item], __: Iterable[Response], /, *, trials: int = 1) -> Iterator[Case]:  # noqa: ARG001
    """Raise, for a benchmark whose questions were never released."""
    raise InputError("this benchmark has no cases: its questions were not released, so nothing new can be judged")


def no_tables(_: Record, /) -> Sequence[Table]:
    """Return no tables, for a benchmark without items."""
    return []


@dataclass(frozen=True, kw_only=True)
class Benchmark:
    """A benchmark: name, paper, items, cases, tables, and optional hooks, which are None by default."""

    name: str
    paper: str
    items: Items = no_items
    cases: Cases = no_cases
    tables: Callable[[Record], Sequence[Table]] = no_tables
    """Pure: the same record gives the same tables, and nothing is called, read or written."""

    prompt_template: Callable[..., Mapping[str, Any]] | None = None
    """Prompt template for judges: the arguments of a `PromptedJudge` besides the model, for one of the `prompt_styles`
    if there are any. A study of the benchmark uses it unless a judge's spec says otherwise; elsewhere use the option
    `benchmark_template=NAME`.
    """
    asking: Callable[[], str] | None = None
    """Template around a question for contestants, with `{pictures}` and `{question}`; the option `asking=NAME` uses it.
    """
    prompt_styles: Sequence[str] = ()
    """Prompt styles of the paper, each with its own template; the first is the default."""
    prompt_style_of_paper: str = ""
    """Prompt style of the paper's own judge, if it is not the first; a study then notes the difference."""
    orders_of_paper: Orders = "both"
    """Orders in which the paper shows two or more responses; without `protocol = "paper"`, a study shows both."""
    can_judge: Callable[[Judge, Case], bool] | None = None
    """True if a judge may judge a case: score models give numbers in their own units, prompted models rate on a scale.
    """
    together: bool = False
    """True if one call requests ratings and a choice on the same responses (see `judges.rating_and_choice_judge`)."""
    protocol: Callable[[Mapping[str, Any]], Benchmark] | None = None
    """Return the benchmark with another protocol, from a study's table `[protocol]`."""
    labels: Labels | None = None
    contestants: Callable[[], Sequence[Model]] | None = None
    """Contestants for a study that names none."""
    judges: Callable[[], Sequence[Judge]] | None = None
    """Judges for a study that names none."""
    references: Callable[[Sequence[Item]], Sequence[Response]] | None = None
    """References that take part as a contestant."""
    submission: Submission | None = None
    tasks: Mapping[str, str] | None = None
    """Annotation tasks of the paper: names of plugins of type `tasks`, and their purpose."""
    commands: Mapping[str, str] | None = None
    """Its commands: names of plugins of type `commands`, and their purpose."""
    bring: Bring | None = None
    """Released verdicts of people and judges."""
    reproduce: Callable[[Path], Reproduction] | None = None
    """Published numbers, computed again from the authors' released data."""
    reproduce_from: str = ""
    """The data that `reproduce` reads, in words; `fullbench list` and errors show it."""

    is_layout_seen: bool = True
    """False if no published row was at hand, so that the layout of its files is that of its authors' scripts."""

    @property
    def asks(self) -> bool:
        """True if there is something to answer and judge; False if only results were released."""
        return self.items is not no_items

    @property
    def hooks(self) -> list[str]:
        """Names of the hooks that are set."""
        return [hook for hook in HOOKS if getattr(self, hook) is not None]

    def record(self, source: Path | None = None) -> Record:
        """Return the data of `bring` and the labels as a record."""
        return self.bring_with_labels(source).record

    def bring_with_labels(self, source: Path | None = None) -> LoadedData:
        """Return the data of `bring` with people's labels; raise if the benchmark has no `bring`."""
        if self.bring is None:
            raise InputError(f"the benchmark {self.name!r} has no verdicts of its own: its 'bring' is missing")
        bundle = self.bring(source)
        if self.labels is None:
            return bundle
        record = bundle.record
        return replace(bundle, record=replace(record, verdicts=(*record.verdicts, *self.labels(source))))


HOOKS = tuple(field.name for field in fields(Benchmark) if field.default is None)
"""Names of the optional hooks."""
