"""Tokens of recordings, videos and documents against counts that providers and others have published."""

from __future__ import annotations

import wave
from io import BytesIO

import pytest

from fullbench import Media, Prompt, Turn
from fullbench.models.chat_model import ChatModel
from fullbench.models.dialects import Gemini, OpenAI
from fullbench.models.model_settings import Sampling
from fullbench.models.wire.media_token_estimates import media_tokens, pdf_tokens, sound_tokens
from fullbench.models.wire.reply_parsing import UsageCounter, read_payload
from fullbench.models.wire.token_estimates import estimate_tokens
from fullbench.studies.run.call_cost_and_time_forecast import Load, estimate_load
from tests.support.media_files import colour_frames, text_pdf, write_video

pytest.importorskip("av")

# By huggingface.co/datasets/JOHNISKING/pdf-token-cost (October 2026): (model, pages, tokens of the text, counted).
# The text of a page had 461 tokens for GPT, which is near to our rule of 4 characters; Claude's own count is larger.
PDF_COUNTS = [
    ("gemini-3-pro", 1, 461, 561), ("gemini-3-pro", 5, 5 * 461, 2_801), ("gemini-3-pro", 10, 10 * 461, 5_601),
    ("gemini-3-pro", 1, 0, 561), ("claude-haiku-4-5", 1, 461, 2_115), ("claude-haiku-4-5", 5, 5 * 461, 10_499),
    ("claude-haiku-4-5", 10, 10 * 461, 20_979), ("claude-haiku-4-5", 1, 0, 1_592), ("claude-haiku-4-5", 1, 629, 2_278),
    ("claude-opus-5-5", 1, 461, 2_347), ("claude-opus-5-5", 10, 10 * 461, 23_236), ("claude-opus-5-5", 1, 0, 1_600),
    ("claude-opus-5-5", 1, 629, 2_481),
    # "Each document page is equivalent to 258 tokens": ai.google.dev/gemini-api/docs/document-processing.
    ("gemini-2.5-flash", 7, 3_000, 7 * 258),
    # Text and a picture in low detail, 85 tokens: developers.openai.com/api/docs/guides/file-inputs, images-vision.
    ("gpt-4o", 3, 1_383, 3 * 85 + 1_383), ("openai/gpt-5", 2, 0, 2 * 70), ("gpt-4o-mini", 1, 461, 2_833 + 461),
]  # fmt: skip


@pytest.mark.parametrize(("model", "pages", "text", "counted"), PDF_COUNTS)
def test_pdf_files_come_within_15_percent_of_published_counts(model, pages, text, counted):
    assert pdf_tokens(model.rpartition("/")[2], pages, text) == pytest.approx(counted, rel=0.15)


def recording(seconds: float) -> Media:
    out = BytesIO()
    with wave.open(out, "wb") as file:
        file.setparams((1, 1, 100, 0, "NONE", ""))
        file.writeframes(b"\x80" * int(100 * seconds))
    return Media.from_bytes(out.getvalue())


SOUND_COUNTS = [
    # A minute of sound has 1,920 tokens: ai.google.dev/gemini-api/docs/audio.
    ("gemini-2.5-pro", 60, 1_920),
    # About 44 minutes counted as 83,552: github.com/google-gemini/cookbook/issues/161.
    ("models/gemini-1.5-flash", 44 * 60, 83_552),
    # A token for 100 ms: developers.openai.com/api/docs/guides/realtime-costs.
    ("gpt-audio", 90, 900), ("openai/gpt-4o-audio-preview", 12.3, 123),
    # 25 tokens a second, 12.5 for Qwen3-Omni: help.aliyun.com/document_detail/2975501.html.
    ("Qwen/Qwen2.5-Omni-7B", 30, 750), ("qwen3-omni-flash", 30, 375),
]  # fmt: skip


@pytest.mark.parametrize(("model", "seconds", "counted"), SOUND_COUNTS)
def test_recordings_come_within_15_percent_of_published_counts(model, seconds, counted):
    assert media_tokens(recording(seconds), model) == pytest.approx(counted, rel=0.15)
    assert sound_tokens(recording(seconds), model) == media_tokens(recording(seconds), model)


@pytest.fixture(scope="module")
def minute(tmp_path_factory) -> dict[bool, Media]:
    """A video of one minute, with and without sound."""
    folder = tmp_path_factory.mktemp("minute")
    return {
        sound: Media.read(
            write_video(folder / f"{sound}.mkv", colour_frames(2), codec="libx264", times=[0, 60_000], sound=sound)
        )
        for sound in (True, False)
    }


VIDEO_COUNTS = [
    # About 300 tokens a second, 258 of them for the frame: ai.google.dev/gemini-api/docs/video-understanding.
    ("gemini-2.5-pro", True, {}, 60 * 300), ("gemini-2.0-flash", False, {}, 60 * 263),
    ("gemini-2.5-flash", True, {"fps": 0.5}, 30 * 263 + 60 * 32),
    ("gemini-2.5-flash", True, {"start": 20.0, "end": 30.0}, 10 * 300),
    # 70 tokens a frame: ai.google.dev/gemini-api/docs/media-resolution.
    ("google/gemini-3-flash-preview", True, {}, 60 * (70 + 32)), ("gemini-3.8-flash", False, {"fps": 4.0}, 240 * 70),
]  # fmt: skip


@pytest.mark.parametrize(("model", "sound", "settings", "counted"), VIDEO_COUNTS)
def test_videos_come_within_15_percent_of_published_counts(minute, model, sound, settings, counted):
    assert media_tokens(minute[sound], model, Sampling(**settings)) == pytest.approx(counted, rel=0.15)


def test_tokens_without_a_published_rule_are_unknown(minute):
    for model in ("gpt-4o", "claude-opus-4-6", "qwen3-vl", "my-own-vlm", "Qwen/Qwen2.5-Omni-7B"):
        assert media_tokens(minute[True], model) is None
    assert media_tokens(recording(3), "claude-opus-4-6") is None
    assert media_tokens(recording(3), "gpt-4o") is None
    for model in ("gpt-5.2", "gpt-4.1-mini", "gpt-6", "grok-4"):
        assert pdf_tokens(model, 3, 100) is None


def test_the_text_of_a_document_is_counted_by_page():
    text = "The quick brown fox jumps over the lazy dog. " * 20
    document = Media.from_bytes(text_pdf(text, text, text))
    assert media_tokens(document, "claude-sonnet-4-5") == pytest.approx(3 * (1_592 + len(text) / 4), rel=0.01)
    assert media_tokens(document, "gpt-4o") == pytest.approx(3 * (85 + len(text) / 4), rel=0.05)


def test_sound_has_its_own_price_in_the_forecast_and_on_the_bill():
    pytest.importorskip("genai_prices")
    chat = ChatModel("gpt-audio", OpenAI.home, OpenAI("max_completion_tokens", kinds=frozenset({"audio"})))
    assert chat.price == (2.5, 10.0)
    assert chat.audio_share == pytest.approx(32 / 2.5)
    prompt = Prompt((Turn("user", (recording(60), "Who speaks?")),))
    forecast = estimate_load(
        Load("judge", "j", 0, 5), chat, {}, task_count=5, prompt_sequences=[[prompt]], mode="direct"
    )
    words = estimate_tokens(prompt, "gpt-audio") - 600
    assert forecast.tokens_in == 5 * (600 + words)
    assert forecast.dollars == pytest.approx(5 * (600 * 32 + words * 2.5 + 8 * 10) / 1e6)

    counter = UsageCounter(shares=chat.shares, audio_share=chat.audio_share, calls=1)
    usage = {"prompt_tokens": 620, "completion_tokens": 8, "prompt_tokens_details": {"audio_tokens": 600}}
    payload = {"choices": [{"message": {"content": "[[A]]"}}], "usage": usage}
    read_payload(chat.dialect, payload, prompt, counter)
    assert counter.usage(chat.price).dollars == pytest.approx((600 * 32 + 20 * 2.5 + 8 * 10) / 1e6)
    details = [{"modality": "TEXT", "tokenCount": 9}, {"modality": "AUDIO", "tokenCount": 32}]
    assert Gemini().audio_tokens({"usageMetadata": {"promptTokensDetails": details}}) == 32
    assert Gemini().audio_tokens({"usageMetadata": {}}) == OpenAI().audio_tokens({}) == 0
