"""MJ-Bench as a study, from the exported sample to tables and a page."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import pytest

from fullbench.benchmarks.mj_bench import picture_prompt_template_and_rubrics
from fullbench.core.verdict import PEOPLE
from fullbench.errors import InputError
from fullbench.ledger.ledger import Ledger
from fullbench.studies import judge_contestant_and_benchmark_specs
from tests.benchmarks.mj_bench.test_item_picture_and_label_loader import released
from tests.judges.scorers.making import encoded, texture
from tests.support.commands import write_rows

__all__ = ["released"]


@pytest.fixture
def sample(cli, tmp_path) -> Path:
    """The sample, exported; a study of it beside its files."""
    code, _, err = cli("export", "mjbench", "--out", "sample")
    assert code == 0, err
    return tmp_path / "sample"


def judged_by(study: Path, *judges: str) -> None:
    lines = study.read_text().splitlines()
    named = ", ".join(f'"{judge}"' for judge in judges)
    study.write_text("\n".join(f"judges = [{named}]" if line.startswith("judges") else line for line in lines))


def test_the_exported_study_is_heard_by_judges_that_see_pictures(cli, sample):
    code, out, err = cli("run", "sample/study.toml", "--quiet")
    assert code == 0, err
    assert "sharpness" in out
    with Ledger(sample / "study.ledger") as ledger:
        record = ledger.record()
    assert {verdict.judge for verdict in record} == {"sharpness", "chance", PEOPLE}
    assert not [verdict for verdict in record if verdict.fault]
    assert (sample / "report.html").exists()


def test_a_study_asks_a_model_by_the_rubric_of_each_perspective(cli, sample):
    """`offline:echo` says what it was told, so that its verdicts hold the prompts."""
    judged_by(sample / "study.toml", "offline:echo?resample=0")
    code, _, err = cli("run", "sample/study.toml", "--quiet")
    assert code == 1, err
    assert "has no usable verdict" in err, "the server says one thing, whatever it is asked for"
    with Ledger(sample / "study.ledger") as ledger:
        verdicts = [verdict for verdict in ledger.verdicts() if verdict.judge != PEOPLE]
    assert {verdict.criterion for verdict in verdicts} == set(picture_prompt_template_and_rubrics.CRITERIA)
    for verdict in verdicts:
        assert picture_prompt_template_and_rubrics.CRITERIA[verdict.criterion] in verdict.text
        assert verdict.fault == "unreadable"


@pytest.mark.parametrize("name", ["mjbench", "mllm-as-a-judge", "visitbench"])
def test_each_benchmark_with_words_of_its_own_asks_in_them(name):
    worded = judge_contestant_and_benchmark_specs.judge_from_spec(
        judge_contestant_and_benchmark_specs.spec_for_benchmark(name, "offline:echo")
    )
    assert (
        worded.settings["prompt_template"]
        != judge_contestant_and_benchmark_specs.judge_from_spec("offline:echo").settings["prompt_template"]
    )


def test_wording_is_part_of_a_judges_name_and_can_be_had_anywhere():
    plain, worded = (
        judge_contestant_and_benchmark_specs.judge_from_spec("offline:echo"),
        judge_contestant_and_benchmark_specs.judge_from_spec("offline:echo?benchmark_template=mjbench"),
    )
    assert plain.name != worded.name
    assert (
        worded.name
        == picture_prompt_template_and_rubrics.build_judge(
            judge_contestant_and_benchmark_specs.contestant_from_spec("offline:echo")
        ).name
    )
    assert judge_contestant_and_benchmark_specs.spec_for_benchmark("mjbench", "offline:echo?mode=direct") == (
        "offline:echo?mode=direct&benchmark_template=mjbench&together=yes"
    )
    assert (
        judge_contestant_and_benchmark_specs.spec_for_benchmark("mjbench", "offline:echo?benchmark_template=mjbench")
        == "offline:echo?benchmark_template=mjbench"
    )
    assert judge_contestant_and_benchmark_specs.spec_for_benchmark("synthetic", "offline:echo") == "offline:echo"
    with pytest.raises(InputError, match="no prompt template of its own"):
        judge_contestant_and_benchmark_specs.judge_from_spec("offline:echo?benchmark_template=synthetic")


def test_a_study_of_the_released_data_needs_nothing_else(cli, released):
    """Pictures and labels come with the data; broken pairs are faults of their own, and what was odd is shown."""
    (released / "released").mkdir()
    for file in [*released.glob("*.png"), *released.glob("*.jsonl")]:
        file.rename(released / "released" / file.name)
    (released / "study.toml").write_text(
        'name = "s"\nbenchmark = "mjbench"\ndata = "released"\njudges = ["picture:sharpness"]\nreport = "r.html"\n'
    )
    code, out, err = cli("run", "study.toml", "--quiet", "--all")
    assert code == 0, err
    assert "half of a pair is missing: the pair is left out" in out
    assert "the same picture is shown twice" in out
    assert "the picture has no bytes" in out
    assert "human" in out
    page = (released / "r.html").read_text(encoding="utf-8")
    assert "Irregularities in the data" in page


def test_hostile_pictures_are_faults_of_their_cases_and_the_rest_is_judged(cli, tmp_path):
    good = encoded(texture(1))
    frames = [texture(seed).convert("P") for seed in range(2)]
    header = struct.pack(">IIBBBBB", 60_000, 60_000, 8, 2, 0, 0, 0)
    bomb = b"".join(
        _chunk(kind, body) for kind, body in ((b"IHDR", header), (b"IDAT", zlib.compress(b"")), (b"IEND", b""))
    )
    others = {
        "sound": encoded(texture(2)),
        "cut": good[: len(good) // 2],
        "empty": b"",
        "svg": b"<svg xmlns='http://www.w3.org/2000/svg'/>",
        "bomb": good[:8] + bomb,
        "moving": encoded(frames[0], "GIF", save_all=True, append_images=frames[1:]),
        "equal": good,
    }
    (tmp_path / "good.png").write_bytes(good)
    rows = [{"item": name, "contestant": "one", "pictures": ["good.png"]} for name in (*others, "half")]
    for name, bytes_ in others.items():
        (tmp_path / f"{name}.png").write_bytes(bytes_)
        rows.append({"item": name, "contestant": "two", "pictures": [f"{name}.png"]})
    write_rows(tmp_path / "items.jsonl", [{"id": name, "question": f"一只猫 {name}"} for name in (*others, "half")])
    write_rows(tmp_path / "pictures.jsonl", rows)
    code, out, err = cli(
        "judge", "--items", "items.jsonl", "--responses", "pictures.jsonl", "--judge", "picture:sharpness",
        "--ballot", "choice+tie", "--report", "page.html", "--quiet", "--all",
    )  # fmt: skip
    assert code == 0, err
    assert "Nothing to compare for half: fewer than two responses." in err
    with Ledger(tmp_path / "fullbench.ledger") as ledger:
        why = {verdict.item: (verdict.fault, verdict.text) for verdict in ledger.verdicts()}
    assert {item for item, (fault, _) in why.items() if fault is None} == {"sound"}
    for item, words in {"cut": "decoded", "empty": "no bytes", "svg": "not a picture", "bomb": "pixels",
                        "moving": "animated", "equal": "twice"}.items():  # fmt: skip
        assert why[item][0] == "abstained"
        assert words in why[item][1], why[item]
        assert why[item][1][:20] in " ".join(out.split())
    assert "Why judges abstained" in (tmp_path / "page.html").read_text(encoding="utf-8")


def _chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
