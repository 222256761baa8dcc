"""The site's ledger, open for writing: one `Ledger` per study and process, shared by threads."""

from __future__ import annotations

import threading

from fullbench.errors import InputError
from fullbench.ledger.ledger import Ledger
from fullbench.ledger.study_membership_of_items_and_cases import DEFAULT


def ledger_study_name(ledger: Ledger, requested_study: str = "") -> str:
    """Return the requested study, or the only study of the ledger."""
    study_names = ledger.studies()
    if requested_study:
        return requested_study
    main = [name for name in study_names if not name.startswith(f"{DEFAULT}~")] or study_names
    if len(main) > 1:
        raise InputError(
            f"{ledger.place}: the ledger has the studies {', '.join(map(repr, study_names))}; choose one with --study "
            f"NAME"
        )
    return main[0] if main else DEFAULT


class LedgerWriters:
    """Ledgers open for writing. Each is opened at the first write to its study and stays open."""

    def __init__(self, path: str | None) -> None:
        self._path, self._lock = path, threading.Lock()
        self._open: dict[str, Ledger] = {}

    def ledger_for(self, study: str) -> Ledger:
        """Return the ledger that writes to a study."""
        if self._path is None:
            raise InputError("this site has no ledger; start it with --ledger")
        with self._lock:
            if study not in self._open:
                self._open[study] = Ledger(self._path, study=study)
            return self._open[study]

    def close(self) -> None:
        """Commit pending rows and close all ledgers."""
        with self._lock:
            for ledger in self._open.values():
                ledger.close()
            self._open.clear()
