"""Videos, recordings and documents: recognised by content, read in pieces, named by kind in items and ledgers."""

from __future__ import annotations

import struct
import wave
from io import BytesIO
from pathlib import Path

import orjson
import pytest
from PIL import Image

from fullbench import Audio, Document, Item, Ledger, Media, Picture, Response, Turn, Video, ballot
from fullbench.core.case import Case
from fullbench.core.json_digests_and_cached_properties import digest
from fullbench.core.media import recognise_type
from fullbench.errors import InputError
from fullbench.files.item_response_verdict_files import read_items, read_responses, write_items, write_responses
from tests.support.measured_command import run_measured


def mp4(size: int = 64) -> bytes:
    """Return the boxes of an MP4 file, without anything to decode in them."""
    boxes = [(b"ftyp", b"isom\0\0\2\0"), (b"moov", bytes(16)), (b"mdat", bytes(size))]
    return b"".join(struct.pack(">I", 8 + len(body)) + name + body for name, body in boxes)


def wav(seconds: float = 0.1) -> bytes:
    out = BytesIO()
    with wave.open(out, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(8_000)
        file.writeframes(bytes(int(16_000 * seconds)))
    return out.getvalue()


def gif() -> bytes:
    out = BytesIO()
    frames = [Image.new("P", (4, 4), shade) for shade in (1, 2)]
    frames[0].save(out, "GIF", save_all=True, append_images=frames[1:])
    return out.getvalue()


PDF = b"%PDF-1.7\n1 0 obj\n<<>>\nendobj\n%%EOF\n"


@pytest.mark.parametrize(
    ("head", "media_type"),
    [
        (b"\0\0\0\x18ftypisom", "video/mp4"),
        (b"\0\0\0\x18ftypmp42", "video/mp4"),
        (b"\0\0\0\x14ftypqt  ", "video/quicktime"),
        (b"\0\0\0\x20ftypM4A ", "audio/mp4"),
        (b"\0\0\0\x20ftypheic", None),
        (b"\0\0\0\x20ftypavif", "image/avif"),
        (b"\x1aE\xdf\xa3\x9fB\x86\x81\x01B\x82\x84webm", "video/webm"),
        (b"\x1aE\xdf\xa3\xa3B\x86\x81\x01B\x82\x88matroska", "video/x-matroska"),
        (b"RIFF\0\0\0\0AVI LIST", "video/x-msvideo"),
        (b"RIFF\0\0\0\0WAVEfmt ", "audio/wav"),
        (b"ID3\x04", "audio/mpeg"),
        (b"\xff\xfb\x90\x64", "audio/mpeg"),
        (b"fLaC\0", "audio/flac"),
        (b"OggS" + bytes(24) + b"\x01vorbis", "audio/ogg"),
        (b"OggS" + bytes(24) + b"\x80theora", "video/ogg"),
        (b"%PDF-1.4", "application/pdf"),
        (b"\xff\xfe<\0h\0", None),
        (b"", None),
    ],
)
def test_types_are_recognised_by_content(head, media_type):
    assert recognise_type(head) == media_type


def test_only_pictures_have_the_key_that_items_had_before_and_others_have_one_by_kind(tmp_path):
    files = {Video: mp4(), Audio: wav(), Document: PDF, Picture: gif()}
    for kind, data in files.items():
        media = kind.from_bytes(data)
        assert type(media) is type(Media.from_bytes(data)) is kind
        name = {Picture: "picture", Video: "video", Audio: "audio", Document: "document"}[kind]
        item = Item.ask("a", "What?", media)
        assert item.key == digest(["a", [["user", [{name: media.digest}, "What?"]]], None, []])
        assert item.media == (media,)
        assert item.pictures == ((media,) if kind is Picture else ())
    assert type(Video.from_bytes(gif())) is Picture  # a moving picture keeps the key of a picture


def test_columns_parts_and_folders_bring_every_kind_to_the_ledger_and_back(tmp_path):
    for name, data in {"v.mp4": mp4(), "a.wav": wav(), "d.pdf": PDF, "g.gif": gif()}.items():
        (tmp_path / name).write_bytes(data)
    rows = [
        {"id": "1", "question": "?", "videos": ["v.mp4", "g.gif"], "audio": "a.wav", "documents": "d.pdf"},
        {"id": "2", "turns": [{"role": "user", "parts": ["See", {"video": "v.mp4"}, "and hear", {"audio": "a.wav"}]}]},
        {"id": "3", "question": "?", "picture": "g.gif"},
    ]
    (tmp_path / "items.jsonl").write_bytes(b"\n".join(map(orjson.dumps, rows)))
    items = {item.id: item for item in read_items(tmp_path / "items.jsonl")}
    assert [type(part) for part in items["1"].media] == [Video, Picture, Audio, Document]
    assert [getattr(part, "kind", part) for part in items["2"].turns[0].parts] == ["See", "video", "and hear", "audio"]
    answers = [
        {"item": "1", "model": "film", "video": "v.mp4"},
        {"item": "2", "model": "speech", "text": "Listen.", "audio": "a.wav"},
        {"item": "3", "model": "broken", "video": "items.jsonl"},
    ]
    (tmp_path / "answers.jsonl").write_bytes(b"\n".join(map(orjson.dumps, answers)))
    responses = list(read_responses(tmp_path / "answers.jsonl"))
    assert [(part.kind, part.media_type) for response in responses for part in response.media] == [
        ("video", "video/mp4"), ("audio", "audio/wav"), ("video", "application/octet-stream"),
    ]  # fmt: skip

    write_items(tmp_path / "copy" / "items.jsonl", items.values())
    write_responses(tmp_path / "copy" / "answers.jsonl", responses)
    assert {item.key for item in read_items(tmp_path / "copy" / "items.jsonl")} == {i.key for i in items.values()}
    assert [row.key for row in read_responses(tmp_path / "copy" / "answers.jsonl")] == [row.key for row in responses]

    place = tmp_path / "a.ledger"
    with Ledger(place) as ledger:
        for response in responses:
            ledger.add(Case(items[response.item], (response,), ballot("score:1-5"), "overall"))
    with Ledger(place, read_only=True) as ledger:
        assert {item.id: item.media for item in ledger.items()} == {name: item.media for name, item in items.items()}
        assert [part.data() for part in next(ledger.items()).media] == [mp4(), gif(), wav(), PDF]
        assert {row.contestant: row.media for row in ledger.responses()} == {r.contestant: r.media for r in responses}
        assert list(ledger.verify()) == []
        stored = ledger.media(items["1"].media[0].digest).source
    stored.write_bytes(mp4(65))
    with Ledger(place, read_only=True) as ledger:
        assert any("the video" in sentence for sentence in ledger.verify())


def test_a_folder_of_mixed_files_gives_an_item_for_each(tmp_path):
    folder = tmp_path / "clips"
    (folder / "deep").mkdir(parents=True)
    for name, data in {"v.mp4": mp4(), "deep/a.wav": wav(), "d.pdf": PDF, "g.gif": gif(), "notes.txt": b"x"}.items():
        (folder / name).write_bytes(data)
    items = list(read_items(folder, question="What happens?"))
    kinds = [("d", "document"), ("deep/a", "audio"), ("g", "image"), ("v", "video")]
    assert [(item.id, item.media[0].kind) for item in items] == kinds


@pytest.mark.parametrize(
    ("column", "data", "message"),
    [
        ("video", mp4()[:-9], "the video 'x' is cut off"),
        ("video", b"\0\0\0\x10ftypisom\0\0\2\0", "the video 'x' is cut off"),
        ("video", PDF, "is a document (application/pdf), not a video: name it in a column 'documents'"),
        ("picture", mp4(), 'is a video (video/mp4), not a picture: name it in a column \'videos\', or in parts'),
        ("audio", wav()[:-9], "the recording 'x' is cut off"),
        ("audio", b"", "'x' is not a recording we know: it is empty"),
        ("document", PDF[:-8], "the document 'x' is cut off"),
        ("document", b"hello", "'x' is not a document we know: it begins with b'hello'; PDF is read"),
    ],
)  # fmt: skip
def test_bad_files_get_one_sentence_with_the_line_that_names_them(tmp_path, column, data, message):
    (tmp_path / "x").write_bytes(data)
    (tmp_path / "items.jsonl").write_bytes(orjson.dumps({"id": "1", "question": "?", column: "x"}))
    with pytest.raises(InputError) as caught:
        list(read_items(tmp_path / "items.jsonl"))
    sentence = str(caught.value).replace(f"'{tmp_path}/x'", "'x'")
    assert message in sentence
    assert "items.jsonl:1" in sentence


def test_a_container_of_sound_is_a_recording_if_the_column_says_so():
    webm = b"\x1aE\xdf\xa3\x84webm\x18S\x80g\x01\xff\xff\xff\xff\xff\xff\xff"
    assert Media.from_bytes(webm).media_type == "video/webm"
    assert (Audio.from_bytes(webm).kind, Audio.from_bytes(webm).media_type) == ("audio", "audio/webm")


@pytest.mark.slow
def test_a_video_of_two_gigabytes_is_read_and_stored_in_little_memory(tmp_path):
    with (tmp_path / "long.mp4").open("wb") as file:
        file.write(mp4(0)[:-8] + struct.pack(">I", 1) + b"mdat" + struct.pack(">Q", 2**31))
        file.truncate(file.tell() - 16 + 2**31)
    program = (
        "import sys; from fullbench import *; item = Item.ask('a', '?', Media.read(sys.argv[1]));"
        "said = Response.say('a', 'm', 'x'); ledger = Ledger(sys.argv[2]);"
        "ledger.add(next(cases([item], [said], ballot('score:1-5')))); ledger.close()"
    )
    run = run_measured(["-c", program, str(tmp_path / "long.mp4"), str(tmp_path / "a.ledger")])
    assert run.peak_bytes < 300 * 2**20
    with Ledger(Path(tmp_path / "a.ledger"), read_only=True) as ledger:
        assert list(ledger.verify()) == []
        assert next(ledger.items()).turns == (Turn("user", (Media.read(tmp_path / "long.mp4"), "?")),)
    assert Response.say("a", "m", "x").media == ()
