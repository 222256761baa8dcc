"""Pictures beside the ledger."""

from __future__ import annotations

import pytest

from fullbench.errors import InputError, LedgerError
from fullbench.ledger.store import Ledger
from fullbench.nouns.picture import Picture
from tests.ledger.making import case, png


def test_pictures_are_kept_and_outlive_their_source(tmp_path, place):
    source = tmp_path / "a.png"
    source.write_bytes(png(1))
    shown = case(1, Picture.read(source), Picture.of(png(2)))
    with Ledger(place, pictures=tmp_path / "kept") as ledger:
        ledger.add(shown)
    source.unlink()
    with Ledger(place, read_only=True) as ledger:
        found = ledger.case(shown.key)
        assert found == shown
        assert [picture.data() for picture in found.item.pictures] == [png(1), png(2)]
        assert ledger.verify() == []
    digest = Picture.of(png(1)).digest
    assert (tmp_path / "kept" / digest[:2] / digest).read_bytes() == png(1)


def test_pictures_on_disk_may_stay_where_they_are(tmp_path, place):
    source = tmp_path / "a.png"
    source.write_bytes(png(1))
    with Ledger(place, pictures=tmp_path / "kept", keep_pictures=False) as ledger:
        ledger.add(case(1, Picture.read(source)), case(2, Picture.of(png(2))))
        assert [item.pictures[0].data() for item in ledger.items()] == [png(1), png(2)]
        assert ledger.verify() == []
        source.unlink()
        (problem,) = ledger.verify()
    assert "gone" in problem
    assert str(source) in problem


def test_a_changed_picture_is_noticed_when_it_is_read(tmp_path, place):
    with Ledger(place, pictures=tmp_path / "kept") as ledger:
        ledger.add(case(1, Picture.of(png(1))))
        kept = ledger.pictures.path(Picture.of(png(1)).digest)
        kept.write_bytes(png(3))
        with pytest.raises(InputError, match="changed"):
            next(ledger.items()).pictures[0].data()
        assert any("cannot be shown" in problem for problem in ledger.verify())


def test_pictures_lie_beside_a_ledger_in_a_file(tmp_path):
    with Ledger(tmp_path / "x.ledger") as ledger:
        ledger.add(case(1, Picture.of(png(1))))
    digest = Picture.of(png(1)).digest
    assert (tmp_path / "x.ledger.pictures" / digest[:2] / digest).read_bytes() == png(1)


def test_a_place_that_cannot_be_is_not_remembered(tmp_path, place):
    with pytest.raises(LedgerError, match="pictures are kept in a folder or under s3"):
        Ledger(place, pictures="ftp://somewhere")
    with Ledger(place, pictures=tmp_path / "kept") as ledger:
        ledger.add(case(1, Picture.of(png(1))))
    with Ledger(place, read_only=True) as ledger:
        assert ledger.describe()["pictures"] == str(tmp_path / "kept")


def test_a_ledger_on_a_server_has_no_place_for_pictures_until_one_is_named(postgres, tmp_path):
    place = postgres.database()
    with Ledger(place) as ledger:
        ledger.add(case(1))
        with pytest.raises(LedgerError, match="--pictures s3://bucket/prefix"):
            ledger.add(case(2, Picture.of(png(1))))
    Ledger(place, pictures=tmp_path / "shared").close()
    with Ledger(place) as ledger:
        ledger.add(case(2, Picture.of(png(1))))
        assert ledger.verify() == []
    assert (tmp_path / "shared").is_dir()
