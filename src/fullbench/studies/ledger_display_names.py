"""Display names of a ledger's judges and contestants, and the names that users type for them."""

from __future__ import annotations

from fullbench.ledger.ledger import Ledger
from fullbench.ledger.stored_names import load_chosen_names, load_named_settings
from fullbench.reports.display_names import Display, DisplayNames


def load_display_names(ledger: Ledger, chosen: DisplayNames | None = None) -> DisplayNames:
    """Return the display names of all judges and contestants of a ledger.

    Args:
        ledger: An open ledger.
        chosen: Names from a file, by full name. They override those that studies stored in the ledger.
    """
    judges, contestants = load_named_settings(ledger)
    stored_displays = {
        full: Display(entry["name"], entry.get("organisation", ""), entry.get("date", ""))
        for full, entry in load_chosen_names(ledger).items()
    }
    displays = {**stored_displays, **(chosen.displays if chosen else {})}
    return DisplayNames.from_settings(judges, contestants, DisplayNames(displays))
