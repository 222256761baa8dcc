"""Texts that name the scope of a table: study, criterion, ballot family, ballot of a column."""

from __future__ import annotations

from collections.abc import Mapping

from fullbench.analysis.item_clustered_means_and_shares import two_words_of
from fullbench.columns.verdict_columns import Family
from fullbench.core.table import Column
from fullbench.core.translatable_note import Note

OVERALL = "overall"
"""Default criterion, which titles do not name."""
MEAN = "column.mean-of-ballot"
_SHARE_ON = 'share of "{word}" on {ballot}'
"""Key of the column of a ballot with two words; its label leaves the ballot out."""
FROM: Mapping[Family, str] = {
    "score": Note("family.score"),
    "pair": Note("family.pair"),
    "ranking": Note("family.ranking"),
}


def scope_suffix(study: str, criterion: str) -> str:
    """Return a suffix for titles with the study and any criterion that is not the default.

    >>> str(scope_suffix("", "style")), str(scope_suffix("一", "style")), scope_suffix("", OVERALL)
    (' on style', ' in 一 on style', '')
    """
    if criterion == OVERALL:
        return Note("place.study", study=study) if study else ""
    if not study:
        return Note("place.criterion", criterion=criterion)
    return Note("place.both", study=study, criterion=criterion)


def title_with_scope(title: str, behind: str) -> str:
    """Return a title followed by a suffix."""
    return Note("title.placed", title=title, behind=behind) if behind else title


def family_suffix(family: Family) -> str:
    """Return a suffix for titles with the ballot family."""
    return Note("place.family", ballots=FROM[family])


def mean_label(ballot: str) -> Note:
    """Return the label of the mean mark on one ballot; of the second word's share if it has two words.

    >>> str(mean_label("score:1-5")), str(mean_label("likert:no|yes"))
    ('mean score:1-5', 'share of "yes"')
    """
    if words := two_words_of(ballot):
        return Note("column.share-of-word", word=words[1])
    return Note(MEAN, ballot=ballot)


def mean_name(ballot: str) -> Note:
    """Return the name of the same number within a sentence or title."""
    if words := two_words_of(ballot):
        return Note("unusable.share-of-word", word=words[1])
    return Note("unusable.mean", ballot=ballot)


def mean_heading(ballot: str) -> Column:
    """Return the column of mean marks on one ballot."""
    label = mean_label(ballot)
    words = two_words_of(ballot)
    key = _SHARE_ON.format(word=words[1], ballot=ballot) if words else str(label)
    return Column(key, label, "metric", "more")


def ballot_of(column: Column) -> str:
    """Return the ballot of a column of mean marks, or an empty string for other columns.

    >>> ballot_of(mean_heading("score:1-5")), ballot_of(mean_heading("likert:no|yes")), ballot_of(Column("rating"))
    ('score:1-5', 'likert:no|yes', '')
    """
    label = column.label
    if isinstance(label, Note) and label.id == MEAN:
        return str(label.values["ballot"])
    start, separator, ballot = column.key.rpartition(" on ")
    return ballot if separator and start.startswith("share of ") and two_words_of(ballot) else ""
