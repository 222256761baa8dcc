"""What a limit leaves out is said, in the same words by every command."""

from __future__ import annotations


def left_by_limit(taken: int, there: int) -> list[str]:
    """The sentence about a run on the first items alone; none where all were taken.

    >>> left_by_limit(2, 5), left_by_limit(5, 5)
    (['Only the first 2 of 5 items are in this run, as the limit says.'], [])
    """
    if taken >= there:
        return []
    return [f"Only the first {taken:,} of {there:,} items are in this run, as the limit says."]
