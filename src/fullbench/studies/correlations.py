"""From a word to a judge of how well answers fit their pictures: `clip:FOLDER`, `tools`, `colours`.

Here the measures of tools, which are models' business, meet the peer review that uses them; neither knows the other.
"""

from __future__ import annotations

from fullbench.errors import InputError
from fullbench.judges.correlation import Correlation, clip


def correlation(named: str) -> Correlation:
    """The judge of correlation that a word names."""
    from fullbench.models.tools.measures import ColourMeasure, ToolMeasure

    kind, _, folder = named.partition(":")
    if kind == "clip" and folder:
        return clip(folder)
    if named == "tools":
        return Correlation(ToolMeasure())
    if named == "colours":
        return Correlation(ColourMeasure())
    raise InputError(f"a correlation is clip:FOLDER, tools or colours; found {named!r}")
