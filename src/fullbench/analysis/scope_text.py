"""Where a figure belongs, in words: a study, a criterion, a family of ballots, a ballot over a column."""

from __future__ import annotations

from collections.abc import Mapping

from fullbench.columns.verdict_columns import Family
from fullbench.core.note import Note
from fullbench.core.table import Column

OVERALL = "overall"
"""The usual criterion, which is not named."""
MEAN = "column.mean-of-ballot"
FROM: Mapping[Family, str] = {
    "score": Note("family.score", "single marks"),
    "pair": Note("family.pair", "choices"),
    "ranking": Note("family.ranking", "rankings"),
}


def place(study: str, criterion: str) -> str:
    """Where figures belong, in words that stand behind a title: a study, a criterion that is not the usual one.

    >>> str(place("", "style")), str(place("一", "style")), place("", OVERALL)
    (' on style', ' in 一 on style', '')
    """
    if criterion == OVERALL:
        return Note("place.study", " in {study}", study=study) if study else ""
    if not study:
        return Note("place.criterion", " on {criterion}", criterion=criterion)
    return Note("place.both", " in {study} on {criterion}", study=study, criterion=criterion)


def placed(title: str, behind: str) -> str:
    """A title with what stands behind it."""
    return Note("title.placed", "{title}{behind}", title=title, behind=behind) if behind else title


def from_family(family: Family) -> str:
    """The family of ballots in words that stand behind a title."""
    return Note("place.family", ", from {ballots}", ballots=FROM[family])


def mean_of(ballot: str) -> Note:
    """What the mean mark on one ballot is called."""
    return Note(MEAN, "mean {ballot}", ballot=ballot)


def mean_heading(ballot: str) -> Column:
    """The column of mean marks on one ballot."""
    label = mean_of(ballot)
    return Column(str(label), label, "figure", "more")


def ballot_of(column: Column) -> str:
    """The ballot whose mean marks a column holds; nothing for any other column.

    >>> ballot_of(mean_heading("score:1-5")), ballot_of(Column("rating"))
    ('score:1-5', '')
    """
    label = column.label
    return str(label.values["ballot"]) if isinstance(label, Note) and label.id == MEAN else ""
