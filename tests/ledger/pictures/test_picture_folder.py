"""Pictures beside the ledger."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from fullbench.core.picture import Picture
from fullbench.errors import InputError, LedgerError
from fullbench.ledger.ledger import Ledger
from fullbench.ledger.pictures import picture_folder
from fullbench.ledger.pictures.picture_folder import flush_of
from fullbench.ledger.writing import group_commit_writer
from tests.ledger.making import case, png


def test_pictures_are_kept_and_outlive_their_source(tmp_path, place):
    source = tmp_path / "a.png"
    source.write_bytes(png(1))
    shown = case(1, Picture.read(source), Picture.from_bytes(png(2)))
    with Ledger(place, pictures=tmp_path / "kept") as ledger:
        ledger.add(shown)
    source.unlink()
    with Ledger(place, read_only=True) as ledger:
        found = ledger.case(shown.key)
        assert found == shown
        assert [picture.data() for picture in found.item.pictures] == [png(1), png(2)]
        assert ledger.verify() == []
    digest = Picture.from_bytes(png(1)).digest
    assert (tmp_path / "kept" / digest[:2] / digest).read_bytes() == png(1)


def test_pictures_on_disk_may_stay_where_they_are(tmp_path, place):
    source = tmp_path / "a.png"
    source.write_bytes(png(1))
    with Ledger(place, pictures=tmp_path / "kept", keep_pictures=False) as ledger:
        ledger.add(case(1, Picture.read(source)), case(2, Picture.from_bytes(png(2))))
        assert [item.pictures[0].data() for item in ledger.items()] == [png(1), png(2)]
        assert ledger.verify() == []
        source.unlink()
        (problem,) = ledger.verify()
    assert "deleted or moved" in problem
    assert str(source) in problem


def test_a_changed_picture_is_noticed_when_it_is_read(tmp_path, place):
    with Ledger(place, pictures=tmp_path / "kept") as ledger:
        ledger.add(case(1, Picture.from_bytes(png(1))))
    with Ledger(place) as ledger:
        kept = ledger.pictures.path(Picture.from_bytes(png(1)).digest)
        kept.write_bytes(png(3))
        with pytest.raises(InputError, match="changed"):
            next(ledger.items()).pictures[0].data()
        assert any("cannot be shown" in problem for problem in ledger.verify())


def test_pictures_lie_beside_a_ledger_in_a_file(tmp_path):
    with Ledger(tmp_path / "x.ledger") as ledger:
        ledger.add(case(1, Picture.from_bytes(png(1))))
    digest = Picture.from_bytes(png(1)).digest
    assert (tmp_path / "x.ledger.pictures" / digest[:2] / digest).read_bytes() == png(1)


def test_a_place_that_cannot_be_is_not_remembered(tmp_path, place):
    with pytest.raises(LedgerError, match="pictures can be stored in a folder or in s3"):
        Ledger(place, pictures="ftp://somewhere")
    with Ledger(place, pictures=tmp_path / "kept") as ledger:
        ledger.add(case(1, Picture.from_bytes(png(1))))
    with Ledger(place, read_only=True) as ledger:
        assert ledger.describe()["pictures"] == str(tmp_path / "kept")


def test_a_ledger_on_a_server_has_no_place_for_pictures_until_one_is_named(postgres, tmp_path):
    place = postgres.database()
    with Ledger(place) as ledger:
        ledger.add(case(1))
        with pytest.raises(LedgerError, match="Add --pictures once"):
            ledger.add(case(2, Picture.from_bytes(png(1))))
    Ledger(place, pictures=tmp_path / "shared").close()
    with Ledger(place) as ledger:
        ledger.add(case(2, Picture.from_bytes(png(1))))
        assert ledger.verify() == []
    assert (tmp_path / "shared").is_dir()


def test_pictures_that_come_together_wait_for_the_disk_once_and_have_their_names_only_then(tmp_path, monkeypatch):
    waited: list[tuple[int, int]] = []

    def flush() -> None:
        files = [path.name for path in (tmp_path / "kept").glob("??/*")]
        waited.append((sum(name.endswith(".part") for name in files), len(files)))

    monkeypatch.setattr(picture_folder, "flush_of", lambda folder: flush)
    for name in ("DELAY", "LATE"):  # on a busy machine so many take longer to come than a commit waits for more
        monkeypatch.setattr(group_commit_writer, name, 60.0)
    with Ledger(tmp_path / "x.ledger", pictures=tmp_path / "kept", durability="power") as ledger:
        ledger.add(*(case(number, Picture.from_bytes(png(number))) for number in range(40)))
        ledger.flush()
        assert waited == [(40, 40)]
        ledger.add(*(case(number, Picture.from_bytes(png(number))) for number in range(60)))
        assert [item.pictures[0].data() for item in ledger.items()] == [png(number) for number in range(60)]
        assert waited == [(40, 40), (20, 60)]
        assert ledger.verify() == []
    assert not list((tmp_path / "kept").glob("??/*.part"))


@pytest.mark.parametrize("wait", [None, lambda: time.sleep(0.02)], ids=["unknown file system", "slow disk"])
def test_where_one_wait_for_all_is_not_sure_or_takes_long_each_picture_is_waited_for(tmp_path, monkeypatch, wait):
    monkeypatch.setattr(picture_folder, "flush_of", lambda folder: wait)
    monkeypatch.setattr(picture_folder, "LONG", 0.01)
    at_once: set[str] = set()

    def opened(name: str, flags: int, *more: int, really=os.open) -> int:
        if flags & os.O_DSYNC:
            at_once.add(name)
        return really(name, flags, *more)

    monkeypatch.setattr(os, "open", opened)
    with Ledger(tmp_path / "x.ledger", pictures=tmp_path / "kept", durability="power") as ledger:
        ledger.add(*(case(number, Picture.from_bytes(png(number))) for number in range(5)))
        ledger.flush()
        at_once.clear()
        ledger.add(*(case(number, Picture.from_bytes(png(number))) for number in range(5, 9)))
        ledger.flush()
        assert len(at_once) == 4
        assert ledger.verify() == []


def test_a_disk_that_refuses_the_wait_refuses_the_rows_and_they_can_be_tried_again(tmp_path, monkeypatch):
    refusals = iter([OSError(5, "Input/output error")])

    def flush() -> None:
        for error in refusals:
            raise error

    monkeypatch.setattr(picture_folder, "flush_of", lambda folder: flush)
    with Ledger(tmp_path / "x.ledger", pictures=tmp_path / "kept", durability="power") as ledger:
        ledger.add(case(1, Picture.from_bytes(png(1))))
        with pytest.raises(LedgerError, match=r"cannot be stored \(Input/output error\)"):
            ledger.flush()
        ledger.flush()
        assert next(ledger.items()).pictures[0].data() == png(1)
        assert ledger.verify() == []


def test_the_file_system_of_a_folder_is_known_where_the_system_says_it(tmp_path):
    flush = flush_of(tmp_path)
    said = Path("/proc/self/mountinfo")
    assert flush is None or said.exists()
    if flush is not None:
        flush()
    assert flush_of(tmp_path / "nowhere") is None
