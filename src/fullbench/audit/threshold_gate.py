"""A gate: thresholds in a TOML file, each of which a judge or a contestant passes or not, for continuous integration.

    ledger = "fullbench.ledger"

    [[audit]]                     # an audited judge; without `judge`, every one of the study
    study = "audit-quick-0"
    judge = "simulated/accurate"  # a name, or how it begins
    accuracy = 0.8                # at least; so are sight_index and steadiness
    attack_rate = 0.05            # at most; so are bias (log-odds per dose), faults (a share) and reading_misled

    [[agreement]]                 # with people, on pairs (accuracy) or scores (Pearson)
    judge = "openai/gpt-4o"
    on = "pairs"
    at_least = 0.7

    [[regression]]                # a contestant's rating beside that of an earlier run
    contestant = "new"
    base = "base.ledger"
    points = 20

    [[drift]]                     # the canaries of a judge have rung no alarm
    judge = "openai/gpt-4o"

With `sure = true`, the end of the interval must pass, not only the figure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fullbench.analysis.agreement import judges_with_people
from fullbench.analysis.boards.leaderboard import Settings, boards
from fullbench.audit import audit_card as cards
from fullbench.audit import canary_checks
from fullbench.audit.audited_judges import members_of
from fullbench.core.column_labels import headings
from fullbench.core.estimate import Estimate
from fullbench.core.note import Note, word
from fullbench.core.record import Record
from fullbench.core.table import Cell, Table
from fullbench.core.verdict import PEOPLE
from fullbench.errors import InputError
from fullbench.files.toml_files import read_toml
from fullbench.ledger.ledger import Ledger
from fullbench.studies import ledger_columns

_AUDIT = {
    "accuracy": True, "sight_index": True, "steadiness": True, "attack_rate": False, "bias": False, "faults": False,
    "reading_misled": False,
}  # fmt: skip
"""The thresholds on an audited judge; whether more is better."""
_KEYS: Mapping[str, frozenset[str]] = {
    "audit": frozenset({"ledger", "study", "judge", "sure", *_AUDIT}),
    "agreement": frozenset({"ledger", "study", "judge", "on", "at_least", "sure"}),
    "regression": frozenset({"ledger", "study", "contestant", "judge", "base", "base_study", "points", "sure"}),
    "drift": frozenset({"ledger", "judge"}),
}
_NEEDED = {"agreement": ("judge", "at_least"), "regression": ("contestant", "base"), "drift": ("judge",)}


@dataclass(frozen=True)
class Check:
    """One threshold: what was measured, what was asked, and whether it passed; `why` says what is lacking."""

    name: str
    passed: bool
    measured: Estimate | float | None
    asked: str
    why: str = ""


def read_gate(path: Path) -> Mapping[str, Any]:
    """The thresholds in a file, checked."""
    table, _ = read_toml(path, "the gate")
    for kind, entries in table.items():
        if kind == "ledger":
            continue
        if kind not in _KEYS:
            raise InputError(f"a gate has no part {kind!r}; known: ledger, {', '.join(_KEYS)}", path=path)
        if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
            raise InputError(f"{kind} is written [[{kind}]], once for each threshold", path=path)
        for entry in entries:
            if unknown := sorted(set(entry) - _KEYS[kind]):
                known = ", ".join(sorted(_KEYS[kind]))
                raise InputError(f"[[{kind}]] has no key {unknown[0]!r}; known: {known}", path=path)
            for key, value in entry.items():
                _check_type(kind, key, value, path)
            if lacking := [key for key in _NEEDED.get(kind, ()) if key not in entry]:
                raise InputError(f"[[{kind}]] lacks the key {lacking[0]!r}", path=path)
    if not any(kind in table for kind in _KEYS):
        raise InputError(f"the gate asks for nothing; it has one or more of {', '.join(_KEYS)}", path=path)
    return table


def _check_type(kind: str, key: str, value: object, path: Path) -> None:
    """Refuse a value that a key cannot have."""
    if key == "sure":
        fits, wanted = isinstance(value, bool), "true or false"
    elif key in {*_AUDIT, "at_least", "points"}:
        fits, wanted = isinstance(value, int | float) and not isinstance(value, bool), "a number"
    else:
        fits, wanted = isinstance(value, str), "a text in quotation marks"
    if not fits:
        raise InputError(f"{key} of [[{kind}]] is {wanted}; found {value!r}", path=path)


def checks(path: Path, ledger: str | Path | None = None) -> list[Check]:
    """Every threshold of a gate; `ledger` takes the place of the one that the file names."""
    table = read_gate(path)
    usual = ledger or path.parent / str(table.get("ledger", "fullbench.ledger"))
    outcomes: list[Check] = []
    for kind, check in _KINDS.items():
        for entry in table.get(kind, ()):
            place = usual if ledger or "ledger" not in entry else path.parent / str(entry["ledger"])
            with Ledger(place, read_only=True) as book:
                outcomes += check(book, entry, path)
    return outcomes


def _audit(book: Ledger, entry: Mapping[str, Any], path: Path) -> Iterator[Check]:
    from fullbench.audit.audit_run import study_of

    audits = [name for name in book.studies() if study_of(name)]
    if not entry.get("study") and len(audits) > 1:
        names = ", ".join(audits)
        raise InputError(f"{book.place} holds several audits ({names}); say which by study = in [[audit]]", path=path)
    study = entry.get("study") or next(iter(audits), None)
    if study is None or study not in book.studies():
        raise InputError(f"{book.place} holds no audit {study or ''}; `fullbench audit` makes one", path=path)
    record = ledger_columns.record(book, study=study).ordered()
    for judge in _named(record.judges, entry.get("judge", ""), path):
        measures = _measures(cards.findings(record, judge, members=members_of(book, judge)))
        for name, more in _AUDIT.items():
            if name in entry:
                yield _compared(
                    f"{judge}: {name}", measures[name], entry[name], more=more, sure=entry.get("sure", False)
                )


def _measures(result: cards.Findings) -> dict[str, Estimate | float | None]:
    swayed = max(result.flagged, key=lambda sway: abs(sway.effect.value), default=None)
    return {
        "accuracy": result.accuracy,
        "sight_index": result.sight.index,
        "steadiness": result.steadiness.get("in the other order"),
        "attack_rate": result.fooled.rate(),
        "bias": abs(swayed.effect.value) if swayed is not None else 0.0 if result.sways else None,
        "faults": result.faults / len(result.rows),
        "reading_misled": float(result.fooled.misled),
    }


def _agreement(book: Ledger, entry: Mapping[str, Any], path: Path) -> Iterator[Check]:
    record = book.record(study=entry.get("study"))
    (judge,) = _named([name for name in record.judges if name != PEOPLE], entry["judge"], path, one=True)
    shape = entry.get("on", "pairs")
    if shape not in {"pairs", "scores"}:
        raise InputError(f"agreement is on 'pairs' or 'scores'; found {shape!r}", path=path)
    for criterion, part in record.by("criterion").items():
        meetings = judges_with_people.meet(part)
        agreed = {entry_.shape: entry_.first for entry_ in judges_with_people.agreements(meetings, judge)}
        name = f"{judge}: agreement on {shape} ({criterion})"
        yield _compared(name, agreed.get(shape), entry["at_least"], more=True, sure=entry.get("sure", False))


def _regression(book: Ledger, entry: Mapping[str, Any], path: Path) -> Iterator[Check]:
    """By how many points a contestant's rating fell; the two runs are taken as independent."""
    points, sure = float(entry.get("points", 0.0)), bool(entry.get("sure", False))
    with Ledger(path.parent / str(entry["base"]), read_only=True) as earlier:
        before = _ratings(earlier.record(study=entry.get("base_study")), entry)
    now = _ratings(book.record(study=entry.get("study")), entry)
    if not now:
        raise InputError(f"{book.place} has no rating of {entry['contestant']!r}", path=path)
    for key, rating in now.items():
        name = f"{entry['contestant']}: rating by {key}"
        asked = f"≥ -{points:g}"
        if key not in before:
            yield Check(name, False, None, asked, Note("gate.no-base", "the base run has no such rating"))
            continue
        half = sum(((estimate.high - estimate.low) / 2) ** 2 for estimate in (rating, before[key])) ** 0.5
        gap = rating.value - before[key].value
        change = Estimate(gap, gap - half, gap + half, min(rating.n, before[key].n), method="two independent runs")
        # a fall that chance may explain is no regression, unless the gate wants to be sure that there is none
        passed = change.low >= -points if sure else change.high >= -points
        yield Check(name, passed, change, asked)


def _ratings(record: Record, entry: Mapping[str, Any]) -> dict[str, Estimate]:
    ratings = {}
    wanted = entry.get("judge", "")
    for judge in record.judges:
        # people's ratings are compared only where they are named
        if not judge.startswith(wanted) or (judge == PEOPLE != wanted):
            continue
        for board in boards(record.where(judge=judge), Settings()):
            for line in board.lines:
                if line.contestant == entry["contestant"] and line.rating is not None:
                    ratings[f"{judge}, {board.key.criterion}, {board.key.family}"] = line.rating
    return ratings


def _drift(book: Ledger, entry: Mapping[str, Any], path: Path) -> Iterator[Check]:
    watched = canary_checks.watched(book)
    for judge in _named([*watched], entry["judge"], path):
        alarm = watched[judge]
        why: str = ""
        if alarm.rung:
            why = Note("gate.drift", "the alarm rang at canary call {n:,}", n=alarm.rung)
        elif not alarm.calls:
            why = Note("gate.baseline-only", "no canary was heard since the baseline; the command canary hears some")
        yield Check(f"{judge}: drift", not why, alarm.share, "no alarm", why)


_KINDS: Mapping[str, Callable[[Ledger, Mapping[str, Any], Path], Iterable[Check]]] = {
    "audit": _audit, "agreement": _agreement, "regression": _regression, "drift": _drift,
}  # fmt: skip


def _named(names: Sequence[str], wanted: str, path: Path, *, one: bool = False) -> list[str]:
    matching = [name for name in names if name.startswith(wanted)]
    exact = [name for name in matching if name == wanted]
    chosen = exact or matching
    if not chosen or (one and len(chosen) > 1):
        there = ", ".join(names) or "none"
        raise InputError(f"{len(chosen)} judges are called {wanted!r}; there are: {there}", path=path)
    return chosen


def _compared(name: str, measured: Estimate | float | None, threshold: float, *, more: bool, sure: bool) -> Check:
    asked = f"{'≥' if more else '≤'} {threshold:g}"
    if measured is None:
        return Check(name, False, None, asked, Note("gate.not-measured", "it was not measured"))
    if isinstance(measured, Estimate):
        value = (measured.low if more else measured.high) if sure else measured.value
    else:
        value = measured
    return Check(name, value >= threshold if more else value <= threshold, measured, asked)


def gate_table(found: Sequence[Check]) -> Table:
    """The checks, those that failed first."""
    rows: list[list[Cell]] = [
        [check.name, check.measured, check.asked, word("passed" if check.passed else "failed"), check.why]
        for check in sorted(found, key=lambda check: check.passed)
    ]
    failed = sum(not check.passed for check in found)
    return Table(
        "gate",
        Note("gate.title", "Gate: {failed:,} of {n:,} thresholds failed", failed=failed, n=len(found)),
        headings("threshold of", "measured", "wanted value", "outcome", "why"),
        rows,
    )


def junit(found: Sequence[Check], name: str = "fullbench gate") -> str:
    """The checks as JUnit XML, which every CI service reads."""
    from xml.etree import ElementTree as ET

    failed = sum(not check.passed for check in found)
    suite = ET.Element("testsuite", name=name, tests=str(len(found)), failures=str(failed), errors="0", skipped="0")
    for check in found:
        case = ET.SubElement(suite, "testcase", classname="fullbench.gate", name=check.name)
        if not check.passed:
            ET.SubElement(case, "failure", message=says(check)).text = says(check)
    ET.indent(suite)
    return ET.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


def says(check: Check) -> str:
    """A check in one line."""
    return f"{check.name}: {check.measured} (wanted {check.asked}){f': {check.why}' if check.why else ''}"
