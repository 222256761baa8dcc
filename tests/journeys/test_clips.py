"""A folder of clips, judged: videos and moving pictures, by judges of several dialects, as frames and as they are."""

from __future__ import annotations

import base64
import hashlib
import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from fullbench import Ledger
from tests.support.commands import write_rows
from tests.support.media_files import colour_frames, empty_mp4, pdf_bytes, wav_bytes, write_gif, write_video
from tests.support.recording_model_server import RecordingServer

pytest.importorskip("av")

VIDEO_FRAMES = ["[0.0 s] ", "[1.5 s] ", "[3.5 s] ", "[5.5 s] "]


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory, monkeypatch) -> None:
    monkeypatch.setenv("FULLBENCH_CACHE", str(tmp_path_factory.mktemp("cache")))
    monkeypatch.setenv("KEY", "k")


@pytest.fixture
def clips(tmp_path: Path) -> Path:
    folder = tmp_path / "clips"
    write_video(folder / "walk.mp4", colour_frames(12), sound=True)
    write_gif(folder / "blink.gif", colour_frames(4))
    names = ("walk", "blink")
    answers = [{"item": name, "model": "m", "text": f"Colours follow each other in {name}."} for name in names]
    write_rows(tmp_path / "answers.jsonl", answers)
    return folder


def user_parts(path: str, body: dict[str, Any]) -> list[Any]:
    """Return the parts of the last user turn: text, or (type, bytes) of what else was sent."""
    if "contents" in body:
        parts = body["contents"][-1]["parts"]
        return [part["text"] if "text" in part else binary(part["inlineData"]["data"]) for part in parts]
    turn = (body.get("messages") or body["input"])[-1]
    found = []
    for part in [{"text": turn["content"]}] if isinstance(turn["content"], str) else turn["content"]:
        if "text" in part:
            found.append(part["text"])
        elif "source" in part:
            found.append(binary(part["source"]["data"]))
        else:
            kind = part["type"]
            value = part.get(kind, part)
            data = part.get("image_url") if kind == "input_image" else value.get("url") or value.get("data") \
                or value.get("file_data")  # fmt: skip
            found.append(binary(str(data).rpartition(",")[2]))
    return found


def binary(data: str) -> bytes:
    return base64.b64decode(data)


def colour_of(data: bytes) -> tuple[int, ...]:
    from io import BytesIO

    with Image.open(BytesIO(data)) as image:
        return image.convert("RGB").getpixel((20, 20))


def judge_words(server: RecordingServer, *specs: str) -> list[str]:
    return [word for spec in specs for word in ("--judge", spec.format(url=server.url))]


def test_clips_are_judged_as_frames_and_as_they_are_and_replayed_with_the_same_bytes(cli, tmp_path, clips):
    video = (clips / "walk.mp4").read_bytes()
    specs = (
        "openai:plain@{url}/v1?mode=direct&frames=4",
        "anthropic:claude@{url}/v1?mode=direct&frames=4&key_env=KEY",
        "gemini:flash@{url}/v1?mode=direct&fps=1&key_env=KEY",
        "vllm:native@{url}/v1?mode=direct&video=native",
    )
    words = ["judge", "--items", "clips", "--question", "What happens?", "--responses", "answers.jsonl", "--quiet"]
    with RecordingServer(lambda text: "[[4]]") as server:
        command = [*words, *judge_words(server, *specs), "--ballot", "score:1-5"]
        code, _, err = cli(*command)
        assert code == 0, err
        assert "The server chooses the frames that its model gets" in err
        assert "Called 8, reused 0, failed 0" in err
        sent = {
            name: [user_parts(path, json.loads(raw)) for path, raw in server.bodies if name in path or name in str(raw)]
            for name in ("plain", "claude", "flash", "native")
        }
        # Frames: in their places, each after its time; the clip's sound is not sent, and the prompt says so.
        for name in ("plain", "claude"):
            (parts,) = [parts for parts in sent[name] if any("video of" in str(part) for part in parts)]
            texts = [part for part in parts if isinstance(part, str)]
            frames = [part for part in parts if isinstance(part, bytes)]
            assert "[video of 5.5 s, 4 frames, its sound is left out]" in "".join(texts)
            before = [parts[place - 1][-8:] for place, part in enumerate(parts) if isinstance(part, bytes)]
            assert before == VIDEO_FRAMES
            assert [colour_of(data) for data in frames] == [
                pytest.approx(colour, abs=4) for colour in ((255, 0, 0), (255, 255, 255), (0, 128, 0), (255, 255, 0))
            ]
            (parts,) = [
                parts for parts in sent[name] if any("moving picture of 2.0 s, 4 frames" in str(p) for p in parts)
            ]
            assert len([part for part in parts if isinstance(part, bytes)]) == 4
        for name in ("flash", "native"):  # the file itself
            assert video in [part for parts in sent[name] for part in parts]
        gemini = next(body for body in server.sent_to("flash") if "video/mp4" in str(body))
        assert {"fps": 1} in [part.get("videoMetadata") for part in gemini["contents"][-1]["parts"]]
        first_bodies = sorted(raw for _, raw in server.bodies)

        # A copy of the ledger on another machine, without the cache: the frames come from the ledger.
        with Ledger(tmp_path / "fullbench.ledger", read_only=True) as ledger:
            assert list(ledger.verify()) == []
            (verdict,) = [v for v in ledger.verdicts() if "plain" in v.judge and v.item == "walk"]
            (call,) = verdict.exchanges
            stored = [part["picture"] for turn in json.loads(call.sent)["turns"] for part in turn["parts"]
                      if isinstance(part, dict)]  # fmt: skip
            assert [ledger.picture(name).data() for name in stored] == [
                part for part in next(p for p in sent["plain"] if "video of" in str(p)) if isinstance(part, bytes)
            ]
        code, _, err = cli(*command)
        assert "Called 0, reused 8, failed 0" in err
    code, out, err = cli("show", "walk", "--judge", "plain")
    assert code == 0, err
    assert "[video of 5.5 s, 4 frames, its sound is left out]" in out
    assert f"<picture, 1.5 s of {hashlib.sha256(video).hexdigest()[:12]}, " in out
    assert len(set(first_bodies)) == 8


def test_a_second_trial_sends_the_frames_of_the_first_though_the_decoder_changed(cli, tmp_path, clips, monkeypatch):
    from fullbench.models.wire import video_frames_and_document_pages as stills

    command = [
        "judge", "--items", "clips", "--question", "What happens?", "--responses", "answers.jsonl", "--quiet",
        "--ballot", "score:1-5",
    ]  # fmt: skip
    with RecordingServer(lambda text: "[[4]]") as server:
        judge = judge_words(server, "openai:plain@{url}/v1?mode=direct&frames=4")
        assert cli(*command, *judge)[0] == 0
        first = [[p for p in user_parts(path, json.loads(raw)) if isinstance(p, bytes)] for path, raw in server.bodies]
        server.bodies.clear()
        shutil.rmtree(stills.cache_folder() / "frames")
        monkeypatch.setattr(stills, "_video_frames", None)  # any use would fail
        monkeypatch.setattr(stills, "_picture_frames", None)
        code, _, err = cli(*command, *judge, "--trials", "2")
        assert code == 0, err
        assert "Called 2, reused 2, failed 0" in err
        again = [[p for p in user_parts(path, json.loads(raw)) if isinstance(p, bytes)] for path, raw in server.bodies]
    assert sorted(first) == sorted(again)


@pytest.fixture
def server() -> Iterator[RecordingServer]:
    with RecordingServer(lambda text: "[[4]]") as server:
        yield server


def test_the_sound_of_a_clip_follows_its_frames_where_it_is_taken_and_is_sent_again(cli, tmp_path, monkeypatch, server):
    from fullbench.cache_dir import cache_folder
    from fullbench.models.wire import sound_of_videos

    write_video(tmp_path / "clips" / "song.mp4", colour_frames(8), tones=(440, 660, 880, 1_000))
    write_rows(tmp_path / "answers.jsonl", [{"item": "song", "model": "m", "text": "It rises."}])
    command = [
        "judge", "--items", "clips", "--question", "What happens?", "--responses", "answers.jsonl", "--quiet",
        "--ballot", "score:1-5",
    ]  # fmt: skip
    specs = {
        "hears": "gemini:flash@{url}/v1?mode=direct&key_env=KEY&frames=2",
        "omni": "vllm:qwen-omni@{url}/v1?mode=direct&frames=2",
        "part": "gemini:flash@{url}/v1?mode=direct&key_env=KEY&frames=2&start=1&end=3",
        "deaf": "vllm:qwen-vl@{url}/v1?mode=direct&frames=2",
        "quiet": "gemini:flash@{url}/v1?mode=direct&key_env=KEY&video=frames&frames=2&sound=no",
    }

    def run(*words: str) -> dict[str, list[Any]]:
        """Return the parts that each judge was sent."""
        found = {}
        for name, spec in specs.items():
            server.bodies.clear()
            code, _, err = cli(*command, *words, "--judge", spec.format(url=server.url))
            assert code == 0, err
            ((path, raw),) = server.bodies
            found[name] = user_parts(path, json.loads(raw))
        return found

    first = run()
    sounds = {name: [part for part in parts if isinstance(part, bytes)][2:] for name, parts in first.items()}
    assert [bool(found) for found in sounds.values()] == [True, True, True, False, False]
    assert sounds["hears"] == sounds["omni"] != sounds["part"]
    assert len(sounds["hears"][0]) == pytest.approx(44 + 4 * 32_000, abs=10_000)
    assert len(sounds["part"][0]) == 44 + 2 * 32_000
    sentences = {name: str(parts).partition("[video of ")[2].partition("]")[0] for name, parts in first.items()}
    assert sentences == {
        "hears": "3.5 s, 2 frames, its sound comes after them", "omni": "3.5 s, 2 frames, its sound comes after them",
        "part": "3.5 s, from 1.0 s to 3.0 s, 2 frames, its sound comes after them",
        "deaf": "3.5 s, 2 frames, its sound is left out", "quiet": "3.5 s, 2 frames, its sound is left out",
    }  # fmt: skip

    # Without cache and decoder, the same bytes come from the ledger, also for a copy of it.
    shutil.rmtree(cache_folder() / "frames")
    monkeypatch.setattr(sound_of_videos, "_write_sound", None)
    again = run("--trials", "2")
    for name, parts in first.items():
        assert [part for part in again[name] if isinstance(part, bytes)] == [
            part for part in parts if isinstance(part, bytes)
        ]
    assert cli("ledger", "copy", "fullbench.ledger", "copy.ledger")[0] == 0
    with Ledger(tmp_path / "copy.ledger", read_only=True) as ledger:
        assert list(ledger.verify()) == []
        digests = {hashlib.sha256(found[0]).hexdigest() for found in sounds.values() if found}
        assert {ledger.media(digest).data() for digest in digests} == {found[0] for found in sounds.values() if found}
    _, out, _ = cli("show", "song", "--judge", "qwen-omni")
    assert "<recording, sound, " in out


def test_contestants_get_the_same_frames_as_judges(cli, tmp_path, clips):
    with RecordingServer(lambda text: "It walks.") as server:
        code, _, err = cli(
            "answer", "--items", "clips", "--question", "What happens?", "--out", "said.jsonl", "--quiet",
            "--contestant", f"openai:talker@{server.url}/v1?frames=2",
        )  # fmt: skip
        assert code == 0, err
        bodies = [user_parts(path, json.loads(raw)) for path, raw in server.bodies]
    (parts,) = [parts for parts in bodies if "video of" in str(parts)]
    texts = [part for part in parts if isinstance(part, str)]
    assert "[video of 5.5 s, 2 frames, its sound is left out]" in texts[0]
    assert len([part for part in parts if isinstance(part, bytes)]) == 2
    assert texts[-1].strip() == "What happens?"


def test_recordings_and_documents_go_as_they_are_to_dialects_that_take_them_and_others_say_what_they_do(cli, tmp_path):
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "speech.wav").write_bytes(wav_bytes())
    (tmp_path / "files" / "report.pdf").write_bytes(pdf_bytes(3))
    write_rows(
        tmp_path / "answers.jsonl", [{"item": name, "model": "m", "text": "Yes."} for name in ("speech", "report")]
    )
    specs = (
        "openai:gpt@{url}/v1?mode=direct&pages=2",
        "responses:gpt@{url}/v1?mode=direct&key_env=KEY",
        "anthropic:claude@{url}/v1?mode=direct&key_env=KEY",
        "gemini:flash@{url}/v1?mode=direct&key_env=KEY",
    )
    with RecordingServer(lambda text: "[[4]]") as server:
        code, _, err = cli(
            "judge", "--items", "files", "--question", "What?", "--responses", "answers.jsonl", "--quiet",
            "--ballot", "score:1-5", *judge_words(server, *specs),
        )  # fmt: skip
        assert code == 0, err
        bodies = [(path, user_parts(path, json.loads(raw))) for path, raw in server.bodies]
    wav, pdf = wav_bytes(), (tmp_path / "files" / "report.pdf").read_bytes()
    takers = {path.rpartition("/")[2] for path, parts in bodies if wav in parts}
    assert takers == {"completions", "flash:generateContent"}
    assert {path.rpartition("/")[2] for path, parts in bodies if pdf in parts} == {
        "responses", "messages", "flash:generateContent",
    }  # fmt: skip
    (pages,) = [parts for path, parts in bodies if "document of 3 pages, the first 2 of them" in str(parts)]
    before = [pages[place - 1] for place, part in enumerate(pages) if isinstance(part, bytes)]
    assert [text[-9:] for text in before] == ["[page 1] ", "[page 2] "]
    with Ledger(tmp_path / "fullbench.ledger", read_only=True) as ledger:
        reasons = {v.judge.partition("@")[0]: v.text for v in ledger.verdicts() if v.fault == "abstained"}
    assert set(reasons.values()) == {"the case has a recording, which this judge's model does not take"}
    assert set(reasons) == {"gpt", "claude"}


def test_a_plan_names_what_is_sent_and_prices_frames_as_the_run_counts_them(cli, tmp_path, clips):
    (clips / "speech.wav").write_bytes(wav_bytes())
    write_rows(tmp_path / "answers.jsonl", [{"item": name, "model": "m", "text": "x"} for name in ("walk", "blink")])
    plan = [
        "judge", "--items", "clips", "--question", "What happens?", "--responses", "answers.jsonl", "--dry-run",
        "--ballot", "score:1-5", "--judge", "openai:gpt-4o?mode=direct&price_in=10&price_out=0", "--judge",
        "gemini:gemini-2.5-pro?mode=direct&price_in=10&price_out=0",
        "--judge", "vllm:q@http://127.0.0.1:9/v1?video=native",
        "--json",
    ]  # fmt: skip
    code, out, err = cli(*plan)
    assert code == 0, err
    (table,) = json.loads(out)
    rows = [dict(zip(table["columns"], row, strict=True)) for row in table["rows"]]
    loads = {row["who"].partition("+")[0].partition("@")[0]: row for row in rows if row["who"]}
    # gpt-4o: 85 tokens and 170 for each tile of 512; twelve small frames and one still have one tile each.
    pictures = 13 * (85 + 170)
    assert pictures < loads["gpt-4o"]["tokens in"] < pictures + 600
    # Gemini: 258 tokens a second and 32 of sound for 6 s (5.5 s and the last frame), 258 for the still.
    gemini = 6 * (258 + 32) + 258
    assert loads["gemini-2.5-pro"]["tokens in"] == pytest.approx(gemini + 250, rel=0.15)
    assert loads["gemini-2.5-pro"]["dollars"] == pytest.approx(loads["gemini-2.5-pro"]["tokens in"] / 1e5)
    assert loads["q"]["tokens in"] is loads["q"]["dollars"] is None
    notes = " ".join(table["notes"])
    assert "1 video as 12 frames without sound; one still per moving picture (1; frames=16" in notes
    assert "1 video unchanged" in notes


def test_a_clip_that_cannot_be_decoded_costs_its_own_cases_only(cli, tmp_path, clips):
    (clips / "broken.mp4").write_bytes(empty_mp4())
    names = ("walk", "blink", "broken")
    films = [{"item": "walk", "model": "film", "video": "clips/broken.mp4"},
             {"item": "blink", "model": "film", "video": "clips/walk.mp4"}]  # fmt: skip
    write_rows(tmp_path / "answers.jsonl", [*({"item": name, "model": "m", "text": "x"} for name in names), *films])
    with RecordingServer(lambda text: "[[4]]") as server:
        code, _, err = cli(
            "judge", "--items", "clips", "--question", "What happens?", "--responses", "answers.jsonl",
            "--quiet", "--ballot", "score:1-5",
            *judge_words(server, "openai:plain@{url}/v1?mode=direct"),
        )  # fmt: skip
        assert code == 0, err
    with Ledger(tmp_path / "fullbench.ledger", read_only=True) as ledger:
        verdicts = list(ledger.verdicts())
        assert list(ledger.verify()) == []
    outcomes = {(v.item, v.contestants[0]): v.fault or v.marks for v in verdicts}
    assert outcomes == {
        ("walk", "m"): (4.0,), ("blink", "m"): (4.0,), ("blink", "film"): (4.0,), ("broken", "m"): "abstained",
        ("walk", "film"): "abstained",
    }  # fmt: skip
    assert all("the video " in v.text and "cannot be decoded" in v.text for v in verdicts if v.fault)


def test_copies_lakes_and_exclusions_keep_the_frames_with_their_videos(cli, tmp_path, clips):
    with RecordingServer(lambda text: "[[4]]") as server:
        code, _, err = cli(
            "judge", "--items", "clips", "--question", "What happens?", "--responses", "answers.jsonl", "--quiet",
            "--ballot", "score:1-5", *judge_words(server, "openai:plain@{url}/v1?mode=direct&frames=3"),
        )  # fmt: skip
        assert code == 0, err
    video = hashlib.sha256((clips / "walk.mp4").read_bytes()).hexdigest()

    def pictures(place: str) -> set[str]:
        with Ledger(place, read_only=True) as ledger:
            assert list(ledger.verify()) == []
            with ledger.reader() as reader:
                return {name for (name,) in reader.execute("SELECT digest FROM pictures").fetchall()}

    before = pictures("fullbench.ledger")
    assert len(before) == 2 + 3 + 3
    assert cli("ledger", "copy", "fullbench.ledger", "copy.ledger")[0] == 0
    assert pictures("copy.ledger") == before
    assert cli("lake", "write", "fullbench.ledger", "--out", "lake")[0] == 0
    assert pictures("lake") == before
    code, _, err = cli("ledger", "copy", "fullbench.ledger", "part.ledger", "--without", f"picture:{video}")
    assert code == 0, err
    kept = pictures("part.ledger")
    assert video not in kept
    assert len(kept) == 1 + 3  # the moving picture and its frames


def test_judges_without_media_get_captions_or_a_word_in_their_place_and_native_prompts_are_shown(cli, tmp_path, clips):
    rows = [{"id": "walk", "question": "What happens?", "video": "clips/walk.mp4", "captions": ["A person walks."]}]
    write_rows(tmp_path / "items.jsonl", rows)
    write_rows(tmp_path / "answers.jsonl", [{"item": "walk", "model": "m", "text": "x"}])
    specs = ("openai:told@{url}/v1?picture_mode=described", "openai:blind@{url}/v1?picture_mode=none",
             "vllm:native@{url}/v1?mode=steps&video=native")  # fmt: skip
    with RecordingServer(lambda text: "[[4]]") as server:
        code, _, err = cli(
            "judge", "--items", "items.jsonl", "--responses", "answers.jsonl", "--quiet", "--ballot", "score:1-5",
            *judge_words(server, *specs),
        )  # fmt: skip
        assert code == 0, err
        words = {body["model"]: str(body["messages"]) for body in reversed(server.sent_to("completions"))}
    assert "[video 1, which you are not shown: A person walks.]" in words["told"]
    assert "[video 1, which you are not shown]" in words["blind"]
    assert "A person walks" not in words["blind"]
    assert "every video" in words["native"]
    assert "every picture" not in words["native"]
    code, out, err = cli("show", "walk", "--judge", "native")
    assert code == 0, err
    digest = hashlib.sha256((clips / "walk.mp4").read_bytes()).hexdigest()
    assert f"<video {digest}>" in out.partition("what was sent:")[2]


def test_a_run_says_that_a_moving_picture_is_sent_as_one_still(cli, tmp_path, clips):
    command = ["judge", "--items", "clips", "--question", "?", "--responses", "answers.jsonl", "--ballot", "score:1-5"]
    with RecordingServer(lambda text: "[[4]]") as server:
        _, _, err = cli(*command, *judge_words(server, "openai:plain@{url}/v1"))
        _, _, moving = cli(*command, *judge_words(server, "openai:plain@{url}/v1?frames=2"))
    assert "The items have moving pictures (the first is item 'blink'). One still of each is sent to" in " ".join(
        err.split()
    )
    assert "moving pictures" not in moving


def test_a_program_gets_the_clip_as_a_file_and_exports_name_its_kind(cli, tmp_path, clips):
    program = (
        "import hashlib, json, sys\n"
        "case = json.load(sys.stdin)\n"
        "part = next(part for turn in case['turns'] for part in turn['parts'] if 'text' not in part)\n"
        "name = part.get('video') or part['picture']\n"
        "seen = hashlib.sha256(open(name, 'rb').read()).hexdigest() + ' ' + part['media_type']\n"
        "print(json.dumps({'marks': [3], 'text': seen}))\n"
    )
    (tmp_path / "judge.py").write_text(f"#!{sys.executable}\n{program}")
    (tmp_path / "judge.py").chmod(0o755)
    code, _, err = cli(
        "judge", "--items", "clips", "--question", "?", "--responses", "answers.jsonl", "--quiet",
        "--ballot", "score:1-5", "--judge", "command:./judge.py",
    )  # fmt: skip
    assert code == 0, err
    digest = hashlib.sha256((clips / "walk.mp4").read_bytes()).hexdigest()
    with Ledger(tmp_path / "fullbench.ledger", read_only=True) as ledger:
        (verdict,) = [v for v in ledger.verdicts() if v.item == "walk"]
    assert (verdict.marks, verdict.text.split()[:2]) == ((3.0,), [digest, "video/mp4"])
    code, _, err = cli("export", "inspect", "--out", "log.json")
    assert code == 0, err
    blocks = [block for sample in json.loads((tmp_path / "log.json").read_text())["samples"]
              for message in sample["input"] for block in message["content"]]  # fmt: skip
    assert {block["type"] for block in blocks} == {"video", "image", "text"}
    (video,) = [block for block in blocks if block["type"] == "video"]
    assert (video["format"], hashlib.sha256(binary(video["video"].partition(",")[2])).hexdigest()) == ("mp4", digest)
