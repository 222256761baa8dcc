"""What can go wrong, drawn as a tree.

    FullbenchError                 everything this package raises on purpose
    ├── UserError                  the user can mend it: one sentence, exit code 2, no traceback
    │   ├── InputError             a file or value that does not fit, with file and line where known
    │   ├── MissingExtra           an optional dependency that this call needs
    │   ├── LedgerError            a ledger that cannot be opened, read or written
    │   ├── EngineError            a cluster that cannot be joined, or that has no room for a worker
    │   └── ModelError             a model that will not serve us: key refused, unknown name, no server
    ├── Undefined                  a figure that these numbers do not define; a ValueError too
    └── Unscorable                 a picture that no score model can look at; a ValueError too

    DataWarning                    data that were taken in one of several ways: how many, which, and what was done
    DueWarning                     calls of a notebook that failed, so that cases are due: how many, and why

A reply that could not be fetched is none of these: it is a `Failure`, data beside verdicts (see `core.case`).
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any


class DataWarning(UserWarning):
    """Data that could be taken in several ways. The sentence says how many, which is first, and what was done.

    The command line writes it as a sentence of its own, Python as it writes warnings.
    """


class DueWarning(UserWarning):
    """Calls that failed, or were not made. The sentence says of whom, how many and why; the same call asks again."""


class FullbenchError(Exception):
    """Everything this package raises on purpose. It may be sent from one process to another."""

    def __reduce__(self) -> tuple[Callable[..., FullbenchError], tuple[Any, ...]]:
        return _again, (type(self), self.args, self.__dict__)


def _again(kind: type[FullbenchError], args: tuple[Any, ...], state: dict[str, Any]) -> FullbenchError:
    """An error as it was, whatever its kind asks for when it is made."""
    error = kind.__new__(kind, *args)
    error.__dict__.update(state)
    return error


class UserError(FullbenchError):
    """Something the user can mend. The message says what, what was found, and what to do."""


class InputError(UserError):
    """A file or a value that does not fit.

    >>> str(InputError("the id 'a1' occurs twice", path="items.jsonl", line=7))
    "items.jsonl:7: the id 'a1' occurs twice"
    """

    def __init__(self, message: str, *, path: str | Path | None = None, line: int | None = None) -> None:
        self.path = None if path is None else Path(path)
        self.line = line
        where = "" if path is None else f"{path}:{line}: " if line is not None else f"{path}: "
        super().__init__(where + message if where else message)  # a note stays one


class MissingExtra(UserError):
    """An optional dependency that this call needs.

    >>> str(MissingExtra("writing Parquet", "parquet"))
    "writing Parquet needs an optional part: pip install '.[parquet]' in the folder of fullbench"
    """

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} needs an optional part: pip install '.[{extra}]' in the folder of fullbench")


class LedgerError(UserError):
    """A ledger that cannot be opened, read or written."""


class EngineError(UserError):
    """A cluster that cannot be joined, has no room for a worker, or is set up differently from this machine."""


class ModelError(UserError):
    """A model that will not serve us whatever we ask: key refused, unknown name, no server."""


class Unscorable(FullbenchError, ValueError):
    """A picture that cannot be scored; the sentence says why. The judge recuses itself from its cases."""


class Undefined(FullbenchError, ValueError):
    """A figure that these numbers do not define: nothing observed, a constant column, too few clusters.

    Every statistic of this package either returns finite numbers or raises this, with one sentence that says why. No
    NaN leaves; a table shows `-` and the sentence.
    """
