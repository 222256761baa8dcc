"""Batch folders on disk, next to the ledger: one folder per batch, with a state file.

    study.ledger.batches/
      0001-gpt-4o/
        requests.jsonl    the requests
        names.txt         the names of the requests, one per line
        sent.jsonl        prompts with frames, pages or sounds of files, one for each file
        stills/           these frames, pages and sounds, by digest
        state.json        the state; replaced atomically
        output.jsonl      the replies
        errors.jsonl      the failed requests

A folder gets its final name when it is complete. `state.json` is replaced before and after every step that cannot be
undone. A process that is killed at any moment thus leaves a state from which the next one can resume.
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
from fullbench.files.row_writers import replace_atomically

Stage = Literal["written", "creating", "submitted", "ended"]
REQUESTS, NAMES, STATE, OUTPUT, ERRORS = "requests.jsonl", "names.txt", "state.json", "output.jsonl", "errors.jsonl"
SENT, STILLS = "sent.jsonl", "stills"


@dataclass(frozen=True)
class BatchState:
    """State of a batch. `token` identifies it at the server; `is_settled` is True once its failures are in the ledger.

    If a service has no field for a token, `before` is the newest batch that existed before this one. A batch that is
    not `sure` may belong to someone else; `others` did.
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
    is_settled: bool = False


@dataclass(frozen=True)
class BatchFolder:
    """One batch and its files."""

    path: Path
    state: BatchState

    @property
    def is_open(self) -> bool:
        return self.state.stage != "ended"

    @property
    def replies(self) -> list[Path]:
        """The reply files that exist."""
        return [path for path in (self.path / OUTPUT, self.path / ERRORS) if path.exists()]

    def names(self) -> Iterator[str]:
        with (self.path / NAMES).open(encoding="ascii") as file:
            for line in file:
                yield line.rstrip("\n")

    def sent_texts(self) -> list[str]:
        """Return the prompts that sent frames, pages or sounds."""
        path = self.path / SENT
        return path.read_text(encoding="utf-8").splitlines() if path.exists() else []

    def with_state(self, state: BatchState) -> BatchFolder:
        """Return the batch in another state, which is on disk before this returns."""
        _save_state(self.path / STATE, state)
        return replace(self, state=state)

    def remove(self) -> None:
        """Delete the batch; its cases are due again."""
        shutil.rmtree(self.path)


def _save_state(path: Path, state: BatchState) -> None:
    with replace_atomically(path) as part:
        part.write_text(json.dumps(asdict(state), ensure_ascii=False, indent=1), encoding="utf-8")


class BatchStore:
    """All batches of a ledger."""

    def __init__(self, ledger: Path) -> None:
        self.path = ledger.with_name(ledger.name + ".batches")

    def folders(self) -> list[BatchFolder]:
        """Return the batches, oldest first."""
        if not self.path.is_dir():
            return []
        return [self._read(path) for path in sorted(self.path.glob("[0-9]*-*")) if path.is_dir()]

    def _read(self, path: Path) -> BatchFolder:
        try:
            state = json.loads((path / STATE).read_text(encoding="utf-8"))
            lists = {name: tuple(state.get(name, ())) for name in ("asks", "others")}
            return BatchFolder(path, BatchState(**{**state, **lists}))
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise InputError(f"the state of this batch cannot be read ({error})", path=path / STATE) from error

    def start(self) -> Path:
        """Create a temporary folder for a new batch; `seal` makes it a batch."""
        path = self.path / f".part-{secrets.token_hex(4)}"
        path.mkdir(parents=True)
        return path

    def seal(self, part: Path, state: BatchState) -> BatchFolder:
        """Turn a completed temporary folder into a batch."""
        _save_state(part / STATE, state)
        numbers = [int(folder.path.name.split("-")[0]) for folder in self.folders()]
        slug = re.sub(r"[^A-Za-z0-9._]+", "-", state.model.partition("@")[0])[:40].strip("-.")
        path = self.path / f"{max(numbers, default=0) + 1:04d}-{slug or 'model'}"
        part.rename(path)
        return BatchFolder(path, state)

    def sweep(self) -> None:
        """Remove unfinished folders of killed processes."""
        for part in self.path.glob(".part-*"):
            shutil.rmtree(part, ignore_errors=True)


def refuse_open(ledger: Path, names: Sequence[str]) -> None:
    """Refuse live calls by judges or contestants with an open batch: they would be paid twice."""
    for folder in BatchStore(ledger).folders():
        for name in folder.state.asks:
            if folder.is_open and name in names:
                raise InputError(
                    f"requests of {name!r} are in the batch {folder.path.name}, which has not ended. Collect it "
                    "first (fullbench batch collect), or cancel it (fullbench batch cancel)"
                )
