"""VisIT-Bench and five sets of released battles: every cell equals published or independently computed numbers."""

from __future__ import annotations

import gzip
import json
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest

from fullbench.analysis.boards.leaderboard import Settings, build_boards
from fullbench.analysis.boards.matches_from_verdicts import RULES, build_matches
from fullbench.core import plugin_entry_points
from fullbench.core.benchmark import Reproduced
from fullbench.errors import InputError
from fullbench.studies.run.study_items_responses_and_labels import load_benchmark_release

DATA = Path(__file__).parents[3] / ".." / "shared" / "data"
NAMES = ("visitbench", "wildvision_bench", "wildvision_arena", "vicuna_oa_battles", "alpaca_eval", "pandalm")
SIZES = {
    "visitbench": 62, "wildvision_bench": 151, "wildvision_arena": 278, "vicuna_oa_battles": 153, "alpaca_eval": 615,
    "pandalm": 18,
}  # fmt: skip


def folder(name: str) -> Path:
    if not (DATA / name).is_dir():
        pytest.skip(f"the released data are not here: {name}")
    return DATA / name


@cache
def made(name: str) -> dict[str, Reproduced]:
    benchmark = plugin_entry_points.load_plugin("benchmarks", name)
    assert benchmark.reproduce is not None
    assert benchmark.name == name
    found = benchmark.reproduce(folder(name)).cells
    assert len({cell.id for cell in found}) == len(found)
    return {cell.id: cell for cell in found}


def checks(name: str):
    files = [folder(name) / file for file in ("expected.json", "expected_more.json")]
    return [check for file in files if file.exists() for check in json.loads(file.read_text())["checks"]]


def same(ours, wanted, tolerance: float) -> bool:
    """Whether two values are the same: names as they are, numbers within a tolerance."""
    named = isinstance(wanted, list) and any(isinstance(one, str) for one in wanted)
    return ours == wanted if named else ours == pytest.approx(wanted, abs=tolerance, rel=0)


@pytest.mark.parametrize("name", NAMES)
def test_every_listed_cell_is_what_independent_code_computed(name: str):
    ours = made(name)
    wrong = {
        check["id"]: (ours[check["id"]].value, check["recomputed"])
        for check in checks(name)
        if not same(ours[check["id"]].value, check["recomputed"], check["impl_tol"] + 5e-7)
    }
    assert not wrong


@pytest.mark.parametrize("name", NAMES)
def test_what_is_shown_as_printed_was_printed(name: str):
    """The copy of the printed figures was taken from these checks: this guards it against slips, and proves no more."""
    ours = made(name)
    for check in checks(name):
        paper = ours[check["id"]].paper
        if paper is not None:
            assert paper == pytest.approx(check["published"], abs=max(check["published_tol"], 1e-4))


@pytest.mark.parametrize("name", NAMES)
def test_families_are_complete(name: str):
    """Whatever follows the same pattern as a listed cell is there for every member that any family has."""
    ours = made(name)
    assert len(ours) >= SIZES[name]
    listed = defaultdict(set)
    for check in checks(name):
        head, _, figure = check["id"].rpartition("/")
        listed[figure].add(head)
    have = defaultdict(set)
    for cell in ours:
        head, _, figure = cell.rpartition("/")
        have[figure].add(head)
    assert all(listed[figure] <= have[figure] for figure in listed)


def test_the_members_of_each_family():
    members = defaultdict(set)
    for name in NAMES:
        for cell in made(name):
            head, _, figure = cell.rpartition("/")
            members[name, figure].add(head)
    for figure in ("score", "rating", "reward", "win_rate", "counts", "avg_tokens"):
        assert len(members["wildvision_bench", figure]) == 22
    assert len(members["wildvision_bench", "ci95"]) == 21
    for figure in ("q025", "q975", "variance"):
        assert len(members["wildvision_arena", figure]) == 2 * 38
    assert len(members["wildvision_arena", "bt_no_ties_centered"]) == 2 * 24
    assert len(members["vicuna_oa_battles", "elo_mean"]) == len(members["vicuna_oa_battles", "bt"]) == 8 + 7
    assert len(members["vicuna_oa_battles", "elo_majority"]) == 8
    for figure in ("chatgpt_first", "sys_first", "mean"):
        assert len(members["vicuna_oa_battles", figure]) == 36
    for figure in ("win_rate", "standard_error", "discrete_win_rate", "counts", "avg_length"):
        assert len(members["alpaca_eval", figure]) == 132
    assert len(members["visitbench", "win_pct"]) == 6 + 3 + 10 + 3
    assert len(members["visitbench", "mean_tokens"]) == 16


def test_the_defects_that_the_documents_name():
    ours = made("visitbench")
    assert ours["elo/auto_single/battles"].value == 29953
    assert ours["images"].value < ours["images"].paper
    assert made("vicuna_oa_battles")["human/fleiss_three_votes"].value < 0.2


@pytest.mark.parametrize("name", NAMES)
def test_a_folder_without_the_files_is_refused(name: str, tmp_path: Path):
    benchmark = plugin_entry_points.load_plugin("benchmarks", name)
    with pytest.raises(InputError, match=r"missing|no instances"):
        benchmark.reproduce(tmp_path)
    with pytest.raises(InputError, match="no such folder"):
        benchmark.reproduce(tmp_path / "nowhere")


@pytest.mark.parametrize(
    ("name", "file", "text", "complaint"),
    [
        ("pandalm", "votes.csv", "annotator1,annotator2,annotator3\n0,7,1\n", r"votes.csv.gz:2: 'annotator2' must be"),
        ("vicuna_oa_battles", "vicuna_gpt4.csv", "question,model_1,model_2,score\n1,a,a,1\n", "'a' meets itself"),
        ("vicuna_oa_battles", "vicuna_gpt4.csv", "question,model_1,model_2,score\n1,a,b,nan\n", "must be one of 1, 2"),
        (
            "vicuna_oa_battles",
            "vicuna_gpt4.csv",
            "question,model_1,model_2,score\n1,a,b,1\n1,a,b,2\n",
            r":3: 'a' meets 'b' twice on question 1",
        ),
        (
            "alpaca_eval",
            "annotations.csv",
            "instruction,annotator,model,baseline,preference,chars_model\n0,j,m,b,7,10\n",
            "between 1 and 2",
        ),
        (
            "wildvision_bench",
            "verdicts.csv",
            "question,model_b,model_a,score,token_len_b\n0,m,b,A>B,9\n1,m,c,A>B,9\n",
            "one baseline; found b, c",
        ),
        ("wildvision_arena", "anony_wins_no_ties.csv", "model,a,b\na,0,x\nb,1,0\n", "'b' must be a finite number"),
    ],
)
def test_bad_input_is_refused_with_file_and_line(name, file, text, complaint, tmp_path: Path):
    (tmp_path / f"{file}.gz").write_bytes(gzip.compress(text.encode()))
    with pytest.raises(InputError, match=complaint):
        plugin_entry_points.load_plugin("benchmarks", name).reproduce(tmp_path)


def test_released_verdicts_are_a_record_on_which_rules_and_ratings_work():
    record = load_benchmark_release("vicuna_oa_battles", folder("vicuna_oa_battles")).record
    faults = record.faults()
    assert faults["human"]["verdicts"] == 6720
    assert faults["gpt-4-0314"]["unreadable"] == 13 + 1482
    vicuna = record.where(lambda verdict: verdict.item.startswith("vicuna-"))
    settled = {rule: build_matches(vicuna, "gpt-4-0314", rule) for rule in RULES}
    # Of 2,240 pairs, those with an unreadable reply in one order are no match where both orders must rule.
    assert len(settled["mean"]) == 2240
    assert len(settled["both-agree"]) == len(settled["majority"]) == 2240 - settled["mean"].one_order_pairs
    assert 0 < settled["mean"].one_order_pairs <= 13
    assert len(settled["each"]) == 4480 - 13
    assert settled["both-agree"].ties > settled["majority"].ties
    (board,) = build_boards(vicuna.where(judge="gpt-4-0314"), Settings(rule="both-agree"))
    assert board.contestants[0] == "gpt-4"


def test_the_other_released_verdicts_are_records_too():
    votes = plugin_entry_points.load_plugin("benchmarks", "pandalm").record(folder("pandalm"))
    assert len(votes) == 999 * 5
    assert votes.faults()["gpt-3.5-turbo"]["unreadable"] == 25
    bench = plugin_entry_points.load_plugin("benchmarks", "wildvision_bench").record(folder("wildvision_bench"))
    assert len(bench) == 21 * 500
    won = [v.marks for v in bench.where(contestant="gpt-4o", fault=None)]
    assert sum(marks == (0.0, 1.0) for marks in won) == 255 + 148
    alpaca = plugin_entry_points.load_plugin("benchmarks", "alpaca_eval").record(folder("alpaca_eval"))
    assert len(alpaca.judges) == 4
    assert {v.ballot for v in alpaca} == {"real:0-1"}


def test_what_has_no_single_verdicts_or_no_sample_says_so():
    with pytest.raises(InputError, match="released as counts"):
        plugin_entry_points.load_plugin("benchmarks", "wildvision_arena").record(Path())
    with pytest.raises(InputError, match="has no bundled sample"):
        plugin_entry_points.load_plugin("benchmarks", "pandalm").record()
