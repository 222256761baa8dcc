"""A benchmark: a paper, as five answers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from fullbench.nouns.case import Case
from fullbench.nouns.item import Item
from fullbench.nouns.judge import Judge
from fullbench.nouns.model import Model
from fullbench.nouns.record import Record
from fullbench.nouns.response import Response
from fullbench.nouns.table import Table


@runtime_checkable
class Benchmark(Protocol):
    """What it is called, which paper it follows, what is asked, what is heard, and what is shown.

    `items(None)` gives the sample that ships with the package and runs offline; a folder gives the released data.
    `cases` must give the same cases for the same input, in the same order. `tables` is pure.
    """

    @property
    def name(self) -> str: ...

    @property
    def paper(self) -> str: ...

    def items(self, source: Path | None = None) -> Iterable[Item]: ...

    def cases(self, items: Sequence[Item], responses: Iterable[Response], *, trials: int = 1) -> Iterator[Case]: ...

    def tables(self, record: Record) -> Sequence[Table]: ...


@runtime_checkable
class Staffed(Protocol):
    """A benchmark that brings contestants and judges of its own, for a study that names none."""

    def contestants(self) -> Sequence[Model]: ...

    def judges(self) -> Sequence[Judge]: ...


@runtime_checkable
class Worded(Protocol):
    """A benchmark that has words of its own for models that judge: what a `PromptedJudge` takes besides the model.

    A study of the benchmark asks in these words, unless a judge's spec says otherwise; elsewhere `wording=NAME` does.
    """

    def wording(self) -> Mapping[str, Any]: ...


@runtime_checkable
class Mannered(Protocol):
    """A benchmark whose judges can be asked in several ways: it names them, and has words for each."""

    @property
    def manners(self) -> Sequence[str]: ...

    def wording(self, manner: str = "") -> Mapping[str, Any]: ...
