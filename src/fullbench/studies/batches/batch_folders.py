"""Batches on disk, beside the ledger: one folder each, and a small file that says how far it is.

    study.ledger.batches/
      0001-gpt-4o/
        requests.jsonl    what is asked
        names.txt         the names of the requests, a line each
        state.json        how far it is; replaced whole
        output.jsonl      what came back
        errors.jsonl      what failed

A folder appears under its name when all of it is written. `state.json` is replaced before and after every step that
cannot be taken back, so that a process killed at any moment leaves a state from which the next one goes on.
"""

from __future__ import annotations

import json
import re
import secrets
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Literal

from fullbench.errors import InputError
from fullbench.files.writers import replacing

Stage = Literal["written", "creating", "submitted", "ended"]
REQUESTS, NAMES, STATE, OUTPUT, ERRORS = "requests.jsonl", "names.txt", "state.json", "output.jsonl", "errors.jsonl"


@dataclass(frozen=True)
class State:
    """How far a batch is. `token` marks it at the server; `told` says that its failures are in the ledger.

    Where a service has no place for a token, `before` is the newest batch that it had before this one. A batch that is
    not `sure` may be somebody else's; `others` turned out to be.
    """

    model: str
    server: str
    asks: tuple[str, ...]
    requests: int
    rate: float
    token: str
    stage: Stage = "written"
    file: str = ""
    before: str = ""
    batch: str = ""
    sure: bool = True
    others: tuple[str, ...] = ()
    status: str = ""
    done: int = 0
    failed: int = 0
    note: str = ""
    told: bool = False


@dataclass(frozen=True)
class Folder:
    """One batch and its files."""

    path: Path
    state: State

    @property
    def open(self) -> bool:
        return self.state.stage != "ended"

    @property
    def replies(self) -> list[Path]:
        """The files that came back."""
        return [path for path in (self.path / OUTPUT, self.path / ERRORS) if path.exists()]

    def names(self) -> Iterator[str]:
        with (self.path / NAMES).open(encoding="ascii") as file:
            for line in file:
                yield line.rstrip("\n")

    def now(self, state: State) -> Folder:
        """The same batch in another state, kept on disk before this returns."""
        _save(self.path / STATE, state)
        return replace(self, state=state)

    def remove(self) -> None:
        """Give the batch up: its cases are due again."""
        shutil.rmtree(self.path)


def _save(path: Path, state: State) -> None:
    with replacing(path) as part:
        part.write_text(json.dumps(asdict(state), ensure_ascii=False, indent=1), encoding="utf-8")


class Shelf:
    """All batches of a ledger."""

    def __init__(self, ledger: Path) -> None:
        self.path = ledger.with_name(ledger.name + ".batches")

    def folders(self) -> list[Folder]:
        """The batches, oldest first."""
        if not self.path.is_dir():
            return []
        return [self._read(path) for path in sorted(self.path.glob("[0-9]*-*")) if path.is_dir()]

    def _read(self, path: Path) -> Folder:
        try:
            state = json.loads((path / STATE).read_text(encoding="utf-8"))
            lists = {name: tuple(state.get(name, ())) for name in ("asks", "others")}
            return Folder(path, State(**{**state, **lists}))
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise InputError(f"the state of this batch cannot be read ({error})", path=path / STATE) from error

    def start(self) -> Path:
        """A folder to write a batch into; it is nobody's until it is sealed."""
        path = self.path / f".part-{secrets.token_hex(4)}"
        path.mkdir(parents=True)
        return path

    def seal(self, part: Path, state: State) -> Folder:
        """Make a written folder a batch."""
        _save(part / STATE, state)
        numbers = [int(folder.path.name.split("-")[0]) for folder in self.folders()]
        slug = re.sub(r"[^A-Za-z0-9._]+", "-", state.model.partition("@")[0])[:40].strip("-.")
        path = self.path / f"{max(numbers, default=0) + 1:04d}-{slug or 'model'}"
        part.rename(path)
        return Folder(path, state)

    def sweep(self) -> None:
        """Remove what a killed process was still writing."""
        for part in self.path.glob(".part-*"):
            shutil.rmtree(part, ignore_errors=True)


def refuse_open(ledger: Path, names: Sequence[str]) -> None:
    """Refuse to ask live what is already on its way in a batch: it would be paid twice."""
    for folder in Shelf(ledger).folders():
        for name in folder.state.asks:
            if folder.open and name in names:
                raise InputError(
                    f"{name!r} is being asked in the batch {folder.path.name}, which has not ended; collect it first "
                    "(fullbench batch collect), or give it up (fullbench batch cancel)"
                )
