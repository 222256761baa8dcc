"""Tree of the errors and warnings of this package.

    FullbenchError                 every error that this package raises on purpose
    ├── UserError                  the user can fix it: one sentence, exit code 2, no traceback
    │   ├── InputError             a file or value is not valid; has file and line if they are known
    │   ├── MissingExtra           this call needs an optional dependency
    │   ├── LedgerError            a ledger cannot be opened, read or written
    │   ├── EngineError            a cluster cannot be joined, or cannot place a worker
    │   └── ModelError             a model does not serve us: key refused, unknown name, no server
    ├── Undefined                  these numbers do not define the statistic; also a ValueError
    └── Unscorable                 no score model can process the picture; also a ValueError
    DataWarning                    ambiguous data: how many rows, which one is first, and what was done
    DueWarning                     calls failed in a notebook, so cases are still due: how many, and why

A reply that could not be fetched is none of these. It is a `Failure`, stored with the verdicts (see `core.verdict`).
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fullbench.number_agreement import agree_with_one


class DataWarning(UserWarning):
    """Ambiguous data: the message has the number of rows, the first one, and what was done.
    The command line prints it as a sentence; in Python it is a normal warning.
    """

    def __str__(self) -> str:
        return agree_with_one(super().__str__())


class DueWarning(UserWarning):
    """Calls that failed or were not made: the message has name, number and reason. Repeat the call to fill the gaps."""


class FullbenchError(Exception):
    """Base class of every error that this package raises on purpose. Instances can be pickled."""

    def __reduce__(self) -> tuple[Callable[..., FullbenchError], tuple[Any, ...]]:
        return _rebuild_error, (type(self), self.args, self.__dict__)

    def __str__(self) -> str:
        return agree_with_one(super().__str__())


def _rebuild_error(kind: type[FullbenchError], args: tuple[Any, ...], state: dict[str, Any]) -> FullbenchError:
    """Unpickle an error without its `__init__`, whose parameters differ between the classes."""
    error = kind.__new__(kind, *args)
    error.__dict__.update(state)
    return error


class UserError(FullbenchError):
    """An error that the user can fix. The message says what is wrong, what was found, and what to do."""


class InputError(UserError):
    """A file or a value that is not valid.

    >>> str(InputError("the id 'a1' occurs twice", path="items.jsonl", line=7))
    "items.jsonl:7: the id 'a1' occurs twice"
    """

    def __init__(self, message: str, *, path: str | Path | None = None, line: int | None = None) -> None:
        self.path = None if path is None else Path(path)
        self.line = line
        where = "" if path is None else f"{path}:{line}: " if line is not None else f"{path}: "
        super().__init__(where + message if where else message)  # concatenation would turn a Note into a plain str


class MissingExtra(UserError):
    """An optional dependency that this call needs.

    >>> str(MissingExtra("writing Parquet", "parquet"))
    "writing Parquet needs an optional part: pip install '.[parquet]' in the folder of fullbench"
    """

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} needs an optional part: pip install '.[{extra}]' in the folder of fullbench")


@contextmanager
def require_extra(what: str, extra: str) -> Iterator[None]:
    """Raise `MissingExtra` if an import within fails."""
    try:
        yield
    except ImportError as error:
        raise MissingExtra(what, extra) from error


def require_packages(what: str, extra: str, *packages: str) -> None:
    """Raise `MissingExtra` if one of the packages is not installed."""
    if any(importlib.util.find_spec(package) is None for package in packages):
        raise MissingExtra(what, extra)


class LedgerError(UserError):
    """A ledger that cannot be opened, read or written."""


class LedgerInUse(LedgerError):
    """A judge or contestant that another process calls just now in the same ledger."""


class EngineError(UserError):
    """A cluster that cannot be joined, cannot place a worker, or is set up differently from this machine."""


class ModelError(UserError):
    """A model that fails for every prompt: key refused, unknown name, no server."""


class Unscorable(FullbenchError, ValueError):
    """A picture that cannot be scored; the message says why. The judge abstains from its cases."""


class Undefined(FullbenchError, ValueError):
    """A statistic that these numbers do not define: no observations, a constant column, too few clusters.

    Every statistic of this package returns finite numbers or raises this error with the reason. It never returns NaN.
    Tables show `-` and the reason.
    """
