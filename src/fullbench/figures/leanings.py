"""What moves a judge besides the worth of a response, with people as noisy raters (`stats.noisy`).

Length, its own family, leniency and the place shown are asked in one fit for scores and one for pairs, so that what one
of them explains is not laid to another, and so that people's own errors are not laid to the judge.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fullbench.errors import Undefined
from fullbench.figures import clustered
from fullbench.figures.findings import LEANS, Finding, percent
from fullbench.figures.judging import Met
from fullbench.nouns.estimate import Estimate
from fullbench.nouns.note import Note, word
from fullbench.nouns.record import Record
from fullbench.nouns.text import length_of
from fullbench.nouns.verdict import Verdict
from fullbench.stats import agreement as agree
from fullbench.stats.arrays import Floats, Ints
from fullbench.stats.bootstrap import bootstrap
from fullbench.stats.clusters import Scale
from fullbench.stats.noisy import BOUNDS, Effect, Votes, effects

Place = tuple[str, str, frozenset[tuple[str, int]]]
"""Item, ballot, and the responses shown: what a judge and people meet on."""


@dataclass(frozen=True)
class _Rows:
    """What a judge said of responses or pairs, and people's votes on the same, in the order that it was shown.

    `marks` are the means of several trials; `rulings` are the marks as they were given, each with its row in `ruled`.
    """

    verdicts: Sequence[Verdict]
    marks: Floats
    rulings: Floats
    ruled: Ints
    item: Ints
    response: Ints
    vote: Floats
    rater: Ints

    def votes(self, *, lenient: bool) -> Votes:
        return Votes.of(self.response, self.vote, self.rater if lenient else None, len(self.marks))

    def vote_item(self) -> Ints:
        """The item of each vote."""
        owner: Ints = self.item[self.response]
        return owner


def _codes(labels: Sequence[str]) -> Ints:
    return np.unique(np.array(labels, dtype=str), return_inverse=True)[1].astype(np.int64)


def _place(verdict: Verdict) -> Place:
    return verdict.item, verdict.ballot, frozenset(verdict.shown)


def _votes_by_place(meetings: Met, size: int) -> dict[Place, list[Verdict]]:
    votes: dict[Place, list[Verdict]] = {}
    for verdict in meetings.record:
        voted = verdict.judge == meetings.people and verdict.marks is not None and len(verdict.shown) == size
        if voted and meetings.counts(verdict):
            votes.setdefault(_place(verdict), []).append(verdict)
    return votes


def _gathered(
    verdicts: Sequence[Verdict], rulings: Sequence[Sequence[float]], votes: Mapping[Place, list[Verdict]]
) -> _Rows:
    """Rows of verdicts that people voted on too; of two responses the lead of the first shown is compared."""
    response, vote, rater = [], [], []
    for number, verdict in enumerate(verdicts):
        for other in votes[_place(verdict)]:
            response.append(number)
            vote.append(_seen(other, verdict))
            rater.append(f"{other.rater}/{other.trial}")
    return _Rows(
        verdicts, np.array([np.mean(each) for each in rulings], dtype=np.float64),
        np.array([mark for each in rulings for mark in each], dtype=np.float64),
        np.repeat(np.arange(len(rulings)), [len(each) for each in rulings]),
        _codes([verdict.item for verdict in verdicts]),
        np.array(response, dtype=np.int64), np.array(vote, dtype=np.float64), _codes(rater),
    )  # fmt: skip


def _seen(vote: Verdict, verdict: Verdict) -> float:
    """What a vote says of the response of a verdict, or for the first shown of its two."""
    marks = dict(zip(vote.shown, vote.marks or (), strict=True))
    first, *rest = (marks[shown] for shown in verdict.shown)
    return first if not rest else float(np.sign(first - rest[0]))


def scores(meetings: Met, judge: str) -> Iterator[tuple[str, _Rows]]:
    """For each ballot the responses that a judge scored, each by the mean of its scores, beside people's votes."""
    votes = _votes_by_place(meetings, 1)
    ruled: dict[str, dict[Place, list[Verdict]]] = {}
    for verdict in meetings.record:
        if verdict.judge == judge and verdict.marks is not None and _place(verdict) in votes:
            ruled.setdefault(verdict.ballot, {}).setdefault(_place(verdict), []).append(verdict)
    for ballot, places in sorted(ruled.items()):
        rulings = [[(verdict.marks or (0.0,))[0] for verdict in heard] for heard in places.values()]
        yield ballot, _gathered([heard[0] for heard in places.values()], rulings, votes)


def pairs(meetings: Met, judge: str) -> _Rows | None:
    """The pairs that a judge chose from, every ruling a row, beside people's votes; None where there are none."""
    votes = _votes_by_place(meetings, 2)
    ruled = [
        verdict for verdict in meetings.record
        if verdict.judge == judge and verdict.marks is not None and len(verdict.shown) == 2 and _place(verdict) in votes
    ]  # fmt: skip
    rulings = [[float(np.sign(verdict.marks[0] - verdict.marks[1]))] for verdict in ruled if verdict.marks is not None]
    return _gathered(ruled, rulings, votes) if ruled else None


def _finding(judge: str, named: tuple[str, str], effect: Effect, opening: str, leans: tuple[str, str]) -> Finding:
    one_vote, value = effect.way == BOUNDS, effect.estimate.value
    return Finding(judge, *named, effect.estimate, None, opening, effect.p, value, *leans, one_vote)


def _figure(name: str, ballot: str) -> str:
    """What a figure is called; where there are several ballots, with its own."""
    if not ballot:
        return name
    figure = name if isinstance(name, Note) else word(name)
    return Note("probes.figure-on", "{figure}, {ballot}", figure=figure, ballot=ballot)


def of_scores(meetings: Met, judge: str, own: Collection[str]) -> Iterator[Finding]:
    """Length, favour, leniency and the use of the scale, ballot by ballot."""
    by_ballot = list(scores(meetings, judge))
    for ballot, rows in by_ballot:
        on = ballot if len(by_ballot) > 1 else ""
        yield from _of_ballot(meetings.record, judge, rows, clustered.scale_of(ballot), (set(own), on))


def _of_ballot(
    record: Record, judge: str, rows: _Rows, scale: Scale | None, chosen: tuple[set[str], str]
) -> Iterator[Finding]:
    own, on = chosen
    words = _words(record, rows)
    is_own = np.array([float(verdict.contestants[0] in own) for verdict in rows.verdicts])
    traits: dict[str, Floats] = {}
    if words is not None and np.ptp(words) > 0:
        traits["words"] = np.log2(words)
    if np.ptp(is_own) > 0:
        traits["own"] = is_own
    whole = scale if float(np.abs(rows.marks - np.rint(rows.marks)).max()) == 0 else None
    try:
        found = effects(rows.marks, rows.votes(lenient=True), traits, rows.item, scale=whole)
    except (Undefined, np.linalg.LinAlgError):
        found = {}
    if words is not None:
        yield from _correlations(judge, rows, words, on)
    if "words" in found:
        opening = Note(
            "probes.twice", "At the same worth, twice the words change its score by {value:+.2f}",
            value=found["words"].estimate.value,
        )  # fmt: skip
        leans = (LEANS["long-gain"], LEANS["long-lose"])
        yield _finding(judge, ("length", _figure("marks for twice the words", on)), found["words"], opening, leans)
    if "own" in found:
        opening = Note(
            "probes.own-scores", "At the same worth, its own family's answers get {value:+.2f} more than others'",
            value=found["own"].estimate.value,
        )  # fmt: skip
        leans = (LEANS["own"], LEANS["hard-on-own"])
        yield _finding(judge, ("ego", _figure("extra marks for its own", on)), found["own"], opening, leans)
    if found:
        yield from _leniency(judge, rows, found, on)
    yield from _entropies(judge, rows, on)


def _words(record: Record, rows: _Rows) -> Floats | None:
    """How long each response is; None where a text is not at hand."""
    responses = [record.responses.get((verdict.item, *verdict.shown[0])) for verdict in rows.verdicts]
    texts = [None if response is None or not response.text else response.text for response in responses]
    if any(text is None for text in texts):
        return None
    return np.array([float(length_of(text)) for text in texts if text is not None])


def _correlations(judge: str, rows: _Rows, words: Floats, on: str) -> Iterator[Finding]:
    """How scores go with length, for the judge and for single votes: noise of either lowers its own, so no claim."""
    try:
        ours = agree.pearson(words, rows.marks, cluster=rows.item)
        theirs = agree.pearson(words[rows.response], rows.vote, cluster=rows.vote_item())
    except Undefined:
        return
    says = Note(
        "probes.length",
        "Its scores go with length by {ours:+.2f}, people's by {theirs:+.2f}; the noise of either lowers its own, so "
        "this alone says nothing of a bias.",
        ours=ours.value, theirs=theirs.value,
    )  # fmt: skip
    yield Finding(judge, "length", _figure("correlation with words", on), ours, theirs, says)


def _leniency(judge: str, rows: _Rows, found: Mapping[str, Effect], on: str) -> Iterator[Finding]:
    shift, scale = found["shift"], found["scale"]
    opening = Note(
        "probes.shift", "On the same answers its scores are {value:+.2f} from people's", value=shift.estimate.value
    )
    yield _finding(
        judge, ("high score", _figure("mean shift", on)), shift, opening, (LEANS["lenient"], LEANS["strict"])
    )
    top = np.unique(rows.vote)[-2:]
    gap, ours, theirs = _shares(rows, np.isin(rows.rulings, top), np.isin(rows.vote, top))
    named = [f"{mark:g}" for mark in top]
    names = named[0] if len(named) == 1 else Note("probes.two", "{a} and {b}", a=named[0], b=named[1])
    opening = Note(
        "probes.top", "It gives {marks} to {ours} of answers, a person to {theirs}",
        marks=names, ours=percent(ours), theirs=percent(theirs),
    )  # fmt: skip
    # More errors fill the top as well: it is a lean only of a judge that is lenient, or strict, besides.
    alike = (gap.value > 0) == (shift.estimate.value > 0)
    p = max(gap.p or 0.0, shift.p) if alike else 1.0
    figure = _figure(Note("probes.share-of", "share of {marks}", marks=names), on)
    yield Finding(judge, "high score", figure, ours, theirs, opening, p, gap.value, LEANS["crowds-top"],
                  LEANS["spares-top"], shift.way == BOUNDS)  # fmt: skip
    yield Finding(judge, "scale", _figure("scale", on), scale.estimate, None, _scale_says(scale))


def _scale_says(scale: Effect) -> str:
    if scale.other is None:
        return Note(
            "probes.scale",
            "Where people's scores differ by 1, its own differ by {value:.2f}: how it uses the scale, not a bias.",
            value=scale.estimate.value,
        )
    return Note(
        "probes.scale-bounds",
        "Where people's scores differ by 1, its own differ by {value:.2f} if people never err, by {other:.2f} if only "
        "they do; the truth lies between: how it uses the scale, not a bias.",
        value=scale.estimate.value, other=scale.other.value,
    )  # fmt: skip


def _shares(
    rows: _Rows, ours: npt.NDArray[np.bool_], theirs: npt.NDArray[np.bool_]
) -> tuple[Estimate, Estimate, Estimate]:
    """The difference of two shares on the same items, each response's votes and rulings together one, and both."""
    here = _share_of_each(ours, rows.ruled, len(rows.marks))
    voted = _share_of_each(theirs, rows.response, len(rows.marks))
    return (clustered.difference(here - voted, rows.item, (-1.0, 1.0)), clustered.share(here, rows.item),
            clustered.share(voted, rows.item))  # fmt: skip


def _share_of_each(chosen: npt.NDArray[np.bool_], owner: Ints, size: int) -> Floats:
    """For each response, the share of its votes or rulings that are among those chosen."""
    shares = np.bincount(owner, chosen.astype(np.float64), size) / np.maximum(np.bincount(owner, minlength=size), 1)
    return shares.astype(np.float64)


def _entropies(judge: str, rows: _Rows, on: str) -> Iterator[Finding]:
    """How evenly marks are spread, for the judge's single rulings and for single votes."""
    try:
        ours = bootstrap(entropy, rows.rulings, cluster=rows.item[rows.ruled])
        theirs = bootstrap(entropy, rows.vote, cluster=rows.vote_item())
    except Undefined:
        return
    fewer = not (ours.why or theirs.why) and ours.high < theirs.low
    lean = (
        Note("lean.fewer-marks", "it uses fewer marks than people do")
        if fewer
        else Note("lean.no-fewer-marks", "it uses as many marks as a person, or more, or too few rows tell")
    )
    says = Note(
        "probes.entropy",
        "Its scores carry {ours:.2f} bits, a person's {theirs:.2f}: {lean}; how it uses the scale, not a bias.",
        ours=ours.value, theirs=theirs.value, lean=lean,
    )  # fmt: skip
    yield Finding(judge, "scale", _figure("entropy in bits", on), ours, theirs, says)


def entropy(weights: Floats, values: Floats) -> Floats:
    """How evenly marks are spread, in bits: a statistic of weights.

    >>> entropy(np.ones((1, 4)), np.array([1.0, 2.0, 3.0, 4.0]))
    array([2.])
    """
    sums = np.column_stack([weights[:, values == value].sum(axis=1) for value in np.unique(values)])
    shares = sums / sums.sum(axis=1, keepdims=True)
    logs = np.log2(shares, out=np.zeros_like(shares), where=shares > 0)
    bits: Floats = -(shares * logs).sum(axis=1)
    return bits


def of_pairs(meetings: Met, judge: str, own: Collection[str]) -> Iterator[Finding]:
    """The place shown, the own family, and ties, in pairs."""
    rows = pairs(meetings, judge)
    if rows is None:
        return
    sides = [[name in own for name in verdict.contestants] for verdict in rows.verdicts]
    lead = np.array([float(first) - float(second) for first, second in sides])
    traits: dict[str, Floats] = {"own": lead} if np.ptp(lead) > 0 else {}
    try:
        found = effects(rows.marks, rows.votes(lenient=False), traits, rows.item)
    except (Undefined, np.linalg.LinAlgError):
        found = {}
    if found:
        yield from _first_shown(judge, rows, found["constant"])
    gap, ours, theirs = _shares(rows, rows.marks == 0, rows.vote == 0)
    opening = Note(
        "probes.ties", "It calls {ours} of pairs ties, a person {theirs}", ours=percent(ours), theirs=percent(theirs)
    )
    yield Finding(judge, "ties", "ties", ours, theirs, opening, gap.p, gap.value, LEANS["more-ties"],
                  LEANS["fewer-ties"])  # fmt: skip
    if "own" in found:
        yield from _own_wins(judge, rows, lead, found["own"])


def _first_shown(judge: str, rows: _Rows, effect: Effect) -> Iterator[Finding]:
    decided, voted = rows.marks != 0, rows.vote != 0
    if not decided.any() or not voted.any():
        return
    ours = clustered.share((rows.marks[decided] > 0).astype(np.float64), rows.item[decided])
    theirs = clustered.share((rows.vote[voted] > 0).astype(np.float64), rows.vote_item()[voted])
    opening = Note(
        "probes.position", "Of pairs that it decides it gives {ours} to the first shown, a person {theirs}",
        ours=percent(ours), theirs=percent(theirs),
    )  # fmt: skip
    yield Finding(judge, "position", "first shown wins", ours, theirs, opening, effect.p, effect.estimate.value,
                  LEANS["first-place"], LEANS["second-place"], effect.way == BOUNDS)  # fmt: skip


def _own_wins(judge: str, rows: _Rows, lead: Floats, effect: Effect) -> Iterator[Finding]:
    chosen, voted = lead != 0, lead[rows.response] != 0
    ours = clustered.share((rows.marks[chosen] == lead[chosen]).astype(np.float64), rows.item[chosen])
    own_votes = rows.vote[voted] == lead[rows.response][voted]
    theirs = clustered.share(own_votes.astype(np.float64), rows.vote_item()[voted])
    opening = Note(
        "probes.own-pairs", "Its own family wins {ours} of its pairs by its ruling, {theirs} by a person's",
        ours=percent(ours), theirs=percent(theirs),
    )  # fmt: skip
    yield Finding(judge, "ego", "own answers preferred", ours, theirs, opening, effect.p, effect.estimate.value,
                  LEANS["own"], LEANS["hard-on-own"], effect.way == BOUNDS)  # fmt: skip
