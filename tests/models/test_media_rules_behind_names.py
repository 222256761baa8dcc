"""What a model's name means for videos, recordings and documents, frozen with release 0.2.0.

A name without a word for media means the rules below (docs/decisions/0037). If this test fails, the same name
would send something else to a model, and verdicts of two versions would be mixed. Keep the old rule for names
without a word, and let the new one be chosen by an option, which is part of the name.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from PIL import Image

from fullbench import Media, Prompt, Turn
from fullbench.core.picture import Frame, Sound
from fullbench.models.wire.video_frames_and_document_pages import FrameRule, document_stills, video_stills
from fullbench.studies.judge_contestant_and_benchmark_specs import contestant_from_spec
from tests.support.media_files import colour_frames, pdf_bytes, wav_bytes, write_gif, write_video

pytest.importorskip("av")

ADDRESS = "http://127.0.0.1:9/v1"
FRAMES = ("frames16", "as it is", "pages10", "as it is")
"""What is sent of a video, a recording, a document and a moving picture."""
RULES = {
    "openai:gpt-4o": ("gpt-4o", ("frames16", "as it is", "as it is", "as it is")),
    f"openai:m@{ADDRESS}": ("m@127.0.0.1:9/v1", FRAMES),
    "responses:gpt-5": ("gpt-5+responses", ("frames16", "not taken", "as it is", "as it is")),
    "anthropic:claude-opus-4-6": ("claude-opus-4-6", ("frames16", "not taken", "as it is", "as it is")),
    "gemini:gemini-2.5-pro": ("gemini-2.5-pro", ("as it is", "as it is", "as it is", "as it is")),
    "openrouter:qwen/qwen3-vl": (
        "qwen/qwen3-vl@openrouter.ai/api/v1", ("frames16", "as it is", "as it is", "as it is"),
    ),
    f"vllm:qwen2-vl@{ADDRESS}": ("qwen2-vl@127.0.0.1:9/v1", FRAMES),
    f"vllm:qwen2.5-omni@{ADDRESS}": ("qwen2.5-omni@127.0.0.1:9/v1", ("frames16 sound", *FRAMES[1:])),
    "ollama:llava": ("llava@localhost:11434/v1", ("frames16", "not taken", "pages10", "as it is")),
    "litellm:bedrock/claude": ("bedrock/claude", FRAMES),
    "litellm:gemini/gemini-2.5-pro": ("gemini/gemini-2.5-pro", ("frames16 sound", *FRAMES[1:])),
    "offline:echo": ("echo", FRAMES),
    # Options are words of the name.
    "openai:gpt-4o?frames=8&pages=3": ("gpt-4o+frames8+pages3", ("frames8", "as it is", "pages3", "frames8")),
    "openai:gpt-4o?fps=2&start=0.5&end=2": (
        "gpt-4o+fps2+start0.5+end2", ("fps2-max64-from0.5-to2", "as it is", "as it is", "fps2-max64-from0.5-to2"),
    ),
    "gemini:gemini-2.5-pro?video=frames&sound=no": (
        "gemini-2.5-pro+video-frames+no-sound", ("frames16", "as it is", "as it is", "frames16"),
    ),
    "gemini:gemini-2.5-pro?frames=4&start=1": (
        "gemini-2.5-pro+frames4+start1",
        ("frames4-from1 sound-from1", "as it is", "as it is", "frames4-from1"),
    ),
}  # fmt: skip


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("FULLBENCH_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def files(tmp_path: Path) -> list[Media]:
    return [
        Media.read(write_video(tmp_path / "a.mp4", colour_frames(40), fps=10, tones=(440, 660, 880, 1_000))),
        Media.from_bytes(wav_bytes()), Media.from_bytes(pdf_bytes(12)),
        Media.read(write_gif(tmp_path / "a.gif", colour_frames(4), 1_000)),
    ]  # fmt: skip


@pytest.mark.parametrize("spec", RULES)
def test_a_name_means_the_same_rules_as_in_the_release(spec, files):
    model = contestant_from_spec(spec)

    def rule(file: Media) -> str:
        if file.kind not in model.media_kinds:
            return "not taken"
        parts = [part for part in model.prepare(Prompt((Turn("user", (file,)),))).turns[0].parts if part is not file]
        sent = [part for part in parts if isinstance(part, Frame | Sound)]
        return " ".join(dict.fromkeys(part.rule for part in sent)) or "as it is"

    assert (model.name, tuple(map(rule, files))) == RULES[spec]


def pixels(file: Path | bytes) -> tuple[tuple[int, int], str, str]:
    with Image.open(file) as image:
        digest = hashlib.sha256(image.convert("RGB").tobytes()).hexdigest()[:12]
        return image.size, str(image.format), digest


def test_frames_and_pages_have_the_form_that_they_had(tmp_path):
    large = [Image.linear_gradient("L").resize((1_600, 400)).convert("RGB"), Image.new("RGB", (1_600, 400), "navy")]
    moving = Media.read(write_gif(tmp_path / "large.gif", large))
    frames = video_stills(moving, FrameRule()).frames
    assert [(frame.place, *pixels(frame.source)[:2]) for frame in frames] == [
        ("0.0 s", (1_024, 256), "PNG"), ("0.5 s", (1_024, 256), "PNG"),
    ]  # fmt: skip
    assert [frame.media_type for frame in frames] == ["image/png"] * 2
    assert pixels(frames[1].source)[2] == hashlib.sha256(bytes((0, 0, 128)) * (1_024 * 256)).hexdigest()[:12]
    (page,) = document_stills(Media.from_bytes(pdf_bytes(1)), None).frames
    assert (page.place, page.rule, pixels(page.source)[0]) == ("page 1", "pages10", (600, 840))
