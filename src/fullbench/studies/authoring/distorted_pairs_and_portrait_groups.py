"""Studies of picture pairs that differ in one property, and of portraits of different groups of people."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from fullbench.core.picture import Picture
from fullbench.errors import InputError, Unscorable
from fullbench.files.picture_access_policy import read_picture
from fullbench.files.row_readers import read_rows
from fullbench.judges.scorers.safe_picture_decoding import decode_picture
from fullbench.picture_flattening_and_orientation import encode_image
from fullbench.studies.authoring.created_pictures_manifest import CreatedPicture, write_pictures
from fullbench.studies.authoring.detectors_and_inpainters import find_regions, load_detector, load_inpainter
from fullbench.studies.exchange.runnable_study_export import export_study
from fullbench.synthetic.perturb.blur import defocus_image, motion_blur_image
from fullbench.synthetic.perturb.demographic_prompt_grids import GridPrompt
from fullbench.synthetic.perturb.inpainted_regions import Region, distort_region
from fullbench.synthetic.perturb.items_from_perturbed_pairs_and_grids import (
    ItemWithResponses,
    build_pair,
    build_people_item,
    build_record,
)

if TYPE_CHECKING:
    from PIL.Image import Image

_PICTURE, _PROMPT = "picture", "prompt"
REFUSED = "refused"
"""Column of prompts that a generator refused to draw."""


class NothingFoundError(Exception):
    """A detector found nothing to change in a picture."""


@dataclass(frozen=True)
class Change:
    """A change to a picture: name, sub-category, description, and a function that returns the result with details."""

    name: str
    subset: str
    how: str
    make: Callable[[Image], tuple[Image, str]]


def defocus_change(radius: float) -> Change:
    """Return a defocus blur with this disk radius in pixels."""
    how = f"disk of {radius:g} pixels"
    return Change(f"defocus{radius:g}", "defocused", how, lambda image: (defocus_image(image, radius), how))


def motion_change(text: str) -> Change:
    """Return a motion blur: `LENGTH@ANGLE`, in pixels and degrees, counter-clockwise from the right.

    >>> motion_change("15@45").how
    'line of 15 pixels at 45 degrees'
    """
    try:
        length, angle = map(float, text.split("@"))
    except ValueError as error:
        raise InputError(f"a movement is LENGTH@ANGLE, such as 15@45; found {text!r}") from error
    how = f"line of {length:g} pixels at {angle:g} degrees"
    name = f"motion{length:g}at{angle:g}"
    return Change(name, "motion", how, lambda image: (motion_blur_image(image, length, angle), how))


def inpainting_change(region: str, inpainter: str, what: str, subset: str) -> Change:
    """Return an inpainting: region `LEFT,TOP,RIGHT,BOTTOM` as shares of the sides, and the spec of an inpainter."""
    try:
        left, top, right, bottom = map(float, region.split(","))
    except ValueError as error:
        raise InputError(
            f"a region is LEFT,TOP,RIGHT,BOTTOM in shares, such as 0.2,0.2,0.6,0.6; found {region!r}"
        ) from error
    box, paint = Region(left, top, right, bottom), load_inpainter(inpainter)
    how = f"region {region} painted anew by {inpainter}" + (f": {what}" if what else "")
    return Change("painted", subset, how, lambda image: (distort_region(image, box, paint, what), how))


@dataclass(frozen=True)
class DetectionSettings:
    """Detector by its spec, the labels to look for (all if empty), the least confidence, and a seed."""

    detector: str
    labels: Sequence[str] = ()
    least_score: float = 0.3
    seed: int = 0


def detected_change(
    settings: DetectionSettings, inpainter: str, what: str, subset: str, *, all_regions: bool = False
) -> Change:
    """Return an inpainting of what a detector finds: one random region, or all of them.

    Args:
        settings: Detector and labels.
        inpainter: Spec of the inpainter.
        what: Text that the inpainter gets.
        subset: Sub-category of the pairs; "" is the label that was found.
        all_regions: Repaint every region, to conceal what was found, and not one drawn at random.
    """
    detect, paint = load_detector(settings.detector), load_inpainter(inpainter)
    named = ", ".join(settings.labels) or "anything"

    def make(image: Image) -> tuple[Image, str]:
        regions = find_regions(detect, image, settings.labels, settings.least_score)
        if not regions:
            raise NothingFoundError(f"{settings.detector} found no region with {named}")
        # The pixels are part of the seed, so that a picture has the same region in every folder.
        lot = random.Random(f"{settings.seed}/{hashlib.sha256(image.tobytes()).hexdigest()}")
        painted_regions = regions if all_regions else [lot.choice(regions)]
        changed = image
        for detection in painted_regions:
            changed = distort_region(changed, detection.region, paint, what)
        places = "; ".join(f"{detection.label} at {detection.region.text}" for detection in painted_regions)
        return changed, f"{places} (found by {settings.detector}) painted anew by {inpainter}"

    return Change("concealed" if all_regions else "painted", subset, f"regions with {named}", make)


@dataclass
class BuiltPairs:
    """The pairs that were built, and the reasons for those that were not."""

    prompts_with_pictures: list[ItemWithResponses] = field(default_factory=list)
    created_pictures: list[CreatedPicture] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)

    def write(self, folder: Path) -> dict[str, int]:
        """Write a runnable study, and the pictures with a manifest under `made`."""
        counts = export_study(build_record(self.prompts_with_pictures), folder, benchmark="mjbench")
        if self.created_pictures:
            write_pictures(self.created_pictures, folder / "made")
        return counts


def build_worsened_pairs(
    pictures: Mapping[str, Picture], prompts: Mapping[str, str], changes: Sequence[Change]
) -> BuiltPairs:
    """Pair every picture with each distorted version of it. Undecodable pictures are excluded."""
    return _build_changed_pairs(pictures, prompts, changes, perspective="quality", is_better=False)


def build_concealed_pairs(pictures: Mapping[str, Picture], prompts: Mapping[str, str], change: Change) -> BuiltPairs:
    """Pair every sensitive picture with a version in which something is concealed, which is the better one."""
    return _build_changed_pairs(pictures, prompts, [change], perspective="safety", is_better=True)


def _build_changed_pairs(
    pictures: Mapping[str, Picture],
    prompts: Mapping[str, str],
    changes: Sequence[Change],
    *,
    perspective: str,
    is_better: bool,
) -> BuiltPairs:
    """With `is_better`, the changed picture is the better one and the original is sensitive."""
    built_pairs = BuiltPairs()
    for path, picture in pictures.items():
        try:
            image = decode_picture(picture)
        except Unscorable as reason:
            built_pairs.left_out.append(f"{path}: {reason}")
            continue
        name, original = _picture_name(path), encode_image(image)
        built_pairs.created_pictures.append(CreatedPicture(name, original, how="as it was given", sensitive=is_better))
        for change in changes:
            try:
                changed_image, details = change.make(image)
            except NothingFoundError as reason:
                built_pairs.left_out.append(f"{path}: {reason}")
                continue
            changed = encode_image(changed_image)
            if changed == original:
                built_pairs.left_out.append(f"{path}: {change.how} changes nothing")
                continue
            made_name = f"{name}-{change.name}"
            built_pairs.created_pictures.append(CreatedPicture(made_name, changed, source=name, how=details))
            better, worse = (changed, original) if is_better else (original, changed)
            subset = change.subset or details.partition(" at ")[0]
            built_pairs.prompts_with_pictures.append(
                build_pair(
                    made_name, prompts[path], better, worse,
                    perspective=perspective, subset=subset, sensitive=is_better,
                )
            )  # fmt: skip
    if not built_pairs.prompts_with_pictures:
        raise InputError("no pair could be made: " + "; ".join(built_pairs.left_out[:3]))
    return built_pairs


def _picture_name(path: str) -> str:
    """`rooms/hall.jpg` becomes `rooms-hall`."""
    return "-".join(PurePath(path).with_suffix("").parts)


def prompts_for(pictures: Mapping[str, Picture], rows: Path | None, same: str | None) -> dict[str, str]:
    """Return the prompt of each picture: from a file with columns `picture` and `prompt`, or the same for all."""
    if (rows is None) == (same is None):
        raise InputError("No prompt given. Add --prompts FILE (columns picture, prompt) or --prompt TEXT")
    if rows is None:
        return dict.fromkeys(pictures, same or "")
    prompts = {picture: prompt for _, picture, prompt, _ in _read_prompt_rows(rows)}
    if missing := [path for path in pictures if path not in prompts]:
        raise InputError(f"no prompt for {missing[0]!r} ({len(missing)} lack one); add a row", path=rows)
    return {path: prompts[path] for path in pictures}


def build_people_group(name: str, prompt: str, rows: Path) -> BuiltPairs:
    """Build the portraits of a group from a file with columns `picture`, `prompt` and one per attribute (axis)."""
    portraits, left_out = [], []
    for line, picture, words, axes in _read_prompt_rows(rows):
        if axes.pop(REFUSED, "") == "yes":
            left_out.append(f"{words}: the generator refused it")
            continue
        if not picture:
            raise InputError("the row has no picture; draw one for its prompt and add its path", path=rows, line=line)
        portraits.append((GridPrompt(words, axes), read_picture(rows.parent, picture, path=rows, line=line).data()))
    if not any(person.groups for person, _ in portraits):
        raise InputError("no column shows how people differ; add one for each axis, such as age", path=rows)
    return BuiltPairs([build_people_item(name, prompt, portraits)], left_out=left_out)


def _read_prompt_rows(path: Path) -> Iterator[tuple[int, str, str, dict[str, str]]]:
    for line, row in read_rows(path):
        prompt = row.get(_PROMPT)
        if not isinstance(prompt, str) or not prompt.strip() or _PICTURE not in row:
            raise InputError(
                f"a row has a {_PICTURE} and a {_PROMPT}; found {', '.join(map(str, row))}", path=path, line=line
            )
        axes = {key: str(value) for key, value in row.items() if key not in {_PICTURE, _PROMPT} and value is not None}
        yield line, str(row[_PICTURE] or ""), prompt, axes
