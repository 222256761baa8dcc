"""What a learned rubric gains, computed a second time from the files alone: weights by scikit-learn, correlations by
scipy, intervals by hand; and labels that are held out teach nothing."""

from __future__ import annotations

import random
import re
from collections import defaultdict

import numpy as np
import pytest
from scipy import stats
from sklearn.linear_model import LinearRegression

from fullbench.core.rubric import Criterion
from fullbench.studies.rubrics.learned_rubric_weights import MarkedResponses, is_held_out, learn_weights
from tests.support.commands import cli, write_rows
from tests.support.scripted_server import ScriptedServer

NAMES, RATERS = ("alpha", "beta", "伽马"), ("r1", "r2", "博")
WORDS = {"sharp": "It is sharp.", "圆": "它是圆的。", "long": "It is long."}
WEIGHTS = {"sharp": 1.0, "圆": 2.0, "long": 1.0}
RUBRIC = "".join(
    f'[[criteria]]\nname = "{name}"\nasks = "{words}"\nballot = "score:1-5"\nweight = {WEIGHTS[name]}\n'
    for name, words in WORDS.items()
)
ITEMS, SHARE, SEED = 40, 0.4, 3


def given(number, name):
    """The marks that the judge gives an answer: by each criterion, and overall."""
    rng = random.Random(f"{number} {name}")
    marks = {word: rng.randint(1, 5) for word in WORDS}
    return marks, min(5, max(1, round(0.5 * marks["sharp"] + rng.uniform(0, 3))))


def judge(asked):
    number, name = re.search(r"answer-(\d+)-(\w+)", asked.words).groups()
    marks, overall = given(int(number), name)
    points = re.findall(r"^POINT (\w{4}) \(.*?\): (.+)$", asked.words, re.MULTILINE)
    by_words = {words: marks[word] for word, words in WORDS.items()}
    return "\n".join(f"POINT {code}: {by_words[words]}" for code, words in points) or f"[[{overall}]]"


def labels(*, turned=()):
    """People like what is sharp, and what is round a little; on `turned` items they say the opposite."""
    rows = []
    for number in range(ITEMS):
        for name in NAMES:
            marks, _ = given(number, name)
            for rater in RATERS:
                taste = random.Random(f"{number}{name}{rater}").gauss(0.5)
                said = min(5, max(1, round(0.7 * marks["sharp"] + 0.2 * marks["圆"] + taste)))
                said = 6 - said if f"题{number}" in turned else said
                rows.append({"item": f"题{number}", "contestants": [name], "ballot": "score:1-5", "rater": rater,
                             "marks": [said]})  # fmt: skip
    return rows


def learned(folder, server, rows):
    folder.mkdir()
    items = [{"id": f"题{number}", "question": "What is there?"} for number in range(ITEMS)]
    answers = [{"item": f"题{number}", "contestant": name, "text": f"answer-{number}-{name}"}
               for number in range(ITEMS) for name in NAMES]  # fmt: skip
    for name, entries in (("items", items), ("answers", answers), ("labels", rows)):
        write_rows(folder / f"{name}.jsonl", entries)
    (folder / "rubric.toml").write_text(RUBRIC, encoding="utf-8")
    done = cli("rubric", "learn", "--items", folder / "items.jsonl", "--responses", folder / "answers.jsonl",
               "--labels", folder / "labels.jsonl", "--judge", f"vllm:m@{server.url}?mode=direct",
               "--rubric", folder / "rubric.toml", "--out", folder / "learned.toml", "--held-out", SHARE,
               "--seed", SEED, "--ledger", folder / "l.ledger", "--json", "--quiet")  # fmt: skip
    weights, tested = (done.tables[name]["rows"] for name in ("rubric weights", "rubric test"))
    return {row[0]: row[2] for row in weights}, {row[0]: row[1:] for row in tested}


@pytest.fixture(scope="module")
def server():
    with ScriptedServer({"m": judge}) as running:
        yield running


def by_hand(rows):
    """Weights from the items to learn from; on those held out, each total, the overall mark, people's mean, items."""
    votes = defaultdict(list)
    for row in rows:
        votes[row["item"], row["contestants"][0]].append(row["marks"][0])
    places = list(votes)
    people = np.array([np.mean(votes[place]) for place in places])
    marks = [given(int(item.removeprefix("题")), name) for item, name in places]
    shares = np.array([[(by[word] - 1) / 4 for word in WORDS] for by, _ in marks])
    held = np.array([is_held_out(item, SHARE, SEED) for item, _ in places])
    fit = LinearRegression(positive=True).fit(shares[~held], people[~held])
    weights = fit.coef_ / fit.coef_.sum()
    before = np.array(list(WEIGHTS.values()))
    totals = {
        "the same judge, one overall mark": np.array([float(overall) for _, overall in marks])[held],
        "the rubric with its weights": (shares @ before)[held],
        "the rubric with learned weights": (shares @ weights)[held],
    }
    return weights, totals, people[held], np.array([item for item, _ in places])[held]


def test_weights_correlations_gains_and_intervals_are_those_of_other_libraries(tmp_path, server):
    rows = labels()
    weights, tested = learned(tmp_path / "first", server, rows)
    expected, totals, people, items = by_hand(rows)
    assert list(weights) == list(WORDS)
    np.testing.assert_allclose(list(weights.values()), expected, atol=1e-9)
    overall = totals["the same judge, one overall mark"]
    assert list(tested) == list(totals)
    units = sorted(set(items))
    for name, total in totals.items():
        figure, gain = tested[name]
        assert figure["value"] == pytest.approx(stats.pearsonr(total, people).statistic, abs=1e-9)
        if total is overall:
            assert gain is None
            continue

        def gained(kept, total=total):
            return stats.pearsonr(total[kept], people[kept])[0] - stats.pearsonr(overall[kept], people[kept])[0]

        value = gained(np.ones(len(items), dtype=bool))
        moves = np.array([gained(items != unit) - value for unit in units])
        spread = np.sqrt((len(units) - 1) / len(units) * (moves**2).sum())
        reach = stats.t.ppf(0.975, len(units) - 1) * spread
        assert (gain["value"], gain["units"]) == (pytest.approx(value, abs=1e-9), len(units))
        assert (gain["low"], gain["high"]) == (pytest.approx(value - reach), pytest.approx(value + reach))
    assert tested["the rubric with learned weights"][1]["low"] > 0, "made so that there is something to gain"


def test_labels_held_out_teach_nothing_and_labels_to_learn_from_do(tmp_path, server):
    held = {f"题{number}" for number in range(ITEMS) if is_held_out(f"题{number}", SHARE, SEED)}
    weights, tested = learned(tmp_path / "plain", server, labels())
    turned, otherwise = learned(tmp_path / "turned", server, labels(turned=held))
    assert turned == weights, "what people said of items held out changes no weight"
    name = "the rubric with learned weights"
    assert otherwise[name][0]["value"] == pytest.approx(-tested[name][0]["value"], abs=1e-9)
    few = {f"题{number}" for number in range(ITEMS) if number % 4 == 0} - held
    assert learned(tmp_path / "taught", server, labels(turned=few))[0] != weights


def test_with_many_items_the_interval_is_that_of_a_bootstrap_over_items_by_numpy():
    rng = np.random.default_rng(8)
    names = np.repeat([f"q{number}" for number in range(420)], 3)
    liking = np.repeat(rng.normal(size=420), 3) * 0.4
    shares = rng.integers(0, 5, (len(names), 3)) / 4
    people = 2 * shares[:, 0] + shares[:, 1] + liking + rng.normal(size=len(names)) * 0.7
    overall = shares[:, 0] + rng.normal(size=len(names)) * 0.5
    criteria = [Criterion(name, words, ballot="score:1-5") for name, words in WORDS.items()]
    done = learn_weights(MarkedResponses(shares, overall, people, list(names), 0), criteria, share=0.5, seed=1)
    held = np.array([is_held_out(name, 0.5, 1) for name in names])
    weights = LinearRegression(positive=True).fit(shares[~held], people[~held]).coef_
    total, overall, people = shares[held] @ weights, overall[held], people[held]
    rows = np.arange(held.sum()).reshape(-1, 3)

    def gained(drawn):
        return np.corrcoef(total[drawn], people[drawn])[0, 1] - np.corrcoef(overall[drawn], people[drawn])[0, 1]

    gains = [gained(rows[rng.integers(0, len(rows), len(rows))].ravel()) for _ in range(4000)]
    low, high = np.quantile(gains, [0.025, 0.975])
    assert done.gain.value == pytest.approx(gained(rows.ravel()), abs=1e-9)
    assert done.gain.units == len(rows)
    np.testing.assert_allclose([done.gain.low, done.gain.high], [low, high], atol=0.1 * (high - low))
