"""Gate for continuous integration: thresholds in a TOML file that judges or contestants must pass.

    ledger = "fullbench.ledger"

    [[audit]]                     # an audited judge; without `judge`, every one of the study
    study = "audit-quick-0"
    judge = "simulated/accurate"  # a name, or the beginning of one or more names
    accuracy = 0.8                # at least; also picture_use_index, place_use_index and steadiness; of an audit of
                                  # other media video_accuracy, video_use_index, video_order_index, audio_...
    attack_rate = 0.05            # at most; also bias (log-odds per strength), unusable (a share) and reading_misled

    [[agreement]]                 # with people, on pairs (accuracy) or scores (Pearson)
    judge = "openai/gpt-4o"
    on = "pairs"
    at_least = 0.7

    [[regression]]                # a contestant's rating compared with an earlier run
    contestant = "new"
    base = "base.ledger"
    points = 20

    [[drift]]                     # the canaries of a judge raised no alarm
    judge = "openai/gpt-4o"
    medium = "video"              # by default, all media with canaries of this judge

With `sure = true`, the end of the interval must pass, not only the estimate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from fullbench.analysis.agreement import judges_with_people
from fullbench.analysis.boards.leaderboard import Settings, build_boards
from fullbench.audit import audit_card_and_board as cards
from fullbench.audit import canary_checks
from fullbench.audit.audited_judge_loader import view_members
from fullbench.audit.cases.media_use_cases import MEDIA
from fullbench.core.built_in_table_columns import table_columns
from fullbench.core.estimate import Estimate
from fullbench.core.table import Cell, Table
from fullbench.core.translatable_note import Note, word_note
from fullbench.core.verdict import PEOPLE
from fullbench.errors import InputError
from fullbench.files.toml_reader import read_toml
from fullbench.ledger.ledger import Ledger
from fullbench.reports.display_names_of_judges_and_contestants import DisplayNames
from fullbench.studies import ledger_verdicts_with_panels
from fullbench.studies.disputed_and_unusable_ledger_cases import BASELINES
from fullbench.studies.ledger_display_names_and_name_lookup import find_contestants, find_name, load_display_names

_MEDIA_THRESHOLDS = tuple(
    f"{medium}_{name}"
    for medium, tests in MEDIA.items()
    for name in ("accuracy", "use_index", *(["order_index"] if tests.reordered else []))
)
"""Accuracy, use index and order index of each medium that has them."""
AUDIT_THRESHOLDS = {
    "accuracy": True, "picture_use_index": True, "place_use_index": True, "steadiness": True, "attack_rate": False,
    "bias": False, "unusable": False, "reading_misled": False, **dict.fromkeys(_MEDIA_THRESHOLDS, True),
}  # fmt: skip
"""Thresholds on an audited judge; True if more is better."""
_KEYS: Mapping[str, frozenset[str]] = {
    "audit": frozenset({"ledger", "study", "judge", "sure", *AUDIT_THRESHOLDS}),
    "agreement": frozenset({"ledger", "study", "judge", "on", "at_least", "sure"}),
    "regression": frozenset({"ledger", "study", "contestant", "judge", "base", "base_study", "points", "sure"}),
    "drift": frozenset({"ledger", "judge", "medium"}),
}
_REQUIRED_KEYS = {"agreement": ("judge", "at_least"), "regression": ("contestant", "base"), "drift": ("judge",)}


@dataclass(frozen=True)
class Check:
    """Result of one threshold: measurement, requirement, passed or not; `reason` says what is missing."""

    name: str
    is_passed: bool
    measurement: Estimate | float | None
    requirement: str
    reason: str = ""
    names: Mapping[str, str] = field(default_factory=dict, compare=False)
    """Display names of judges and contestants by full name."""


def read_gate(path: Path) -> Mapping[str, Any]:
    """Read and check the thresholds in a file."""
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
                allowed_keys = ", ".join(sorted(_KEYS[kind]))
                raise InputError(f"[[{kind}]] has no key {unknown[0]!r}; known: {allowed_keys}", path=path)
            for key, value in entry.items():
                _check_type(kind, key, value, path)
            if missing_keys := [key for key in _REQUIRED_KEYS.get(kind, ()) if key not in entry]:
                raise InputError(f"[[{kind}]] lacks the key {missing_keys[0]!r}", path=path)
    if not any(kind in table for kind in _KEYS):
        raise InputError(f"the gate has no thresholds. Add one or more of {', '.join(_KEYS)}", path=path)
    return table


def _check_type(kind: str, key: str, value: object, path: Path) -> None:
    if key == "sure":
        fits, expected_type = isinstance(value, bool), "true or false"
    elif key in {*AUDIT_THRESHOLDS, "at_least", "points"}:
        fits, expected_type = isinstance(value, int | float) and not isinstance(value, bool), "a number"
    else:
        fits, expected_type = isinstance(value, str), "a text in quotation marks"
    if not fits:
        raise InputError(f"{key} of [[{kind}]] is {expected_type}; found {value!r}", path=path)


def run_checks(path: Path, ledger: str | Path | None = None) -> list[Check]:
    """Check every threshold of a gate; `ledger` replaces the one in the file."""
    table = read_gate(path)
    default_place = ledger or path.parent / str(table.get("ledger", "fullbench.ledger"))
    outcomes: list[Check] = []
    for kind, check in _CHECKS_BY_KIND.items():
        for entry in table.get(kind, ()):
            place = default_place if ledger or "ledger" not in entry else path.parent / str(entry["ledger"])
            with Ledger(place, read_only=True) as book:
                shown_names = load_display_names(book).names
                outcomes += [replace(outcome, names=shown_names) for outcome in check(book, entry, path)]
    return outcomes


def _audit_checks(book: Ledger, entry: Mapping[str, Any], path: Path) -> Iterator[Check]:
    from fullbench.audit.audit_run import parse_study_name

    audits = [name for name in book.studies() if parse_study_name(name)]
    if not entry.get("study") and len(audits) > 1:
        names = ", ".join(audits)
        raise InputError(
            f"{book.place} has several audits ({names}). Choose one with study = NAME in [[audit]]", path=path
        )
    study = entry.get("study") or next(iter(audits), None)
    if study is None or study not in book.studies():
        raise InputError(f"{book.place} holds no audit {study or ''}; `fullbench audit` creates one", path=path)
    record = ledger_verdicts_with_panels.load_record(book, study=study).in_canonical_order()
    for judge in _match_names(record.judges, entry.get("judge", ""), book, path):
        measures = audit_measurements(cards.build_findings(record, judge, members=view_members(book, judge)))
        for name, is_more_better in AUDIT_THRESHOLDS.items():
            if name in entry:
                yield _compare_threshold(
                    f"{judge}: {name}",
                    measures[name],
                    entry[name],
                    is_more_better=is_more_better,
                    sure=entry.get("sure", False),
                )


def audit_measurements(findings: cards.Findings) -> dict[str, Estimate | float | None]:
    """Return the value of each threshold on an audited judge; None if it was not measured."""
    strongest_bias = max(findings.flagged_biases, key=lambda bias: abs(bias.effect.value), default=None)
    return {
        "accuracy": findings.accuracy,
        "picture_use_index": findings.use_of_picture.index,
        "place_use_index": findings.use_of_places.index,
        "steadiness": findings.steadiness.get("in the other order"),
        "attack_rate": findings.attack_outcomes.excess_rate(),
        "bias": abs(strongest_bias.effect.value) if strongest_bias is not None else 0.0 if findings.biases else None,
        "unusable": findings.fault_count / len(findings.rows),
        "reading_misled": float(findings.attack_outcomes.misled_count),
        **dict.fromkeys(_MEDIA_THRESHOLDS),
        **{
            f"{medium}_{name}": value
            for medium, use in findings.use_of_media.items()
            for name, value in (
                ("accuracy", use.accuracy), ("use_index", use.use.index), ("order_index", use.order.index),
            )
        },
    }  # fmt: skip


def _agreement_checks(book: Ledger, entry: Mapping[str, Any], path: Path) -> Iterator[Check]:
    record = book.record(study=entry.get("study"))
    judges = [name for name in record.judges if name != PEOPLE]
    judge = find_name(entry["judge"], judges, load_display_names(book), "judge", place=str(path))
    shape = entry.get("on", "pairs")
    if shape not in {"pairs", "scores"}:
        raise InputError(f"agreement is on 'pairs' or 'scores'; found {shape!r}", path=path)
    for criterion, part in record.by("criterion").items():
        comparison = judges_with_people.compare_with_people(part)
        agreement_by_shape = {
            agreement.shape: agreement.first for agreement in judges_with_people.judge_agreements(comparison, judge)
        }
        name = f"{judge}: agreement on {shape} ({criterion})"
        yield _compare_threshold(
            name, agreement_by_shape.get(shape), entry["at_least"], is_more_better=True, sure=entry.get("sure", False)
        )


def _regression_checks(book: Ledger, entry: Mapping[str, Any], path: Path) -> Iterator[Check]:
    """The two runs are treated as independent."""
    (contestant,) = find_contestants(book, [entry["contestant"]])
    entry = {**entry, "contestant": contestant}
    points, sure = float(entry.get("points", 0.0)), bool(entry.get("sure", False))
    with Ledger(path.parent / str(entry["base"]), read_only=True) as base_ledger:
        find_contestants(base_ledger, [contestant])
        base_ratings = _contestant_ratings(base_ledger, entry.get("base_study"), entry, path)
    columns = book.columns(study=book.one_study(entry.get("study")))
    ratings = _contestant_ratings(book, entry.get("study"), entry, path)
    if not ratings:
        judges = ", ".join(columns.judges())
        raise InputError(f"{book.place} has no rating of {contestant!r} by such a judge; judges: {judges}", path=path)
    for key, rating in ratings.items():
        name = f"{contestant}: rating by {key}"
        requirement = f"≥ -{points:g}"
        if key not in base_ratings:
            yield Check(name, False, None, requirement, Note("gate.no-base"))
            continue
        half_width = sum(((estimate.high - estimate.low) / 2) ** 2 for estimate in (rating, base_ratings[key])) ** 0.5
        gap = rating.value - base_ratings[key].value
        change = Estimate(
            gap, gap - half_width, gap + half_width, min(rating.n, base_ratings[key].n), method="two independent runs"
        )
        # A fall that chance may explain is no regression, unless `sure` requires that there is none.
        is_passed = change.low >= -points if sure else change.high >= -points
        yield Check(name, is_passed, change, requirement)


def _contestant_ratings(ledger: Ledger, study: str | None, entry: Mapping[str, Any], path: Path) -> dict[str, Estimate]:
    ratings = {}
    columns = ledger.columns(study=ledger.one_study(study))
    judges = columns.judges()
    if "judge" in entry:
        judges = _match_names(judges, entry["judge"], ledger, path)
    for judge in judges:
        # Ratings by people and by baselines are compared only if the entry names them.
        if judge in {PEOPLE, *BASELINES} and judge != entry.get("judge"):
            continue
        for board in build_boards(columns.where(judge=judge), Settings()):
            contestant = entry["contestant"]
            if contestant in board.contestants and (rating := board.rating_of(contestant)) is not None:
                ratings[f"{judge}, {board.key.criterion}, {board.key.family}"] = rating
    return ratings


def _drift_checks(book: Ledger, entry: Mapping[str, Any], path: Path) -> Iterator[Check]:
    medium = entry.get("medium")
    if medium not in {None, *canary_checks.CANARY_MEDIA}:
        raise InputError(f"[[drift]] has no medium {medium!r}; use {', '.join(canary_checks.CANARY_MEDIA)}", path=path)
    alarms = [alarm for alarm in canary_checks.load_alarms(book) if medium in {None, alarm.medium}]
    judges = _match_names(list(dict.fromkeys(alarm.judge for alarm in alarms)), entry["judge"], book, path)
    for alarm in alarms:
        if alarm.judge not in judges:
            continue
        reason: str = ""
        if alarm.rang_at_call:
            reason = Note("gate.drift", n=alarm.rang_at_call)
        elif not alarm.call_count:
            reason = Note("gate.baseline-only")
        drift = "drift" if alarm.medium == canary_checks.PICTURE else f"{alarm.medium} drift"
        yield Check(f"{alarm.judge}: {drift}", not reason, alarm.share, "no alarm", reason)


_CHECKS_BY_KIND: Mapping[str, Callable[[Ledger, Mapping[str, Any], Path], Iterable[Check]]] = {
    "audit": _audit_checks, "agreement": _agreement_checks, "regression": _regression_checks, "drift": _drift_checks,
}  # fmt: skip


def _match_names(full_names: Sequence[str], typed: str, ledger: Ledger, path: Path) -> list[str]:
    """Return all judges whose full name or display name begins like this; one that is equal is the only one."""
    if not typed:
        return list(full_names)
    names = load_display_names(ledger)
    matches = [full for full in full_names if full.startswith(typed) or names.shown_name(full).startswith(typed)]
    if len(matches) > 1 and not any(typed in {full, names.shown_name(full)} for full in matches):
        return matches
    return [find_name(typed, full_names, names, "judge", place=str(path))]


def _compare_threshold(
    name: str, measurement: Estimate | float | None, threshold: float, *, is_more_better: bool, sure: bool
) -> Check:
    requirement = f"{'≥' if is_more_better else '≤'} {threshold:g}"
    if measurement is None:
        return Check(name, False, None, requirement, Note("gate.not-measured"))
    if isinstance(measurement, Estimate):
        value = (measurement.low if is_more_better else measurement.high) if sure else measurement.value
    else:
        value = measurement
    return Check(name, value >= threshold if is_more_better else value <= threshold, measurement, requirement)


def gate_table(checks: Sequence[Check]) -> Table:
    """Return the checks as a table, failed ones first."""
    rows: list[list[Cell]] = [
        [
            check.name,
            check.measurement,
            check.requirement,
            word_note("passed" if check.is_passed else "failed"),
            check.reason,
        ]
        for check in sorted(checks, key=lambda check: check.is_passed)
    ]
    failed_count = sum(not check.is_passed for check in checks)
    table = Table(
        "gate",
        Note("gate.title", failed=failed_count, n=len(checks)),
        table_columns("threshold of", "measured", "wanted value", "outcome", "why"),
        rows,
    )
    names = DisplayNames.from_names({full: name for check in checks for full, name in check.names.items()})
    return names.attach_to(table)


def gate_badge(checks: Sequence[Check]) -> str:
    """Return an SVG badge with the number of thresholds that passed."""
    failed = sum(not check.is_passed for check in checks)
    result = f"{len(checks) - failed} of {len(checks)} passed"
    return cards.badge_svg("judge gate", result, "#a3362c" if failed else "#2f7d4f", f"judge gate: {result}")


def junit_xml(checks: Sequence[Check], name: str = "fullbench gate") -> str:
    """Return the checks as JUnit XML, which CI services read."""
    from xml.etree import ElementTree as ET

    failed_count = sum(not check.is_passed for check in checks)
    suite = ET.Element(
        "testsuite", name=name, tests=str(len(checks)), failures=str(failed_count), errors="0", skipped="0"
    )
    for check in checks:
        case = ET.SubElement(suite, "testcase", classname="fullbench.gate", name=check.name)
        if not check.is_passed:
            ET.SubElement(case, "failure", message=describe_check(check)).text = describe_check(check)
    ET.indent(suite)
    return ET.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


def describe_check(check: Check) -> str:
    """Return a check as one line."""
    return (
        f"{check.name}: {check.measurement} (wanted {check.requirement}){f': {check.reason}' if check.reason else ''}"
    )
