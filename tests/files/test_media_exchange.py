"""Videos, recordings and documents leave for other tools and come back, or are named and counted."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest

from fullbench import Ledger
from fullbench.core.item import WITHOUT_PICTURES, Item, Turn, parts_content
from fullbench.core.json_digests_and_cached_properties import digest
from fullbench.core.media import media_from_bytes
from fullbench.core.response import Response
from fullbench.core.verdict import Verdict
from fullbench.core.verdict_record import Record
from fullbench.errors import InputError
from fullbench.files.item_response_verdict_files import read_items
from tests.files.several import contents, left_out
from tests.files.test_exchange import taken
from tests.support.commands import write_rows
from tests.support.data_builders import png
from tests.support.media_files import empty_mp4, pdf_bytes, wav_bytes

CLIP, MADE, OTHER, SOUND, SHEET, PICTURE = (
    media_from_bytes(data)
    for data in (empty_mp4(), empty_mp4(80), empty_mp4(90), wav_bytes(), pdf_bytes(2), png())
)  # fmt: skip


def uri(media_type: str, data: bytes) -> str:
    return f"data:{media_type};base64,{base64.b64encode(data).decode()}"


@pytest.fixture
def record(tmp_path: Path) -> Record:
    """Three items with one file each or several between words, and one whose answers are videos."""
    items = [
        Item.ask("clip", "What happens?", CLIP, tags={"task": "video"}),
        Item("talk", (Turn("user", ("Listen:", SOUND, "then read", SHEET, "and look at", PICTURE)),)),
        Item.ask("film", "A ball that moves left"),
    ]
    texts = {"x": "It moves.", "y": "Nothing."}
    responses = [Response(item.id, who, (text,)) for item in items[:2] for who, text in texts.items()]
    responses += [Response("film", "x", (MADE,)), Response("film", "y", ("my film:", OTHER))]
    verdicts = [
        Verdict(digest([item.id, spec]), judge, item.id, ("x", "y"), spec, marks=marks, at=1.7e9, rater=rater)
        for item in items
        for spec, judge, marks, rater in (
            ("choice+tie", "human", (1.0, 0.0), "ann"), ("choice+tie", "j", (0.0, 1.0), ""),
            ("choice:7", "j", (1.0, 0.0), ""), ("choice:5", "j", (1.0, 0.0), ""),
        )
    ]  # fmt: skip
    with Ledger(tmp_path / "m.ledger") as book:
        book.add(*items)
        for response in responses:
            book.add_response(next(item for item in items if item.id == response.item), response)
        book.add(*verdicts)
    by_place = {(one.item, one.contestant, one.sample): one for one in responses}
    return Record(tuple(verdicts), {item.id: item for item in items}, by_place)


def export(cli, kind: str, name: str, *words: str) -> str:
    code, _, err = cli("export", kind, "--ledger", "m.ledger", "--out", name, *words)
    assert code == 0, err
    return err


def question_parts(items: dict[str, Item]) -> dict[str, object]:
    return {name: [parts_content(turn.parts) for turn in item.turns] for name, item in items.items()}


def response_parts(responses: dict[tuple[str, str, int], Response]) -> dict[object, object]:
    return {place: parts_content(response.parts) for place, response in responses.items()}


@pytest.mark.parametrize("kind", ["label_studio", "argilla"])
def test_records_of_annotation_tools_carry_every_kind_of_file_there_and_back(cli, tmp_path, record, kind):
    export(cli, kind, "there.json")
    there = json.loads((tmp_path / "there.json").read_text())
    fields = [row.get("data") or row["fields"] for row in there]
    talk = next(row for row in fields if "audio_1" in row)
    assert talk["conversation"][0]["content"].split("\n")[1::2] == ["[audio 1]", "[document 1]", "[picture 1]"]
    assert next(row for row in fields if "video_a_1" in row)["video_a_1"] == uri("video/mp4", MADE.data())
    items, responses, verdicts = taken(cli, kind, tmp_path / "there.json")
    assert question_parts(items) == question_parts(record.items)
    assert response_parts(responses) == response_parts(record.responses)
    assert len(verdicts) == len(record)


def test_a_hugging_face_folder_carries_every_kind_of_file_there_and_back(cli, tmp_path, record):
    export(cli, "huggingface", "set")
    rows = [json.loads(line) for line in (tmp_path / "set" / "items.jsonl").read_text().splitlines()]
    assert [name for row in rows for name in ("videos", "audio", "documents") if name in row] == ["videos"]
    items, responses, verdicts = taken(cli, "huggingface", tmp_path / "set")
    assert contents(Record(tuple(verdicts), items, responses)) == contents(record)


@pytest.mark.parametrize("suffix", [".json", ".eval"])
def test_an_inspect_log_carries_files_of_questions_and_answers(cli, tmp_path, record, suffix):
    export(cli, "inspect", f"log{suffix}", "--judge", "human", "--option", "contestant=y")
    items, responses, verdicts = taken(cli, "inspect", tmp_path / f"log{suffix}")
    expected = {f"fullbench/{name}": parts for name, parts in question_parts(record.items).items()}
    assert question_parts(items) == expected
    assert response_parts(responses) == {
        (f"fullbench/{item}", who, 0): parts
        for (item, who, _), parts in response_parts(record.responses).items()
        if who == "y"
    }
    assert [verdict.marks for verdict in verdicts] == [(0.0,)] * 3
    read_log = pytest.importorskip("inspect_ai.log", reason="inspect_ai is not installed").read_eval_log
    sample = next(one for one in read_log(str(tmp_path / f"log{suffix}")).samples or () if one.id == "talk")
    kinds = [part.type for part in sample.input[0].content]
    assert kinds == ["text", "audio", "text", "document", "text", "image"]


def test_comparisons_carry_what_their_format_has_a_place_for_and_count_the_rest(cli, tmp_path, record):
    assert "left out" not in export(cli, "arena", "arena.json", "--judge", "human")
    items, responses, verdicts = taken(cli, "arena", tmp_path / "arena.json")
    assert question_parts(items) == question_parts(record.items)
    assert response_parts(responses) == response_parts(record.responses)
    assert [verdict.marks for verdict in verdicts] == [(1.0, 0.0)] * 3

    assert "2 videos of responses left out" in export(cli, "alpaca", "alpaca.json", "--judge", "human")
    items, *_ = taken(cli, "alpaca", tmp_path / "alpaca.json")
    assert [part.kind for part in items["talk"].media] == ["image", "audio", "document"], "in columns, as pictures are"
    assert items["clip"].media == record.items["clip"].media

    assert "2 videos of responses left out" in export(cli, "helpsteer", "steer.jsonl", "--judge", "j")
    items, *_ = taken(cli, "helpsteer", tmp_path / "steer.jsonl")
    assert question_parts(items) == question_parts(record.items)


@pytest.mark.parametrize(("kind", "words"), [("arena_hard", ("--option", "baseline=x")), ("langfuse", ())])
def test_formats_without_files_name_and_count_what_they_leave_out(cli, tmp_path, record, kind, words):
    said = export(cli, kind, "out.json", "--judge", "j", *words)
    for what in ("1 picture of", "1 video of", "1 recording of", "1 document of"):
        assert f"{what} questions left out" in said
    assert "2 videos of responses left out" in said


def test_parts_of_chat_logs_are_read_as_each_tool_writes_them(cli, tmp_path):
    """OpenAI's chat and responses, Anthropic's blocks, vLLM's URLs and lmms-eval's `url`: the same four files."""
    clip, sound, sheet = (base64.b64encode(part.data()).decode() for part in (CLIP, SOUND, SHEET))
    (tmp_path / "walk.mp4").write_bytes(CLIP.data())
    dialects = [
        [{"type": "video_url", "video_url": {"url": f"data:video/mp4;base64,{clip}"}},
         {"type": "input_audio", "input_audio": {"data": sound, "format": "wav"}},
         {"type": "file", "file": {"file_data": f"data:application/pdf;base64,{sheet}", "filename": "a.pdf"}}],
        [{"type": "video", "video": "walk.mp4"},
         {"type": "audio_url", "audio_url": {"url": f"data:audio/wav;base64,{sound}"}},
         {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": sheet}}],
        [{"type": "video", "url": "walk.mp4"}, {"type": "audio", "url": f"data:audio/wav;base64,{sound}"},
         {"type": "input_file", "filename": "a.pdf", "file_data": f"data:application/pdf;base64,{sheet}"}],
    ]  # fmt: skip
    answer = {"role": "assistant", "content": "yes"}
    rows = [
        {"question_id": f"d{place}", "model_a": "x", "model_b": "y", "winner": "tie",
         "conversation_a": [{"role": "user", "content": [*parts, {"type": "text", "text": "Is it so?"}]}, answer],
         "conversation_b": [{"role": "user", "content": [*parts, {"type": "text", "text": "Is it so?"}]}, answer]}
        for place, parts in enumerate(dialects)
    ]  # fmt: skip
    items, *_ = taken(cli, "arena", write_rows(tmp_path / "chats.jsonl", rows))
    assert [item.turns[0].parts for item in items.values()] == [(CLIP, SOUND, SHEET, "Is it so?")] * 3


def test_parts_that_only_a_server_has_and_parts_of_unknown_types_are_counted(cli, tmp_path):
    parts = [
        {"type": "file", "file": {"file_id": "file-1"}}, {"type": "tool_use", "name": "search"},
        {"type": "text", "text": "And now?"},
    ]  # fmt: skip
    samples = [{"id": 1, "input": [{"role": "user", "content": parts}], "output": {"completion": "x"}, "target": "",
                "scores": {"exact": {"value": "C"}}}]  # fmt: skip
    (tmp_path / "log.json").write_text(
        json.dumps({"version": 2, "status": "success", "eval": {"task": "t", "model": "m"}, "samples": samples})
    )
    code, out, err = cli("import", "inspect", "log.json", "--out", "back")
    assert code == 0, err
    assert left_out(out) == {
        "parts of questions of the type file that only its server has": 1,
        "parts of questions of the type tool_use": 1,
    }


def test_a_preference_set_of_videos_needs_no_options(cli, tmp_path):
    """The layout of reward benchmarks: a video, a question, the chosen and the rejected answer, a category."""
    for number in range(3):
        (tmp_path / f"{number}.mp4").write_bytes(empty_mp4(64 + number))
    rows = [
        {"id": f"p{number}", "video": f"{number}.mp4", "question": "What happens?", "category": "perception",
         "chosen": "A ball rolls.", "rejected": "A cat sleeps."}
        for number in range(3)
    ]  # fmt: skip
    items, responses, verdicts = taken(cli, "huggingface", write_rows(tmp_path / "set.jsonl", rows))
    assert [(item.media[0].kind, dict(item.tags)) for item in items.values()] == [
        ("video", {"category": "perception"})
    ] * 3
    assert {who for _, who, _ in responses} == {"chosen", "rejected"}
    assert [(one.judge, one.contestants, one.marks) for one in verdicts] == [
        ("human", ("chosen", "rejected"), (1.0, 0.0))
    ] * 3


def test_questions_about_documents_find_their_files_in_a_folder(cli, tmp_path):
    """The layout of MMLongBench-Doc: `doc_id` is a file's name below `documents`."""
    (tmp_path / "documents").mkdir()
    (tmp_path / "documents" / "report.pdf").write_bytes(SHEET.data())
    rows = [
        {"doc_id": "report.pdf", "question": f"Question {n}?", "answer": str(n), "answer_format": "Int"} for n in (1, 2)
    ]
    (tmp_path / "samples.json").write_text(json.dumps(rows))
    words = ("--option", "document=doc_id", "--option", "folder=documents")
    code, _, err = cli("import", "huggingface", "samples.json", "--out", "back", *words)
    assert code == 0, err
    assert [(item.media, item.reference) for item in read_items(tmp_path / "back" / "items.jsonl")] == [
        ((SHEET,), "1"),
        ((SHEET,), "2"),
    ]


def test_votes_on_videos_of_two_generators_and_results_of_judges(cli, tmp_path):
    """The layout of GenAI-Bench: rows of the task with both videos, and a folder of results for each judge."""
    rows = [
        {"prompt": f"ball {vote}", "left_model": "a", "right_model": "b", "vote_type": vote,
         "left_video": {"bytes": None, "path": "l.mp4"}, "right_video": {"bytes": None, "path": "r.mp4"}}
        for vote in ("leftvote", "rightvote", "tievote", "bothbad_vote")
    ]  # fmt: skip
    (tmp_path / "l.mp4").write_bytes(MADE.data())
    (tmp_path / "r.mp4").write_bytes(OTHER.data())
    _, responses, verdicts = taken(cli, "genai_bench", write_rows(tmp_path / "video_generation.jsonl", rows))
    assert {one.media for one in responses.values()} == {(MADE,), (OTHER,)}
    assert [one.marks for one in verdicts] == [(1, 0), (0, 1), (0.5, 0.5), (0.5, 0.5)]

    results = [
        {"idx": place, "prompt": "ball", "response": "...", "model_vote": level, "human_vote": "leftvote", "correct": 0}
        for place, level in enumerate(("[[A>B]]", "[[A=B=Bad]]", None))
    ]  # fmt: skip
    for judge in ("gpt", "other"):
        (tmp_path / "results" / "video_generation" / judge).mkdir(parents=True)
        write_rows(tmp_path / "results" / "video_generation" / judge / "pairwise.jsonl", results)
    *_, verdicts = taken(cli, "genai_bench", tmp_path / "results")
    by_judge = {
        judge: [one.marks or one.fault for one in verdicts if one.judge == judge] for judge in ("human", "gpt", "other")
    }
    of_judge = [(1, 0), (0.5, 0.5), "unreadable"]
    assert by_judge == {"human": [(1, 0)] * 3, "gpt": of_judge, "other": of_judge}


def test_preference_pairs_carry_videos_and_recordings_and_count_documents(cli, tmp_path, record):
    from fullbench.studies.exchange.dpo_pairs import export_dpo

    with pytest.raises(InputError, match="their bytes"):
        export_dpo(record, "human", tmp_path / "pairs.jsonl")
    talks = Record(tuple(one for one in record.verdicts if one.item != "film"), record.items, record.responses)
    assert export_dpo(talks, "human", tmp_path / "pairs.jsonl") == (1, 0, 1)
    (row,) = [json.loads(line) for line in (tmp_path / "pairs.jsonl").read_text().splitlines()]
    assert (tmp_path / row["videos"][0]).read_bytes() == CLIP.data()
    assert row["prompt"] == [
        {"role": "user", "content": [{"type": "video"}, {"type": "text", "text": "What happens?"}]}
    ]

    films = {**record.responses, ("film", "y", 0): Response("film", "y", (OTHER,))}
    film = Record(tuple(one for one in record.verdicts if one.item == "film"), record.items, films)
    assert export_dpo(film, "human", tmp_path / "pairs.parquet") == (1, 0, 0)
    parquet = pytest.importorskip("pyarrow.parquet")
    table = parquet.read_table(tmp_path / "pairs.parquet")
    (row,) = table.to_pylist()
    assert (row["chosen"]["bytes"], row["rejected"]["bytes"]) == (MADE.data(), OTHER.data())
    features = json.loads(table.schema.metadata[b"huggingface"])["info"]["features"]
    assert features["chosen"] == features["rejected"] == {"_type": "Video"}


def test_a_video_set_of_vlmevalkit_finds_its_videos_and_options(cli, tmp_path):
    """The layout of Video-MME's table: a path below the set's folder, options as a list in one cell."""
    (tmp_path / "video").mkdir()
    (tmp_path / "video" / "walk.mp4").write_bytes(CLIP.data())
    rows = ["index\tvideo\tvideo_path\tcandidates\tquestion\tanswer"]
    for index, video in enumerate(("walk", "gone")):
        rows.append(f"{index}\t{video}\t./video/{video}.mp4\t['A. It moves.', \"B. It's still.\"]\tWhat happens?\tA")
    (tmp_path / "Video-MME.tsv").write_text("\n".join(rows) + "\n")
    sheet = ["index\tvideo\tquestion\tanswer\tprediction\tscore", *(f"{n}\tv\tWhat happens?\tA\tA.\t1" for n in (0, 1))]
    (tmp_path / "gpt_Video-MME.tsv").write_text("\n".join(sheet) + "\n")
    code, out, err = cli("import", "vlmevalkit", "Video-MME.tsv", "gpt_Video-MME.tsv", "--out", "back")
    assert code == 0, err
    items = {item.id: item for item in read_items(tmp_path / "back" / "items.jsonl")}
    assert items["0"].turns[0].parts == (CLIP, "What happens?\nA. It moves.\nB. It's still.")
    assert items["1"].tags[WITHOUT_PICTURES] == "./video/gone.mp4"
    assert left_out(out) == {"items with videos that are not next to the table, nor in a folder video there": 1}
