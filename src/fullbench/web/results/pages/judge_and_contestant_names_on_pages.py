"""Names of judges and contestants on pages: chosen by the site's owners, else as short as is unambiguous.

URLs and exports use full names, which are tooltips on pages.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from markupsafe import Markup, escape

from fullbench.ledger.contents_and_cost import judge_and_contestant_names
from fullbench.ledger.ledger import Ledger
from fullbench.ledger.stored_settings_and_chosen_display_names import count_stored_names
from fullbench.reports.display_names_of_judges_and_contestants import DisplayNames
from fullbench.studies.ledger_display_names_and_name_lookup import load_display_names, names_by_full_name
from fullbench.web.results.boards.board_store import LinkedTable
from fullbench.web.results.boards.contestants_by_judges_matrix import Matrix


@dataclass(frozen=True)
class Names(DisplayNames):
    """Display names with HTML, and methods for matrices and linked tables."""

    def html(self, name: str) -> Markup:
        """Return a name as HTML with the full name as tooltip."""
        full = self.full(name)
        return Markup('<span title="{}">{}</span>').format(full, self.shown_name(name)) if full else escape(name)

    def matrices(self, full_matrices: Sequence[Matrix]) -> list[Matrix]:
        """Return the matrices with display names of contestants, for sentences and pictures."""
        return [
            replace(matrix, rows=[(self.shown_name(name), cells) for name, cells in matrix.rows])
            for matrix in full_matrices
        ]

    def tables(self, linked_tables: Sequence[LinkedTable]) -> list[LinkedTable]:
        """Return the tables with display names in cells, heads, notes and charts. Links stay."""
        return (
            [self._display_table(linked_table) for linked_table in linked_tables]
            if self.displays
            else list(linked_tables)
        )

    def _display_table(self, linked_table: LinkedTable) -> LinkedTable:
        charts = [self.hint(linked_table.table, hint) for hint in linked_table.charts]
        return replace(linked_table, table=self.table(linked_table.table), charts=charts)


def names_of_ledger(ledger: Ledger, chosen: DisplayNames | None = None) -> Names:
    """Return the names of all judges and contestants of a ledger; `chosen` ones win."""
    return Names(load_display_names(ledger, chosen).displays)


def read_names(path: Path, ledger: Ledger) -> tuple[Names, str]:
    """Read chosen names from a file and return all names of the ledger.

    Also return a sentence about chosen names that are not in the ledger, or an empty string.
    """
    with ledger.reader() as reader:
        full_names = set[str]().union(*judge_and_contestant_names(reader), (view.name for view in ledger.views()))
    chosen = names_by_full_name(Names.read(path), full_names)
    chosen.refuse_taken(full_names, path)
    return names_of_ledger(ledger, chosen), chosen.absent_names_sentence(full_names, path)


_CHECK_SECONDS = 1.0
"""A page reads the names many times; within this time the ledger is asked only once."""


class LedgerNames:
    """Names for the pages of a site. They are loaded again if the ledger has new judges, contestants or names."""

    def __init__(self, ledger: Ledger | None, chosen: DisplayNames) -> None:
        self._ledger, self._chosen = ledger, chosen
        self._version, self._names, self._checked_at = -1, Names(chosen.displays), -math.inf

    def load(self) -> Names:
        """Return the names as of now."""
        now = time.monotonic()
        if self._ledger is None or self._ledger.is_closed or now - self._checked_at < _CHECK_SECONDS:
            return self._names
        self._checked_at = now
        version = count_stored_names(self._ledger)
        if version != self._version:
            self._names, self._version = names_of_ledger(self._ledger, self._chosen), version
        return self._names
