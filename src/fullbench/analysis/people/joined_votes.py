"""Several people's votes on the same responses as one ruling, by a rule that every table names.

Each vote stays in the ledger as it was cast; what joins them is chosen when a figure is made.
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
from fullbench.core.note import Note, listed
from fullbench.core.record import Record
from fullbench.core.verdict import ADJUDICATION, PEOPLE, Verdict
from fullbench.errors import InputError
from fullbench.stats.agreement.vote_consensus import VOTE_RULES, Form, Joint, Marks, Vote, VoteRule, join, usual

SAID: Mapping[VoteRule, str] = {
    "mean": Note("votes.mean", "the mean"),
    "median": Note("votes.median", "the median"),
    "majority": Note("votes.majority", "the majority"),
    "dawid-skene": Note("votes.dawid-skene", "Dawid and Skene's model of raters' errors"),
    "each": Note("votes.each", "each vote on its own"),
}
SPLIT: Mapping[Form, str] = {
    "choice": Note("votes.split.choice", "count as ties"),
    "yes-no": Note("votes.split.yes-no", "are undecided and count halfway"),
    "scale": Note("votes.split.scale", "have the mean of the commonest marks"),
    "order": Note("votes.split.order", "have the mean rank of the commonest orders"),
}


@cache
def form_of(spec: str) -> Form:
    """What a vote on a ballot is.

    >>> form_of("choice+tie"), form_of("score:1-5"), form_of("likert:no|yes"), form_of("ranking")
    ('choice', 'scale', 'yes-no', 'order')
    """
    try:
        form = ballots.ballot(spec)
    except InputError:
        return "scale"
    if isinstance(form, ballots.Choice):
        return "choice"
    if isinstance(form, ballots.Ranking):
        return "order"
    return "yes-no" if isinstance(form, ballots.Likert) and len(form.words) == 2 else "scale"


def rule_of(text: str) -> VoteRule:
    """A rule by its name on a command line; refused where there is no such rule."""
    if text not in VOTE_RULES:
        raise InputError(f"unknown rule {text!r} for several votes; known: {', '.join(VOTE_RULES)}")
    return VOTE_RULES[VOTE_RULES.index(text)]


@dataclass
class Tally:
    """How many votes were joined, and what a reader of the figures must know of it."""

    rule: VoteRule
    votes: int = 0
    panels: int = 0
    several: int = 0
    visible: int = 0
    counted_visible: int = 0
    adjudicated: int = 0
    seen: set[Form] = field(default_factory=set)
    """The forms of all votes; `forms` are those with several votes on the same responses."""
    forms: set[Form] = field(default_factory=set)
    split: Counter[Form] = field(default_factory=Counter)

    def add(self, joint: Iterable[Joint], form: Form) -> None:
        for one in joint:
            self.seen.add(form)
            self.votes += one.votes
            self.panels += 1
            self.several += one.votes > 1
            if one.votes > 1:
                self.forms.add(form)
                self.split[form] += one.split

    @property
    def name(self) -> str:
        """The rule's name; the usual ones of the forms that occurred where none was chosen."""
        rules = {usual(self.rule, form) for form in self.seen} | ({self.rule} & {"adjudicated"})
        return ", ".join(rule for rule in VOTE_RULES if rule in rules) or self.rule

    @property
    def words(self) -> str:
        """The rule in words, form by form where the usual one differs."""
        rules = {usual(self.rule, form) for form in self.forms}
        said = [SAID[rule] for rule in VOTE_RULES if rule in rules]
        return listed(said) if said else SAID.get(self.rule, "")

    def notes(self) -> list[str]:
        """Sentences on what was joined, how many were split, and what was left out."""
        notes: list[str] = []
        if self.several:
            several = Note(
                "votes.joined",
                "{votes:,} votes on {panels:,} sets of responses, {several:,} of them with several votes; several "
                "votes count as one: {rule}.",
                votes=self.votes, panels=self.panels, several=self.several, rule=self.words,
            )  # fmt: skip
            notes.append(several)
            notes += [
                Note(
                    "votes.split",
                    "{n:,} of them are split, with no vote the commonest; they {what}.",
                    n=count,
                    what=SPLIT[form],
                )
                for form, count in self.split.items()
                if count
            ]
        if self.rule == "adjudicated":
            ruled = Note(
                "votes.adjudicated",
                "On {n:,} sets of responses a lead ruled; that counts in place of the votes.",
                n=self.adjudicated,
            )
            notes.append(ruled)
        if self.visible:
            out = Note(
                "votes.visible.left-out", "{n:,} votes that were cast with names in view are left out.", n=self.visible
            )
            notes.append(out)
        if self.counted_visible:
            counted = Note(
                "votes.visible.counted", "{n:,} votes that were cast with names in view are counted.",
                n=self.counted_visible,
            )  # fmt: skip
            notes.append(counted)
        return notes


@dataclass(frozen=True)
class Joined:
    """Columns in which every set of responses has one ruling of the people who voted on it, and how it came."""

    columns: Columns
    tally: Tally
    voted: bool
    """Whether any row is a person's vote."""

    @property
    def notes(self) -> list[str]:
        return self.tally.notes()


def joined(columns: Columns, rule: VoteRule = "default", *, visible: bool = False) -> Joined:
    """The verdicts that count, people's votes joined by a rule; verdicts of models pass as they are.

    Votes that were cast with names in view are left out where there are others, unless `visible` asks for them.
    A set of responses on which nobody ruled keeps one fault.
    """
    counted = columns.latest()
    counted = counted.rows(~counted.meeting_themselves())
    named = np.array([bool(name) for name in counted.names["rater"]] or [False])
    votes = named[counted.rater.astype(np.int64)] if len(counted) else np.zeros(0, dtype=np.bool_)
    tally = Tally(rule)
    if not votes.any():
        return Joined(counted, tally, voted=False)
    # A lead who rules on a split sees the votes, and is asked for it: such a ruling is never left out for that.
    seen = votes & (counted.blind == 0) & ~_leads(counted)
    if seen.any() and not visible and (votes & ~seen).any():
        tally.visible = int(seen.sum())
        counted, votes = counted.rows(~seen), votes[~seen]
    else:
        tally.counted_visible = int(seen.sum())
    if rule == "each":
        return Joined(counted, tally, voted=True)
    leads = _leads(counted) & votes if rule == "adjudicated" else np.zeros(len(counted), dtype=np.bool_)
    return Joined(_one_row_each(counted, votes, tally, leads), tally, voted=True)


def _leads(columns: Columns) -> npt.NDArray[np.bool_]:
    """Which rows are rulings of a lead on splits."""
    named = np.array([name == ADJUDICATION for name in columns.names["rater"]] or [False])
    return named[columns.rater.astype(np.int64)] & (columns.fault < 0)


def beside_people(columns: Columns, rule: VoteRule) -> Columns:
    """The same with leads' rulings under the judge whose votes they stand for, where a rule counts them."""
    names = columns.names["judge"]
    if rule != "adjudicated" or ADJUDICATION not in names or PEOPLE not in names:
        return columns
    judge = np.where(columns.judge == names.index(ADJUDICATION), names.index(PEOPLE), columns.judge)
    return replace(columns, judge=judge.astype(columns.judge.dtype))


Sitting = tuple[int, ...]
"""The study, judge, criterion and ballot of rows, as places in their lists of names."""


def _rulings(
    columns: Columns, leads: npt.NDArray[np.bool_]
) -> dict[tuple[Sitting, tuple[int, ...]], tuple[int, Marks]]:
    """What leads ruled, by where people sat and the set of responses: the row, and the marks."""
    start = columns.start.tolist()
    rulings: dict[tuple[Sitting, tuple[int, ...]], tuple[int, Marks]] = {}
    for sitting, panels in _panels(columns, np.flatnonzero(leads).tolist()):
        for panel, rows in panels.items():
            row, places = rows[-1]
            rulings[sitting, panel] = (row, tuple(float(columns.mark[start[row] + place]) for place in places))
    return rulings


def _one_row_each(
    columns: Columns, votes: npt.NDArray[np.bool_], tally: Tally, leads: npt.NDArray[np.bool_]
) -> Columns:
    """Every set of responses as its first row that rules, with the joint marks; the other rows of it are gone.

    Where a lead ruled (`leads`), that ruling stands in place of the votes, and its own row is gone too. People saw the
    responses in several orders, so a joint ruling has none: all stand in the order of their names.
    """
    start, raters = columns.start.tolist(), columns.names["rater"]
    mark, first = columns.mark.copy(), []
    contestant, sample = columns.contestant.copy(), columns.sample.copy()
    rulings = _rulings(columns, leads)
    used: list[int] = []
    for sitting, panels in _panels(columns, np.flatnonzero(votes & ~leads).tolist()):
        spec = columns.names["ballot"][sitting[3]]
        ruled: dict[tuple[int, ...], list[Vote]] = {}
        leading: dict[tuple[int, ...], tuple[int, list[int]]] = {}
        for panel, rows in panels.items():
            cast = [(row, places) for row, places in rows if columns.fault[row] < 0]
            first.append(cast[0][0] if cast else rows[0][0])
            if cast:
                leading[panel] = cast[0]
                ruled[panel] = [
                    (raters[int(columns.rater[row])], tuple(float(mark[start[row] + place]) for place in places))
                    for row, places in cast
                ]
        joint = join(ruled, form_of(spec), tally.rule)
        tally.add(joint.values(), form_of(spec))
        for panel, one in joint.items():
            row, places = leading[panel]
            by_lead = rulings.get((sitting, panel))
            if by_lead is not None:
                used.append(by_lead[0])
                tally.adjudicated += 1
            here, by_name = slice(start[row], start[row + 1]), [start[row] + place for place in places]
            contestant[here], sample[here] = columns.contestant[by_name], columns.sample[by_name]
            mark[here] = one.marks if by_lead is None else by_lead[1]
    chosen = ~votes | leads
    chosen[first] = True
    chosen[used] = False
    # All joint rulings have one rater, nobody, so that marks given apart are compared.
    names = {**columns.names, "rater": ("", *raters)}
    rater = np.where(votes, 0, columns.rater.astype(np.int64) + 1)
    trial = np.where(votes, 0, columns.trial.astype(np.int64))
    ruled_on = replace(columns, contestant=contestant, sample=sample, mark=mark)
    return replace(ruled_on, names=names, rater=rater, trial=trial).rows(chosen)


Panels = dict[tuple[int, ...], list[tuple[int, list[int]]]]
"""By item and responses, in an order of their own: the rows on them, and the place of each response in the row."""


def _panels(columns: Columns, rows: Sequence[int]) -> Iterator[tuple[Sitting, Panels]]:
    """The sets of responses that some rows are on, for each study, judge, criterion and ballot."""
    start, who, samples = columns.start.tolist(), columns.contestant.tolist(), columns.sample.tolist()
    names = ("study", "judge", "criterion", "ballot", "item")
    keys = np.stack([getattr(columns, name).astype(np.int64) for name in names], axis=1).tolist()
    by_key: dict[tuple[int, ...], Panels] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        *key, item = keys[row]
        shown = [(who[at], samples[at]) for at in range(start[row], start[row + 1])]
        places = sorted(range(len(shown)), key=shown.__getitem__)
        panel = (item, *(number for place in places for number in shown[place]))
        by_key[tuple(key)][panel].append((row, places))
    yield from by_key.items()


def joined_record(
    record: Record, judge: str, rule: VoteRule = "default", *, visible: bool = False
) -> tuple[Record, Tally]:
    """A record in which a judge has one verdict on every set of responses: its votes, whoever cast them, are joined.

    Verdicts of others pass as they are; so do faults of the judge on what it ruled nowhere else. Votes that were cast
    with names in view are left out unless `visible` asks for them.
    """
    tally = Tally(rule)
    panels: dict[tuple[str, str], dict[tuple[object, ...], list[Verdict]]] = defaultdict(lambda: defaultdict(list))
    others: list[Verdict] = []
    by_lead: dict[tuple[str, str, tuple[object, ...]], Joint] = {}
    for verdict in record:
        if rule == "adjudicated" and judge == PEOPLE and verdict.judge == ADJUDICATION and verdict.marks is not None:
            on: tuple[object, ...] = (verdict.item, *sorted(verdict.shown))
            by_lead[verdict.criterion, verdict.ballot, on] = Joint(_vote(verdict)[1], 1)
        elif verdict.judge != judge or verdict.marks is None:
            others.append(verdict)
        elif verdict.circumstances.blind is False and not visible:
            tally.visible += 1
        else:
            tally.counted_visible += verdict.circumstances.blind is False
            key: tuple[object, ...] = (verdict.item, *sorted(verdict.shown))
            panels[verdict.criterion, verdict.ballot][key].append(verdict)
    verdicts: list[Verdict] = []
    for (criterion, spec), by_panel in panels.items():
        form = form_of(spec)
        if rule == "each":
            tally.seen.add(form)
            verdicts += [verdict for some in by_panel.values() for verdict in some]
            continue
        joint = join({key: [_vote(verdict) for verdict in some] for key, some in by_panel.items()}, form, rule)
        tally.add(joint.values(), form)
        for panel, votes in joint.items():
            ruled = by_lead.get((criterion, spec, panel))
            tally.adjudicated += ruled is not None
            verdicts.append(_with_marks(by_panel[panel], ruled or votes))
    return replace(record, verdicts=(*others, *verdicts)), tally


def _vote(verdict: Verdict) -> Vote:
    ordered = sorted(zip(verdict.shown, verdict.marks or (), strict=True))
    return verdict.rater or str(verdict.trial), tuple(mark for _, mark in ordered)


def _with_marks(votes: Sequence[Verdict], joint: Joint) -> Verdict:
    if len(votes) == 1 and joint.votes == 1 and _vote(votes[0])[1] == joint.marks:
        return votes[0]
    marks = dict(zip(sorted(votes[0].shown), joint.marks, strict=True))
    return replace(votes[0], marks=tuple(marks[shown] for shown in votes[0].shown), rater="", trial=0)
