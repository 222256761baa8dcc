"""VisIT-Bench heard offline: cases, judging, the rule for two orders, people, submissions, composing."""

from __future__ import annotations

import csv
import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from fullbench.benchmarks.visit_bench import (
    items_and_responses_from_release,
    prompt_styles_and_reference_correctness_by_caption,
    tables,
)
from fullbench.benchmarks.visit_bench.benchmark_definition import visit_bench
from fullbench.benchmarks.visit_bench.release_files import Release, read_instances
from fullbench.benchmarks.visit_bench.verbs_nouns_and_objects import request_table
from fullbench.core.ballot import Choice
from fullbench.core.case import Case
from fullbench.core.item import Item
from fullbench.core.response import Response
from fullbench.core.verdict import Verdict
from fullbench.core.verdict_record import Record
from fullbench.errors import InputError
from fullbench.judges.fallback_reader import SecondReader
from fullbench.judges.model_written_texts_for_experiments import Composing
from fullbench.models.local.offline_models_for_tests import OfflineModel
from fullbench.studies.run.study_items_responses_and_labels import load_benchmark_release
from fullbench.testing import check_benchmark
from tests.support.commands import cli

DATA = Path(__file__).parents[3] / ".." / "shared" / "data" / "visitbench"


def released() -> Path:
    if not DATA.is_dir():
        pytest.skip("the released data are not here: visitbench")
    return DATA


@pytest.fixture(scope="module")
def record() -> Record:
    return load_benchmark_release("visitbench").record


def case() -> Case:
    item = next(iter(visit_bench.items()))
    return Case(item, (Response.say(item.id, "x", "Yes."), Response.say(item.id, "y", "No.")), Choice(tie=False))


def test_it_keeps_the_promises_of_a_benchmark(tmp_path: Path):
    check_benchmark(visit_bench, tmp_path)


def test_every_pair_is_heard_in_both_orders_with_the_reference_as_a_contestant():
    items = list(visit_bench.items())
    responses = [Response.say(item.id, name, name) for item in items for name in ("one", "two")]
    cases = list(visit_bench.cases(items, responses))
    assert len(cases) == len(items) * 3 * 2
    shown = {(one.item.id, one.contestants) for one in cases}
    assert all((item, names[::-1]) in shown for item, names in shown)
    assert any("reference" in names for _, names in shown)


def test_the_sample_s_tables_tell_the_planted_order(record: Record):
    tables = {table.title: table for table in visit_bench.tables(record)}
    board = tables["Leaderboard by reference (rule for two orders: both-agree)"]
    assert board.column("contestant")[:2] == ["reference", "careful"]
    assert tables["Judges compared with the majority of people"].chart is not None
    assert any(table.chart and table.chart["kind"] == "heat" for table in tables.values())


def test_the_dialogue_is_primed_and_each_manner_shows_its_own_evidence():
    hearing = case()
    seen = {
        prompt_style: prompt_styles_and_reference_correctness_by_caption.build_judge(
            OfflineModel("m", str), prompt_style
        ).prompt(hearing)
        for prompt_style in prompt_styles_and_reference_correctness_by_caption.PROMPT_STYLES
    }
    for prompt in seen.values():
        assert [turn.role for turn in prompt.turns] == ["system", "user", "assistant", "user"]
        assert "Overall, Response X is better" in prompt.turns[-1].text
        assert "x" not in {"reference", *prompt.turns[-1].text.split("<")[0].split()}
    caption, reference = hearing.item.captions[0], hearing.item.reference
    assert caption in seen["ref-free"].turns[-1].text
    assert reference not in seen["ref-free"].turns[-1].text
    assert reference in seen["ref-backed"].turns[-1].text
    assert seen["with-picture"].turns[-1].pictures
    assert caption not in seen["with-picture"].turns[-1].text
    assert (
        len(
            {
                prompt_styles_and_reference_correctness_by_caption.build_judge(
                    OfflineModel("m", str), prompt_style
                ).name
                for prompt_style in prompt_styles_and_reference_correctness_by_caption.PROMPT_STYLES
            }
        )
        == 3
    )
    assert (
        prompt_styles_and_reference_correctness_by_caption.build_judge(OfflineModel("m", str)).name
        == prompt_styles_and_reference_correctness_by_caption.build_judge(OfflineModel("m", str), "with-picture").name
    )
    assert tuple(visit_bench.prompt_styles) == prompt_styles_and_reference_correctness_by_caption.PROMPT_STYLES


@pytest.mark.parametrize(
    ("said", "read", "marks"),
    [
        ("A is vague.\nOverall, Response B is better.", "unclear", (0.0, 1.0)),
        ("Both have merit, the former more so.", "Final Answer: A", (1.0, 0.0)),
        ("Both have merit, the latter more so.", "Final Answer: Response B", (0.0, 1.0)),
        ("I cannot decide between the two.", "Final Answer: Unknown", None),
    ],
)
def test_the_last_line_is_read_and_a_second_reader_helps(said: str, read: str, marks):
    judge = SecondReader(
        prompt_styles_and_reference_correctness_by_caption.build_judge(OfflineModel("m", lambda _: said), "ref-free"),
        OfflineModel("r", lambda _: read),
    )
    (verdict,) = judge.judge([case()])
    assert verdict.marks == marks
    assert (verdict.fault == "unreadable") == (marks is None)


def test_an_unknown_manner_is_refused():
    with pytest.raises(InputError, match="with-picture, ref-free, ref-backed"):
        prompt_styles_and_reference_correctness_by_caption.build_judge(OfflineModel("m", str), "blind")


def test_references_are_composed_from_captions_and_then_verified():
    item = Item.ask("a", "What is it?", captions=("A red kite.",), reference=None)
    bare = Item.ask("b", "What is it?")
    writer, task = OfflineModel("writer", lambda prompt: f"A kite. {len(prompt.turns)}"), Composing([item, bare])
    made = task.apply_replies(writer.answer(task.prompts()))
    assert made.items[0].reference == "A kite. 2"
    assert made.items[0].tags["verified"] == "no"
    assert made.failures == ["b: no caption, so there is nothing to write the reference from"]


def votes(item: str, ups: int, of: int = 5) -> list[Verdict]:
    return [
        Verdict(item, "human", item, ("a", "b"), "choice", trial=trial, marks=(1.0, 0.0) if trial < ups else (0.0, 1.0))
        for trial in range(of)
    ]


def test_accuracy_by_agreement_counts_a_tie_as_half():
    said = [*votes("i", 5), *votes("j", 4), *votes("k", 2)]
    ruled = [
        Verdict("i", "m", "i", ("b", "a"), "choice", marks=(0.0, 1.0)),
        Verdict("j", "m", "j", ("a", "b"), "choice+tie", marks=(0.5, 0.5)),
        Verdict("k", "m", "k", ("a", "b"), "choice", fault="unreadable"),
    ]
    table = tables.agreement_table(Record((*said, *ruled)))
    found = {(row[0], row[1]): row[2] for row in table.rows}
    assert found["m", "5/5"].value == 1
    assert found["m", "4/5"].value == found["m", "3/5"].value == 0.5
    assert found["m", "all"].value == pytest.approx(2 / 3)
    assert found["(chance)", "all"] == 0.5
    assert found["(one person)", "4/5"] == pytest.approx(0.8)


def test_systems_are_correlated_with_people_s(record: Record):
    rows = {row[0]: row for row in tables.rating_correlation_table(record).rows}
    assert rows["reference"][1] is None or rows["reference"][1].value > 0


def test_the_release_gives_its_verified_items_with_captions():
    items = list(visit_bench.items(released()))
    release = Release.read(DATA)
    verified = sum(row.is_verified for row in release.instances_of_kind())
    assert verified == 592
    assert len(items) == verified - sum(row.is_verified and not row.instruction for row in release.instances_of_kind())
    assert len({item.tags["family"] for item in items}) >= 69
    multi = [item for item in items if item.tags["images"] == "multi"]
    assert all(len(item.captions) >= 2 for item in multi)
    given = items_and_responses_from_release.released_predictions(DATA)
    assert len({one.contestant for one in given.responses}) == 16
    assert given.left_out > 0


def _submitted(path: Path, rows: list[dict[str, str]]) -> Path:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


def _like(row, **more: str) -> dict[str, str]:
    return {
        "instruction_category": row.family,
        "image": row.images[0],
        "instruction": row.instruction,
        **more,
    }


def test_submissions_are_read_in_both_of_the_authors_layouts(tmp_path: Path):
    instances = [row for row in read_instances(released()) if row.kind == "single" and row.instruction]
    items = list(visit_bench.items(DATA))
    good = [row for row in instances if row.is_verified][:3]
    bad = [row for row in instances if not row.is_verified][:1]
    named = _submitted(tmp_path / "a.csv", [_like(row, gpt9_output="An answer.") for row in [*good, *bad]])
    made = items_and_responses_from_release.parse_submission(named, items, instances)
    assert (len(made.responses), made.left_out) == (3, 1)
    assert {one.contestant for one in made.responses} == {"gpt9_output"}
    other = [_like(row, model_name="gpt9", prediction="An answer.") for row in good]
    assert (
        items_and_responses_from_release.parse_submission(_submitted(tmp_path / "b.csv", other), items, instances)
        .responses[0]
        .contestant
        == "gpt9"
    )
    stray = [_like(good[0], prediction="x") | {"instruction": "Something else?"}]
    with pytest.raises(InputError, match=r"c.csv:2: image, instruction and instruction_category match no instance"):
        items_and_responses_from_release.parse_submission(_submitted(tmp_path / "c.csv", stray), items, instances)
    two = [_like(good[0], one="x", two="y")]
    with pytest.raises(InputError, match="found one, two"):
        items_and_responses_from_release.parse_submission(_submitted(tmp_path / "d.csv", two), items, instances)


def test_our_own_layout_is_a_submission_too_and_unknown_items_are_refused(tmp_path: Path):
    items = list(visit_bench.items())
    path = tmp_path / "mine.jsonl"
    path.write_text(json.dumps({"item": items[0].id, "text": "No."}))
    assert items_and_responses_from_release.parse_submission(path, items, name="mine").responses[0].contestant == "mine"
    path.write_text(json.dumps({"item": "nowhere", "text": "No."}))
    with pytest.raises(InputError, match="not among the 8 items"):
        items_and_responses_from_release.parse_submission(path, items, name="mine")


def test_flags_and_images_that_do_not_fit_are_refused(tmp_path: Path):
    row = {"instruction_category": "a", "instruction": "b", "images": ["x"], "images_dense_captions": []}
    (tmp_path / "multi_image.jsonl").write_text(json.dumps(row))
    with pytest.raises(InputError, match=r"multi_image.jsonl:1: an instance with several images has two at least"):
        list(read_instances(tmp_path))
    whole = {**row, "images": ["x", "y"], "human_ratings_gpt4_correct": "maybe"}
    (tmp_path / "multi_image.jsonl").write_text(json.dumps(whole))
    with pytest.raises(InputError, match="must be true or false; found 'maybe'"):
        list(read_instances(tmp_path))


def test_the_layouts_of_both_repositories_and_of_the_hub_are_read(tmp_path: Path):
    flags = {"human_ratings_gpt4_correct": "True", "human_ratings_problem_in_caption": "0",
             "human_ratings_problem_in_gpt4": "False"}  # fmt: skip
    multi = {"instruction_category": "rcc", "images": '["http://x/1.png", "http://x/2.png"]', "instruction": "What?",
             "is_multiple_images": "True", "gpt4_prediction": "This.", "public_images_metadata": "{}",
             "images_dense_captions": '["one", "two", NaN, NaN]', **flags}  # fmt: skip
    _submitted(tmp_path / "visit_bench_multi_images.csv", [multi])
    hub = {"instruction_category": "gqa", "image_url": "http://x/3.png", "instruction": "Why?",
           "instruction_conditioned_caption": "three", "reference_output": "That.", **flags}  # fmt: skip
    _submitted(tmp_path / "visit_bench_single_image.csv", [hub])
    one, two = read_instances(tmp_path)
    assert (one.images, one.captions, one.reference, one.is_verified) == (
        ("http://x/3.png",),
        ("three",),
        "That.",
        True,
    )
    assert (two.images[1], two.captions, two.reference) == ("http://x/2.png", ("one", "two"), "This.")
    (tmp_path / "images").mkdir()
    shutil.copy(items_and_responses_from_release.SAMPLE / "pictures" / "door.png", tmp_path / "images" / "3.png")
    seen = {item.id: len(item.pictures) for item in visit_bench.items(tmp_path)}
    assert seen == {"single-0": 1, "multi-0": 0}


def test_a_seeing_judge_without_images_is_refused(tmp_path: Path):
    from fullbench.ledger.ledger import Ledger
    from fullbench.studies.leaderboards import leaderboard_inputs_from_options
    from fullbench.studies.run.run_options import RunOptions

    asked = leaderboard_inputs_from_options.LeaderboardRequest(
        "visitbench", released(), (), "mine", None, "offline:echo", "with-picture"
    )
    with Ledger(tmp_path / "l") as ledger, pytest.raises(InputError, match="582 of 582 items name pictures that"):
        leaderboard_inputs_from_options.prepare_leaderboard(asked, ledger, RunOptions(quiet=True), answer=False)


def test_the_label_says_what_was_at_fault():
    row = next(iter(read_instances(released())))
    assert replace(row, correct=True, caption_at_fault=False, reference_at_fault=False).label == "correct"
    assert replace(row, caption_at_fault=True).label == "caption at fault"
    assert replace(row, correct=False, caption_at_fault=False, reference_at_fault=True).label == "reference at fault"


def test_the_authors_annotated_examples_are_read_and_judged(tmp_path: Path):
    """The columns of `visit_fully_annotated_example.csv`: no flags, a caption, a reference that a person approved."""
    rows = [
        {"image_url": f"https://x.example/Animals/{n}.png", "image_dense_caption": f"caption {n}, 中文",
         "instruction_category": ("Animals", "Catchy Titles")[n % 2], "instruction": f"What of {n}?",
         "output_human_annotated": f"Approved answer {n}, in so many words."}
        for n in range(4)
    ]  # fmt: skip
    path = tmp_path / "clone" / "visit_fully_annotated_example.csv"
    path.parent.mkdir()
    _submitted(path, rows)
    for source in (path, path.parent):
        items = list(visit_bench.items(source))
        assert [(item.id, item.reference, item.captions) for item in items] == [
            (f"example-{n}", row["output_human_annotated"], (row["image_dense_caption"],)) for n, row in enumerate(rows)
        ]
        assert {item.tags["family"] for item in items} == {"Animals", "Catchy Titles"}
    predictions = tmp_path / "mine.csv"
    _submitted(
        predictions,
        [{"instruction": row["instruction"], "instruction_category": row["instruction_category"],
          "image": row["image_url"], "mine": f"Answer {n}."} for n, row in enumerate(rows)],
    )  # fmt: skip
    ledger = tmp_path / "e.ledger"
    done = cli("leaderboard", "add", "mine", "--predictions", predictions, "--data", path, "--judge", "length",
               "--ledger", ledger, "--without-pictures", "--quiet", "--json")  # fmt: skip
    assert "Called 8, reused 0" in done.output, "four matches with the reference, in both orders"
    multi = {"instruction_category": "rcc", "images": '["http://x/1.png", "http://x/2.png"]', "instruction": "What?",
             "gpt4_prediction": "This.", "images_dense_captions": '["one", "two"]',
             "human_ratings_gpt4_correct": "True", "human_ratings_problem_in_caption": "0",
             "human_ratings_problem_in_gpt4": "False"}  # fmt: skip
    _submitted(path.parent / "visit_bench_multi_images.csv", [multi])
    (odd,) = visit_bench.bring_with_labels(path.parent).tables
    assert next(row for row in odd.rows if "annotated examples" in str(row[1]))[0] == 4, "it is said"
    assert [item.id for item in visit_bench.items(path.parent)] == ["multi-0"]


def test_questions_and_instructions_have_verbs_and_nouns_and_the_rest_is_counted():
    asked = [
        "What colour is the car?", "Which colour is that?", "How do I cook this rice?", "Where is the cat?",
        "Write a poem. What is this?", "这是什么？", "A red kite.",
    ]  # fmt: skip
    table = request_table([Item.ask(f"q{n}", text) for n, text in enumerate(asked)])
    assert {row[0]: (row[1], row[2], row[3]) for row in table.rows} == {
        "be colour": (2, "be", 4), "be cat": (1, "be", 4), "be": (1, "be", 4), "cook rice": (1, "cook", 1),
        "write poem": (1, "write", 1),
    }  # fmt: skip
    assert "2 items have neither a question nor an instruction" in table.notes[0]
