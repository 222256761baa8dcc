"""Style control from verdicts and texts: intervals contain the planted effects, and ratings at equal style."""

from __future__ import annotations

import json

import numpy as np
import pytest
import statsmodels.api as sm
from typer.testing import CliRunner

from fullbench import Case, Item, Ledger, Response, Verdict, ballot
from fullbench.analysis.boards.leaderboard import Settings, build_boards
from fullbench.analysis.boards.style_control_tables import length_controlled_table, style_tables
from fullbench.cli.all_commands import app
from tests.simulations.records import POINTS, at_least, logistic, names_of, pair_verdicts, record_of, show

WORTH = np.array([0.5, 0.2, -0.2, -0.5])
EFFECTS = {"words": 0.6, "headers": 0.3, "bold": 0.0, "list items": -0.3}
"""Log-odds for one standard deviation of the relative lead."""
_PAIRS = np.array([(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)])


def text(words: int, headers: int, bold: int, bullets: int) -> str:
    """A text whose features are known; marks of a header or a list are no words."""
    lines = ["# title"] * headers + ["- point"] * bullets
    rest = words - headers - bullets - bold
    return "\n".join([*lines, " ".join(["**bold**"] * bold + ["word"] * rest)])


def counts(rng, items: int) -> np.ndarray:
    """Words, headers, bold and list items of each response: contestants that are worse write more."""
    size = len(WORTH)
    words = np.maximum(30, np.rint(100 * 2 ** (rng.normal(0, 0.6, (items, size)) - 0.6 * WORTH)))
    return np.stack([words, *(rng.poisson(1.5 - WORTH, (items, size)) for _ in range(3))], axis=-1).astype(int)


def relative(one: np.ndarray, two: np.ndarray) -> np.ndarray:
    share = np.where(one + two > 0, (one - two) / np.maximum(one + two, 1), 0.0)
    return share / share.std()


def draw(seed: int, items: int):
    """All pairs on each item; the odds depend on worth and on style."""
    rng = np.random.default_rng(seed)
    style = counts(rng, items)
    item = np.repeat(np.arange(items), len(_PAIRS))
    first, second = np.tile(_PAIRS.T, items)
    leads = np.column_stack([relative(style[item, first, part], style[item, second, part]) for part in range(4)])
    won = (rng.random(len(item)) < logistic(WORTH[first] - WORTH[second] + leads @ np.array([*EFFECTS.values()]))) * 1.0
    return style, item, first, second, leads, won


def responses_of(style: np.ndarray) -> list[Response]:
    names = names_of(len(WORTH))
    return [
        Response.say(f"i{place:06d}", names[who], text(*style[place, who]))
        for place in range(len(style)) for who in range(len(names))
    ]  # fmt: skip


def controlled(seed: int, items: int):
    style, item, first, second, *_, won = draw(seed, items)
    record = record_of(pair_verdicts("j", item, first, second, won), responses_of(style))
    (board,) = build_boards(record, Settings(reference="m003"))
    return record, board, *style_tables(record, board)


def covered(runs: int, items: int) -> tuple[float, float]:
    effects, ratings = [], []
    right = dict(zip(names_of(4), 1000 + POINTS * WORTH, strict=True))
    for seed in range(runs):
        _, _, effect_table, rating_table = controlled(seed, items)
        effects += [row[1].low <= EFFECTS[row[0]] <= row[1].high for row in effect_table.rows]
        ratings += [row[1].low <= right[row[0]] <= row[1].high for row in rating_table.rows]
    assert len(effects) == len(ratings) == 4 * runs
    return float(np.mean(effects)), float(np.mean(ratings))


def test_effects_and_ratings_are_those_of_a_logistic_regression_on_features_counted_apart():
    _, item, first, second, leads, won = draw(5, 80)
    _, _, effects, ratings = controlled(5, 80)
    design = np.zeros((len(won), 4))
    design[np.arange(len(won)), first] = 1
    design[np.arange(len(won)), second] = -1
    fit = sm.Logit(won, np.column_stack([design[:, 1:], leads])).fit(
        disp=0, cov_type="cluster", cov_kwds={"groups": item, "use_correction": False}
    )
    assert [row[1].value for row in effects.rows] == pytest.approx(fit.params[3:].tolist(), abs=1e-5)
    assert [(row[1].high - row[1].low) / 2 / 1.990450 * (75 / 80) ** 0.5 for row in effects.rows] == pytest.approx(
        fit.bse[3:].tolist(), rel=1e-3
    )
    strengths = np.concatenate([[0.0], fit.params[:3]])
    by_name = {row[0]: row[1].value for row in ratings.rows}
    for name, strength in zip(names_of(4), strengths - strengths.mean(), strict=True):
        assert by_name[name] == pytest.approx(1000 + POINTS * strength, abs=1e-3)


def test_effects_and_ratings_are_covered_in_a_few_runs():
    effects, ratings = covered(4, 60)
    assert min(effects, ratings) >= 0.75


@pytest.mark.slow
@pytest.mark.parametrize("items", [30, 120])
def test_effects_and_ratings_are_covered(items):
    runs = 200
    effects, ratings = covered(runs, items)
    show(f"style control, {items} items: effects {effects:.3f}, ratings {ratings:.3f} of {runs} boards")
    assert min(effects, ratings) >= at_least(0.95, runs)


def test_the_command_shows_both_controls_from_a_ledger(tmp_path):
    """Shares of a weighted judge against a reference, as AlpacaEval has them, in the wrong order too."""
    rng = np.random.default_rng(2)
    rows = []
    with Ledger(tmp_path / "l.ledger") as ledger:
        for number in range(60):
            item = Item.ask(f"q{number}", "?")
            lengths = {"short": 40, "long": 160, "base": 80}
            said = {
                name: Response.say(item.id, name, "wort " * int(size * 2 ** rng.normal(0, 0.5)))
                for name, size in lengths.items()
            }
            for name in ("short", "long"):
                lead = len(said[name].text) - len(said["base"].text)
                share = float(logistic(rng.normal(0.1 if name == "short" else -0.2, 1) + 0.004 * lead))
                pair = (said[name], said["base"]) if number % 2 else (said["base"], said[name])
                marks = (share, 1 - share) if number % 2 else (1 - share, share)
                case = Case(item, pair, ballot("real:0-1"))
                ledger.add(case, Verdict.from_case(case, "j", marks))
                rows.append((name, number, share, lead))
    done = CliRunner().invoke(
        app, ["leaderboard", "show", "--ledger", str(tmp_path / "l.ledger"), "--reference", "base", "--json"],
        catch_exceptions=False,
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    tables = {table["name"]: table for table in json.loads(done.stdout)}
    found = {row[0]: row for row in tables["length controlled"]["rows"]}
    assert found.keys() == {"short", "long"}
    for name in found:
        own = [share for who, _, share, _ in rows if who == name]
        assert found[name][2]["value"] == pytest.approx(np.mean(own))
        assert found[name][3] == 60
    assert found["long"][1]["value"] < found["long"][2]["value"]
    assert found["short"][1]["value"] > found["short"][2]["value"]
    notes = " ".join(map(str, tables["length controlled"]["notes"]))
    assert "arXiv:2404.04475" in notes
    assert [row[0] for row in tables["style"]["rows"]] == ["words"]
    assert "headers; bold; list items" in " ".join(map(str, tables["style"]["notes"]))


def test_a_contestant_that_won_every_match_has_no_length_controlled_rate():
    style, item, first, second, *_, won = draw(3, 40)
    won = np.where((first == 0) & (second == 3), 1.0, won)
    record = record_of(pair_verdicts("j", item, first, second, won), responses_of(style))
    (board,) = build_boards(record, Settings(reference="m003"))
    table = length_controlled_table(record, board)
    assert {row[0]: row[1] is None for row in table.rows} == {"m000": True, "m001": False, "m002": False}
    assert any("m000 won or lost every match" in str(note) for note in table.notes)
