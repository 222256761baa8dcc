"""What a verdict of the catalogue is marked with: columns of its table, and what a filter can ask for."""

from __future__ import annotations

from dataclasses import dataclass, fields


@dataclass(frozen=True)
class Flags:
    """The marks of one verdict, in the order in which a static copy of the site packs them (`static_site_data`)."""

    split: bool = False
    """Two judges rule against each other in this meeting."""
    swapped: bool = False
    """The same judge names another winner in another order."""
    met: bool = False
    """People ruled on the same responses..."""
    opposed: bool = False
    """...and against this verdict."""
    both: bool = False
    """The same judge heard the pair in both orders."""
    again: bool = False
    """It heard the case more than once."""
    decided: bool = False
    """This verdict names a winner."""
    clear: bool = False
    """People ruled on the same responses, and name a winner."""


FLAGS = tuple(field.name for field in fields(Flags))
