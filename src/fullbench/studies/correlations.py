"""From a word to a judge of how well answers fit their pictures: `clip:FOLDER?device=cuda`, `tools`, `colours`.

Here the measures of tools, which are models' business, meet the peer review that uses them; neither knows the other.
"""

from __future__ import annotations

from fullbench.errors import InputError
from fullbench.judges.image_text_correlation import Correlation, clip


def correlation(named: str) -> Correlation:
    """The judge of correlation that a word names."""
    from fullbench.models.tools.text_image_fit import ColourMeasure, ToolMeasure

    kind, _, rest = named.partition(":")
    folder, _, options = rest.partition("?")
    if kind == "clip" and folder:
        name, _, device = options.partition("=")
        if options and (name != "device" or not device):
            raise InputError(f"a CLIP correlation has one option, as in clip:FOLDER?device=cuda; found {named!r}")
        return clip(folder, device or "auto")
    if named == "tools":
        return Correlation(ToolMeasure())
    if named == "colours":
        return Correlation(ColourMeasure())
    raise InputError(f"a correlation is clip:FOLDER, tools or colours; found {named!r}")
