"""Flags of a verdict: columns of the catalogue and values of a filter."""

from __future__ import annotations

from dataclasses import dataclass, fields


@dataclass(frozen=True)
class Flags:
    """Flags of one verdict. The order is also the bit order in a static copy (`static_site_data`)."""

    split: bool = False
    """Two judges contradict each other in this response set."""
    swapped: bool = False
    """The same judge has another winner in another order."""
    met: bool = False
    """People judged the same responses..."""
    opposed: bool = False
    """...and their verdict contradicts this one."""
    both: bool = False
    """The same judge judged the pair in both orders."""
    again: bool = False
    """The judge judged the case more than once."""
    decided: bool = False
    """This verdict has a winner."""
    clear: bool = False
    """People judged the same responses, and their verdict has a winner."""


FLAGS = tuple(field.name for field in fields(Flags))
