"""The word of trust of judges whose quality is known, one rule at a time."""

from __future__ import annotations

from importlib.metadata import entry_points

from fullbench.analysis.summary.judge_trust import Trust, is_baseline, judge_trusts
from fullbench.columns.column_builder import columns_from_verdicts
from tests.analysis.summary.made_ledgers import Made, MadeJudge

JUDGES = {
    "sharp": MadeJudge(noise=0.1),
    "always-first": MadeJudge(is_constant=True),
    "first-lover": MadeJudge(noise=0.1, first=1.2),
    "half-mute": MadeJudge(noise=0.1, refuses=0.5),
    "shy": MadeJudge(noise=0.1, refuses=0.08),
    "noisy": MadeJudge(noise=2.0),
}


def trusts_of(made: Made) -> dict[str, Trust]:
    record = made.record()
    return {trust.judge: trust for trust in judge_trusts(columns_from_verdicts(record), record)}


def test_each_rule_gives_its_word_and_reason() -> None:
    trusts = trusts_of(Made(JUDGES))
    assert {name: trust.word for name, trust in trusts.items()} == {
        "sharp": "reliable",
        "always-first": "not usable",
        "first-lover": "use with care",
        "half-mute": "not usable",
        "shy": "use with care",
        "noisy": "use with care",
    }
    assert trusts["sharp"].why == ""
    assert trusts["always-first"].why == "no better than a fixed verdict"
    assert "prefers the first shown" in trusts["first-lover"].why
    assert trusts["half-mute"].why.endswith("% unusable verdicts")
    assert trusts["noisy"].why.startswith("agrees less than people")
    gap = trusts["sharp"].gap
    assert gap is not None
    assert gap.low >= -0.05


def test_fewer_than_thirty_voted_items_are_unknown() -> None:
    assert {trust.word for trust in trusts_of(Made({"sharp": JUDGES["sharp"]}, voted=29)).values()} == {"unknown"}
    assert {trust.word for trust in trusts_of(Made({"sharp": JUDGES["sharp"]}, voted=30)).values()} == {"reliable"}
    without = trusts_of(Made({"sharp": JUDGES["sharp"], "first-lover": JUDGES["first-lover"]}, voted=0))
    assert {name: trust.why for name, trust in without.items()} == {
        "sharp": "no votes by people",
        "first-lover": "no votes by people; prefers the first shown",
    }


def test_single_votes_never_make_a_judge_reliable() -> None:
    (trust,) = trusts_of(Made({"sharp": JUDGES["sharp"]}, raters=1)).values()
    assert trust.word == "use with care"
    assert "one vote each" in trust.why


def test_a_baseline_is_never_recommended_however_well_it_agrees() -> None:
    trusts = trusts_of(Made({"sharp": JUDGES["sharp"], "length": JUDGES["sharp"]}))
    assert {name: trust.word for name, trust in trusts.items()} == {"sharp": "reliable", "length": "baseline"}
    assert trusts["length"].agreement is not None
    assert trusts["length"].agreement.value > 0.9


def test_metrics_of_the_package_are_baselines() -> None:
    names = [entry.name for entry in entry_points(group="fullbench.metrics")]
    assert names
    assert all(map(is_baseline, names))
