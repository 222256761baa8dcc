"""Verdicts that exist already, in tables with usual column names: those of judges, and people's to compare with.

In a file of judges' verdicts, `annotator` or `rater` names the judge if there is no column `judge`. Scores without a
ballot get a usual scale that has them all.
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fullbench.core.verdict import PEOPLE, Verdict
from fullbench.errors import InputError
from fullbench.files.annotation_tools.read_labels import label_rows
from fullbench.files.item_response_verdict_files import VERDICT, VERDICT_FALLBACKS, verdicts_in
from fullbench.files.name_suggestions_and_lookalikes import closest_name
from fullbench.files.row_fields import PAIR_COLUMNS
from fullbench.number_agreement import agree_with_one

Rows = Iterable[tuple[int, Mapping[str, Any]]]
SCALES = ((0, 1), (1, 5), (0, 5), (1, 10), (0, 10), (0, 100))
"""Usual scales; the first that has all scores is taken."""
_JUDGE_COLUMNS = ("annotator", "rater")
_MARK_COLUMNS = ("marks", *VERDICT["marks"])
_NEEDED: Mapping[str, Sequence[str]] = {
    "the item": ("item", *VERDICT["item"], *VERDICT_FALLBACKS["item"]),
    "the contestant": ("contestants", *VERDICT["contestants"], *PAIR_COLUMNS),
    "the score": (*_MARK_COLUMNS, "winner", *VERDICT_FALLBACKS["winner"], "fault"),
}


@dataclass
class ExistingVerdicts:
    """Verdicts of judges, people's labels, and sentences on how they were read."""

    verdicts: list[Verdict] = field(default_factory=list)
    labels: list[Verdict] = field(default_factory=list)
    messages: list[str] = field(default_factory=list)

    @property
    def judges(self) -> list[str]:
        """Names of the judges, without people."""
        return sorted({verdict.judge for verdict in self.verdicts} - {PEOPLE})


def read_existing_verdicts(
    verdict_files: Sequence[Path], label_file: Path | None = None, *, ballot: str | None = None
) -> ExistingVerdicts:
    """Read verdicts of judges, and people's labels.

    Args:
        verdict_files: Files of judges' verdicts. Without a column for the judge, a file's name is its name.
        label_file: File of people's verdicts.
        ballot: Ballot of rows without one.
    """
    sources = [(path, label_rows(path)) for path in verdict_files]
    return existing_verdicts(sources, None if label_file is None else (label_file, label_rows(label_file)), ballot)


def existing_verdicts(
    verdict_sources: Sequence[tuple[Path, Rows]], label_source: tuple[Path, Rows] | None, ballot: str | None = None
) -> ExistingVerdicts:
    """Return the verdicts of rows with line numbers; the paths are for messages. See `read_existing_verdicts`."""
    existing = ExistingVerdicts()
    tables = [(path, [(line, dict(row)) for line, row in rows]) for path, rows in verdict_sources]
    for path, rows in tables:
        _refuse_missing_columns(path, rows)
        for column in _JUDGE_COLUMNS:
            if rows and "judge" not in rows[0][1] and column in rows[0][1]:
                _rename_column(rows, column, "judge")
        if rows and not any(row.get("judge") for _, row in rows):
            existing.messages.append(f"{path}: no column 'judge'. The judge is called {path.stem!r}, like the file.")
    label_rows_by_line = [] if label_source is None else [(line, dict(row)) for line, row in label_source[1]]
    if ballot is None:
        all_rows = [(row, path.stem) for path, rows in tables for _, row in rows]
        all_rows += [(row, PEOPLE) for _, row in label_rows_by_line]
        existing.messages += _add_scales(all_rows)
    for path, rows in tables:
        verdicts = list(verdicts_in(rows, path, judge=path.stem, ballot=ballot))
        existing.messages += _repetition_messages(path, rows, verdicts)
        existing.verdicts += verdicts
    if label_source is not None:
        existing.labels += verdicts_in(label_rows_by_line, label_source[0], ballot=ballot)
        existing.messages += _one_sided_contestant_messages(existing)
        existing.messages += _unjudged_item_messages(label_source[0], existing)
    return existing


def has_verdict_columns(columns: Collection[str]) -> bool:
    """Return True if a table with these columns can be read as verdicts that exist already."""
    return all({*names}.intersection(columns) for names in _NEEDED.values())


def _refuse_missing_columns(path: Path, rows: Sequence[tuple[int, Mapping[str, Any]]]) -> None:
    """Refuse a table whose first row has no item, no contestant or no score, in one sentence for all of them."""
    columns = list(rows[0][1]) if rows else []
    missing = [what for what, names in _NEEDED.items() if columns and not {*names}.intersection(columns)]
    if missing:
        raise InputError(
            f"No column for {' and '.join(missing)}. Found: {', '.join(map(str, columns[:8]))}. Usual names are item "
            "(id, question_id), contestant (model; model_a and model_b), score (mark, rating) or winner (preference), "
            "and judge (annotator, rater).",
            path=path,
        )


def _repetition_messages(
    path: Path, rows: Sequence[tuple[int, Mapping[str, Any]]], verdicts: Sequence[Verdict]
) -> Iterator[str]:
    """Yield the message on rows that judge a case again without a trial number; `verdicts` are those of the rows."""
    first_verdicts: dict[tuple[str, str], Verdict] = {}
    repeats: list[tuple[int, Verdict, Verdict]] = []
    for (line, row), verdict in zip(rows, verdicts, strict=True):
        first = first_verdicts.setdefault((verdict.judge, verdict.case), verdict)
        if first is not verdict and verdict.trial and row.get("trial") is None:
            repeats.append((line, first, verdict))
    if not repeats:
        return
    changes = [repeat for repeat in repeats if repeat[1].marks != repeat[2].marks]
    line, first, verdict = (changes or repeats)[0]
    counts = agree_with_one(f"{len(repeats):,} of {len(rows):,} rows name the item, contestants and judge")
    old, new = ("no score" if each.marks is None else _marks_text(each.marks) for each in (first, verdict))
    yield (
        f"{path}: {counts} of an earlier row, {len(changes):,} with another score. For example line {line}: "
        f"{verdict.judge} on item {verdict.item!r}, {', '.join(verdict.contestants)}, {new} after {old}. All rows "
        "count, as repeated trials. If that is not meant, keep one of each."
    )


def _marks_text(marks: Sequence[float]) -> str:
    return "/".join(f"{mark:g}" for mark in marks)


def _one_sided_contestant_messages(existing: ExistingVerdicts) -> Iterator[str]:
    """Yield the message on contestants that only people voted on, or only judges judged."""
    voted, judged = (
        {name.strip() for verdict in verdicts for name in verdict.contestants}
        for verdicts in (existing.labels, existing.verdicts)
    )
    by_people, by_judges = sorted(voted - judged), sorted(judged - voted)
    judges = "the judge" if len(existing.judges) == 1 else "the judges"
    if by_people and by_judges:
        yield (
            f"People voted on {_names_text(by_people)}, but {judges} judged {_names_text(by_judges)}: these are not "
            "compared. If they are the same contestants, use one name in both files."
        )
    elif voted and judged and (by_people or by_judges):
        what = "Only people voted on" if by_people else f"Only {judges} judged"
        yield f"{what} {_names_text(by_people or by_judges)}: agreement is not measured there."


def _unjudged_item_messages(path: Path, existing: ExistingVerdicts) -> Iterator[str]:
    """Yield the message on people's votes on items that no judge judged."""
    judged_items = {verdict.item for verdict in existing.verdicts}
    unjudged = [vote.item for vote in existing.labels if vote.item not in judged_items]
    if unjudged and judged_items:
        nearest = closest_name(unjudged[0], judged_items)
        hint = f" (did you mean {nearest!r}?)" if nearest else ""
        counts = agree_with_one(f"{len(unjudged):,} of {len(existing.labels):,} votes are")
        yield f"{path}: {counts} on items that no judge judged, the first on {unjudged[0]!r}{hint}. No agreement there."


def _names_text(names: Sequence[str]) -> str:
    return ", ".join(names[:5]) + (f" and {len(names) - 5:,} more" if len(names) > 5 else "")


def _rename_column(rows: Sequence[tuple[int, dict[str, Any]]], old: str, new: str) -> None:
    for _, row in rows:
        if old in row:
            row[new] = row.pop(old)


def _add_scales(rows: Sequence[tuple[dict[str, Any], str]]) -> Iterator[str]:
    """Add a ballot to rows with scores that have none, and yield a sentence for each scale.

    Judges share a scale, so that they can be compared, unless the highest score of one is at most half of the
    other's: then it is another scale.
    """
    scores: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    unscaled = [(row, judge) for row, judge in rows if not row.get("ballot")]
    for row, judge in unscaled:
        scores[row.get("criterion") or "overall"][row.get("judge") or judge] += _scores_of(row)
    specs: dict[tuple[str, str], str] = {}
    for criterion, by_judge in scores.items():
        groups: list[list[str]] = []
        for judge in sorted((name for name in by_judge if by_judge[name]), key=lambda name: max(by_judge[name])):
            lowest = max(by_judge[groups[-1][0]]) if groups else 0.0
            if groups and max(by_judge[judge]) < 2 * lowest:
                groups[-1].append(judge)
            else:
                groups.append([judge])
        for group in groups:
            values = [value for judge in group for value in by_judge[judge]]
            spec = _scale_spec(values)
            specs |= {(criterion, judge): spec for judge in group}
            of_whom = f" by {', '.join(sorted(group))}" if len(groups) > 1 else ""
            what = "" if criterion == "overall" else f" on {criterion}"
            yield (
                f"No ballot given: {len(values):,} scores{what}{of_whom} from {min(values):g} to {max(values):g} "
                f"were read as {spec}. For another scale, add a column 'ballot', or the option ballot."
            )
    for row, judge in unscaled:
        place = (row.get("criterion") or "overall", row.get("judge") or judge)
        if _scores_of(row):
            row["ballot"] = specs[place]
        elif not any(row.get(name) for name in ("winner", *VERDICT_FALLBACKS["winner"], "fault")):
            row["ballot"] = specs.get(place, "number")  # so that the score is refused, not a missing ballot


def _scores_of(row: Mapping[str, Any]) -> list[float]:
    """Return the scores of a row; none if it names a winner, or if they are no numbers, which is refused later."""
    value = next((row[name] for name in _MARK_COLUMNS if row.get(name) is not None), None)
    if isinstance(value, str) and value.startswith("["):
        try:
            value = json.loads(value)
        except ValueError:
            return []
    numbers = []
    for entry in value if isinstance(value, list) else [] if value is None else [value]:
        try:
            numbers.append(float(entry.replace(",", ".") if isinstance(entry, str) else entry))
        except (TypeError, ValueError):
            return []
    return numbers if all(map(math.isfinite, numbers)) else []


def _scale_spec(values: Sequence[float]) -> str:
    """Return the ballot of a usual scale that has all these scores, else of the one observed.

    >>> _scale_spec([2, 5]), _scale_spec([2.5, 7]), _scale_spec([0, 1]), _scale_spec([-3, 250.5])
    ('score:1-5', 'real:1-10', 'real:0-1', 'real:-3-251')
    """
    low, high = min(values), max(values)
    bottom, top = next(
        (ends for ends in SCALES if ends[0] <= low and high <= ends[1]),
        (math.floor(low), max(math.ceil(high), math.floor(low) + 1)),
    )
    is_whole = top > 1 and all(value == int(value) for value in values)
    return f"{'score' if is_whole else 'real'}:{bottom}-{top}"
