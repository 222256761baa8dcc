"""The release as one record says what the cells say."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from fullbench.analysis.agreement.judges_with_people import compare_with_people, groups_by_tag, ranking_letters
from fullbench.benchmarks.mllm_judge import reviews_of_verdicts
from fullbench.benchmarks.mllm_judge.benchmark_definition import mllm_judge
from fullbench.benchmarks.mllm_judge.release import load_release as files
from fullbench.benchmarks.mllm_judge.release.load_release import THIRD_PARTY, Release
from fullbench.benchmarks.mllm_judge.release.release_as_record import assemble_record, released_items
from fullbench.benchmarks.mllm_judge.release.release_row import parse_marks, spell_marks, trim_ranking
from fullbench.benchmarks.mllm_judge.reproduce.all_cells import paper_cells
from fullbench.core.verdict_record import Record
from fullbench.stats.agreement.per_item_ranking_agreement import edit_distance
from fullbench.studies.exchange.runnable_study_export import export_study
from tests.benchmarks.pairwise_releases.test_mllm_judge import DATA, needs_data


@pytest.fixture(scope="module")
def release() -> Release:
    return Release.read(DATA)


@pytest.fixture(scope="module")
def record(release: Release) -> Record:
    return assemble_record(release)


@needs_data
def test_people_and_all_judges_are_there(record: Record):
    assert set(record.judges) == {"human", "CogVLM", "GPT-4V", "Gemini", "LLaVA-1.5-13b", *THIRD_PARTY}
    heard = Counter((verdict.judge, verdict.ballot, verdict.fault) for verdict in record)
    assert heard["CogVLM", "score:1-5", None] == 3220
    assert heard["LLaVA-1.5-13b", "ranking", "unreadable"] == 1
    assert heard["Gemini-2.5-Flash", "score:1-5", "unreadable"] == 310
    assert len(record.faults()) == len(record.judges)


@needs_data
def test_no_verdict_is_there_twice(record: Record):
    places = Counter((verdict.case, verdict.judge, verdict.trial) for verdict in record)
    assert max(places.values()) == 1


@needs_data
@pytest.mark.parametrize("judge", THIRD_PARTY)
def test_the_record_gives_the_cells_of_later_judges(judge: str, release: Release, record: Record):
    """Two ways through the code, one of them by items and contestants, agree on every data set."""
    made = {cell.id: cell for cell in paper_cells(release) if cell.id.startswith(f"{judge}/")}
    met = compare_with_people(record.where(lambda verdict: verdict.judge in {judge, "human"}))
    groups = groups_by_tag(record, "dataset")
    rows: dict[str, list[tuple[float, float]]] = {}
    for pairing in met.pairings(judge, "scores"):
        rows.setdefault(next(iter(groups(pairing.verdict))), []).append((pairing.marks[0], pairing.other_marks[0]))
    assert len(rows) == 14
    for dataset, pairs in rows.items():
        value = made[f"{judge}/score/{dataset}"].value
        assert len(pairs) == value["n"]
        assert sum(abs(a - b) for a, b in pairs) / len(pairs) == pytest.approx(value["mae"], abs=1e-6)


@needs_data
def test_the_record_gives_llavas_trimmed_distances(release: Release, record: Record):
    """But for the few labels that are incomplete: people's verdict is set aside there, the cell counts it."""
    made = {cell.id: cell for cell in paper_cells(release)}
    rows: dict[str, list[float]] = {}
    for p in compare_with_people(record).pairings("LLaVA-1.5-13b", "rankings"):
        rows.setdefault(record.tag(p.verdict, "dataset"), []).append(
            edit_distance(ranking_letters(p.marks), ranking_letters(p.other_marks))
        )
    same = 0
    for dataset, distances in rows.items():
        value = made[f"LLaVA-1.5-13b/batch/{dataset}"].value
        assert 0 <= value["n_trimmed"] - len(distances) <= 2
        if len(distances) == value["n_trimmed"]:
            same += 1
            assert sum(distances) / len(distances) == pytest.approx(value["normalized_levenshtein_trimmed"], abs=1e-6)
    assert same >= 6


@needs_data
def test_pairs_meet_whatever_order_they_were_shown_in(record: Record):
    flipped = [
        p
        for p in compare_with_people(record).pairings("GPT-4V", "pairs")
        if p.verdict.contestants not in {v.contestants for v in record.where(judge="human", item=p.verdict.item)}
    ]
    assert len(flipped) > 10
    for pairing in flipped[:10]:
        human = next(
            verdict
            for verdict in record.where(judge="human", item=pairing.verdict.item)
            if sorted(verdict.contestants) == sorted(pairing.verdict.contestants)
        )
        named = dict(zip(human.contestants, human.marks or (), strict=True))
        assert pairing.other_marks == tuple(named[name] for name in pairing.verdict.contestants)


@needs_data
def test_a_second_run_is_another_trial(record: Record):
    again = record.where(judge="CogVLM", trial=1)
    assert len(again) == 49


@needs_data
def test_items_carry_data_set_abilities_and_pictures(record: Record):
    items = list(released_items(record))
    assert all(item.question for item in items)
    assert {item.tags["task"] for item in items} == {"score", "pair", "batch"}
    wit = next(item for item in items if item.tags["dataset"] == "WIT")
    assert wit.tags["abilities"] == "recognition+multilingual"
    assert sum(bool(item.pictures) for item in items) == 84


@needs_data
def test_reviews_of_the_good_subset(record: Record):
    table, *_ = reviews_of_verdicts.review_tables(record)
    found = {(row[0], row[1]): row[2] for row in table.rows}
    assert found["GPT-4V", "choice+tie"].value == 1.0
    assert found["GPT-4V", "score:1-5"].n == 114
    assert len(table.rows) == 6


@needs_data
def test_an_exported_release_comes_back_whole(record: Record, tmp_path: Path):
    counts = export_study(record, tmp_path / "all", benchmark="mllm-as-a-judge")
    again = mllm_judge.record(tmp_path / "all")
    known = {item.id for item in released_items(record)}
    mine = [v for v in record if v.item in known or reviews_of_verdicts.is_review(v)]
    assert counts["reviews"] == sum(reviews_of_verdicts.is_review(v) for v in record)
    assert sorted((v.case, v.judge, v.trial, v.marks or ()) for v in again) == sorted(
        (v.case, v.judge, v.trial, v.marks or ()) for v in mine
    )
    assert {key: r.key for key, r in again.responses.items()} == {
        key: r.key for key, r in record.responses.items() if key[0] in known
    }
    assert {item.key for item in again.items.values()} == {item.key for item in released_items(record)}


@needs_data
def test_every_conflict_is_counted(release: Release, record: Record):
    counts = release.oddities.counts
    assert record.judges
    said = [(file, done) for file, done in counts if "differs from an earlier file's, which is kept" in done]
    assert (files.HQ["pair"], "people's label differs from an earlier file's, which is kept") in said
    assert counts[files.COGVLM, "the judge judged the same answer twice: stored as another trial"] == 49


@pytest.mark.parametrize(
    ("task", "ruling", "n"),
    [("score", "1", 1), ("score", "5", 1), ("pair", "A", 2), ("pair", "C", 2), ("batch", "DBCA", 4)],
)
def test_a_ruling_is_written_as_it_was_read(task, ruling, n):
    assert spell_marks(task, parse_marks(task, ruling, n)) == ruling


@pytest.mark.parametrize(("ruling", "n"), [("", 4), ("CBAB", 4), ("CA", 4), ("DDDA", 4)])
def test_what_ranks_nothing_is_no_verdict(ruling, n):
    assert parse_marks("batch", ruling, n) is None


def test_letters_without_an_answer_are_left_out():
    assert trim_ranking("DCAB", 3) == "CAB"
    assert parse_marks("batch", "DCAB", 3) == (2.0, 1.0, 3.0)
