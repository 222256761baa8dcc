"""A clip of 2 GB in little memory, and a thousand clips in one ledger."""

from __future__ import annotations

import hashlib
import json
import struct
from pathlib import Path

import pytest

from fullbench import Ledger
from tests.support.commands import write_rows
from tests.support.gemini_files_server import GeminiFilesServer
from tests.support.measured_command import run_measured
from tests.support.media_files import colour_frames, write_video
from tests.support.recording_model_server import RecordingServer

pytest.importorskip("av")
pytestmark = pytest.mark.slow

LARGE_BYTES = 2_000_000_000


def write_large_video(file: Path) -> str:
    """Write a clip that is followed by 2 GB of nothing, which take no room on the disk, and return its digest."""
    write_video(file, colour_frames(8))
    size = file.stat().st_size
    with file.open("r+b") as out:
        out.seek(size)
        out.write(struct.pack(">I", LARGE_BYTES - size) + b"free")
        out.truncate(LARGE_BYTES)
    check = hashlib.sha256()
    with file.open("rb") as content:
        while piece := content.read(1 << 20):
            check.update(piece)
    return check.hexdigest()


def test_a_clip_of_2_gb_is_uploaded_and_drawn_in_less_than_300_mb(tmp_path, monkeypatch):
    monkeypatch.setenv("FULLBENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("KEY", "k")
    digest = write_large_video(tmp_path / "clips" / "film.mp4")
    write_rows(tmp_path / "answers.jsonl", [{"item": "film", "model": name, "text": "It moves."} for name in "ab"])
    with GeminiFilesServer() as gemini, RecordingServer(lambda text: "[[4]]") as other:
        done = run_measured(
            [
                "-m", "fullbench", "judge", "--items", "clips", "--question", "What happens?", "--responses",
                "answers.jsonl", "--ballot", "score:1-5", "--quiet",
                "--judge", f"gemini:flash@{gemini.url}?mode=direct&key_env=KEY&timeout=600",
                "--judge", f"openai:m@{other.url}/v1?mode=direct&frames=4",
            ],
            cwd=tmp_path,
        )  # fmt: skip
        assert gemini.uploads == [digest]
        assert len(gemini.bodies) == 2
        assert all(len(json.dumps(body)) < 20_000 for body in gemini.bodies)
        assert len(other.bodies) == 2
    assert done.peak_bytes < 300e6
    with Ledger(tmp_path / "fullbench.ledger", read_only=True) as ledger:
        assert [verdict.marks for verdict in ledger.verdicts()] == [(4.0,)] * 4
        assert list(ledger.verify()) == []


def test_a_ledger_of_a_thousand_clips_verifies_and_a_second_run_calls_nobody(cli, tmp_path, monkeypatch):
    monkeypatch.setenv("FULLBENCH_CACHE", str(tmp_path / "cache"))
    frames = colour_frames(4, (32, 32))
    for number in range(1_000):
        frames[1].putpixel((number % 32, number // 32), (9, 99, 199))
        write_video(tmp_path / "clips" / f"c{number:03}.mp4", frames, codec="mpeg4")
    answers = [{"item": f"c{number:03}", "model": "m", "text": "Colours."} for number in range(1_000)]
    write_rows(tmp_path / "answers.jsonl", answers)
    with RecordingServer(lambda text: "[[4]]") as server:
        command = [
            "judge", "--items", "clips", "--question", "What happens?", "--responses", "answers.jsonl", "--quiet",
            "--ballot", "score:1-5", "--judge", f"openai:m@{server.url}/v1?mode=direct&frames=2",
        ]  # fmt: skip
        code, _, err = cli(*command)
        assert code == 0, err
        assert "Called 1,000, reused 0, failed 0" in err
        assert "Called 0, reused 1,000, failed 0" in cli(*command)[2]
    code, out, err = cli("ledger", "verify", "fullbench.ledger")
    assert code == 0, out + err
    with Ledger(tmp_path / "fullbench.ledger", read_only=True) as ledger, ledger.reader() as reader:
        clips = {hashlib.sha256(file.read_bytes()).hexdigest() for file in (tmp_path / "clips").iterdir()}
        stored = {name for (name,) in reader.execute("SELECT digest FROM pictures").fetchall()}
        assert clips < stored
