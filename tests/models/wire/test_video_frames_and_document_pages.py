"""Frames and pages: the same choice each time, the right stills at the right times, and bad files in one sentence."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from PIL import Image

from fullbench import Document, Media, Video
from fullbench.core.media import read_any_media
from fullbench.errors import InputError, MissingExtra
from fullbench.models.wire import video_frames_and_document_pages as stills
from fullbench.models.wire.media_token_estimates import media_tokens
from fullbench.models.wire.video_frames_and_document_pages import FrameRule, document_stills, video_stills
from tests.support.media_files import COLOURS, colour_frames, empty_mp4, pdf_bytes, wav_bytes, write_gif, write_video

pytest.importorskip("av")


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("FULLBENCH_CACHE", str(tmp_path / "cache"))


def colour(file: Path) -> str:
    with Image.open(file) as image:
        shown = image.convert("RGB").getpixel((20, 20))
    names = {name: Image.new("RGB", (1, 1), name).getpixel((0, 0)) for name in COLOURS}
    return min(names, key=lambda name: sum(abs(a - b) for a, b in zip(shown, names[name], strict=True)))


def places_and_colours(chosen: stills.Stills) -> list[tuple[str, str]]:
    return [(frame.place, colour(frame.source)) for frame in chosen.frames]


@pytest.mark.parametrize("suffix", ["mp4", "mov", "mkv", "avi"])
def test_the_frames_are_those_shown_at_even_times_in_every_container(tmp_path, suffix):
    video = Media.read(write_video(tmp_path / f"a.{suffix}", colour_frames(7), fps=1))
    chosen = video_stills(video, FrameRule(4))
    assert places_and_colours(chosen) == [("0.0 s", "red"), ("2.0 s", "blue"), ("4.0 s", "black"), ("6.0 s", "red")]
    by_rate = video_stills(video, FrameRule(fps=0.4))
    assert [frame.place for frame in by_rate.frames] == ["0.0 s", "2.0 s", "5.0 s", "6.0 s"]
    assert len(video_stills(video, FrameRule(frames=3, fps=25.0)).frames) == 3
    assert len(video_stills(video, FrameRule(16)).frames) == 7  # a video has no more frames than it has


def test_a_long_video_gives_the_frames_that_a_whole_pass_gives(tmp_path, monkeypatch):
    video = Media.read(write_video(tmp_path / "a.mp4", colour_frames(1_600), fps=2, codec="libx264"))
    by_search = places_and_colours(video_stills(video, FrameRule(5)))
    monkeypatch.setattr(stills, "_SEQUENTIAL_PACKETS", 10**9)
    monkeypatch.setenv("FULLBENCH_CACHE", str(tmp_path / "other"))
    assert places_and_colours(video_stills(video, FrameRule(5))) == by_search
    assert [name for _, name in by_search] == [COLOURS[int(float(place[:-2]) * 2) % 6] for place, _ in by_search]


def test_frames_follow_the_clock_if_the_rate_varies(tmp_path):
    times = [0, 100, 200, 3_000, 3_100, 9_000]
    video = Media.read(write_video(tmp_path / "a.mkv", colour_frames(6), codec="libx264", times=times))
    chosen = video_stills(video, FrameRule(4))
    assert places_and_colours(chosen) == [("0.0 s", "red"), ("3.0 s", "white"), ("3.1 s", "black"), ("9.0 s", "yellow")]


def test_a_video_of_ten_hours_takes_no_longer(tmp_path):
    times = [60_000 * minute for minute in range(601)]
    video = Media.read(write_video(tmp_path / "a.mkv", colour_frames(601), codec="libx264", times=times))
    chosen = video_stills(video, FrameRule(4))
    assert chosen.summary == "video of 36000.0 s, 4 frames, without sound"
    assert places_and_colours(chosen) == [
        ("0.0 s", "red"), ("12000.0 s", "blue"), ("24000.0 s", "black"), ("36000.0 s", "red"),
    ]  # fmt: skip
    assert len(video_stills(video, FrameRule(fps=1.0)).frames) == 64  # the limit, at even times


@pytest.mark.parametrize("name", ["a.gif", "a.webp"])
def test_moving_pictures_give_their_frames_without_an_extra(tmp_path, name, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "av", None)
    picture = Media.read(write_gif(tmp_path / name, colour_frames(5)))
    chosen = video_stills(picture, FrameRule(3))
    assert chosen.summary == "moving picture of 2.5 s, 3 frames"
    assert places_and_colours(chosen) == [("0.0 s", "red"), ("1.0 s", "blue"), ("2.0 s", "black")]


def test_a_second_choice_has_the_same_bytes_and_reads_them_from_the_cache(tmp_path, monkeypatch):
    video = Media.read(write_video(tmp_path / "a.mp4", colour_frames(5)))
    first = [frame.data() for frame in video_stills(video, FrameRule(3)).frames]
    monkeypatch.setenv("FULLBENCH_CACHE", str(tmp_path / "other"))
    assert [frame.data() for frame in video_stills(video, FrameRule(3)).frames] == first
    monkeypatch.setattr(stills, "_video_frames", None)
    assert [frame.data() for frame in video_stills(video, FrameRule(3)).frames] == first


def test_the_first_pages_of_a_document_are_named_and_the_rest_is_stated(tmp_path):
    document = Media.from_bytes(pdf_bytes(3))
    chosen = document_stills(document, 2)
    assert chosen.summary == "document of 3 pages, the first 2 of them"
    assert [frame.place for frame in chosen.frames] == ["page 1", "page 2"]
    assert document_stills(document, None).summary == "document of 3 pages, all of them"


def sound_only(folder: Path) -> Path:
    import av
    import numpy as np

    file = folder / "sound.mp4"
    with av.open(str(file), "w") as container:
        stream = container.add_stream("aac", rate=8_000)
        frame = av.AudioFrame.from_ndarray(np.zeros((1, 8_000), dtype=np.float32), format="fltp", layout="mono")
        frame.sample_rate = 8_000
        container.mux(stream.encode(frame))
        container.mux(stream.encode())
    return file


def encrypted_pdf() -> bytes:
    """Return a document that names an encryption whose password nobody has."""
    body = b"%PDF-1.6\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj 2 0 obj<</Type/Pages/Kids[]/Count 0>>endobj\n"
    start = len(body)
    body += b"3 0 obj<</Filter/Standard/V 2/R 3/Length 128/P -4/O<" + b"00" * 32 + b">/U<" + b"11" * 32 + b">>>endobj\n"
    xref = len(body)
    places = [body.index(b"1 0 obj"), body.index(b"2 0 obj"), start]
    rows = b"".join(b"%010d 00000 n \n" % place for place in places)
    trailer = b"trailer<</Size 4/Root 1 0 R/Encrypt 3 0 R/ID[<" + b"22" * 16 + b"><" + b"22" * 16 + b">]>>\n"
    return body + b"xref\n0 4\n0000000000 65535 f \n" + rows + trailer + b"startxref\n%d\n%%%%EOF\n" % xref


def test_bad_files_are_named_in_one_sentence(tmp_path):
    whole = write_video(tmp_path / "whole.mp4", colour_frames(4)).read_bytes()
    garbled = tmp_path / "garbled.mp4"
    start = whole.index(b"mdat") + 4
    garbled.write_bytes(whole[:start] + bytes(len(whole[start : whole.index(b"moov")])) + whole[whole.index(b"moov") :])
    cut = tmp_path / "cut.mp4"
    cut.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InputError, match=r"the video '.*cut\.mp4' is cut off: its end is missing"):
        Media.read(cut)
    for video, reason in (
        (Video.from_bytes(empty_mp4()), "cannot be decoded"),
        (Media.read(sound_only(tmp_path)), "it has only sound; give it as audio"),
        (read_any_media(cut, "video"), "cannot be decoded"),
        (Media.read(garbled), "Invalid data found"),
    ):
        with pytest.raises(InputError, match=reason) as caught:
            video_stills(video, FrameRule(4))
        assert "\n" not in str(caught.value)
    (tmp_path / "wrong.mp4").write_bytes(wav_bytes())
    with pytest.raises(InputError, match=r"is a recording \(audio/wav\), not a video: name it in a column 'audio'"):
        Video.read(tmp_path / "wrong.mp4")
    with pytest.raises(InputError, match="it is encrypted; save a copy without a password"):
        document_stills(Media.from_bytes(encrypted_pdf()), 2)


def test_large_frames_are_refused_before_they_are_decoded(tmp_path, monkeypatch):
    video = Media.read(write_video(tmp_path / "a.mp4", colour_frames(2)))
    monkeypatch.setattr(stills, "_MOST_PIXELS", 1_000)
    with pytest.raises(InputError, match="its frames have more than"):
        video_stills(video, FrameRule(2))


def test_without_the_extra_a_video_names_the_command_that_installs_it(tmp_path, monkeypatch):
    video = Media.read(write_video(tmp_path / "a.mp4", colour_frames(2)))
    monkeypatch.setitem(__import__("sys").modules, "av", None)
    with pytest.raises(MissingExtra, match=r"frames of a video .* needs an optional part: pip install .*\[video\]"):
        video_stills(video, FrameRule(2))


def test_documents_are_drawn_by_several_threads_at_once():
    documents = [Document.from_bytes(pdf_bytes(3) + b"\n%%%d\n%%%%EOF" % number) for number in range(8)]
    expected = [frame.digest for frame in document_stills(documents[0], 3).frames]

    def draw(document) -> list[str]:
        assert media_tokens(document, "gemini-2.5-pro") == 3 * 258
        return [frame.digest for frame in document_stills(document, 3).frames]

    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(draw, documents)) == [expected] * 8
