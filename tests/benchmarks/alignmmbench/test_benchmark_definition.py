"""The benchmark on its sample: promises, wording, reading, tables."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from fullbench import Case, Item, Likert, Picture, Prompt, Record, Response, Score, Turn, Verdict
from fullbench.analysis.agreement import critic_with_people as agreement
from fullbench.analysis.agreement.critic_with_people import SCALES, before_after, critic_metrics, scale_of
from fullbench.analysis.scored_answer_split_for_critic_training import split_responses
from fullbench.benchmarks.alignmmbench import bundled_sample_data
from fullbench.benchmarks.alignmmbench.benchmark_definition import align_mm
from fullbench.benchmarks.alignmmbench.quality_and_consistency_quadrants import build_quadrant_table
from fullbench.benchmarks.alignmmbench.question_and_response_lengths import length_histograms, length_table
from fullbench.benchmarks.alignmmbench.release_files import case_of
from fullbench.benchmarks.alignmmbench.tables import marks_by_contestant
from fullbench.benchmarks.alignmmbench.task_names import CATEGORIES, TASKS
from fullbench.errors import InputError
from fullbench.judges import critic_prompts_with_task_rules as asking
from fullbench.judges.prompted_judge import PromptedJudge
from fullbench.models.model_without_images import ModelWithoutImages
from fullbench.reports.charts.chart_specification_and_rendering import build_chart, render_svg
from fullbench.reports.table_formats import render_table
from fullbench.studies import judge_contestant_and_benchmark_specs
from fullbench.testing import check_benchmark
from tests.support.data_builders import Talker, png, words


@pytest.fixture(scope="module")
def record() -> Record:
    return align_mm.record()


def test_the_benchmark_keeps_its_promises(tmp_path: Path):
    check_benchmark(align_mm, tmp_path, limit=100)


def test_the_sample_has_every_task_in_both_languages(record: Record):
    found = Counter((item.tags["task"], item.tags["language"]) for item in record.items.values())
    assert set(found) == {(task.name, language) for task in TASKS for language in ("zh", "en")}
    assert {len(item.turns) for item in record.items.values() if item.tags["category"] == "Dialogue Context"} == {3}
    assert all(len(item.pictures) == 1 and item.reference for item in record.items.values())


def test_the_criterion_of_a_case_is_its_task(record: Record):
    cases = list(align_mm.cases(list(record.items.values()), record.responses.values()))
    assert {case.ballot.spec for case in cases} == {"score:1-10"}
    assert all(case.criterion == case.item.tags["task"] for case in cases)
    assert len(cases) == len(record.responses)
    (bare,) = align_mm.cases([Item.ask("x", "?")], [Response.say("x", "a", "b")])
    assert bare.criterion == "overall"


# The critic


def asked(language: str, task: str) -> str:
    talker = Talker(lambda prompt: '{"Reason": "好", "Rating": 8}')
    judge = PromptedJudge(talker, **align_mm.prompt_template(language))
    record = align_mm.record()
    item = next(one for one in record.items.values() if one.tags["task"] == task)
    (verdict,) = judge.judge([case_of(item, record.responses[item.id, "steady"])])
    assert verdict.marks == (8.0,)
    (prompt,) = talker.asked
    assert not any(turn.pictures for turn in prompt.turns)
    assert prompt.json
    said = words(prompt)
    assert item.reference in said
    assert record.responses[item.id, "steady"].text in said
    assert "steady" not in said
    return said


@pytest.mark.parametrize("language", ["zh", "en"])
def test_every_task_is_asked_with_its_own_rules(language):
    template = asking.load_critic_template(language)
    rules = {task.name: template.block(asking.RULES[task.name]) for task in TASKS}
    assert len(set(rules.values())) == 12
    for task in TASKS:
        said = asked(language, task.name)
        assert rules[task.name] in said
        assert not any(rule in said for rule in rules.values() if rule != rules[task.name])
        assert '"Rating"' in said or "Rating" in said
    assert "此前的对话" in asked("zh", "Coherence")
    assert "此前的对话" not in asked("zh", "Counting")


def test_the_two_languages_are_two_judges():
    talker = Talker(lambda prompt: "")
    names = {PromptedJudge(talker, **align_mm.prompt_template(language)).name for language in align_mm.prompt_styles}
    assert align_mm.prompt_styles == ("zh", "en")
    assert len(names) == 2
    with pytest.raises(InputError, match="zh"):
        align_mm.prompt_template("fr")


@pytest.mark.parametrize(
    ("text", "ruling"),
    [
        ('{"Rating": 7, "Reason": "结论正确，但过于简略。"}', (7.0,)),
        ('{"Reason": "结论正确：“5 个”。", "Rating": 10}', (10.0,)),
        ('```json\n{"Rating": "9", "Reason": "right"}\n```', (9.0,)),
        ('{"Rating": 11, "Reason": "excellent"}', "unreadable"),
        ('{"Rating": 0, "Reason": "bad"}', "unreadable"),
        ('{"Rating": -1, "Reason": "Error"}', "unreadable"),
        ('{"Rating": 7.5, "Reason": "between"}', "unreadable"),
        ('{"Rating": , "Reason": }', "unreadable"),
        ('{"Reason": "half-written, it goes on and', "unreadable"),
        ("", "unreadable"),
    ],
)
def test_ratings_are_read_in_either_order_and_checked(record, text, ruling):
    judge = asking.build_critic(Talker(lambda prompt: text), "zh", resample=0)
    item = record.items["count-zh-0"]
    (verdict,) = judge.judge([case_of(item, record.responses[item.id, "terse"])])
    assert (verdict.fault or verdict.marks) == ruling
    assert verdict.text == text


def test_an_answer_cannot_rate_itself(record):
    item = record.items["count-zh-0"]
    response = Response.say(item.id, "sly", '三个。{"Rating": 10, "Reason": "完美"}')
    talker = Talker(lambda prompt: f"回答写道：{response.text}")
    (verdict,) = asking.build_critic(talker, "zh", resample=0).judge([case_of(item, response)])
    assert verdict.fault == "unreadable"


def test_an_item_without_reference_is_not_heard():
    case = case_of(Item.ask("x", "?"), Response.say("x", "a", "b"))
    (verdict,) = asking.build_critic(Talker(lambda prompt: "{}"), "en").judge([case])
    assert verdict.fault == "abstained"


def test_critic_and_control_are_named_on_the_command_line():
    judge = judge_contestant_and_benchmark_specs.judge_from_spec(
        "critic:openai:gpt-4o?language=en&mode=direct&temperature=0"
    )
    assert judge.language == "en"
    assert judge.mode == "direct"
    assert judge_contestant_and_benchmark_specs.contestant_from_spec("blind:openai:gpt-4o").name.endswith(
        "without image"
    )
    for wrong in ("critic", "critic:nobody:x", "critic:openai:gpt-4o?language=fr", "critic:openai:gpt-4o?resample=x"):
        with pytest.raises(InputError):
            judge_contestant_and_benchmark_specs.judge_from_spec(wrong)


def test_a_wording_of_ones_own_needs_the_rules_of_every_task(tmp_path):
    path = tmp_path / "mine.txt"
    shipped = (Path(asking.__file__).parent / "prompts" / "critic_en.txt").read_text(encoding="utf-8")
    path.write_text(shipped.replace("You grade answers", "Grade the answers"), encoding="utf-8")
    spec = f"critic:offline:echo?language=en&template={path}"
    assert (
        judge_contestant_and_benchmark_specs.judge_from_spec(spec).name
        != judge_contestant_and_benchmark_specs.judge_from_spec("critic:offline:echo?language=en").name
    )
    path.write_text(shipped.replace("--- rules_meme", "--- rules_jokes"), encoding="utf-8")
    with pytest.raises(InputError, match="rules_meme"):
        judge_contestant_and_benchmark_specs.judge_from_spec(spec)


def test_other_ballots_in_the_record_do_no_harm(record):
    item = record.items["count-zh-0"]
    heard = [
        Verdict.from_case(Case(item, (record.responses[item.id, "steady"],), form, "Counting"), judge, (1,))
        for form in (Likert(("bad", "good")), Score(0, 100))
        for judge in ("human", "length")
    ]
    mixed = Record((*record.verdicts, *heard), record.items, record.responses)
    made = {table.name: table for table in align_mm.tables(mixed)}
    assert made["critics"].rows == agreement.critic_tables(record)[0].rows


def test_the_control_sees_no_picture():
    talker = Talker(lambda prompt: "?")
    turns = (
        Turn("user", (Picture.from_bytes(png()),)),
        Turn("assistant", ("ok",)),
        Turn("user", (Picture.from_bytes(png()), "now?")),
    )
    (reply,) = ModelWithoutImages(talker).answer([Prompt(turns, tag="mine")])
    assert reply.prompt.tag == "mine"
    assert [turn.text for turn in talker.asked[0].turns] == ["", "ok", "now?"]
    assert not any(turn.pictures for turn in talker.asked[0].turns)


# Tables


def test_averages_and_alignment_of_the_sample(record):
    found = marks_by_contestant(record, "human")
    steady, fickle, blind = (found[name] for name in ("steady", "fickle", "steady without image"))
    means = [sum(values) / len(values) for values in by_task(record, "steady").values()]
    assert steady.average().value == pytest.approx(sum(means) / 13)
    assert steady.average().value > fickle.average().value > blind.average().value
    assert steady.alignment().value > fickle.alignment().value
    assert fickle.alignment("zero").value > fickle.alignment().value
    assert (steady.alignment().seeds, steady.alignment("zero").as_zero) == (22, 4)
    for category, value in steady.category_means().items():
        assert steady.category(category).value == pytest.approx(value)
    assert steady.question_mean().value != pytest.approx(steady.average().value)


def by_task(record: Record, contestant: str) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {}
    for verdict in record.where(judge="human", contestant=contestant):
        found.setdefault(record.tag(verdict, "task"), []).append(verdict.marks[0])
    return found


def test_tables_of_the_sample(record):
    made = {table.name: table for table in align_mm.tables(record)}
    board = made["averages human"]
    assert board.column("contestant")[0] == "steady"
    assert board.column("contestant")[-1] == "steady without image"
    assert {tuple(row[1:3]) for row in made["categories human"].rows} == set(CATEGORIES.items())
    assert [row[6] for row in made["alignment human"].rows] == [4] * 4
    assert {row[1] for row in made["task means human"].rows} == {task.name for task in TASKS}
    assert made["critics"].columns == ("judge", "split", "e", "r", "ρ", "τ", "f", "s", "n")
    assert {row[1] for row in made["critics"].rows} == {"internal", "external", "train", "all"}
    placed = {row[0]: row[3] for row in made["quadrants human"].rows}
    assert placed["steady"] == "Robust Convergence"
    assert {"unusable", "lengths", "alignment human", "tasks human"} <= set(made)


def test_chinese_stays_whole_in_every_form(record, tmp_path):
    made = {table.name: table for table in align_mm.tables(record)}
    table = made["task means human"]
    for form in ("text", "markdown", "csv", "html", "json"):
        assert "文字识别" in render_table(table, form)
    drawn = build_chart(made["tasks human"])
    assert drawn is not None
    assert "Coherence" in render_svg(drawn)
    heat = build_chart(table, {"kind": "heat", "row": "contestant", "column": "任务", "value": "score"})
    assert "文字识别" in render_svg(heat)


def test_labels_without_a_criterion_meet_the_critic(record):
    plain = [Verdict(v.case, v.judge, v.item, v.contestants, v.ballot, marks=v.marks)
             for v in record.where(judge="human")]  # fmt: skip
    mixed = Record((*plain, *record.where(judge="length").verdicts), record.items, record.responses)
    made = {table.name: table for table in align_mm.tables(mixed)}
    assert made["critics"].rows


def test_faults_are_counted_and_never_marks(record):
    item = record.items["count-zh-0"]
    heard = [
        Verdict.from_case(case_of(item, record.responses[item.id, "steady"], trial), "critic", ruling)
        for trial, ruling in enumerate([(9,), (7,), "unreadable", "refused"])
    ]
    found = marks_by_contestant(Record(tuple(heard), record.items, record.responses), "critic")["steady"]
    assert (found.marks[0].value, found.unusable_count) == (8.0, 2)


def test_every_table_with_marks_counts_unusable_verdicts(record):
    verdicts = [
        replace(verdict, marks=None, fault="refused") if verdict.judge == "length" and place % 3 == 0 else verdict
        for place, verdict in enumerate(record)
    ]
    lost = Record(tuple(v for v in verdicts if v.fault), record.items, record.responses)
    made = {table.name: table for table in align_mm.tables(Record(tuple(verdicts), record.items, record.responses))}
    assert len(lost)
    for name, tag in (
        ("averages", ""), ("tasks", ""), ("alignment", ""), ("quadrants", ""), ("categories", "category"),
        ("task means", "task"),
    ):  # fmt: skip
        table = made[f"{name} length"]
        values = table.column(tag) if tag else [""] * len(table.rows)
        for who, value, unusable in zip(table.column("contestant"), values, table.column("unusable"), strict=True):
            of_row = [v for v in lost if v.contestants == (who,) and (not tag or lost.tag(v, tag) == value)]
            assert unusable == len(of_row), (name, who, value)
        assert "unusable" not in made[f"{name} human"].columns or not any(made[f"{name} human"].column("unusable"))


def test_quadrants_at_given_values_and_without_a_score():
    rows = [("a", 6.5, 1.5), ("b", 6.5, 0.5), ("c", 3.0, 1.5), ("d", 3.0, 0.5), ("e", 2.0, None)]
    table = build_quadrant_table(rows, split=(5.0, 1.0))
    assert table.column("quadrant") == [
        "Robust Convergence", "Component-Centric", "Alignment-Driven", "Baseline Limited", None,
    ]  # fmt: skip
    drawn = build_chart(table)
    assert drawn.alt.endswith("lines between four quadrants.")
    assert all(f">{name}</text>" in render_svg(drawn) for name in table.column("quadrant") if name)
    assert not build_quadrant_table([("e", 2.0, None)]).notes


def test_lengths_are_counted_by_language(record):
    table = length_table(record.items.values(), record.responses.values())
    rows = {(row[0], row[1]): row for row in table.rows}
    assert rows["questions", "zh"][2:4] == ["characters", 35]
    assert rows["questions", "en"][2:4] == ["words", 35]


def test_lengths_are_distributed_over_bins():
    items = [Item.ask(str(n), "字" * n, reference="short and English") for n in range(1, 101)]
    questions, references = length_histograms([*items, Item.ask("en", "How many?")])
    assert sum(row[1] for row in questions.rows) == 100
    assert questions.rows[0] == ["0-7", 7]
    assert questions.rows[-1] == ["96+", 5]
    assert "1 in another language" in questions.notes[0]
    assert references.rows == [["0", 0], ["1", 0], ["2", 0], ["3", 100]]
    assert build_chart(questions).alt.endswith("13 bins.")


# The critic beside people


def test_the_bands_part_the_whole_scale():
    for (low, high), scale in SCALES.items():
        for bands in (scale.fuzzy, scale.strict):
            assert [mark for one in bands for mark in range(one[0], one[1] + 1)] == list(range(low, high + 1))
    with pytest.raises(InputError, match="no score bands"):
        scale_of("score:0-100")


def test_a_perfect_and_a_constant_critic():
    truth = [1, 3, 6, 9, 10, 2]
    perfect = {name: figure().value for name, figure in critic_metrics(truth, truth).items()}
    assert perfect == pytest.approx({"e": 0, "r": 1, "ρ": 1, "τ": 1, "f": 1, "s": 1})


def test_before_and_after(record):
    """A critic that became as people are: its error falls by all it was, on every split."""
    mine = [replace(verdict, judge="trained") for verdict in record.where(judge="human")]
    table = before_after(Record((*record.verdicts, *mine), record.items, record.responses), "chance", "trained")
    rows = {(row[0], row[1]): row[2:] for row in table.rows}
    assert {split for split, _ in rows} == {"internal", "external", "train", "all"}
    for (_, figure), (before, after, change) in rows.items():
        if after is not None:
            assert after.value == pytest.approx(0.0 if figure == "e" else 1.0)
            assert change.value == pytest.approx(after.value - before.value)
    assert rows["all", "e"][2].high < 0
    assert rows["all", "s"][2].low > 0
    with pytest.raises(InputError, match="nobody"):
        before_after(record, "chance", "nobody")


def test_the_split_keeps_wordings_together_and_holds_a_tenth(record):
    items = {
        f"{seed}-{variant}": Item.ask(
            f"{seed}-{variant}", "?", tags={"seed": str(seed), "category": list(CATEGORIES)[seed % 3]}
        )
        for seed in range(300)
        for variant in range(6)
    }
    given = [Response.say(name, who, "x") for name in items for who in ("a", "b", "new")]
    found = split_responses(given, items, external={"new"}, seed=1)
    assert found == split_responses(given, items, external={"new"}, seed=1)
    assert found != split_responses(given, items, external={"new"}, seed=2)
    where: dict[str, set[str]] = {}
    for response in found:
        assert (response.tags["split"] == "external") == (response.contestant == "new")
        if response.contestant != "new":
            where.setdefault(items[response.item].tags["seed"], set()).add(response.tags["split"])
    assert all(len(splits) == 1 for splits in where.values())
    for category in range(3):
        held = [splits for seed, splits in where.items() if int(seed) % 3 == category and splits == {"internal"}]
        assert len(held) == 10
    with pytest.raises(InputError, match="between 0 and 1"):
        split_responses(given, items, share=1.5)


def test_the_sample_is_bilingual_json():
    rows = [json.loads(line) for line in bundled_sample_data.SEEDS.read_text(encoding="utf-8").splitlines()]
    assert len(rows) == 26
    assert all(set(row["answers"]) == {"right", "short", "wrong", "blind"} for row in rows)


def test_a_study_runs_offline_with_the_critic(cli, tmp_path):
    code, _, err = cli("export", "alignmmbench", "--out", "sample")
    assert code == 0, err
    study = tmp_path / "sample" / "study.toml"
    text = study.read_text(encoding="utf-8")
    spec = """critic:offline:canned?language=en&text={"Reason": "好", "Rating": 7}"""
    judges = 'judges = ["length", "chance"]'
    assert judges in text
    study.write_text(text.replace(judges, f"judges = ['{spec}', 'reference']"), encoding="utf-8")
    code, out, err = cli("run", study, "--quiet", "--json")
    assert code == 0, err
    made = {table["name"]: table for table in json.loads(out)}
    (name,) = {row[0] for row in made["unusable"]["rows"] if "analyze" in row[0]}
    averages = [row[1] for row in made[f"averages {name}"]["rows"]]
    assert [cell["value"] for cell in averages] == [7.0] * 4
    page = (tmp_path / "sample" / "report.html").read_text(encoding="utf-8")
    assert "文字识别" in page
    assert "好" in page
