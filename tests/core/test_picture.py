"""Pictures read once and checked: what is held of them, and what a file that changes meanwhile gives."""

from __future__ import annotations

import hashlib
import io
import itertools
import random
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from PIL import Image

from fullbench.core import media
from fullbench.core import picture as pictures
from fullbench.core.media import RecentFileCache
from fullbench.core.picture import Picture
from fullbench.errors import InputError, LedgerError
from fullbench.ledger.pictures.picture_folder import PictureFolder
from tests.ledger.making import png


def test_what_was_read_lately_is_held_up_to_a_bound_whoever_reads_at_the_same_time():
    lately = RecentFileCache(most=1_000, largest=400)
    texts = [bytes([number]) * (100 + number % 7) for number in range(200)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda data: lately.put(hashlib.sha256(data).hexdigest(), data), [*texts, *texts]))
    lately.put("large", bytes(401))
    held = [data for data in texts if lately.get(hashlib.sha256(data).hexdigest()) == data]
    assert 1_000 - 106 < sum(map(len, held)) <= 1_000
    assert lately.get("large") is None


def test_a_file_that_changes_after_it_was_read_is_kept_and_sent_as_it_was_read(tmp_path):
    """The digest in the ledger is that of the bytes that were read: no others may ever stand under it."""
    file = tmp_path / "a.png"
    file.write_bytes(png(70))
    picture = Picture.read(file)
    file.write_bytes(png(71))
    folder = PictureFolder(tmp_path / "kept", sync=True)
    folder.keep(picture)
    assert folder.find(picture.digest, picture.media_type).data() == picture.cached_data() == png(70)
    with pytest.raises(InputError, match="changed after the items were read"):
        picture.data()


def test_a_large_picture_is_read_again_and_a_change_is_noticed(tmp_path, monkeypatch):
    monkeypatch.setattr(media, "recent_files", RecentFileCache(largest=8))
    file = tmp_path / "a.png"
    file.write_bytes(png(72))
    picture = Picture.read(file)
    assert picture.cached_data() == png(72)
    file.write_bytes(png(73))
    folder = PictureFolder(tmp_path / "kept")
    with pytest.raises(InputError, match="changed after the items were read"):
        folder.keep(picture)
    assert not list((tmp_path / "kept").rglob("*"))


def test_a_picture_that_finds_no_room_leaves_nothing_behind(tmp_path):
    (tmp_path / "kept").write_text("a file where the folder should be")
    with pytest.raises(LedgerError, match="cannot be stored"):
        PictureFolder(tmp_path / "kept").keep(Picture.from_bytes(png(74)))
    folder = PictureFolder(tmp_path / "other", sync=True)
    picture = Picture.from_bytes(png(75))
    (tmp_path / "other" / picture.digest[:2] / picture.digest / "in the way").mkdir(parents=True)
    with pytest.raises(LedgerError, match="cannot be stored"):
        folder.write(picture.digest, picture.pieces())
    assert not list((tmp_path / "other").rglob("*.part"))


def test_a_jpeg_is_cut_off_where_its_last_scan_has_no_end():
    scan, end, other = b"\xff\xda", b"\xff\xd9", b"...."
    for pieces in itertools.product((scan, end, other), repeat=5):
        data = b"\xff\xd8\xff" + b"".join(pieces)
        marks = [piece for piece in pieces if piece != other]
        assert pictures.is_cut_off(data, "image/jpeg") == (bool(marks) and marks[-1] == scan)


@pytest.mark.slow
def test_pictures_are_read_and_kept_where_the_system_lacks_what_only_posix_has(tmp_path):
    """As on Windows: none of these names is there, and the notebook's way from a picture to a record is whole."""
    (tmp_path / "red.png").write_bytes(png(7))
    code = (
        "import os, sys\n"
        "for name in ('O_CLOEXEC', 'O_NONBLOCK', 'O_DSYNC', 'O_NOFOLLOW', 'O_DIRECTORY', 'fork', 'getuid', 'geteuid',\n"
        "             'killpg', 'setsid', 'pread', 'pwrite', 'sched_getaffinity', 'statvfs', 'register_at_fork'):\n"
        "    delattr(os, name)\n"
        "sys.modules.update(dict.fromkeys(('resource', 'pwd', 'grp', 'termios')))\n"
        "import fullbench\n"
        "items = [{'id': str(n), 'question': 'What is shown?', 'pictures': ['red.png']} for n in range(3)]\n"
        "said = [{'item': str(n), 'contestant': who, 'text': 'word ' * (n + k)} for n in range(3)\n"
        "        for k, who in enumerate(('a', 'b'), 1)]\n"
        "record = fullbench.judge(items, said, judge='length', ballot='choice', ledger='own.ledger')\n"
        "print(len(record))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "6", "three pairs in both orders"
    (kept,) = (tmp_path / "own.ledger.pictures").glob("??/*")
    assert kept.read_bytes() == png(7)


def test_every_beginning_of_a_gif_is_cut_off():
    """Compressed pixels contain the byte of the trailer, so only walking the blocks finds the end."""
    dice = random.Random(3)
    frames = [Image.frombytes("P", (40, 30), dice.randbytes(1200)) for _ in range(3)]
    for frame in frames:
        frame.putpalette(dice.randbytes(768))
    file = io.BytesIO()
    frames[0].save(file, "GIF", save_all=True, append_images=frames[1:], comment=b"a; b;")
    whole = file.getvalue()
    assert whole.count(b";") > 20
    assert not any(pictures.is_cut_off(whole + after, "image/gif") for after in (b"", b"\0\0", b"text"))
    assert all(pictures.is_cut_off(whole[:end], "image/gif") for end in range(6, len(whole)))
