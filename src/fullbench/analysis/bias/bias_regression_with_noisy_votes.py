"""Regression of a judge's marks on bias traits, with people as noisy raters
(`stats.bias.trait_effects_with_noisy_votes`).

Length, own family, leniency and position are estimated in one fit for scores and one for pairs. Thus an effect of one
trait is not attributed to another, and people's own errors are not attributed to the judge.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from fullbench.analysis import item_clustered_means_and_shares
from fullbench.analysis.agreement.judges_with_people import PeopleComparison
from fullbench.analysis.agreement.with_single_votes import ResponseSetKey, response_set_key
from fullbench.analysis.bias.finding_type_and_multiple_test_correction import BIAS_NOTES, Finding, format_percent
from fullbench.core.estimate import Estimate
from fullbench.core.language_and_words import length_of
from fullbench.core.translatable_note import Note, error_sentence, word_note
from fullbench.core.verdict import Verdict
from fullbench.core.verdict_record import Record
from fullbench.errors import Undefined
from fullbench.stats.agreement import two_raters as agree
from fullbench.stats.array_checks import Floats, Ints
from fullbench.stats.bias.trait_effects_with_noisy_votes import BOUNDS, Effect, Votes, estimate_effects
from fullbench.stats.intervals.bootstrap_and_jackknife import bootstrap
from fullbench.stats.intervals.cluster_intervals import FROM_ZERO, NO_SPREAD, Scale

# A judge's marks and people's votes on the same responses or pairs, as columns for the fit.


@dataclass(frozen=True)
class Rows:
    """A judge's marks of responses or pairs and people's votes on them, in the order shown to the judge.

    `verdicts`, `marks`, `item` and `subject` have one entry per row: a response, or a pair in one order. `single_marks`
    and `verdict_row` have one per verdict on a row, the other fields one per vote and row. `marks` are means over
    trials.
    """

    verdicts: Sequence[Verdict]
    marks: Floats
    """Mark of a response. For a pair: 1 if the first one shown won, -1 if it lost, 0 for a tie."""
    single_marks: Floats
    verdict_row: Ints
    item: Ints
    subject: Ints
    """Number of the response or pair, whatever its order: votes count once for each."""
    response: Ints
    """Row of each vote."""
    vote: Floats
    rater: Ints

    def votes(self, *, lenient: bool) -> Votes:
        return Votes.from_rows(self.response, self.vote, self.rater if lenient else None, len(self.marks))

    def vote_item(self) -> Ints:
        """Return the item of each vote."""
        owner: Ints = self.item[self.response]
        return owner

    def people(self) -> Floats:
        """Return the mean of people's votes on each row."""
        means: Floats = np.bincount(self.response, self.vote, len(self.marks)) / np.bincount(self.response)
        return means


def _label_codes(labels: Sequence[str]) -> Ints:
    return np.unique(np.array(labels, dtype=str), return_inverse=True)[1].astype(np.int64)


def _votes_by_response_set(comparison: PeopleComparison, size: int) -> dict[ResponseSetKey, list[Verdict]]:
    votes: dict[ResponseSetKey, list[Verdict]] = {}
    for verdict in comparison.record:
        is_vote = (
            verdict.judge == comparison.people and verdict.marks is not None and len(verdict.shown_responses) == size
        )
        if is_vote and comparison.counts_vote(verdict):
            votes.setdefault(response_set_key(verdict), []).append(verdict)
    return votes


def _collect_rows(
    verdicts: Sequence[Verdict], marks_by_row: Sequence[Sequence[float]], votes: Mapping[ResponseSetKey, list[Verdict]]
) -> Rows:
    """Keep only verdicts that people voted on too. For pairs, the lead of the first one shown is compared."""
    response, vote, rater = [], [], []
    for number, verdict in enumerate(verdicts):
        for people_verdict in votes[response_set_key(verdict)]:
            response.append(number)
            vote.append(_vote_on(people_verdict, verdict))
            # Votes without a rater are distinguished by their trial number.
            rater.append(f"{people_verdict.rater}/{people_verdict.trial}")
    return Rows(
        verdicts, np.array([np.mean(each) for each in marks_by_row], dtype=np.float64),
        np.array([mark for each in marks_by_row for mark in each], dtype=np.float64),
        np.repeat(np.arange(len(marks_by_row)), [len(each) for each in marks_by_row]),
        _label_codes([verdict.item for verdict in verdicts]), _subject_codes(verdicts),
        np.array(response, dtype=np.int64), np.array(vote, dtype=np.float64), _label_codes(rater),
    )  # fmt: skip


def _subject_codes(verdicts: Sequence[Verdict]) -> Ints:
    codes: dict[ResponseSetKey, int] = {}
    return np.array([codes.setdefault(response_set_key(verdict), len(codes)) for verdict in verdicts], dtype=np.int64)


def _vote_on(vote: Verdict, verdict: Verdict) -> float:
    marks = dict(zip(vote.shown_responses, vote.marks or (), strict=True))
    first, *other_marks = (marks[response_key] for response_key in verdict.shown_responses)
    return first if not other_marks else float(np.sign(first - other_marks[0]))


def score_rows(comparison: PeopleComparison, judge: str) -> Iterator[tuple[str, Rows]]:
    """Yield per ballot the responses that a judge scored, each with its mean score and people's votes."""
    votes = _votes_by_response_set(comparison, 1)
    verdicts_by_ballot: dict[str, dict[ResponseSetKey, list[Verdict]]] = {}
    for verdict in comparison.record:
        if verdict.judge == judge and verdict.marks is not None and response_set_key(verdict) in votes:
            verdicts_by_ballot.setdefault(verdict.ballot, {}).setdefault(response_set_key(verdict), []).append(verdict)
    for ballot, places in sorted(verdicts_by_ballot.items()):
        verdicts = [[(verdict.marks or (0.0,))[0] for verdict in set_verdicts] for set_verdicts in places.values()]
        yield ballot, _collect_rows([set_verdicts[0] for set_verdicts in places.values()], verdicts, votes)


def pair_rows(comparison: PeopleComparison, judge: str) -> Rows | None:
    """Return one row per pair and order, with its trials and people's votes, or None if there are none."""
    votes = _votes_by_response_set(comparison, 2)
    trials: dict[tuple[object, ...], list[Verdict]] = {}
    for verdict in comparison.record:
        is_pair = verdict.judge == judge and verdict.marks is not None and len(verdict.shown_responses) == 2
        if is_pair and response_set_key(verdict) in votes:
            trials.setdefault((verdict.item, verdict.ballot, *verdict.shown_responses), []).append(verdict)
    leads = [
        [float(np.sign(one.marks[0] - one.marks[1])) for one in verdicts if one.marks is not None]
        for verdicts in trials.values()
    ]
    return _collect_rows([verdicts[0] for verdicts in trials.values()], leads, votes) if trials else None


def _effect_finding(
    judge: str, bias_and_metric: tuple[str, str], effect: Effect, opening: str, bias_notes: tuple[str, str]
) -> Finding:
    one_vote, value = effect.way == BOUNDS, effect.estimate.value
    why = Note("bias.shift-by-scale") if bias_and_metric[0] == "high score" else ""
    return Finding(
        judge, *bias_and_metric, effect.estimate, None, opening, effect.p, value, *bias_notes, one_vote, 0.0, why
    )


def _metric_label(name: str, ballot: str) -> str:
    if not ballot:
        return name
    metric = name if isinstance(name, Note) else word_note(name)
    return Note("probes.figure-on", figure=metric, ballot=ballot)


def score_findings(comparison: PeopleComparison, judge: str, own_contestants: Collection[str]) -> Iterator[Finding]:
    """Yield findings on length, own family, leniency and use of the scale, for each ballot."""
    by_ballot = list(score_rows(comparison, judge))
    for ballot, rows in by_ballot:
        on = ballot if len(by_ballot) > 1 else ""
        yield from _ballot_findings(
            comparison.record,
            judge,
            rows,
            item_clustered_means_and_shares.scale_of(ballot),
            own_contestants=set(own_contestants),
            on=on,
        )


def _ballot_findings(
    record: Record, judge: str, rows: Rows, scale: Scale | None, *, own_contestants: Collection[str], on: str
) -> Iterator[Finding]:
    """`on` is the name of the ballot if there are several."""
    words = _word_counts(record, rows)
    is_own = np.array([float(verdict.contestants[0] in own_contestants) for verdict in rows.verdicts])
    traits: dict[str, Floats] = {}
    if words is not None and np.ptp(words) > 0:
        traits["words"] = np.log2(words)
    if np.ptp(is_own) > 0:
        traits["own"] = is_own
    # A mean over trials need not be a mark of the scale. In that case marks are treated as continuous.
    integer_scale = scale if float(np.abs(rows.marks - np.rint(rows.marks)).max()) == 0 else None
    # If the fit fails (few items, collinear traits), report the metrics without a fit and why no bias is claimed.
    by_trait, why = _fit_effects(
        lambda: estimate_effects(rows.marks, rows.votes(lenient=True), traits, rows.item, scale=integer_scale)
    )
    if words is not None:
        yield from _length_correlation_findings(judge, rows, words, on)
    if "words" in by_trait:
        opening = Note("probes.twice", value=by_trait["words"].estimate.value)
        bias_notes = (BIAS_NOTES["long-gain"], BIAS_NOTES["long-lose"])
        yield _effect_finding(
            judge, ("length", _metric_label("marks for twice the words", on)), by_trait["words"], opening, bias_notes
        )
    if "own" in by_trait:
        opening = Note("probes.own-scores", value=by_trait["own"].estimate.value)
        bias_notes = (BIAS_NOTES["own"], BIAS_NOTES["hard-on-own"])
        yield _effect_finding(
            judge, ("ego", _metric_label("extra marks for its own", on)), by_trait["own"], opening, bias_notes
        )
    if "own" in traits:
        yield from _own_above(judge, rows, is_own, why, on)
    yield from _leniency_findings(judge, rows, by_trait, why, on=on, scale_ends=scale)
    yield from _entropy_findings(judge, rows, on)


def _fit_effects(fit: Callable[[], Mapping[str, Effect]]) -> tuple[Mapping[str, Effect], str]:
    try:
        return fit(), ""
    except Undefined as reason:
        return {}, error_sentence(reason)
    except np.linalg.LinAlgError:
        return {}, Note("undefined.noisy-singular")


def _unclaimed_note(opening: str, why: str) -> str:
    return Note("probes.unclaimed", opening=opening, why=why)


def _own_above(judge: str, rows: Rows, is_own: Floats, why: str, on: str) -> Iterator[Finding]:
    """Yield the paper's ego metric: how much further above people its marks for its own family are than for others."""
    try:
        value = bootstrap(_own_less_others, rows.marks - rows.people(), is_own, cluster=rows.item)
    except Undefined:
        return
    opening = Note("probes.own-above", value=value.value)
    reason = why or Note("probes.own-above.why")
    yield Finding(judge, "ego", _metric_label("own above people's", on), value, None, _unclaimed_note(opening, reason))


def _own_less_others(weights: Floats, gaps: Floats, is_own: Floats) -> Floats:
    """Return the mean gap of the own family minus that of others, per row of weights; nan if one has no row.

    >>> _own_less_others(np.ones((1, 4)), np.array([1.0, 2.0, 0.0, 1.0]), np.array([1.0, 1.0, 0.0, 0.0]))
    array([1.])
    """
    with np.errstate(invalid="ignore"):
        less: Floats = weights @ (gaps * is_own) / (weights @ is_own) - weights @ (gaps * (1 - is_own)) / (
            weights @ (1 - is_own)
        )
    return less


def _word_counts(record: Record, rows: Rows, place: int = 0) -> Floats | None:
    responses = [record.responses.get((verdict.item, *verdict.shown_responses[place])) for verdict in rows.verdicts]
    texts = [None if response is None or not response.text else response.text for response in responses]
    if any(text is None for text in texts):
        return None
    return np.array([float(length_of(text)) for text in texts if text is not None])


def _length_correlation_findings(judge: str, rows: Rows, words: Floats, on: str) -> Iterator[Finding]:
    """No bias is claimed, because noise lowers each correlation."""
    try:
        ours = agree.pearson_correlation(words, rows.marks, cluster=rows.item)
        theirs = agree.pearson_correlation(words[rows.response], rows.vote, cluster=rows.vote_item())
    except Undefined:
        return
    says = Note("probes.length", ours=ours.value, theirs=theirs.value)
    yield Finding(judge, "length", _metric_label("correlation with words", on), ours, theirs, says)


def _leniency_findings(
    judge: str, rows: Rows, by_trait: Mapping[str, Effect], why: str, *, on: str, scale_ends: Scale | None
) -> Iterator[Finding]:
    shift = by_trait.get("shift")
    if shift is not None:
        shift = replace(shift, estimate=_within_scale(shift.estimate, scale_ends))
    mark_shift = _plain_shift(rows, scale_ends) if shift is None else shift.estimate
    opening = Note("probes.shift", value=mark_shift.value)
    name = _metric_label("mean shift", on)
    if shift is None:
        yield Finding(judge, "high score", name, mark_shift, None, _unclaimed_note(opening, why))
    else:
        yield _effect_finding(
            judge, ("high score", name), shift, opening, (BIAS_NOTES["lenient"], BIAS_NOTES["strict"])
        )
    top = np.unique(rows.vote)[-2:]
    gap, ours, theirs = _compare_shares(rows, np.isin(rows.single_marks, top), np.isin(rows.vote, top))
    top_labels = [f"{mark:g}" for mark in top]
    names = top_labels[0] if len(top_labels) == 1 else Note("probes.two", a=top_labels[0], b=top_labels[1])
    opening = Note("probes.top", marks=names, ours=format_percent(ours), theirs=format_percent(theirs))
    metric = _metric_label(Note("probes.share-of", marks=names), on)
    if shift is None:
        yield Finding(judge, "high score", metric, ours, theirs, _unclaimed_note(opening, why))
        return
    # Noise alone also fills the top marks. It is a bias only if the judge is lenient (or strict) as well.
    has_same_sign = (gap.value > 0) == (mark_shift.value > 0)
    p = max(gap.p or 0.0, shift.p) if has_same_sign else 1.0
    yield Finding(
        judge, "high score", metric, ours, theirs, opening, p, gap.value, BIAS_NOTES["crowds-top"],
        BIAS_NOTES["spares-top"], shift.way == BOUNDS, unclaimed=Note("bias.top-by-scale"),
    )  # fmt: skip
    scale = by_trait["scale"]
    yield Finding(judge, "scale", _metric_label("scale", on), scale.estimate, None, _scale_says(scale))


def _plain_shift(rows: Rows, scale: Scale | None) -> Estimate:
    """Return the mean of the judge's marks minus people's mean vote on the same answers."""
    within = item_clustered_means_and_shares.difference_scale(scale)
    return item_clustered_means_and_shares.difference_estimate(rows.marks - rows.people(), rows.item, within)


def _within_scale(shift: Estimate, scale: Scale | None) -> Estimate:
    """Cut the interval of a difference of marks at what the scale allows."""
    within = item_clustered_means_and_shares.difference_scale(scale)
    if within is None:
        return shift
    return replace(shift, low=max(shift.low, within[0]), high=min(shift.high, within[1]))


def _scale_says(scale: Effect) -> str:
    if scale.other_bound is None:
        return Note("probes.scale", value=scale.estimate.value)
    return Note("probes.scale-bounds", value=scale.estimate.value, other=scale.other_bound.value)


def _compare_shares(
    rows: Rows, ours: npt.NDArray[np.bool_], theirs: npt.NDArray[np.bool_]
) -> tuple[Estimate, Estimate, Estimate]:
    """Return the difference of two shares on the same items, and both shares. Each response or pair weighs the same.

    n is the number of the judge's verdicts, and of people's votes.
    """
    owner, item = rows.subject, _item_of_subject(rows)
    judge_shares = _share_of_each(ours, owner[rows.verdict_row], len(item))
    people_shares = _share_of_each(theirs, owner[rows.response], len(item))
    return (
        item_clustered_means_and_shares.difference_estimate(judge_shares - people_shares, item, (-1.0, 1.0)),
        replace(item_clustered_means_and_shares.share_estimate(judge_shares, item), n=len(rows.verdict_row)),
        replace(item_clustered_means_and_shares.share_estimate(people_shares, item), n=int(_is_first(rows).sum())),
    )


def _is_first(rows: Rows) -> npt.NDArray[np.bool_]:
    """Return a mask of votes that counts each once. A vote on a pair is there once for each order of the judge."""
    first = np.unique(rows.subject, return_index=True)[1]
    return np.isin(rows.response, first)


def _item_of_subject(rows: Rows) -> Ints:
    item = np.zeros(int(rows.subject.max()) + 1, dtype=np.int64)
    item[rows.subject] = rows.item
    return item


def _share_of_each(is_hit: npt.NDArray[np.bool_], owner: Ints, size: int) -> Floats:
    shares = np.bincount(owner, is_hit.astype(np.float64), size) / np.maximum(np.bincount(owner, minlength=size), 1)
    return shares.astype(np.float64)


def _entropy_findings(judge: str, rows: Rows, on: str) -> Iterator[Finding]:
    try:
        ours = bootstrap(mark_entropy, rows.single_marks, cluster=rows.item[rows.verdict_row], within=FROM_ZERO)
        theirs = bootstrap(mark_entropy, rows.vote, cluster=rows.vote_item(), within=FROM_ZERO)
    except Undefined:
        return
    # A judge that always gives the same mark has no interval, because no item differs.
    fewer = not theirs.why and ours.why in {"", NO_SPREAD} and ours.high < theirs.low
    finding_note = Note("bias.fewer-marks") if fewer else Note("bias.no-fewer-marks")
    says = Note("probes.entropy", ours=ours.value, theirs=theirs.value, finding=finding_note)
    yield Finding(judge, "scale", _metric_label("entropy in bits", on), ours, theirs, says)


def mark_entropy(weights: Floats, values: Floats) -> Floats:
    """Return the entropy of the marks in bits, per row of weights.

    >>> mark_entropy(np.ones((1, 4)), np.array([1.0, 2.0, 3.0, 4.0]))
    array([2.])
    """
    sums = np.column_stack([weights[:, values == value].sum(axis=1) for value in np.unique(values)])
    shares = sums / sums.sum(axis=1, keepdims=True)
    logs = np.log2(shares, out=np.zeros_like(shares), where=shares > 0)
    bits: Floats = np.abs((shares * logs).sum(axis=1))
    return bits


def pair_findings(
    comparison: PeopleComparison, judge: str, own_contestants: Collection[str], *, with_position: bool = True
) -> Iterator[Finding]:
    """Yield findings on position, length, own family and ties in pairs."""
    rows = pair_rows(comparison, judge)
    if rows is None:
        return
    sides = [[name in own_contestants for name in verdict.contestants] for verdict in rows.verdicts]
    # 1 if only the first response shown is of the judge's own family, -1 if only the second is.
    lead = np.array([float(first) - float(second) for first, second in sides])
    traits: dict[str, Floats] = {"own": lead} if np.ptp(lead) > 0 else {}
    votes = rows.votes(lenient=False)
    by_trait, why = _fit_effects(
        lambda: estimate_effects(rows.marks, votes, traits | _length_trait(comparison.record, rows), rows.item)
    )
    if not by_trait:
        # Retry without length: if it is collinear with quality, the position effect can still be estimated.
        by_trait, why = _fit_effects(lambda: estimate_effects(rows.marks, votes, traits, rows.item))
    if with_position:
        yield from _first_shown(judge, rows, by_trait.get("constant"), why)
    if "words" in by_trait:
        yield _long_wins(judge, by_trait["words"])
    gap, ours, theirs = _compare_shares(rows, rows.single_marks == 0, rows.vote == 0)
    opening = Note("probes.ties", ours=format_percent(ours), theirs=format_percent(theirs))
    yield Finding(judge, "ties", "ties", ours, theirs, opening, gap.p, gap.value, BIAS_NOTES["more-ties"],
                  BIAS_NOTES["fewer-ties"])  # fmt: skip
    if "own" in traits:
        yield _own_wins(judge, rows, lead, by_trait.get("own"), why)


def _length_trait(record: Record, rows: Rows) -> dict[str, Floats]:
    """Return the log2 ratio of the lengths of the first and the second response, if it varies."""
    first, second = (_word_counts(record, rows, place) for place in (0, 1))
    if first is None or second is None:
        return {}
    doublings = np.log2(first / second)
    return {"words": doublings} if np.ptp(doublings) > 0 else {}


def _long_wins(judge: str, effect: Effect) -> Finding:
    """Return the effect of length on the share of pairs won: half of that on the lead, which is from -1 to 1."""
    lead_estimate = effect.estimate
    win_effect = replace(
        effect,
        estimate=replace(
            lead_estimate, value=lead_estimate.value / 2, low=lead_estimate.low / 2, high=lead_estimate.high / 2
        ),
    )
    opening = Note("probes.twice-pairs", points=100 * win_effect.estimate.value)
    return _effect_finding(judge, ("length", "pairs won for twice the words"), win_effect, opening,
                    (BIAS_NOTES["long-gain"], BIAS_NOTES["long-lose"]))  # fmt: skip


def _first_shown(judge: str, rows: Rows, effect: Effect | None, why: str) -> Iterator[Finding]:
    # Called for pairs judged in one order only, so a pair is one row, and each vote counts once.
    is_decided, is_decided_vote = rows.single_marks != 0, rows.vote != 0
    if not is_decided.any() or not is_decided_vote.any():
        return
    ours = item_clustered_means_and_shares.share_estimate(
        (rows.single_marks[is_decided] > 0).astype(np.float64), rows.item[rows.verdict_row[is_decided]]
    )
    theirs = item_clustered_means_and_shares.share_estimate(
        (rows.vote[is_decided_vote] > 0).astype(np.float64), rows.vote_item()[is_decided_vote]
    )
    opening = Note("probes.position", ours=format_percent(ours), theirs=format_percent(theirs))
    bias_notes = (BIAS_NOTES["first-place"], BIAS_NOTES["second-place"])
    bias_and_metric = ("position", "first shown wins")
    yield _share_finding(
        judge, bias_and_metric, opening, shares=(ours, theirs), bias_notes=bias_notes, effect=effect, why=why
    )


def _share_finding(
    judge: str,
    bias_and_metric: tuple[str, str],
    opening: str,
    *,
    shares: tuple[Estimate, Estimate],
    bias_notes: tuple[str, str],
    effect: Effect | None,
    why: str,
) -> Finding:
    """A bias is claimed only from the effect of the fit, if there is one."""
    if effect is None:
        return Finding(judge, *bias_and_metric, *shares, _unclaimed_note(opening, why))
    value, one_vote = effect.estimate.value, effect.way == BOUNDS
    return Finding(judge, *bias_and_metric, *shares, opening, effect.p, value, *bias_notes, one_vote)


def _own_wins(judge: str, rows: Rows, lead: Floats, effect: Effect | None, why: str) -> Finding:
    subjects, item = np.unique(rows.subject[lead != 0]), _item_of_subject(rows)

    def own_share(sign: Floats, row: Ints, n: int) -> Estimate:
        is_own = lead[row] != 0
        shares = _share_of_each((sign == lead[row])[is_own], rows.subject[row[is_own]], len(item))[subjects]
        return replace(item_clustered_means_and_shares.share_estimate(shares, item[subjects]), n=n)

    ours = own_share(rows.single_marks, rows.verdict_row, int((lead[rows.verdict_row] != 0).sum()))
    theirs = own_share(rows.vote, rows.response, int((_is_first(rows) & (lead[rows.response] != 0)).sum()))
    opening = Note("probes.own-pairs", ours=format_percent(ours), theirs=format_percent(theirs))
    bias_notes = (BIAS_NOTES["own"], BIAS_NOTES["hard-on-own"])
    bias_and_metric = ("ego", "own answers preferred")
    return _share_finding(
        judge, bias_and_metric, opening, shares=(ours, theirs), bias_notes=bias_notes, effect=effect, why=why
    )
