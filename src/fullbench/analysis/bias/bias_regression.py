"""What moves a judge besides the worth of a response, with people as noisy raters (`stats.bias.errors_in_variables`).

Length, its own family, leniency and the place shown are asked in one fit for scores and one for pairs, so that what one
of them explains is not laid to another, and so that people's own errors are not laid to the judge.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from fullbench.analysis import estimate_cells
from fullbench.analysis.agreement.judges_with_people import Met
from fullbench.analysis.bias.bias_finding import LEANS, Finding, percent
from fullbench.core.estimate import Estimate
from fullbench.core.note import Note, sentence, word
from fullbench.core.record import Record
from fullbench.core.text import length_of
from fullbench.core.verdict import Verdict
from fullbench.errors import Undefined
from fullbench.stats.agreement import two_raters as agree
from fullbench.stats.array_checks import Floats, Ints
from fullbench.stats.bias.errors_in_variables import BOUNDS, Effect, Votes, effects
from fullbench.stats.intervals.bootstrap import bootstrap
from fullbench.stats.intervals.cluster_intervals import Scale

# What a judge said of responses or pairs beside people's votes on the same, as the columns that a fit takes.

Place = tuple[str, str, frozenset[tuple[str, int]]]
"""Item, ballot, and the responses shown: what a judge and people meet on."""


@dataclass(frozen=True)
class Rows:
    """What a judge said of responses or pairs, and people's votes on the same, in the order that it was shown.

    `verdicts`, `marks` and `item` have an entry for each row (a response, or a pair), `rulings` and `ruled` for each
    ruling on a row, the rest for each vote. `marks` are the means of several trials.
    """

    verdicts: Sequence[Verdict]
    marks: Floats
    """Of the response; of a pair 1 where the first shown won, -1 where it lost, 0 for a tie."""
    rulings: Floats
    """The marks as they were given."""
    ruled: Ints
    """The row that a ruling is on."""
    item: Ints
    response: Ints
    """The row that a vote is about."""
    vote: Floats
    rater: Ints

    def votes(self, *, lenient: bool) -> Votes:
        return Votes.of(self.response, self.vote, self.rater if lenient else None, len(self.marks))

    def vote_item(self) -> Ints:
        """The item of each vote."""
        owner: Ints = self.item[self.response]
        return owner

    def people(self) -> Floats:
        """The mean of people's votes on each row."""
        means: Floats = np.bincount(self.response, self.vote, len(self.marks)) / np.bincount(self.response)
        return means


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
) -> Rows:
    """Rows of verdicts that people voted on too; of two responses the lead of the first shown is compared."""
    response, vote, rater = [], [], []
    for number, verdict in enumerate(verdicts):
        for other in votes[_place(verdict)]:
            response.append(number)
            vote.append(_vote_on(other, verdict))
            # Where votes name no rater, the number of the trial tells people apart.
            rater.append(f"{other.rater}/{other.trial}")
    return Rows(
        verdicts, np.array([np.mean(each) for each in rulings], dtype=np.float64),
        np.array([mark for each in rulings for mark in each], dtype=np.float64),
        np.repeat(np.arange(len(rulings)), [len(each) for each in rulings]),
        _codes([verdict.item for verdict in verdicts]),
        np.array(response, dtype=np.int64), np.array(vote, dtype=np.float64), _codes(rater),
    )  # fmt: skip


def _vote_on(vote: Verdict, verdict: Verdict) -> float:
    """What a vote says of the response of a verdict, or for the first shown of its two."""
    marks = dict(zip(vote.shown, vote.marks or (), strict=True))
    first, *rest = (marks[shown] for shown in verdict.shown)
    return first if not rest else float(np.sign(first - rest[0]))


def scores(meetings: Met, judge: str) -> Iterator[tuple[str, Rows]]:
    """For each ballot the responses that a judge scored, each by the mean of its scores, beside people's votes."""
    votes = _votes_by_place(meetings, 1)
    ruled: dict[str, dict[Place, list[Verdict]]] = {}
    for verdict in meetings.record:
        if verdict.judge == judge and verdict.marks is not None and _place(verdict) in votes:
            ruled.setdefault(verdict.ballot, {}).setdefault(_place(verdict), []).append(verdict)
    for ballot, places in sorted(ruled.items()):
        rulings = [[(verdict.marks or (0.0,))[0] for verdict in heard] for heard in places.values()]
        yield ballot, _gathered([heard[0] for heard in places.values()], rulings, votes)


def pairs(meetings: Met, judge: str) -> Rows | None:
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
        yield from _of_ballot(meetings.record, judge, rows, estimate_cells.scale_of(ballot), own=set(own), on=on)


def _of_ballot(
    record: Record, judge: str, rows: Rows, scale: Scale | None, *, own: Collection[str], on: str
) -> Iterator[Finding]:
    """The findings on one ballot. `own` names the contestants of the judge's family; `on` the ballot, if several."""
    words = _words(record, rows)
    is_own = np.array([float(verdict.contestants[0] in own) for verdict in rows.verdicts])
    traits: dict[str, Floats] = {}
    if words is not None and np.ptp(words) > 0:
        traits["words"] = np.log2(words)
    if np.ptp(is_own) > 0:
        traits["own"] = is_own
    # The mean of several hearings need not be a mark of the scale: then it is taken as a number like any other.
    whole = scale if float(np.abs(rows.marks - np.rint(rows.marks)).max()) == 0 else None
    # Too few items, or traits that cannot be told apart: what needs no fit is still said, and why nothing is claimed.
    by_trait, why = _fitted(lambda: effects(rows.marks, rows.votes(lenient=True), traits, rows.item, scale=whole))
    if words is not None:
        yield from _correlations(judge, rows, words, on)
    if "words" in by_trait:
        opening = Note(
            "probes.twice", "At the same worth, twice the words change its score by {value:+.2f}",
            value=by_trait["words"].estimate.value,
        )  # fmt: skip
        leans = (LEANS["long-gain"], LEANS["long-lose"])
        yield _finding(judge, ("length", _figure("marks for twice the words", on)), by_trait["words"], opening, leans)
    if "own" in by_trait:
        opening = Note(
            "probes.own-scores", "At the same worth, its own family's answers get {value:+.2f} more than others'",
            value=by_trait["own"].estimate.value,
        )  # fmt: skip
        leans = (LEANS["own"], LEANS["hard-on-own"])
        yield _finding(judge, ("ego", _figure("extra marks for its own", on)), by_trait["own"], opening, leans)
    if "own" in traits:
        yield from _own_above(judge, rows, is_own, why, on)
    yield from _leniency(judge, rows, by_trait, why, on)
    yield from _entropies(judge, rows, on)


def _fitted(fit: Callable[[], Mapping[str, Effect]]) -> tuple[Mapping[str, Effect], str]:
    """The effects, or none and the reason why they cannot be had."""
    try:
        return fit(), ""
    except Undefined as reason:
        return {}, sentence(reason)
    except np.linalg.LinAlgError:
        return {}, Note(
            "undefined.noisy-singular", "too little varies here to tell what moves it from the worth of responses"
        )


def _unclaimed(opening: str, why: str) -> str:
    """A figure that accuses nobody, and why it does not."""
    return Note("probes.unclaimed", "{opening}; no bias is claimed: {why}.", opening=opening, why=why)


def _own_above(judge: str, rows: Rows, is_own: Floats, why: str, on: str) -> Iterator[Finding]:
    """The paper's own figure of ego: by how much more than others' its family's marks are above people's."""
    try:
        value = bootstrap(_own_less_others, rows.marks - rows.people(), is_own, cluster=rows.item)
    except Undefined:
        return
    opening = Note(
        "probes.own-above",
        "On the same answers, its marks for its own family are above people's by {value:+.2f} more than those for "
        "others",
        value=value.value,
    )  # fmt: skip
    reason = why or Note("probes.own-above.why", "what people's errors explain of it is not taken out here")
    yield Finding(judge, "ego", _figure("own above people's", on), value, None, _unclaimed(opening, reason))


def _own_less_others(weights: Floats, gaps: Floats, own: Floats) -> Floats:
    """The mean gap of a judge's own family less that of others: a statistic of weights; nan where one has no row.

    >>> _own_less_others(np.ones((1, 4)), np.array([1.0, 2.0, 0.0, 1.0]), np.array([1.0, 1.0, 0.0, 0.0]))
    array([1.])
    """
    with np.errstate(invalid="ignore"):
        less: Floats = weights @ (gaps * own) / (weights @ own) - weights @ (gaps * (1 - own)) / (weights @ (1 - own))
    return less


def _words(record: Record, rows: Rows, place: int = 0) -> Floats | None:
    """How long each response is, of several the one shown at a place; None where a text is not at hand."""
    responses = [record.responses.get((verdict.item, *verdict.shown[place])) for verdict in rows.verdicts]
    texts = [None if response is None or not response.text else response.text for response in responses]
    if any(text is None for text in texts):
        return None
    return np.array([float(length_of(text)) for text in texts if text is not None])


def _correlations(judge: str, rows: Rows, words: Floats, on: str) -> Iterator[Finding]:
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


def _leniency(judge: str, rows: Rows, by_trait: Mapping[str, Effect], why: str, on: str) -> Iterator[Finding]:
    shift = by_trait.get("shift")
    moved = _plain_shift(rows) if shift is None else shift.estimate
    opening = Note("probes.shift", "On the same answers its scores are {value:+.2f} from people's", value=moved.value)
    name = _figure("mean shift", on)
    if shift is None:
        yield Finding(judge, "high score", name, moved, None, _unclaimed(opening, why))
    else:
        yield _finding(judge, ("high score", name), shift, opening, (LEANS["lenient"], LEANS["strict"]))
    top = np.unique(rows.vote)[-2:]
    gap, ours, theirs = _shares(rows, np.isin(rows.rulings, top), np.isin(rows.vote, top))
    named = [f"{mark:g}" for mark in top]
    names = named[0] if len(named) == 1 else Note("probes.two", "{a} and {b}", a=named[0], b=named[1])
    opening = Note(
        "probes.top", "It gives {marks} to {ours} of answers, a person to {theirs}",
        marks=names, ours=percent(ours), theirs=percent(theirs),
    )  # fmt: skip
    figure = _figure(Note("probes.share-of", "share of {marks}", marks=names), on)
    if shift is None:
        yield Finding(judge, "high score", figure, ours, theirs, _unclaimed(opening, why))
        return
    # More errors fill the top as well: it is a lean only of a judge that is lenient, or strict, besides.
    alike = (gap.value > 0) == (moved.value > 0)
    p = max(gap.p or 0.0, shift.p) if alike else 1.0
    yield Finding(judge, "high score", figure, ours, theirs, opening, p, gap.value, LEANS["crowds-top"],
                  LEANS["spares-top"], shift.way == BOUNDS)  # fmt: skip
    scale = by_trait["scale"]
    yield Finding(judge, "scale", _figure("scale", on), scale.estimate, None, _scale_says(scale))


def _plain_shift(rows: Rows) -> Estimate:
    """The mean of the judge's marks less people's on the same answers, each answer's votes together one."""
    return estimate_cells.difference(rows.marks - rows.people(), rows.item)


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
    rows: Rows, ours: npt.NDArray[np.bool_], theirs: npt.NDArray[np.bool_]
) -> tuple[Estimate, Estimate, Estimate]:
    """The difference of two shares on the same items, each response's votes and rulings together one, and both."""
    here = _share_of_each(ours, rows.ruled, len(rows.marks))
    voted = _share_of_each(theirs, rows.response, len(rows.marks))
    return (estimate_cells.difference(here - voted, rows.item, (-1.0, 1.0)), estimate_cells.share(here, rows.item),
            estimate_cells.share(voted, rows.item))  # fmt: skip


def _share_of_each(chosen: npt.NDArray[np.bool_], owner: Ints, size: int) -> Floats:
    """For each response, the share of its votes or rulings that are among those chosen."""
    shares = np.bincount(owner, chosen.astype(np.float64), size) / np.maximum(np.bincount(owner, minlength=size), 1)
    return shares.astype(np.float64)


def _entropies(judge: str, rows: Rows, on: str) -> Iterator[Finding]:
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
    """The place shown, length, the own family, and ties, in pairs."""
    rows = pairs(meetings, judge)
    if rows is None:
        return
    sides = [[name in own for name in verdict.contestants] for verdict in rows.verdicts]
    # 1 where the first shown is of the judge's own family and the second is not, -1 the other way round
    lead = np.array([float(first) - float(second) for first, second in sides])
    traits: dict[str, Floats] = {"own": lead} if np.ptp(lead) > 0 else {}
    votes = rows.votes(lenient=False)
    by_trait, why = _fitted(lambda: effects(rows.marks, votes, traits | _longer(meetings.record, rows), rows.item))
    if not by_trait:
        # Lengths that cannot be told from worth must not silence what can be said of the place shown.
        by_trait, why = _fitted(lambda: effects(rows.marks, votes, traits, rows.item))
    yield from _first_shown(judge, rows, by_trait.get("constant"), why)
    if "words" in by_trait:
        yield _long_wins(judge, by_trait["words"])
    gap, ours, theirs = _shares(rows, rows.marks == 0, rows.vote == 0)
    opening = Note(
        "probes.ties", "It calls {ours} of pairs ties, a person {theirs}", ours=percent(ours), theirs=percent(theirs)
    )
    yield Finding(judge, "ties", "ties", ours, theirs, opening, gap.p, gap.value, LEANS["more-ties"],
                  LEANS["fewer-ties"])  # fmt: skip
    if "own" in traits:
        yield _own_wins(judge, rows, lead, by_trait.get("own"), why)


def _longer(record: Record, rows: Rows) -> dict[str, Floats]:
    """How many times as long the first shown is as the second, in doublings, where that varies."""
    first, second = (_words(record, rows, place) for place in (0, 1))
    if first is None or second is None:
        return {}
    doublings = np.log2(first / second)
    return {"words": doublings} if np.ptp(doublings) > 0 else {}


def _long_wins(judge: str, effect: Effect) -> Finding:
    """The effect of length on the share of pairs won: half of that on the lead, which goes from -1 to 1."""
    whole = effect.estimate
    won = replace(effect, estimate=replace(whole, value=whole.value / 2, low=whole.low / 2, high=whole.high / 2))
    opening = Note(
        "probes.twice-pairs", "At the same worth, twice the words of the other answer change its share of wins by "
        "{points:+.0f} points",
        points=100 * won.estimate.value,
    )  # fmt: skip
    return _finding(judge, ("length", "pairs won for twice the words"), won, opening,
                    (LEANS["long-gain"], LEANS["long-lose"]))  # fmt: skip


def _first_shown(judge: str, rows: Rows, effect: Effect | None, why: str) -> Iterator[Finding]:
    decided, voted = rows.marks != 0, rows.vote != 0
    if not decided.any() or not voted.any():
        return
    ours = estimate_cells.share((rows.marks[decided] > 0).astype(np.float64), rows.item[decided])
    theirs = estimate_cells.share((rows.vote[voted] > 0).astype(np.float64), rows.vote_item()[voted])
    opening = Note(
        "probes.position", "Of pairs that it decides it gives {ours} to the first shown, a person {theirs}",
        ours=percent(ours), theirs=percent(theirs),
    )  # fmt: skip
    leans = (LEANS["first-place"], LEANS["second-place"])
    named = ("position", "first shown wins")
    yield _of_shares(judge, named, opening, shares=(ours, theirs), leans=leans, effect=effect, why=why)


def _of_shares(
    judge: str,
    named: tuple[str, str],
    opening: str,
    *,
    shares: tuple[Estimate, Estimate],
    leans: tuple[str, str],
    effect: Effect | None,
    why: str,
) -> Finding:
    """The judge's share beside people's; a lean is claimed by the effect of the fit, if there is one."""
    if effect is None:
        return Finding(judge, *named, *shares, _unclaimed(opening, why))
    value, one_vote = effect.estimate.value, effect.way == BOUNDS
    return Finding(judge, *named, *shares, opening, effect.p, value, *leans, one_vote)


def _own_wins(judge: str, rows: Rows, lead: Floats, effect: Effect | None, why: str) -> Finding:
    chosen, voted = lead != 0, lead[rows.response] != 0
    ours = estimate_cells.share((rows.marks[chosen] == lead[chosen]).astype(np.float64), rows.item[chosen])
    own_votes = rows.vote[voted] == lead[rows.response][voted]
    theirs = estimate_cells.share(own_votes.astype(np.float64), rows.vote_item()[voted])
    opening = Note(
        "probes.own-pairs", "Its own family wins {ours} of its pairs by its ruling, {theirs} by a person's",
        ours=percent(ours), theirs=percent(theirs),
    )  # fmt: skip
    leans = (LEANS["own"], LEANS["hard-on-own"])
    named = ("ego", "own answers preferred")
    return _of_shares(judge, named, opening, shares=(ours, theirs), leans=leans, effect=effect, why=why)
