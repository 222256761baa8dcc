"""The 70 instruction families: 45 gathered anew, 25 taken from existing data sets, ten of these with several images."""

from __future__ import annotations

EXISTING_SINGLE = (
    "aokvqa", "aokvqg", "clevr", "gd_vcr", "gqa", "harmful_memes", "kilogram", "newyork", "okvqa", "scienceqa",
    "textcaps", "vcr", "vizwiz", "vqa", "whoops",
)  # fmt: skip
EXISTING_MULTI = (
    "imagecode", "irfl_idiom", "irfl_metaphor", "nlvr2", "pickapick", "rcc", "spot_the_diff", "vasr", "winogavil",
    "winoground",
)  # fmt: skip
FAMILIES = 70


def origin(family: str) -> str:
    """Whether a family was taken from an existing data set or gathered anew.

    >>> origin("gqa"), origin("Board Games")
    ('existing', 'new')
    """
    return "existing" if family in {*EXISTING_SINGLE, *EXISTING_MULTI} else "new"
