"""Joining several people's votes on the same responses into one verdict, by a rule that every table names.

The ledger keeps each vote as it was cast. The rule is chosen when a table is computed.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache

import numpy as np
import numpy.typing as npt

from fullbench.columns.verdict_columns import Columns
from fullbench.core import ballot as ballots
from fullbench.core.translatable_note import Note, join_notes
from fullbench.core.verdict import ADJUDICATION, PEOPLE, Verdict
from fullbench.core.verdict_record import Record
from fullbench.errors import InputError
from fullbench.stats.agreement.vote_rules_and_dawid_skene import (
    VOTE_RULES,
    Form,
    JointVote,
    Marks,
    Vote,
    VoteRule,
    joint_votes_by_set,
    resolve_rule,
)

RULE_DESCRIPTIONS: Mapping[VoteRule, str] = {
    "mean": Note("votes.mean"),
    "median": Note("votes.median"),
    "majority": Note("votes.majority"),
    "dawid-skene": Note("votes.dawid-skene"),
    "each": Note("votes.each"),
}
SPLIT: Mapping[Form, str] = {
    "choice": Note("votes.split.choice"),
    "graded": Note("votes.split.scale"),
    "yes-no": Note("votes.split.yes-no"),
    "scale": Note("votes.split.scale"),
    "order": Note("votes.split.order"),
}


@cache
def form_of(spec: str) -> Form:
    """Return the form of votes on a ballot.

    >>> form_of("choice+tie"), form_of("score:1-5"), form_of("likert:no|yes"), form_of("ranking")
    ('choice', 'scale', 'yes-no', 'order')
    >>> form_of("choice:5")
    'graded'
    """
    try:
        form = ballots.ballot(spec)
    except InputError:
        return "scale"
    if isinstance(form, ballots.Choice):
        return "choice"
    if isinstance(form, ballots.GradedChoice):
        return "graded"
    if isinstance(form, ballots.Ranking):
        return "order"
    return "yes-no" if isinstance(form, ballots.Likert) and len(form.words) == 2 else "scale"


def rule_of(text: str) -> VoteRule:
    """Return a rule by its name on the command line, or raise if it is unknown."""
    if text not in VOTE_RULES:
        raise InputError(f"unknown rule {text!r} for several votes; known: {', '.join(VOTE_RULES)}")
    return VOTE_RULES[VOTE_RULES.index(text)]


@dataclass
class VoteCounts:
    """Counts of joined, split and left-out votes, and the notes on them."""

    rule: VoteRule
    votes: int = 0
    response_sets: int = 0
    several: int = 0
    visible: int = 0
    counted_visible: int = 0
    adjudicated_sets: int = 0
    all_forms: set[Form] = field(default_factory=set)
    """Forms of all votes; `forms` has only those with several votes on the same responses."""
    forms: set[Form] = field(default_factory=set)
    split: Counter[Form] = field(default_factory=Counter)

    def add(self, joint: Iterable[JointVote], form: Form) -> None:
        for joint_vote in joint:
            self.all_forms.add(form)
            self.votes += joint_vote.votes
            self.response_sets += 1
            self.several += joint_vote.votes > 1
            if joint_vote.votes > 1:
                self.forms.add(form)
                self.split[form] += joint_vote.split

    @property
    def name(self) -> str:
        """Name of the rule, or the default rules of the forms that occurred."""
        rules = {resolve_rule(self.rule, form) for form in self.all_forms} | ({self.rule} & {"adjudicated"})
        return ", ".join(rule for rule in VOTE_RULES if rule in rules) or self.rule

    @property
    def words(self) -> str:
        """Description of the rule, or one per form if the default rules differ."""
        rules = {resolve_rule(self.rule, form) for form in self.forms}
        descriptions = [RULE_DESCRIPTIONS[rule] for rule in VOTE_RULES if rule in rules]
        return join_notes(descriptions) if descriptions else RULE_DESCRIPTIONS.get(self.rule, "")

    def notes(self) -> list[str]:
        """Return notes on how many votes were joined, split and left out."""
        notes: list[str] = []
        if self.several:
            several = Note(
                "votes.joined", votes=self.votes, panels=self.response_sets, several=self.several, rule=self.words
            )
            notes.append(several)
            notes += [Note("votes.split", n=count, what=SPLIT[form]) for form, count in self.split.items() if count]
        if self.rule == "adjudicated":
            notes.append(Note("votes.adjudicated", n=self.adjudicated_sets))
        if self.visible:
            notes.append(Note("votes.visible.left-out", n=self.visible))
        if self.counted_visible:
            notes.append(Note("votes.visible.counted", n=self.counted_visible))
        return notes


@dataclass(frozen=True)
class JoinedVotes:
    """Columns with one verdict of people per set of responses, and the vote counts behind them."""

    columns: Columns
    vote_counts: VoteCounts
    has_votes: bool

    @property
    def notes(self) -> list[str]:
        return self.vote_counts.notes()


def join_column_votes(columns: Columns, rule: VoteRule = "default", *, visible: bool = False) -> JoinedVotes:
    """Return the counted verdicts with people's votes joined by a rule; models' verdicts stay unchanged.

    Votes cast with names visible are left out if there are others, unless `visible` is set. A set of responses without
    a usable vote keeps one unusable verdict.
    """
    counted_verdicts = columns.latest()
    counted_verdicts = counted_verdicts.rows(~counted_verdicts.self_matches())
    has_rater = np.array([bool(name) for name in counted_verdicts.names["rater"]] or [False])
    votes = has_rater[counted_verdicts.rater.astype(np.int64)] if len(counted_verdicts) else np.zeros(0, dtype=np.bool_)
    vote_counts = VoteCounts(rule)
    if not votes.any():
        return JoinedVotes(counted_verdicts, vote_counts, has_votes=False)
    # A lead who decides a split vote has to see the votes, so lead verdicts are never dropped as visible.
    is_visible = votes & (counted_verdicts.blind == 0) & ~_is_lead_verdict(counted_verdicts)
    if is_visible.any() and not visible and (votes & ~is_visible).any():
        vote_counts.visible = int(is_visible.sum())
        counted_verdicts, votes = counted_verdicts.rows(~is_visible), votes[~is_visible]
    else:
        vote_counts.counted_visible = int(is_visible.sum())
    if rule == "each":
        return JoinedVotes(counted_verdicts, vote_counts, has_votes=True)
    leads = (
        _is_lead_verdict(counted_verdicts) & votes
        if rule == "adjudicated"
        else np.zeros(len(counted_verdicts), dtype=np.bool_)
    )
    return JoinedVotes(_one_row_per_set(counted_verdicts, votes, vote_counts, leads), vote_counts, has_votes=True)


def _is_lead_verdict(columns: Columns) -> npt.NDArray[np.bool_]:
    is_lead = np.array([name == ADJUDICATION for name in columns.names["rater"]] or [False])
    return is_lead[columns.rater.astype(np.int64)] & (columns.fault < 0)


def merge_lead_verdicts(columns: Columns, rule: VoteRule) -> Columns:
    """Move leads' verdicts to the judge `human` if the rule is "adjudicated"."""
    names = columns.names["judge"]
    if rule != "adjudicated" or ADJUDICATION not in names or PEOPLE not in names:
        return columns
    judge = np.where(columns.judge == names.index(ADJUDICATION), names.index(PEOPLE), columns.judge)
    return replace(columns, judge=judge.astype(columns.judge.dtype))


def board_columns(columns: Columns, rule: VoteRule) -> Columns:
    """Return the verdicts that boards are built from.

    A lead decides only where people are split, so a board of those decisions alone would mislead: under the rule
    "adjudicated" they join people's votes, under any other rule they are left out if people voted.
    """
    merged = merge_lead_verdicts(columns, rule)
    judges = merged.judges()
    if ADJUDICATION not in judges or PEOPLE not in judges:
        return merged
    return merged.rows(merged.judge != merged.names["judge"].index(ADJUDICATION))


Sitting = tuple[int, ...]
"""Codes of study, judge, criterion and ballot."""


def _lead_verdicts(
    columns: Columns, leads: npt.NDArray[np.bool_]
) -> dict[tuple[Sitting, tuple[int, ...]], tuple[int, Marks]]:
    start = columns.start.tolist()
    verdicts: dict[tuple[Sitting, tuple[int, ...]], tuple[int, Marks]] = {}
    for sitting, panels in _response_sets(columns, np.flatnonzero(leads).tolist()):
        for panel, rows in panels.items():
            row, places = rows[-1]
            verdicts[sitting, panel] = (row, tuple(float(columns.mark[start[row] + place]) for place in places))
    return verdicts


def _one_row_per_set(
    columns: Columns, votes: npt.NDArray[np.bool_], vote_counts: VoteCounts, leads: npt.NDArray[np.bool_]
) -> Columns:
    """Reduce each set of responses to its first usable row, with the joint marks.

    A lead's verdict (`leads`) replaces the votes, and its own row is dropped too. People saw the responses in several
    orders, so a joint verdict has none: responses are sorted by name.
    """
    start, raters = columns.start.tolist(), columns.names["rater"]
    mark, first = columns.mark.copy(), []
    contestant, sample = columns.contestant.copy(), columns.sample.copy()
    verdicts = _lead_verdicts(columns, leads)
    used: list[int] = []
    for sitting, panels in _response_sets(columns, np.flatnonzero(votes & ~leads).tolist()):
        spec = columns.names["ballot"][sitting[3]]
        votes_by_set: dict[tuple[int, ...], list[Vote]] = {}
        leading: dict[tuple[int, ...], tuple[int, list[int]]] = {}
        for panel, rows in panels.items():
            cast = [(row, places) for row, places in rows if columns.fault[row] < 0]
            first.append(cast[0][0] if cast else rows[0][0])
            if cast:
                leading[panel] = cast[0]
                votes_by_set[panel] = [
                    (raters[int(columns.rater[row])], tuple(float(mark[start[row] + place]) for place in places))
                    for row, places in cast
                ]
        joint = joint_votes_by_set(votes_by_set, form_of(spec), vote_counts.rule)
        vote_counts.add(joint.values(), form_of(spec))
        for panel, joint_vote in joint.items():
            row, places = leading[panel]
            by_lead = verdicts.get((sitting, panel))
            if by_lead is not None:
                used.append(by_lead[0])
                vote_counts.adjudicated_sets += 1
            here, by_name = slice(start[row], start[row + 1]), [start[row] + place for place in places]
            contestant[here], sample[here] = columns.contestant[by_name], columns.sample[by_name]
            mark[here] = joint_vote.marks if by_lead is None else by_lead[1]
    selection = ~votes | leads
    selection[first] = True
    selection[used] = False
    # Joint verdicts share one empty rater, so that marks given separately are compared with each other.
    names = {**columns.names, "rater": ("", *raters)}
    rater = np.where(votes, 0, columns.rater.astype(np.int64) + 1)
    trial = np.where(votes, 0, columns.trial.astype(np.int64))
    joined_columns = replace(columns, contestant=contestant, sample=sample, mark=mark)
    return replace(joined_columns, names=names, rater=rater, trial=trial).rows(selection)


Panels = dict[tuple[int, ...], list[tuple[int, list[int]]]]
"""Rows by item and sorted responses, each with the position of every response in the row."""


def _response_sets(columns: Columns, rows: Sequence[int]) -> Iterator[tuple[Sitting, Panels]]:
    start, who, samples = columns.start.tolist(), columns.contestant.tolist(), columns.sample.tolist()
    names = ("study", "judge", "criterion", "ballot", "item")
    keys = np.stack([getattr(columns, name).astype(np.int64) for name in names], axis=1).tolist()
    by_key: dict[tuple[int, ...], Panels] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        *key, item = keys[row]
        response_keys = [(who[at], samples[at]) for at in range(start[row], start[row + 1])]
        places = sorted(range(len(response_keys)), key=response_keys.__getitem__)
        panel = (item, *(number for place in places for number in response_keys[place]))
        by_key[tuple(key)][panel].append((row, places))
    yield from by_key.items()


def join_record_votes(
    record: Record, judge: str, rule: VoteRule = "default", *, visible: bool = False
) -> tuple[Record, VoteCounts]:
    """Return a record with one verdict of `judge` per set of responses, joined from all its votes.

    Verdicts of others stay unchanged. So do unusable verdicts of the judge if it has no usable one on the same
    responses. Votes cast with names visible are left out unless `visible` is set.
    """
    vote_counts = VoteCounts(rule)
    panels: dict[tuple[str, str], dict[tuple[object, ...], list[Verdict]]] = defaultdict(lambda: defaultdict(list))
    other_verdicts: list[Verdict] = []
    by_lead: dict[tuple[str, str, tuple[object, ...]], JointVote] = {}
    for verdict in record:
        if rule == "adjudicated" and judge == PEOPLE and verdict.judge == ADJUDICATION and verdict.marks is not None:
            on: tuple[object, ...] = (verdict.item, *sorted(verdict.shown_responses))
            by_lead[verdict.criterion, verdict.ballot, on] = JointVote(_rater_vote(verdict)[1], 1)
        elif verdict.judge != judge or verdict.marks is None:
            other_verdicts.append(verdict)
        elif verdict.circumstances.blind is False and not visible:
            vote_counts.visible += 1
        else:
            vote_counts.counted_visible += verdict.circumstances.blind is False
            key: tuple[object, ...] = (verdict.item, *sorted(verdict.shown_responses))
            panels[verdict.criterion, verdict.ballot][key].append(verdict)
    verdicts: list[Verdict] = []
    for (criterion, spec), by_panel in panels.items():
        form = form_of(spec)
        if rule == "each":
            vote_counts.all_forms.add(form)
            verdicts += [verdict for some in by_panel.values() for verdict in some]
            continue
        joint = joint_votes_by_set(
            {key: [_rater_vote(verdict) for verdict in some] for key, some in by_panel.items()}, form, rule
        )
        vote_counts.add(joint.values(), form)
        for panel, votes in joint.items():
            lead_vote = by_lead.get((criterion, spec, panel))
            vote_counts.adjudicated_sets += lead_vote is not None
            verdicts.append(_with_marks(by_panel[panel], lead_vote or votes))
    return replace(record, verdicts=(*other_verdicts, *verdicts)), vote_counts


def _rater_vote(verdict: Verdict) -> Vote:
    ordered_marks = sorted(zip(verdict.shown_responses, verdict.marks or (), strict=True))
    # Votes without a rater are distinguished by their trial number.
    return verdict.rater or str(verdict.trial), tuple(mark for _, mark in ordered_marks)


def _with_marks(votes: Sequence[Verdict], joint: JointVote) -> Verdict:
    if len(votes) == 1 and joint.votes == 1 and _rater_vote(votes[0])[1] == joint.marks:
        return votes[0]
    marks = dict(zip(sorted(votes[0].shown_responses), joint.marks, strict=True))
    return replace(
        votes[0], marks=tuple(marks[response_key] for response_key in votes[0].shown_responses), rater="", trial=0
    )
