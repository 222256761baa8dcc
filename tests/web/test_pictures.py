"""Pictures of a ledger: as they are, small, veiled; other types drawn again; only for readers."""

import io
import itertools

import pytest
from PIL import Image

from fullbench.core.item import Item
from fullbench.core.picture import Picture
from fullbench.ledger.ledger import Ledger
from fullbench.web.site_settings_and_worker_transfer import Settings
from tests.support.api_script import png
from tests.web.conftest import Visitor


def halves(form: str) -> bytes:
    """Left black, right white: a shape that a veil must hide at the edges and keep in the large."""
    image = Image.new("RGB", (640, 320), "white")
    image.paste("black", (0, 0, 320, 320))
    out = io.BytesIO()
    image.save(out, form)
    return out.getvalue()


PNG, BMP = Picture.from_bytes(halves("PNG")), Picture.from_bytes(halves("BMP"))


@pytest.fixture
def settings(database, tmp_path):
    with Ledger(tmp_path / "study.ledger") as ledger:
        ledger.add(Item.ask("q1", "Which side is dark?", PNG, BMP))
    return Settings(database, str(tmp_path / "study.ledger"), tmp_path)


def opened(answer) -> Image.Image:
    return Image.open(io.BytesIO(answer.content))


def test_a_reader_sees_the_ledgers_pictures(viewer, client):
    got = viewer.get(f"/pictures/{PNG.digest}")
    assert (got.content, got.headers["content-type"]) == (PNG.data(), "image/png")
    assert got.headers["cache-control"] == "private, max-age=31536000, immutable"
    assert viewer.get(f"/pictures/{'0' * 64}").status_code == 404
    assert client.get(f"/pictures/{PNG.digest}").headers["location"].startswith("/login")


def test_small_ones_are_small_and_other_types_are_drawn_again(viewer):
    small = opened(viewer.get(f"/pictures/{PNG.digest}", params={"size": 200}))
    assert (small.format, small.size) == ("WEBP", (240, 120))
    other = opened(viewer.get(f"/pictures/{BMP.digest}"))
    assert (other.format, other.size) == ("WEBP", (640, 320))
    assert viewer.get(f"/pictures/{PNG.digest}", params={"size": 10**9}).status_code == 422


def test_a_veil_hides_shapes(viewer):
    veiled = opened(viewer.get(f"/pictures/{PNG.digest}", params={"veiled": 1, "size": 480})).convert("L")
    row = [veiled.getpixel((x, 120)) for x in range(veiled.width)]
    assert row[0] < 40
    assert row[-1] > 215
    assert max(abs(a - b) for a, b in itertools.pairwise(row)) < 30, "no edge is left"


def test_a_picture_whose_bytes_are_gone_or_changed_is_not_served(viewer, app):
    path = app.state.ledger.pictures.path(PNG.digest)
    path.write_bytes(png())
    assert viewer.get(f"/pictures/{PNG.digest}").status_code == 404
    path.unlink()
    assert viewer.get(f"/pictures/{PNG.digest}").status_code == 404


def test_a_public_site_shows_them_to_everybody(settings):
    from dataclasses import replace

    from fullbench.web.app import create_app

    app = create_app(replace(settings, public=True))
    with Visitor(app) as visitor:
        got = visitor.get(f"/pictures/{PNG.digest}")
        assert got.status_code == 200
        assert got.headers["cache-control"].startswith("public")
        assert visitor.get("/").status_code == 200
        assert visitor.get("/work").status_code == 303
    app.state.engine.dispose()
