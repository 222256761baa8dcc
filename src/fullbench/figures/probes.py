"""Bias probes: what moves a judge besides what it should judge, beside the same figure for people.

Each finding has an interval and one plain sentence. A lean is claimed only where the interval of the difference between
judge and people, on the same rows, leaves out zero.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from fullbench.columns.builder import columns_of
from fullbench.columns.table import Columns, grouped
from fullbench.errors import Undefined
from fullbench.figures.judging import Met, order, winner
from fullbench.nouns.estimate import Estimate
from fullbench.nouns.headings import headings
from fullbench.nouns.note import Note, word
from fullbench.nouns.record import Pairing, Record
from fullbench.nouns.table import Cell, Table
from fullbench.stats import agreement as agree
from fullbench.stats.arrays import Floats
from fullbench.stats.bias import favour, length_slope, score_shift, swap_flips
from fullbench.stats.bootstrap import bootstrap
from fullbench.stats.weighted import mean, pearson

LEANS = {
    "first-place": Note("lean.first-place", "it leans to the first place"),
    "second-place": Note("lean.second-place", "it leans to the second place"),
    "more-ties": Note("lean.more-ties", "it calls ties more readily"),
    "fewer-ties": Note("lean.fewer-ties", "it shuns ties"),
    "copies": Note("lean.copies", "it copies"),
    "copies-less": Note("lean.copies-less", "it copies less than chance and quality would have it"),
    "likes-length": Note("lean.likes-length", "it likes length more than people do"),
    "dislikes-length": Note("lean.dislikes-length", "it likes length less than people do"),
    "long-gain": Note("lean.long-gain", "long answers gain"),
    "long-lose": Note("lean.long-lose", "long answers lose"),
    "rewards-length": Note("lean.rewards-length", "it rewards mere length"),
    "punishes-length": Note("lean.punishes-length", "it punishes mere length"),
    "lenient": Note("lean.lenient", "it is lenient"),
    "strict": Note("lean.strict", "it is strict"),
    "crowds-top": Note("lean.crowds-top", "it crowds the top"),
    "spares-top": Note("lean.spares-top", "it uses the top less"),
    "spreads": Note("lean.spreads", "it spreads its marks more than people do"),
    "fewer-marks": Note("lean.fewer-marks", "it uses fewer marks than people do"),
    "own": Note("lean.own", "it favours its own"),
    "hard-on-own": Note("lean.hard-on-own", "it is harder on its own"),
}
"""What an interval may say of a difference."""
LENGTHENS = "lengthens"
"""The tag of a response that says, in more words, what the response of the contestant it names says."""


@dataclass(frozen=True)
class Finding:
    """One figure about one bias: the judge's, people's where there is one, and what it means."""

    judge: str
    bias: str
    figure: str
    value: Estimate
    people: Estimate | None
    says: str


def probes(
    meetings: Met, judge: str, *, own: Collection[str] = (), example: str | None = None, ruled: Columns | None = None
) -> list[Finding]:
    """All findings that the record allows about one judge.

    `own` are the contestants of the judge's own family; `example` is the order that the worked example in its prompt
    shows, best first (`CDBA`). `ruled` are all its verdicts, where the record holds those beside people's alone.
    """
    scores, pairs, rankings = (meetings.of(judge, kind) for kind in ("scores", "pairs", "rankings"))
    findings: list[Finding] = []
    findings += _position(judge, pairs)
    findings += _swaps(judge, columns_of(meetings.record.where(judge=judge)) if ruled is None else ruled)
    findings += _copying(judge, rankings, example)
    findings += _length(judge, meetings.record, scores)
    findings += _lengthened(judge, meetings.record, meetings.record.where(judge=judge, fault=None))
    findings += _shift(judge, scores)
    if own:
        findings += _ego_scores(judge, scores, set(own))
        findings += _ego_pairs(judge, pairs, set(own))
    return findings


Rows = Sequence[tuple[float, float, str]]
"""What the judge did, what people did, and on which item."""


@dataclass(frozen=True)
class _Beside:
    """A figure of the judge, the same of people, and the difference, on the same rows."""

    ours: Estimate
    theirs: Estimate
    gap: Estimate

    def lean(self, more: str, less: str) -> str:
        return _lean(self.gap, more, less)

    @property
    def shares(self) -> tuple[str, str]:
        return _percent(self.ours), _percent(self.theirs)


def _beside(rows: Rows) -> _Beside | None:
    """The means of both, and of their difference."""
    if not rows:
        return None
    items = [item for _, _, item in rows]
    ours, theirs = [here for here, _, _ in rows], [there for _, there, _ in rows]
    gaps = [here - there for here, there, _ in rows]
    try:
        return _Beside(*(bootstrap(mean, values, cluster=items) for values in (ours, theirs, gaps)))
    except Undefined:
        return None


def _tried(compute: Callable[[], Estimate]) -> Estimate | None:
    try:
        return compute()
    except ValueError:
        return None


def _lean(gap: Estimate, more: str, less: str) -> str:
    """What the interval of a difference says."""
    if gap.low > 0:
        return more
    return less if gap.high < 0 else Note("lean.none", "no difference can be told from {n:,} rows", n=gap.n)


def _percent(value: Estimate) -> str:
    return f"{100 * value.value:.0f}%"


def _position(judge: str, pairings: Sequence[Pairing]) -> Iterator[Finding]:
    """How often the first of two is chosen, ties left out, and how often neither, by the judge and by people."""
    both = [(winner(p.marks), winner(p.other), p.verdict.item) for p in pairings]
    decided = [(float(a == 0), float(b == 0), item) for a, b, item in both if a is not None and b is not None]
    if first := _beside(decided):
        lean = first.lean(LEANS["first-place"], LEANS["second-place"])
        says = Note(
            "probes.position", "Of pairs that both decide it gives {ours} to the first shown, people {theirs}: {lean}.",
            ours=first.shares[0], theirs=first.shares[1], lean=lean,
        )  # fmt: skip
        yield Finding(judge, "position", "first shown wins", first.ours, first.theirs, says)
    if ties := _beside([(float(a is None), float(b is None), item) for a, b, item in both]):
        lean = ties.lean(LEANS["more-ties"], LEANS["fewer-ties"])
        says = Note(
            "probes.ties", "It calls {ours} of pairs ties, people {theirs}: {lean}.",
            ours=ties.shares[0], theirs=ties.shares[1], lean=lean,
        )  # fmt: skip
        yield Finding(judge, "ties", "ties", ties.ours, ties.theirs, says)


def _swaps(judge: str, ruled: Columns) -> Iterator[Finding]:
    """Pairs heard in both orders: how often the ruling changes, and to which place it goes."""
    counted = ruled.latest()
    pairs = counted.rows((counted.shown == 2) & (counted.fault < 0) & ~counted.meeting_themselves())
    if not len(pairs):
        return
    at = pairs.start.astype(np.int64)[:-1]
    shown = pairs.contestant.astype(np.int64) * (int(pairs.sample.max()) + 1) + pairs.sample
    one, two = shown[at], shown[at + 1]
    pair, where = grouped(
        pairs.study, pairs.item, pairs.criterion, pairs.ballot, pairs.trial, pairs.rater,
        np.minimum(one, two), np.maximum(one, two),
    )  # fmt: skip
    leans = np.full((2, len(where)), np.nan)
    leans[(one > two).astype(np.int64), pair] = np.sign(pairs.mark[at] - pairs.mark[at + 1])
    both = ~np.isnan(leans).any(axis=0)
    first, second = leans[:, both]
    flips = _tried(lambda: swap_flips(first, second, pairs.item[where[both]].tolist())) if both.any() else None
    to_first, to_second = int(((first > 0) & (second > 0)).sum()), int(((first < 0) & (second < 0)).sum())
    if flips is not None:
        says = Note(
            "probes.swaps",
            "When two answers change places, {share} of its rulings change: {first} times the first shown won both "
            "times, {second} times the second.",
            share=_percent(flips), first=to_first, second=to_second,
        )  # fmt: skip
        yield Finding(judge, "position", "changed by a swap", flips, None, says)


def _copying(judge: str, pairings: Sequence[Pairing], example: str | None) -> Iterator[Finding]:
    """How often a ranking is the order shown, or the order of the worked example."""
    ranked = [(order(p.marks), order(p.other), p.verdict.item) for p in pairings]
    shown = [(float(x == "".join(sorted(x))), float(y == "".join(sorted(y))), item) for x, y, item in ranked]
    taught = [(float(x == example), float(y == example), item) for x, y, item in ranked if len(x) == len(example or "")]
    for name, rows in {"the order shown": shown, "the example's order": taught}.items():
        if beside := _beside(rows):
            lean = beside.lean(LEANS["copies"], LEANS["copies-less"])
            says = Note(
                "probes.copying", "{ours} of its rankings are {what}, of people's {theirs}: {lean}.",
                ours=beside.shares[0], what=word(name), theirs=beside.shares[1], lean=lean,
            )  # fmt: skip
            yield Finding(judge, "copying", name, beside.ours, beside.theirs, says)


def _words(record: Record, item: str, contestant: str) -> int:
    response = record.responses.get((item, contestant))
    return 0 if response is None else len(response.text.split())


def _length(judge: str, record: Record, pairings: Sequence[Pairing]) -> Iterator[Finding]:
    """How scores go with the number of words, for the judge and for people on the same answers."""
    rows = [(p, count) for p in pairings if (count := _words(record, p.verdict.item, p.verdict.contestants[0]))]
    if not rows:
        return
    words, items = [count for _, count in rows], [p.verdict.item for p, _ in rows]
    marks, other = [p.marks[0] for p, _ in rows], [p.other[0] for p, _ in rows]
    try:
        ours, theirs = (agree.pearson(words, values, cluster=items) for values in (marks, other))
        gap = bootstrap(_correlation_gap, words, marks, other, cluster=items)
        slope = length_slope(marks, other, words, items)
    except ValueError:
        return
    lean = _lean(gap, LEANS["likes-length"], LEANS["dislikes-length"])
    says = Note(
        "probes.length", "Its scores go with length by {ours:+.2f}, people's by {theirs:+.2f}: {lean}.",
        ours=ours.value, theirs=theirs.value, lean=lean,
    )  # fmt: skip
    yield Finding(judge, "length", "correlation with words", ours, theirs, says)
    lean = _lean(slope, LEANS["long-gain"], LEANS["long-lose"])
    says = Note(
        "probes.twice", "At the same human score, twice the words change its score by {value:+.2f}: {lean}.",
        value=slope.value, lean=lean,
    )  # fmt: skip
    yield Finding(judge, "length", "marks for twice the words", slope, None, says)


def _correlation_gap(weights: Floats, words: Floats, marks: Floats, other: Floats) -> Floats:
    return pearson(weights, words, marks) - pearson(weights, words, other)


def _lengthened(judge: str, record: Record, ruled: Record) -> Iterator[Finding]:
    """The experiment: answers made longer without saying more, scored beside the answers they were made from."""
    marks = {
        (verdict.item, *verdict.shown[0], (verdict.ballot, verdict.criterion, verdict.trial)): verdict.marks[0]
        for verdict in ruled
        if verdict.marks is not None and len(verdict.marks) == 1
    }
    longer = {
        place: response.tags[LENGTHENS] for place, response in record.responses.items() if LENGTHENS in response.tags
    }
    gains = [
        (mark, marks[item, longer[item, name, sample], sample, rest], item)
        for (item, name, sample, rest), mark in marks.items()
        if (item, name, sample) in longer and (item, longer[item, name, sample], sample, rest) in marks
    ]
    if beside := _beside(gains):
        lean = beside.lean(LEANS["rewards-length"], LEANS["punishes-length"])
        says = Note(
            "probes.lengthened", "An answer said at greater length, and no better, gains {value:+.2f} marks: {lean}.",
            value=beside.gap.value, lean=lean,
        )  # fmt: skip
        yield Finding(judge, "length", "gain when lengthened", beside.gap, None, says)


def _shift(judge: str, pairings: Sequence[Pairing]) -> Iterator[Finding]:
    """Scores as a whole: higher than people's, and more alike?"""
    if not pairings:
        return
    items = [p.verdict.item for p in pairings]
    marks, other = [p.marks[0] for p in pairings], [p.other[0] for p in pairings]
    if shift := _tried(lambda: score_shift(marks, other, items)):
        says = Note(
            "probes.shift", "On the same answers its scores are {value:+.2f} from people's: {lean}.",
            value=shift.value, lean=_lean(shift, LEANS["lenient"], LEANS["strict"]),
        )  # fmt: skip
        yield Finding(judge, "high score", "mean shift", shift, None, says)
    top = sorted({*marks, *other})[-2:]
    if high := _beside([(float(a in top), float(b in top), i) for a, b, i in zip(marks, other, items, strict=True)]):
        marks_named = [f"{mark:g}" for mark in top]
        names = (
            marks_named[0] if len(top) == 1 else Note("probes.two", "{a} and {b}", a=marks_named[0], b=marks_named[1])
        )
        lean = high.lean(LEANS["crowds-top"], LEANS["spares-top"])
        says = Note(
            "probes.top", "It gives {marks} to {ours} of answers, people to {theirs}: {lean}.",
            marks=names, ours=high.shares[0], theirs=high.shares[1], lean=lean,
        )  # fmt: skip
        figure = Note("probes.share-of", "share of {marks}", marks=names)
        yield Finding(judge, "high score", figure, high.ours, high.theirs, says)
    try:
        spread, wanted = (bootstrap(_entropy, values, cluster=items) for values in (marks, other))
        gap = bootstrap(lambda weights, a, b: _entropy(weights, a) - _entropy(weights, b), marks, other, cluster=items)
    except Undefined:
        return
    lean = _lean(gap, LEANS["spreads"], LEANS["fewer-marks"])
    says = Note(
        "probes.entropy", "Its scores carry {ours:.2f} bits, people's {theirs:.2f}: {lean}.",
        ours=spread.value, theirs=wanted.value, lean=lean,
    )  # fmt: skip
    yield Finding(judge, "high score", "entropy in bits", spread, wanted, says)


def _entropy(weights: Floats, values: Floats) -> Floats:
    """How evenly marks are spread, in bits."""
    sums = np.column_stack([weights[:, values == value].sum(axis=1) for value in np.unique(values)])
    shares = sums / sums.sum(axis=1, keepdims=True)
    logs = np.log2(shares, out=np.zeros_like(shares), where=shares > 0)
    bits: Floats = -(shares * logs).sum(axis=1)
    return bits


def _ego_scores(judge: str, pairings: Sequence[Pairing], own: set[str]) -> Iterator[Finding]:
    """How the judge scores answers of its own family, against how people score the same answers."""
    is_own = [float(p.verdict.contestants[0] in own) for p in pairings]
    if not 0 < sum(is_own) < len(is_own):
        return
    marks, other = [p.marks[0] for p in pairings], [p.other[0] for p in pairings]
    if extra := _tried(lambda: favour(marks, other, is_own, [p.verdict.item for p in pairings])):
        lean = _lean(extra, LEANS["own"], LEANS["hard-on-own"])
        says = Note(
            "probes.own-scores",
            "Against people's scores, its own family's answers get {value:+.2f} more than others': {lean}.",
            value=extra.value, lean=lean,
        )  # fmt: skip
        yield Finding(judge, "ego", "extra marks for its own", extra, None, says)


def _ego_pairs(judge: str, pairings: Sequence[Pairing], own: set[str]) -> Iterator[Finding]:
    """How often answers of the judge's own family win, by its ruling and by people's."""
    rows = [(p, place) for p in pairings if (place := _own_place(p, own)) is not None]
    won = [(float(winner(p.marks) == place), float(winner(p.other) == place), p.verdict.item) for p, place in rows]
    if beside := _beside(won):
        lean = beside.lean(LEANS["own"], LEANS["hard-on-own"])
        says = Note(
            "probes.own-pairs", "Its own family wins {ours} of its pairs by its ruling, {theirs} by people's: {lean}.",
            ours=beside.shares[0], theirs=beside.shares[1], lean=lean,
        )  # fmt: skip
        yield Finding(judge, "ego", "own answers preferred", beside.ours, beside.theirs, says)


def _own_place(pairing: Pairing, own: set[str]) -> int | None:
    """Where the judge's own family stands, in a pair that holds it once."""
    places = [place for place, name in enumerate(pairing.verdict.contestants) if name in own]
    return places[0] if len(places) == 1 else None


def table(findings: Iterable[Finding]) -> Table:
    """Findings as a table, their sentences below it."""
    listed = list(findings)
    rows: list[list[Cell]] = [[f.judge, f.bias, f.figure, f.value, f.people] for f in listed]
    notes = [Note("probes.says", "{judge}: {says}", judge=finding.judge, says=finding.says) for finding in listed]
    return Table(
        "biases",
        Note("probes.title.what-else-moves-the-judges", "What else moves the judges"),
        headings("judge", "bias", "figure", "judge's", "people's"),
        rows,
        notes,
    )


def positions(meetings: Met) -> Table:
    """Which place wins, for each judge and for people on the same panels."""
    rows: list[list[Cell]] = []
    for judge in meetings.judges:
        for kind in ("pairs", "rankings"):
            if pairs := meetings.of(judge, kind):
                rows += _placed(judge, kind, pairs)
    columns = headings("judge", "ruling", "place", "judge's", "people's")
    notes = [
        Note(
            "probes.the-share-of-panels-of",
            "The share of panels of that size in which each place is put first; a tie is a place of its own.",
        )
    ]
    return Table("positions", Note("probes.title.which-place-wins", "Which place wins"), columns, rows, notes)


def _placed(judge: str, kind: str, pairings: Sequence[Pairing]) -> Iterator[list[Cell]]:
    size = max(len(p.marks) for p in pairings)
    full = [p for p in pairings if len(p.marks) == size]
    places: list[int | None] = [*range(size), *([None] if kind == "pairs" else [])]
    for place in places:
        rows = [(float(winner(p.marks) == place), float(winner(p.other) == place), p.verdict.item) for p in full]
        beside = _beside(rows)
        shares = (None, None) if beside is None else (beside.ours, beside.theirs)
        yield [
            judge,
            kind,
            word("tie") if place is None else Note("probes.place", "{place} of {size}", place=place + 1, size=size),
            *shares,
        ]
