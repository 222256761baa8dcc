"""A list of contestants' true scores, such as those on a benchmark that people annotated, from a file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from fullbench.analysis.peer_review.ground_truth import Truth, given_scores
from fullbench.errors import InputError
from fullbench.files.readers import read_rows
from fullbench.files.release_rows import Row

_NAMES = ("contestant", "model", "name")
_SCORES = ("score", "accuracy", "value", "rating")


def called(short: str, name: str) -> bool:
    """Whether a contestant may be called so: by its name, or by what stands before its server or its settings.

    >>> called("gpt-4o", "gpt-4o@127.0.0.1:8000/v1"), called("gpt-4o", "gpt-4o-mini"), called("keen", "court/keen")
    (True, False, True)
    """
    model = name.partition("@")[0]
    return short in {name, model, model.partition("+")[0], name.rpartition("/")[2]}


def read_scores(path: str | Path, names: Sequence[str]) -> Truth:
    """The scores of a file with a row for each contestant; every contestant must have one, others are no matter."""
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
        for name in (name for name in names if called(row.text(who), name)):
            if name in scores:
                raise row.error(f"{name!r} has two scores; keep one")
            scores[name] = value
    missing = [name for name in names if name not in scores]
    if missing:
        raise InputError(f"the file has no score of {', '.join(missing)}; add a row for each contestant", path=path)
    return given_scores(scores, path.name)
