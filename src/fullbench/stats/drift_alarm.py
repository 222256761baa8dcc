"""Sequential alarm that detects whether a judge has changed since its baseline.

Canary cases are judged again and again. Each call agrees with the baseline verdict or differs from it. An unchanged
judge differs on each case with a probability of that case, drawn from a beta distribution whose mean and spread are on
a grid. A changed judge is one of several hypotheses. Either it turned on a share of the cases, where it now differs as
often as it agreed before; or it differs on all cases more often, by some percentage points. The change began with the
first call after the baseline, or with a later round of calls.

The alarm rings once the calls are `ALARM_RATIO` times as likely under the mixture of these hypotheses as under the
best-fitting unchanged judge. That judge is fitted to all calls, baseline included. The method follows universal
inference (Wasserman, Ramdas and Balakrishnan, PNAS 117, 2020, doi:10.1073/pnas.1922664117). The hypotheses are fitted
to the baseline, so 1 in `ALARM_RATIO` is no strict bound on false alarms. docs/how-to/audit.md has measured rates.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from fullbench.stats.array_checks import Bools, Floats, Ints

ALARM_RATIO = 100.0
"""Likelihood ratio of change to no change at which the alarm rings."""
HORIZON = 33
"""Rounds over which the belief in later changes is spread: 2,000 calls of 60 cases."""
FIRST_CALL_BELIEF = 0.4
"""Prior chance that a change began with the first call; changes at later rounds share the rest."""
TURNED_SHARES = np.array([0.015, 0.03, 0.06, 0.12, 0.25])
"""Shares of cases on which a changed judge permanently gives another verdict."""
RAISED_POINTS = np.array([0.03, 0.06, 0.12, 0.25])
"""Rise of the chance to differ on every case."""
_MEANS = np.array([0.001, 0.003, 0.006, 0.01, 0.02, 0.03, 0.05, 0.08, 0.12, 0.2])
_SPREADS = np.array([0.3, 1.0, 4.0, 15.0, 60.0, 400.0])
_ALPHA: Floats = (_MEANS[:, None] * _SPREADS).ravel()
_BETA: Floats = ((1 - _MEANS)[:, None] * _SPREADS).ravel()
"""Parameters of the beta distributions of unchanged judges."""
# Upper limit of a raised chance: the logarithm of its complement must stay finite.
_SUREST = 0.97


def alarm_call(baseline: Mapping[str, Sequence[bool]], later: Sequence[tuple[str, bool]]) -> int:
    """Return the number of the later call (from 1) at which the alarm rings, or 0 if it does not ring.

    `baseline` has, for each case, whether each repeated verdict differed from the first one. `later` has the case of
    each later call, in order, and whether it differed.

    >>> steady = {str(case): [False] * 9 for case in range(20)}
    >>> alarm_call(steady, [(str(call % 20), call % 20 < 2) for call in range(100)])
    2
    """
    if not later or not any(len(differences) for differences in baseline.values()):
        return 0
    places = {case: place for place, case in enumerate(baseline)}
    before = [(float(sum(differences)), float(len(differences))) for differences in baseline.values()]
    return int(
        alarm_calls(
            np.array([[difference for difference, _ in before]]),
            np.array([[judged_count for _, judged_count in before]]),
            np.array([[places[case] for case, _ in later]]),
            np.array([[difference for _, difference in later]]),
        )[0]
    )


def alarm_calls(difference_counts: Floats, judged_counts: Floats, case: Ints, differs: Bools) -> Ints:
    """Return the alarm call of many judges, one per row, from baseline counts per case and the later calls."""
    watch = _Watch(difference_counts, judged_counts)
    alarm_at = np.zeros(len(difference_counts), dtype=np.int64)
    for call in range(case.shape[1]):
        if call % difference_counts.shape[1] == 0:
            watch.begin()
        evidence = watch.add_calls(case[:, call], differs[:, call])
        alarm_at[(alarm_at == 0) & (evidence >= ALARM_RATIO)] = call + 1
        if alarm_at.all():
            break
    return alarm_at


class _Watch:
    """Running likelihoods of judges, one per row; hypotheses have an axis for the round of the change."""

    def __init__(self, difference_counts: Floats, judged_counts: Floats) -> None:
        from scipy.special import betaln

        self.differed, self.judged = difference_counts.copy(), judged_counts.copy()
        self.rows = np.arange(len(difference_counts))
        self.unchanged = np.stack(
            [
                (betaln(alpha + difference_counts, beta + judged_counts - difference_counts) - betaln(alpha, beta)).sum(
                    axis=1
                )
                for alpha, beta in zip(_ALPHA, _BETA, strict=True)
            ],
            axis=1,
        )
        count, cases = difference_counts.shape
        self.weights: list[float] = []
        self.best_before = np.zeros((0, count))
        self.fitted = np.zeros((2, 0, count))
        self.known = np.zeros((2, 0, count, cases))
        self.since = np.zeros((2, 0, count, cases))
        self.same = np.zeros((0, count, cases))
        self.other = np.zeros((0, count, cases))
        self.turned = np.zeros((0, count, len(TURNED_SHARES)))
        self.raised = np.zeros((0, count, len(RAISED_POINTS)))

    def begin(self) -> None:
        """Start hypotheses of a change at the next call. All calls so far become their baseline."""
        self.weights.append((1 - FIRST_CALL_BELIEF) / HORIZON if self.weights else FIRST_CALL_BELIEF)
        best = self.unchanged.argmax(axis=1)
        self.best_before = np.concatenate([self.best_before, self.unchanged.max(axis=1)[None]])
        self.fitted = np.concatenate([self.fitted, np.stack([_ALPHA[best], _BETA[best]])[:, None]], axis=1)
        now = np.stack([self.differed, self.judged])[:, None]
        self.known = np.concatenate([self.known, now], axis=1)
        self.since = np.concatenate([self.since, np.zeros_like(now)], axis=1)
        for name in ("same", "other", "turned", "raised"):
            stories = getattr(self, name)
            setattr(self, name, np.concatenate([stories, np.zeros((1, *stories.shape[1:]))]))

    def add_calls(self, case: Ints, differs: Bools) -> Floats:
        rows, place = self.rows, (slice(None), self.rows, case)
        self.unchanged += _log_chance(
            (_ALPHA + self.differed[rows, case, None]) / (_ALPHA + _BETA + self.judged[rows, case, None]),
            differs[:, None],
        )
        alpha, beta = self.fitted
        (baseline_differences, baseline_judged), (since, since_judged) = (
            (both[0][place], both[1][place]) for both in (self.known, self.since)
        )
        total = alpha + beta + baseline_judged + since_judged
        same_score, turned_score = self.same[place], self.other[place]
        before = _mixture_likelihood(same_score, turned_score)
        same_score = same_score + _log_chance((alpha + baseline_differences + since) / total, differs)
        # On a turned case the roles are swapped: it agrees now as rarely as it differed before.
        turned_score = turned_score + _log_chance(
            1 - (alpha + baseline_differences + since_judged - since) / total, differs
        )
        self.same[place], self.other[place] = same_score, turned_score
        self.turned += _mixture_likelihood(same_score, turned_score) - before
        chance = (alpha + baseline_differences) / (alpha + beta + baseline_judged)
        self.raised += _log_chance(np.minimum(_SUREST, chance[..., None] + RAISED_POINTS), differs[:, None])
        self.since[0][place] += differs
        self.since[1][place] += 1
        self.differed[rows, case] += differs
        self.judged[rows, case] += 1
        unchanged_score = (self.unchanged.max(axis=1) - self.best_before)[..., None]
        # exp overflows above about 709.
        likelier = [
            np.exp(np.minimum(700, story - unchanged_score)).mean(axis=2) for story in (self.turned, self.raised)
        ]
        return np.asarray(np.array(self.weights) @ (sum(likelier) / len(likelier)))


def _mixture_likelihood(same_score: Floats, turned_score: Floats) -> Floats:
    return np.asarray(
        np.logaddexp(np.log1p(-TURNED_SHARES) + same_score[..., None], np.log(TURNED_SHARES) + turned_score[..., None])
    )


def _log_chance(differing: Floats, differs: Bools) -> Floats:
    return np.asarray(np.log(np.where(differs, differing, 1 - differing)))
