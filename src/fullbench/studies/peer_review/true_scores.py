"""True scores of contestants from a file, such as those on a human-annotated benchmark."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from fullbench.analysis.peer_review.ground_truth import Truth, truth_from_scores
from fullbench.errors import InputError
from fullbench.files.readers import read_rows
from fullbench.files.release_rows import Row

_NAMES = ("contestant", "model", "name")
_SCORES = ("score", "accuracy", "value", "rating")


def is_name_of(short: str, name: str) -> bool:
    """Return True if `short` names a contestant: its full name, or the part before its server or settings.

    >>> (is_name_of("gpt-4o", "gpt-4o@127.0.0.1:8000/v1"), is_name_of("gpt-4o", "gpt-4o-mini"),
    ...  is_name_of("keen", "synthetic/keen"))
    (True, False, True)
    """
    model = name.partition("@")[0]
    return short in {name, model, model.partition("+")[0], name.rpartition("/")[2]}


def read_scores(path: str | Path, names: Sequence[str]) -> Truth:
    """Read a file with one score per contestant. All contestants need one; other rows are ignored."""
    path = Path(path)
    scores: dict[str, float] = {}
    for line, values in read_rows(path):
        row = Row(path, line, values)
        who = next((column for column in _NAMES if values.get(column) is not None), None)
        score = next((column for column in _SCORES if values.get(column) is not None), None)
        if who is None or score is None:
            raise row.error(
                f"a row needs a contestant and a score ({' or '.join(_NAMES)}; {' or '.join(_SCORES)}); found "
                f"{', '.join(map(str, values))}"
            )
        value = row.number(score)
        for name in (name for name in names if is_name_of(row.text(who), name)):
            if name in scores:
                raise row.error(f"{name!r} has two scores; keep one")
            scores[name] = value
    missing = [name for name in names if name not in scores]
    if missing:
        raise InputError(f"the file has no score of {', '.join(missing)}; add a row for each contestant", path=path)
    return truth_from_scores(scores, path.name)
