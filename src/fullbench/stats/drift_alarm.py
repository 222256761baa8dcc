"""A sequential alarm: has a judge changed since its baseline?

Canary cases are heard again and again; each call agrees with the ruling of the baseline or differs from it. An
unchanged judge differs from itself on each case with a chance of that case's own, drawn from a beta distribution; its
mean and spread stand on a grid. A changed judge is one of several stories: it turned on a share of the cases, on which
it now differs as often as it agreed before, or it differs everywhere more often by some points; from the first call
after the baseline on, or since a later round of hearings. The alarm rings once the calls are `RINGS` times as likely by
the stories together as by the unchanged judge that fits all calls best, those of the baseline included: in the manner
of universal inference (Wasserman, Ramdas and Balakrishnan, PNAS 117, 2020, doi:10.1073/pnas.1922664117). Since the
stories are fitted to the baseline, 1 in `RINGS` is no strict bound on false alarms; measured ones are in docs/audit.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from fullbench.stats.array_checks import Bools, Floats, Ints

RINGS = 100.0
"""So many times as likely."""
HORIZON = 33
"""Rounds of hearings over which the belief in later changes is spread: 2,000 calls of 60 cases."""
FIRST = 0.4
"""The share of belief that a change was there from the first call on; changes since each later round share the rest."""
TURNED = np.array([0.015, 0.03, 0.06, 0.12, 0.25])
"""Shares of cases on which a changed judge rules otherwise for good."""
RAISED = np.array([0.03, 0.06, 0.12, 0.25])
"""Points by which a changed judge differs more often everywhere."""
_MEANS = np.array([0.001, 0.003, 0.006, 0.01, 0.02, 0.03, 0.05, 0.08, 0.12, 0.2])
_SPREADS = np.array([0.3, 1.0, 4.0, 15.0, 60.0, 400.0])
_ALPHA: Floats = (_MEANS[:, None] * _SPREADS).ravel()
_BETA: Floats = ((1 - _MEANS)[:, None] * _SPREADS).ravel()
"""The unchanged judges that are thought of, as the two numbers of a beta distribution."""
_SUREST = 0.97


def alarm_call(baseline: Mapping[str, Sequence[bool]], later: Sequence[tuple[str, bool]]) -> int:
    """At which later call the alarm rings, counted from 1; 0 where it does not.

    `baseline` says for each case which of its hearings differed from the first ruling; `later` has the case of every
    call since, in order, and whether it differed.

    >>> steady = {str(case): [False] * 9 for case in range(20)}
    >>> alarm_call(steady, [(str(call % 20), call % 20 < 2) for call in range(100)])
    2
    """
    if not later or not any(len(hearings) for hearings in baseline.values()):
        return 0
    places = {case: place for place, case in enumerate(baseline)}
    before = [(float(sum(hearings)), float(len(hearings))) for hearings in baseline.values()]
    return int(
        alarm_calls(
            np.array([[differed for differed, _ in before]]),
            np.array([[heard for _, heard in before]]),
            np.array([[places[case] for case, _ in later]]),
            np.array([[differed for _, differed in later]]),
        )[0]
    )


def alarm_calls(differed: Floats, heard: Floats, case: Ints, differs: Bools) -> Ints:
    """The same for many judges at once, one a row: how often each case differed in the baseline and was heard there,
    and of every later call the case and whether it differed."""
    watch = _Watch(differed, heard)
    rung = np.zeros(len(differed), dtype=np.int64)
    for call in range(case.shape[1]):
        if call % differed.shape[1] == 0:
            watch.begin()
        evidence = watch.hear(case[:, call], differs[:, call])
        rung[(rung == 0) & (evidence >= RINGS)] = call + 1
        if rung.all():
            break
    return rung


class _Watch:
    """What is known of some judges, one a row. Arrays of stories have an axis for the round since which they go."""

    def __init__(self, differed: Floats, heard: Floats) -> None:
        from scipy.special import betaln

        self.differed, self.heard = differed.copy(), heard.copy()
        self.rows = np.arange(len(differed))
        self.unchanged = np.stack(
            [
                (betaln(alpha + differed, beta + heard - differed) - betaln(alpha, beta)).sum(axis=1)
                for alpha, beta in zip(_ALPHA, _BETA, strict=True)
            ],
            axis=1,
        )
        count, cases = differed.shape
        self.weights: list[float] = []
        self.best_before = np.zeros((0, count))
        self.fitted = np.zeros((2, 0, count))
        self.known = np.zeros((2, 0, count, cases))
        self.since = np.zeros((2, 0, count, cases))
        self.same = np.zeros((0, count, cases))
        self.other = np.zeros((0, count, cases))
        self.turned = np.zeros((0, count, len(TURNED)))
        self.raised = np.zeros((0, count, len(RAISED)))

    def begin(self) -> None:
        """Let stories begin with the next call: all that was heard so far is their baseline."""
        self.weights.append((1 - FIRST) / HORIZON if self.weights else FIRST)
        best = self.unchanged.argmax(axis=1)
        self.best_before = np.concatenate([self.best_before, self.unchanged.max(axis=1)[None]])
        self.fitted = np.concatenate([self.fitted, np.stack([_ALPHA[best], _BETA[best]])[:, None]], axis=1)
        now = np.stack([self.differed, self.heard])[:, None]
        self.known = np.concatenate([self.known, now], axis=1)
        self.since = np.concatenate([self.since, np.zeros_like(now)], axis=1)
        for name in ("same", "other", "turned", "raised"):
            stories = getattr(self, name)
            setattr(self, name, np.concatenate([stories, np.zeros((1, *stories.shape[1:]))]))

    def hear(self, case: Ints, differs: Bools) -> Floats:
        """How many times as likely all calls are by the stories, once this one is heard too."""
        rows, place = self.rows, (slice(None), self.rows, case)
        self.unchanged += _log_chance(
            (_ALPHA + self.differed[rows, case, None]) / (_ALPHA + _BETA + self.heard[rows, case, None]),
            differs[:, None],
        )
        alpha, beta = self.fitted
        (known, known_heard), (since, since_heard) = (
            (both[0][place], both[1][place]) for both in (self.known, self.since)
        )
        total = alpha + beta + known_heard + since_heard
        same, other = self.same[place], self.other[place]
        before = _mixed(same, other)
        same = same + _log_chance((alpha + known + since) / total, differs)
        # on a case that it turned on it agrees as seldom as it differed: its agreements are what differed before
        other = other + _log_chance(1 - (alpha + known + since_heard - since) / total, differs)
        self.same[place], self.other[place] = same, other
        self.turned += _mixed(same, other) - before
        chance = (alpha + known) / (alpha + beta + known_heard)
        self.raised += _log_chance(np.minimum(_SUREST, chance[..., None] + RAISED), differs[:, None])
        self.since[0][place] += differs
        self.since[1][place] += 1
        self.differed[rows, case] += differs
        self.heard[rows, case] += 1
        unchanged = (self.unchanged.max(axis=1) - self.best_before)[..., None]
        likelier = [np.exp(np.minimum(700, story - unchanged)).mean(axis=2) for story in (self.turned, self.raised)]
        return np.asarray(np.array(self.weights) @ (sum(likelier) / len(likelier)))


def _mixed(same: Floats, other: Floats) -> Floats:
    """Log likelihood of a case's calls, were it one of the share that turned with that chance."""
    return np.asarray(np.logaddexp(np.log1p(-TURNED) + same[..., None], np.log(TURNED) + other[..., None]))


def _log_chance(differing: Floats, differs: Bools) -> Floats:
    return np.asarray(np.log(np.where(differs, differing, 1 - differing)))
