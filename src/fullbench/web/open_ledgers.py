"""The site's ledger, open for writing: one `Ledger` for each study of a process, shared by its threads."""

from __future__ import annotations

import threading

from fullbench.errors import InputError
from fullbench.ledger.ledger import Ledger
from fullbench.ledger.study_members import DEFAULT


def study_of(ledger: Ledger, wanted: str = "") -> str:
    """The study that something is added to: the one wanted, else the only one there is."""
    there = ledger.studies()
    if wanted:
        return wanted
    main = [name for name in there if not name.startswith(f"{DEFAULT}~")] or there
    if len(main) > 1:
        raise InputError(
            f"{ledger.place}: the ledger holds the studies {', '.join(map(repr, there))}; say which one this "
            "belongs to (--study NAME)"
        )
    return main[0] if main else DEFAULT


class Writers:
    """Opens the ledger for writing when something is first written to a study, and keeps it open."""

    def __init__(self, path: str | None) -> None:
        self._path, self._lock = path, threading.Lock()
        self._open: dict[str, Ledger] = {}

    def to(self, study: str) -> Ledger:
        """The ledger as it takes what belongs to a study."""
        if self._path is None:
            raise InputError("this site has no ledger; start it with --ledger")
        with self._lock:
            if study not in self._open:
                self._open[study] = Ledger(self._path, study=study)
            return self._open[study]

    def close(self) -> None:
        """Commit what is left and let go of the ledger."""
        with self._lock:
            for ledger in self._open.values():
                ledger.close()
            self._open.clear()
