"""UPME and its forerunners: every listed figure, and every member of every family of figures."""

from __future__ import annotations

import gzip
import json
from itertools import product
from pathlib import Path

import pytest
from typer.testing import CliRunner

from fullbench.cli.all_commands import app
from fullbench.core import plugin_entry_points
from fullbench.errors import InputError

SHARED = Path(__file__).parents[3] / ".." / "shared" / "data"
NAMES = ("prd_peer_review", "pico_peer_review", "upme_tables")
MODELS = ("gpt-4", "claude", "vicuna", "gpt-3.5", "bard")


def expected(name):
    files = [SHARED / name / file for file in ("expected.json", "expected_more.json")]
    return [check for file in files if file.is_file() for check in json.loads(file.read_text())["checks"]]


CHECKS = [(name, check) for name in NAMES for check in expected(name)]


@pytest.fixture(scope="module")
def made():
    found = {}
    for name in NAMES:
        if not (SHARED / name).is_dir():
            pytest.skip(f"the released data are not at {SHARED / name}")
        benchmark = plugin_entry_points.load_plugin("benchmarks", name)
        assert benchmark.reproduce is not None
        cells = benchmark.reproduce(SHARED / name).cells
        assert len({cell.id for cell in cells}) == len(cells)
        found[name] = {cell.id: cell for cell in cells}
    return found


@pytest.mark.parametrize(("name", "check"), CHECKS, ids=[f"{name}/{check['id']}" for name, check in CHECKS])
def test_a_cell_is_what_independent_code_computed(made, name, check):
    value = made[name][check["id"]].value
    assert isinstance(value, bool) == isinstance(check["recomputed"], bool)
    assert value == pytest.approx(check["recomputed"], abs=check["impl_tol"])


@pytest.mark.parametrize(
    ("name", "check"), [pair for pair in CHECKS if pair[1]["published"] is not None], ids=lambda value: str(value)[:40]
)
def test_a_cell_is_what_was_published(made, name, check):
    assert made[name][check["id"]].value == pytest.approx(check["published"], abs=max(1e-6, check["published_tol"]))


def families(*parts):
    return {"/".join(words) for words in product(*parts)}


FAMILIES = {
    "prd_peer_review": families(["winrate"], [*MODELS, "human", "all"], MODELS)
    | families(["peer_rank"], ["score", "weight", "fixed_point_weight"], MODELS)
    | families(
        ["agreement"],
        [*MODELS, "unweighted_vote_all", "weighted_vote_all", "weighted_vote_top3"],
        ["fleiss", "accuracy"],
    )
    | families(["hard_pair"], [*MODELS, "all_unweighted", "all_weighted"], ["fleiss", "accuracy"])
    | families(["elo_vs_human"], ["all", "gpt-4"], ["1", "10", "100"], ["kendall", "spearman"])
    | families(["weights"], ["uniform", "consistent", "reversed"], ["pearson_to_human", "perm_entropy"]),
    "pico_peer_review": families(
        ["Uniform", "Order", "Reversed", "Peer_review"],
        ["0.1", "0.4", "0.7", "1.0"],
        ["perm_entropy", "random_perm_entropy", "all_triples_perm_entropy", "count_inversions", "lis"],
    ),
    "upme_tables": families(
        ["table1"],
        [
            "LLama-3.2-11b-V", "Claude-3-haiku", "Claude-3.5-sonnet", "Gemini-1.5-pro", "GPT-4o-mini", "GPT-4o",
            "Peer Review", "Majority Vote", "Rating Vote", "PRD", "UPME",
        ],
        ["MMstar", "ScienceQA"],
        ["spearman", "perm_entropy"],
    )
    | families(["chi2"], ["verbosity", "self"], ["peer", "upme"], ["p", "phi_n600"]),
}  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_every_member_of_every_family_is_there(made, name):
    assert FAMILIES[name] <= set(made[name])
    kinds = {cell_id.split("/")[0] for cell_id in made[name]}
    assert {check["id"].split("/")[0] for check in expected(name)} <= kinds


def test_fifteen_models_are_graded_by_one_judge(made):
    graded = [cell for cell in made["pico_peer_review"] if cell.startswith("gpt35_only_grade/")]
    assert len(graded) == 15


def test_eight_printed_pairs_cannot_come_from_four_runs(made):
    impossible = {cell.id for cell in made["upme_tables"].values() if cell.value is False}
    assert len(impossible) == 8
    assert {cell.split("/")[1] for cell in impossible} == {"PRD", "UPME", "GPT-4o", "GPT-4o-mini", "Majority Vote"}
    assert sum("/PRD/" in cell for cell in impossible) == 4


@pytest.mark.parametrize("name", NAMES)
def test_a_folder_without_the_files_says_which_one_is_missing(tmp_path, name):
    with pytest.raises(InputError, match=r"\.gz: the file is missing|cannot be read"):
        plugin_entry_points.load_plugin("benchmarks", name).reproduce(tmp_path)


def test_a_bad_row_is_named_by_file_and_line(tmp_path):
    (tmp_path / "reviews.csv.gz").write_bytes(b"")
    with pytest.raises(InputError, match=r"reviews\.csv\.gz"):
        plugin_entry_points.load_plugin("benchmarks", "prd_peer_review").reproduce(tmp_path)
    with gzip.open(tmp_path / "reviews.csv.gz", "wt") as out:
        out.write("question_id,model_a,model_b,reviewer,score\n1,gpt-4,bard,claude,1\n2,gpt-4,bard,claude,7\n")
    with pytest.raises(InputError, match=r"reviews\.csv\.gz:3: 'score' must be one of 1, 2, 3; found '7'"):
        plugin_entry_points.load_plugin("benchmarks", "prd_peer_review").reproduce(tmp_path)


def test_released_reviews_are_a_record_like_any_other(made):
    brought = plugin_entry_points.load_plugin("benchmarks", "prd_peer_review").bring(SHARED / "prd_peer_review").record
    assert len(brought) == 8000 + 1760
    assert set(brought.judges) == {*MODELS, "human"}
    met = [pairing for pairing in brought.against("human", "mean") if pairing.verdict.judge == "gpt-4"]
    same = sum(
        (one.marks[0] > 0.5) - (one.marks[0] < 0.5) == (one.other_marks[0] > 0.5) - (one.other_marks[0] < 0.5)
        for one in met
    )
    accuracy = made["prd_peer_review"]["agreement/gpt-4/accuracy"]
    assert len(met) == accuracy.n
    assert same / len(met) == pytest.approx(accuracy.value)
    games = plugin_entry_points.load_plugin("benchmarks", "pico_peer_review").bring(SHARED / "pico_peer_review").record
    assert len(games) == 2 * 3291
    assert games.faults()["gpt-3.5-turbo"]["unreadable"] == 2


def test_the_sample_brings_reviews_and_nothing_was_released_of_upme_itself(tmp_path):
    upme = plugin_entry_points.load_plugin("benchmarks", "upme")
    record = upme.bring().record
    assert len(record) == 24 * 10 * 3
    ranking = next(table for table in upme.tables(record) if table.name == "ranking")
    assert ranking.column("contestant")[-1] == "synthetic/blind"
    with pytest.raises(InputError, match="released no reviews"):
        upme.bring(tmp_path)


def test_figures_agree_to_the_digits_that_each_was_printed_with(made):
    """A p of 3.142e-10 beside one of 0.0618: what one line's digits ask for is not asked of the other's."""
    assert made
    done = CliRunner().invoke(app, ["reproduce", "upme_tables", "--data", str(SHARED / "upme_tables")])
    assert done.exit_code == 0
    # Only 0.59696 does not follow from its chi-square, which is printed with three decimals.
    assert "7 of 8 printed numbers agree with ours to the last printed digit." in done.output
