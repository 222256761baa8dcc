"""Options for video, sound and documents: each changes the name of a model, or is refused in one sentence."""

from __future__ import annotations

import pytest

from fullbench import Media, Prompt, Turn
from fullbench.core.model import Model
from fullbench.errors import InputError
from fullbench.studies.judge_contestant_and_benchmark_specs import contestant_from_spec
from tests.support.media_files import colour_frames, write_video

pytestmark = pytest.mark.filterwarnings("ignore:.*The server chooses the frames")

ADDRESS = "http://127.0.0.1:9/v1"
SPECS = {
    "openai": "openai:m", "own server": f"openai:m@{ADDRESS}", "responses": "responses:m", "anthropic": "anthropic:m",
    "gemini": "gemini:m", "openrouter": "openrouter:m", "vllm": "vllm:m", "ollama": "ollama:m", "litellm": "litellm:m",
}  # fmt: skip

CHANGES_NAME = {
    "frames=8": "+frames8", "fps=2": "+fps2", "video=frames": "+video-frames", "pages=3": "+pages3",
    "start=1.5": "+start1.5", "end=9": "+end9", "sound=no&video=frames": "+video-frames+no-sound",
}  # fmt: skip


def build(spec: str, options: str) -> Model:
    return contestant_from_spec(f"{spec}?{options}")


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("FULLBENCH_CACHE", str(tmp_path / "cache"))


@pytest.mark.parametrize("spec", SPECS.values(), ids=SPECS)
@pytest.mark.parametrize(("options", "words"), CHANGES_NAME.items())
def test_every_dialect_takes_the_options_of_frames_and_pages(spec, options, words):
    plain = contestant_from_spec(spec)
    changed = build(spec, options)
    assert changed.name == plain.name + words
    assert changed.settings != plain.settings


REFUSED = [
    *((name, "video=native", "takes no video; leave out video=native")
      for name in ("openai", "responses", "anthropic", "ollama", "litellm")),
    *((name, "sound=yes", "it takes no sound; leave out sound=yes") for name in ("responses", "anthropic", "ollama")),
    ("vllm", "video=native&fps=2", "the server chooses the frames of a video; leave out fps, or write video=frames"),
    ("openrouter", "video=native&start=1&end=2", "leave out start and end, or write video=frames"),
    ("vllm", "video=native&sound=yes", "in the file that video=native sends; leave out sound"),
    ("gemini", "sound=no", "video=frames sends frames without it"),
    ("gemini", "fps=25", "its highest rate is 24 frames a second"),
    ("vllm", "video=native&frames=4", "'frames' is the number of frames that we choose"),
    ("openai", "start=5&end=5", "the end is after the start; found start=5 and end=5"),
    ("openai", "start=-1", "0 or more"),
    ("openai", "sound=loud", "it is yes or no"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "options", "sentence"), REFUSED)
def test_what_a_dialect_cannot_follow_is_refused_in_one_sentence(name, options, sentence):
    with pytest.raises(InputError, match=sentence) as caught:
        build(SPECS[name], options)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("spec", ["offline:first", "local:m", "diffusers:m", "gemini-image:m"])
def test_models_that_get_no_such_media_refuse_the_options(spec):
    with pytest.raises(InputError, match="frames"):
        build(spec, "frames=4")


def test_litellm_sends_a_video_as_the_provider_takes_it(tmp_path):
    pytest.importorskip("av")
    video = Media.read(write_video(tmp_path / "a.mp4", colour_frames(3), tones=(440,)))
    prompt = Prompt((Turn("user", (video, "What happens?")),))

    def parts(model: str) -> list[dict]:
        built = contestant_from_spec(model)
        return built.body(built.prepare(prompt), frozenset())["messages"][-1]["content"]

    for provider in ("gemini", "vertex_ai", "hosted_vllm"):
        (file, _) = parts(f"litellm:{provider}/m?video=native")
        assert file["type"] == "file"
        assert file["file"]["file_data"].startswith("data:video/mp4;base64,")
    (file, _) = parts("litellm:openrouter/m?video=native")
    assert file["type"] == "video_url"
    kinds = [part["type"] for part in parts("litellm:gemini/gemini-3-pro?frames=2") if part["type"] != "text"]
    assert kinds == ["image_url", "image_url", "input_audio"]
    kinds = [part["type"] for part in parts("litellm:bedrock/claude?frames=2") if part["type"] != "text"]
    assert kinds == ["image_url", "image_url"]
