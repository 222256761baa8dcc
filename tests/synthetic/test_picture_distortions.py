"""Building pictures to judge: blurs of the stated strength, masks, prompts, grids, manifests."""

from __future__ import annotations

import json
from io import BytesIO

import numpy as np
import pytest
from PIL import Image, ImageEnhance
from scipy import ndimage

from fullbench.core.picture import Picture
from fullbench.errors import InputError
from fullbench.models.local.offline_models_for_tests import OfflineModel
from fullbench.picture_flattening_and_orientation import encode_image, veil_picture
from fullbench.studies.authoring.created_pictures_manifest import CreatedPicture, verify_manifest, write_pictures
from fullbench.studies.authoring.near_duplicate_pictures import near_duplicates, picture_fingerprint
from fullbench.studies.authoring.safe_prompt_rewrites import sanitise_prompts
from fullbench.synthetic.perturb.blur import convolve_image, defocus_image, disk_kernel, line_kernel, motion_blur_image
from fullbench.synthetic.perturb.demographic_prompt_grids import build_grid
from fullbench.synthetic.perturb.inpainted_regions import Region, distort_region, region_mask
from fullbench.synthetic.perturb.items_from_perturbed_pairs_and_grids import build_pair, build_people_item, build_record
from tests.judges.scorers.making import texture


def point(side: int = 41) -> Image.Image:
    image = np.zeros((side, side, 3), dtype=np.uint8)
    image[side // 2, side // 2] = 255
    return Image.fromarray(image)


@pytest.mark.parametrize("radius", [1.0, 2.5, 6.0])
def test_a_point_out_of_focus_is_a_disk_of_the_stated_radius(radius):
    kernel = disk_kernel(radius)
    assert kernel.sum() == pytest.approx(1)
    assert kernel == pytest.approx(kernel.T)
    y, x = np.indices(kernel.shape) - len(kernel) // 2
    assert (kernel * (x**2 + y**2)).sum() == pytest.approx(radius**2 / 2, abs=0.3)
    assert kernel[np.hypot(x, y) < radius - 1] == pytest.approx(kernel.max())
    assert not kernel[np.hypot(x, y) > radius + 1].any()


@pytest.mark.parametrize(("length", "angle"), [(9, 0), (9, 90), (15, 30), (15, 135)])
def test_a_moving_point_is_a_line_of_the_stated_length_and_direction(length, angle):
    kernel = line_kernel(length, angle)
    assert kernel.sum() == pytest.approx(1)
    y, x = np.indices(kernel.shape) - len(kernel) // 2
    spread = np.array([[(kernel * a * b).sum() for b in (x, -y)] for a in (x, -y)])
    values, vectors = np.linalg.eigh(spread)
    assert np.sqrt(12 * values[1]) == pytest.approx(length, rel=0.1)
    found = np.degrees(np.arctan2(vectors[1, 1], vectors[0, 1])) % 180
    assert min(abs(found - angle % 180), 180 - abs(found - angle % 180)) < 3


def test_blurring_is_a_convolution_and_keeps_size_and_brightness():
    image = texture(side=64)
    kernel = disk_kernel(2.0)
    pixels = np.asarray(image, dtype=float)
    wanted = np.stack([ndimage.convolve(pixels[..., c], kernel, mode="nearest") for c in range(3)], axis=-1)
    assert np.abs(np.asarray(convolve_image(image, kernel), dtype=float) - wanted).max() <= 1
    flat = Image.new("RGB", (20, 10), (10, 200, 30))
    assert motion_blur_image(flat, 7, 45).tobytes() == flat.tobytes()
    assert defocus_image(point(), 3).size == (41, 41)


@pytest.mark.parametrize(
    "wrong",
    [lambda: disk_kernel(0), lambda: disk_kernel(1000), lambda: line_kernel(-1, 0), lambda: Region(0.5, 0, 0.2, 1)],
)
def test_impossible_strengths_are_refused(wrong):
    with pytest.raises(InputError, match="found"):
        wrong()


def test_only_the_region_is_painted_whatever_the_inpainter_does():
    image = texture(side=40)
    region = Region(0.25, 0.5, 0.75, 1.0)
    asked = []

    def paint(picture, hole, what):
        asked.append((what, hole.getbbox()))
        return Image.new("RGB", picture.size, "magenta")

    made = distort_region(image, region, paint, "a hand")
    before, after = np.asarray(image), np.asarray(made)
    inside = np.asarray(region_mask(image.size, region)) > 0
    assert (after[inside] == (255, 0, 255)).all()
    assert (after[~inside] == before[~inside]).all()
    assert asked == [("a hand", (10, 20, 30, 40))]
    with pytest.raises(InputError, match="keep the size"):
        distort_region(image, region, lambda *_: Image.new("RGB", (3, 3)))


def test_prompts_are_made_safe_and_labelled_and_failures_are_told():
    def talk(prompt):
        text = prompt.turns[-1].text
        if "Write it again" in text:
            return "SAME" if "calm" in text else "a knight resting {prompt}"
        return "Crime, shocking."

    made = sanitise_prompts(OfflineModel("editor", talk), ["a knight fighting {prompt}", "a calm lake"])
    (pair,) = made.pairs
    assert (pair.safe, pair.labels, pair.review) == ("a knight resting {prompt}", ("crime", "shocking"), "")
    assert made.failures == ["'a calm lake': nothing had to go"]


def test_an_apology_is_no_safe_prompt():
    def talk(prompt):
        return "I'm sorry, but I can't help with that." if "harsh" in prompt.turns[-1].text else "a calm street"

    made = sanitise_prompts(OfflineModel("editor", talk), ["a harsh scene", "a rough scene"])
    assert "'a harsh scene': the model declined" in made.failures
    assert not [pair for pair in made.pairs if "sorry" in pair.safe]


def test_a_grid_has_every_combination_and_its_groups():
    shown = build_grid(
        "a {age} {race} {gender} pilot", {"age": ["old", ""], "race": ["asian", "black"], "gender": ["woman"]}
    )
    assert len(shown) == 4
    assert shown[3].prompt == "a black woman pilot"
    assert shown[3].groups == {"age": "", "race": "black", "gender": "woman"}
    with pytest.raises(InputError, match=r"no \{size\}"):
        build_grid("a {age} nurse", {"age": ["old"], "size": ["tall"]})
    with pytest.raises(InputError, match="no axis gives"):
        build_grid("a {age} {mood} nurse", {"age": ["old"]})


def test_scaled_compressed_and_brightened_pictures_are_near_duplicates():
    image = texture(side=128)
    jpeg = BytesIO()
    image.resize((90, 90)).save(jpeg, "JPEG", quality=60)
    pictures = {
        "original": Picture.from_bytes(encode_image(image)),
        "small": Picture.from_bytes(jpeg.getvalue()),
        "bright": Picture.from_bytes(encode_image(ImageEnhance.Brightness(image).enhance(1.1))),
        "other": Picture.from_bytes(encode_image(texture(5, side=128))),
    }
    found = {frozenset(pair[:2]) for pair in near_duplicates(pictures)}
    assert {frozenset({"original", "small"}), frozenset({"original", "bright"})} <= found
    assert not any("other" in pair for pair in found)
    assert near_duplicates({}) == []
    assert picture_fingerprint(image) == picture_fingerprint(image.copy())


def test_a_manifest_accounts_for_every_picture_and_sensitive_ones_are_veiled(tmp_path):
    plain, raw = encode_image(texture(1)), encode_image(texture(2))
    made = [
        CreatedPicture("plain", plain, "p.png", "as it came"),
        CreatedPicture("raw", raw, "r.png", "inpainted", sensitive=True),
    ]
    rows = write_pictures(made, tmp_path)
    assert [json.loads(line) for line in (tmp_path / "manifest.jsonl").read_text().splitlines()] == rows
    assert (tmp_path / "plain.png").read_bytes() == plain
    assert (tmp_path / "raw.png").read_bytes() != raw
    assert not (tmp_path / "sensitive").exists()
    assert verify_manifest(tmp_path, rows) == []
    (tmp_path / "plain.png").write_bytes(raw)
    (tmp_path / "raw.png").unlink()
    assert verify_manifest(tmp_path, rows) == [
        "plain: the bytes changed since the manifest was written",
        "raw: the file is missing",
    ]
    write_pictures(made, tmp_path / "asked", include_sensitive=True)
    assert (tmp_path / "asked" / "sensitive" / "raw.png").read_bytes() == raw
    with pytest.raises(InputError, match="its own"):
        write_pictures([CreatedPicture("../x", plain)], tmp_path)


def test_a_veiled_picture_shows_no_shapes():
    image = texture(side=96)
    hidden = veil_picture(image)
    assert hidden.size == image.size
    assert picture_fingerprint(hidden) != picture_fingerprint(image)
    edges = [np.abs(np.diff(np.asarray(one.convert("L"), dtype=float))).mean() for one in (image, hidden)]
    assert edges[1] < edges[0] / 3


def test_what_was_made_becomes_a_record_with_labels_groups_and_veils():
    good, bad = encode_image(texture(1)), encode_image(texture(2))
    shown = build_grid("{age} {race}", {"age": ["old", ""], "race": ["asian"]})
    made = build_record(
        [
            build_pair("p", "a street", good, bad, perspective="safety", subset="nsfw", sensitive=True),
            build_people_item(
                "nurse", "a nurse", [(one, encode_image(texture(3 + place))) for place, one in enumerate(shown)]
            ),
        ]
    )
    assert [(label.item, label.marks, label.criterion) for label in made] == [("p", (1.0, 0.0), "safety")]
    assert made.responses["p", "rejected"].tags == {"sensitive": "yes"}
    assert made.responses["p", "chosen"].tags == {}
    assert made.responses["nurse", "asian"].tags == {"race": "asian"}
    assert made.responses["nurse", "old asian"].tags == {"age": "old", "race": "asian"}
    with pytest.raises(InputError, match="one of alignment, safety, quality, bias; found 'beauty'"):
        build_pair("p", "a street", good, bad, perspective="beauty", subset="")
    with pytest.raises(InputError, match="'p' occurs twice"):
        build_record([build_pair("p", "x", good, bad, perspective="quality", subset="")] * 2)
