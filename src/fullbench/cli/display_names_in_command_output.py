"""Display names in the output of the command that runs now: tables, messages and errors."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from fullbench.core.table import Table
from fullbench.errors import FullbenchError

if TYPE_CHECKING:
    from fullbench.ledger.ledger import Ledger
    from fullbench.reports.display_names_of_judges_and_contestants import DisplayNames


@dataclass
class CurrentNames:
    """Display names of the ledger that a command opened. They are loaded when the first text is shown.

    `shows_full_names` turns them off. Names that a ledger got since then are known after `forget_names`.
    """

    ledger: Ledger | None = None
    chosen: DisplayNames | None = None
    shows_full_names: bool = False
    _loaded: DisplayNames | None = None

    def reset(self) -> None:
        """Show full names until a ledger is opened, as at the start of a command."""
        self.ledger, self.chosen, self.shows_full_names, self._loaded = None, None, False, None

    def use_ledger(self, ledger: Ledger, chosen: DisplayNames | None = None) -> None:
        """Show the names of this ledger from now on; `chosen` ones win."""
        self.ledger, self.chosen, self._loaded = ledger, chosen, None

    def use_names(self, names: DisplayNames) -> None:
        """Show these names from now on, for verdicts that come from no ledger."""
        self.ledger, self._loaded = None, names

    def forget_names(self) -> None:
        """Load the names again before the next text."""
        if self.ledger is not None:
            self._loaded = None

    @property
    def names(self) -> DisplayNames | None:
        """The display names, or None if full names are shown."""
        if self.shows_full_names:
            return None
        if self._loaded is None and self.ledger is not None:
            self._loaded = _load_names(self.ledger, self.chosen)
        return self._loaded

    def text(self, text: str) -> str:
        """Return a text with display names in place of full names."""
        names = self.names
        return text if names is None else names.with_shown_names(text)

    def tables(self, tables: Iterable[Table]) -> list[Table]:
        """Return tables with the display names attached, or without if full names are shown."""
        if self.shows_full_names:
            return [replace(table, names={}) for table in tables]
        names = self.names
        return [table if names is None or table.names else names.attach_to(table) for table in tables]


def _load_names(ledger: Ledger, chosen: DisplayNames | None) -> DisplayNames:
    from fullbench.ledger.ledger import Ledger as LedgerClass
    from fullbench.reports.display_names_of_judges_and_contestants import DisplayNames
    from fullbench.studies.ledger_display_names_and_name_lookup import load_display_names

    try:
        if not ledger.is_closed:
            return load_display_names(ledger, chosen)
        with LedgerClass(ledger.location, read_only=True) as book:
            return load_display_names(book, chosen)
    except FullbenchError:  # a damaged ledger: the message that is about to be shown is about that
        return DisplayNames()


CURRENT = CurrentNames()
"""The display names of this process, which runs one command."""
