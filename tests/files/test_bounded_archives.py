"""Archives that unpack to much more than they weigh: one sentence, and little memory."""

from __future__ import annotations

import gzip
import json
import re
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest
import zstandard

from fullbench.files.bounded_archives import BoundedArchive, TooMuchUnpacked, UnpackingError, read_gzip
from fullbench.files.exchange.vlmevalkit import sheet_rows
from tests.files.test_exchange import sheet

SHEET, TEXTS = "xl/worksheets/sheet1.xml", "xl/sharedStrings.xml"


def changed_sheet(path: Path, changes: Mapping[str, tuple[bytes, bytes]]) -> Path:
    """Write a sheet of two rows whose parts have one text replaced."""
    sound = path.with_name("sound.xlsx")
    sheet(sound, [["index", "question", "prediction", "hit"], ["1", "什么?", "A_x000D_B", 1]])
    with zipfile.ZipFile(sound) as book, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as other:
        assert set(changes) <= set(book.namelist())
        for name in book.namelist():
            old, new = changes.get(name, (b"", b""))
            assert old in book.read(name)
            other.writestr(name, book.read(name).replace(old, new, 1) if old else book.read(name))
    return path


@pytest.mark.parametrize(
    ("part", "change", "said"),
    [
        (TEXTS, (b"</sst>", b"<si><t>" + bytes(257 << 20).replace(b"\0", b" ") + b"</t></si></sst>"),
         r"unpacks to more than 256 MiB, .*; or save the sheet as \.tsv"),
        (TEXTS, (b"</sst>", b"<si/>" * 10_000_000 + b"</sst>"), r"more than 10,000,000 XML tags; or save the sheet as"),
        (SHEET, (b"</sheetData>", b'<row r="99999999999"><c r="A9"><v>1</v></c></row></sheetData>'),
         "more than 1,048,576 rows"),
        (TEXTS, (b"<sst", b'<!DOCTYPE sst [<!ENTITY a "aa">]><sst'), "declares a document type"),
        (SHEET, (b"</sheetData>", b"<row"), "not a valid .xlsx file"),
    ],
    ids=["large", "many tags", "far row", "entities", "broken"],
)  # fmt: skip
def test_a_sheet_that_unpacks_to_too_much_is_one_sentence(cli, tmp_path, part, change, said):
    path = changed_sheet(tmp_path / "qwen_MMBench.xlsx", {part: change})
    assert path.stat().st_size < 2 << 20
    code, out, err = cli("import", "vlmevalkit", path, "--out", "o")
    assert (code, out, (tmp_path / "o").exists()) == (2, "", False)
    assert err.count("\n") == 1
    assert re.search(said, err), err


def test_a_far_cell_takes_no_memory_and_cells_keep_their_values(tmp_path):
    far = b'<row r="1048576"><c r="A1048576" t="s"><v>0</v></c><c r="XFD1048576"><v>2.50</v></c>'
    far += b'<c r="XFC1048576" t="e"><v>#N/A</v></c><c r="XFB1048576" t="b"><v>1</v></c></row></sheetData>'
    rows = list(sheet_rows(changed_sheet(tmp_path / "x.xlsx", {SHEET: (b"</sheetData>", far)})))
    assert rows == [
        (2, {"index": "1", "question": "什么?", "prediction": "A\rB", "hit": 1}),
        (1_048_576, {"index": "index", "question": None, "prediction": None, "hit": None}),
    ]


def test_a_log_whose_parts_unpack_to_too_much_is_one_sentence(cli, tmp_path):
    for name in ("header.json", "samples/1_epoch_1.json"):
        path = tmp_path / "log.eval"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as log:
            if name != "header.json":
                log.writestr("header.json", json.dumps({"eval": {"task": "t", "model": "m"}}))
            log.writestr(name, b"[" + bytes(65 << 20).replace(b"\0", b" ") + b"]")
        code, out, err = cli("import", "inspect", path, "--out", "o")
        assert (code, out, (tmp_path / "o").exists(), err.count("\n")) == (2, "", False, 1)
        assert f"its part '{name}' unpacks to more than 64 MiB" in err


def test_all_parts_together_have_a_limit_whatever_sizes_they_declare(tmp_path):
    path = tmp_path / "many.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(10):
            archive.writestr(f"{number}", bytes(1 << 20))
    path.write_bytes(path.read_bytes().replace((1 << 20).to_bytes(4, "little"), (1 << 10).to_bytes(4, "little")))
    with BoundedArchive(path, 5 << 20) as archive, pytest.raises((TooMuchUnpacked, UnpackingError)):
        _ = [archive.read_member(member.filename) for member in archive.members]
    (tmp_path / "cut.zip").write_bytes(path.read_bytes()[:-30])
    with pytest.raises(UnpackingError, match="cannot be unpacked"):
        BoundedArchive(tmp_path / "cut.zip")


def test_a_gzipped_file_that_is_read_whole_has_a_limit(cli, tmp_path):
    path = tmp_path / "log.json.gz"
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(bytes(65 << 20).replace(b"\0", b" "))
    with pytest.raises(TooMuchUnpacked, match="unpacks to more than 64 MiB"):
        read_gzip(path)
    code, out, err = cli("import", "inspect", path, "--out", "o")
    assert (code, out, "unpacks to more than 64 MiB" in err) == (2, "", True)


def zstandard_log(path: Path, sample: bytes) -> Path:
    """Write a log whose sample is packed with Zstandard, as newer versions of Inspect do; `zipfile` cannot."""
    frame = zstandard.ZstdCompressor(level=1).compress(sample)
    with zipfile.ZipFile(path, "w") as log:
        log.writestr("header.json", json.dumps({"eval": {"task": "t", "model": "m"}}))
        log.writestr("samples/1_epoch_1.json", frame)
        member = log.getinfo("samples/1_epoch_1.json")
        directory = log.start_dir
    raw = bytearray(path.read_bytes())
    entry = raw.rfind(b"PK\x01\x02")
    assert entry > directory
    raw[member.header_offset + 8] = raw[entry + 10] = 93  # the method, in the local header and in the directory
    path.write_bytes(raw)
    return path


def test_a_log_packed_with_zstandard_is_read_and_has_the_same_limits(cli, tmp_path):
    sample = {"id": 1, "epoch": 1, "input": "Q", "target": "T", "output": {"completion": "A"}, "scores": {}}
    path = zstandard_log(tmp_path / "log.eval", json.dumps(sample).encode())
    assert cli("import", "inspect", path, "--out", "good")[0] == 0
    path = zstandard_log(tmp_path / "large.eval", b"[" + bytes(65 << 20).replace(b"\0", b" ") + b"]")
    assert path.stat().st_size < 1 << 16
    code, _, err = cli("import", "inspect", path, "--out", "o")
    assert (code, "unpacks to more than 64 MiB" in err) == (2, True)
    raw = path.read_bytes()
    path.write_bytes(raw.replace(b"\x28\xb5\x2f\xfd", b"\x28\xb5\x2f\xfe"))
    code, _, err = cli("import", "inspect", path, "--out", "o")
    assert (code, "cannot be unpacked" in err) == (2, True)
