"""Pairs of pictures that differ in one thing, and people who differ in one, as studies: from folders and files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from fullbench.core.picture import Picture
from fullbench.errors import InputError, Unscorable
from fullbench.files.picture_access_policy import read_picture
from fullbench.files.readers import read_rows
from fullbench.judges.scorers.decoded_pictures import decode
from fullbench.picture_decoding import encoded
from fullbench.plugin_registry import function
from fullbench.studies.authoring.near_duplicates import Made, keep
from fullbench.studies.exchange.export_record import export
from fullbench.synthetic.perturb.blur import defocus, motion
from fullbench.synthetic.perturb.demographic_grids import Shown
from fullbench.synthetic.perturb.masks import Region, distort
from fullbench.synthetic.perturb.perturbed_pairs import Asked, pair, people, record

if TYPE_CHECKING:
    from PIL.Image import Image

_PICTURE, _PROMPT = "picture", "prompt"


@dataclass(frozen=True)
class Change:
    """Something that makes a picture worse: a short name, the sub-category it belongs to, how it is done, in words."""

    name: str
    subset: str
    how: str
    make: Callable[[Image], Image]


def defocused(radius: float) -> Change:
    """A lens out of focus, by the radius of its disk in pixels."""
    return Change(f"defocus{radius:g}", "defocused", f"disk of {radius:g} pixels", lambda image: defocus(image, radius))


def moved(text: str) -> Change:
    """A camera that moved: `LENGTH@ANGLE`, in pixels and degrees counted from the right against the clock.

    >>> moved("15@45").how
    'line of 15 pixels at 45 degrees'
    """
    try:
        length, angle = map(float, text.split("@"))
    except ValueError as error:
        raise InputError(f"a movement is LENGTH@ANGLE, such as 15@45; found {text!r}") from error
    how = f"line of {length:g} pixels at {angle:g} degrees"
    return Change(f"motion{length:g}at{angle:g}", "motion", how, lambda image: motion(image, length, angle))


def painted(region: str, inpainter: str, what: str, subset: str) -> Change:
    """A region painted anew: `LEFT,TOP,RIGHT,BOTTOM` in shares of the sides, and `MODULE:FUNCTION` that paints."""
    try:
        left, top, right, bottom = map(float, region.split(","))
    except ValueError as error:
        raise InputError(
            f"a region is LEFT,TOP,RIGHT,BOTTOM in shares, such as 0.2,0.2,0.6,0.6; found {region!r}"
        ) from error
    box, paint = Region(left, top, right, bottom), function(inpainter)
    how = f"region {region} painted anew by {inpainter}" + (f": {what}" if what else "")
    return Change("painted", subset, how, lambda image: distort(image, box, paint, what))


@dataclass
class Built:
    """What was built, and why some of it was not."""

    asked: list[Asked] = field(default_factory=list)
    made: list[Made] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)

    def write(self, folder: Path) -> dict[str, int]:
        """A study that runs, and under `made` the pictures with a manifest: digests, sources, how each was made."""
        counts = export(record(self.asked), folder, benchmark="mjbench")
        if self.made:
            keep(self.made, folder / "made")
        return counts


def worsened(pictures: Mapping[str, Picture], prompts: Mapping[str, str], changes: Sequence[Change]) -> Built:
    """Every picture as it is, the better one, beside every change of it. One that cannot be decoded is left out."""
    built = Built()
    for path, picture in pictures.items():
        try:
            image = decode(picture)
        except Unscorable as reason:
            built.left_out.append(f"{path}: {reason}")
            continue
        name, good = _name(path), encoded(image)
        built.made.append(Made(name, good, how="as it was given"))
        for change in changes:
            worse = encoded(change.make(image))
            if worse == good:
                built.left_out.append(f"{path}: {change.how} changes nothing")
                continue
            made_name = f"{name}-{change.name}"
            built.made.append(Made(made_name, worse, source=name, how=change.how))
            built.asked.append(pair(made_name, prompts[path], good, worse, perspective="quality", subset=change.subset))
    if not built.asked:
        raise InputError("no pair could be made: " + "; ".join(built.left_out[:3]))
    return built


def _name(path: str) -> str:
    """A picture's name from its path in the folder: `rooms/hall.jpg` is `rooms-hall`."""
    return "-".join(PurePath(path).with_suffix("").parts)


def prompts_for(pictures: Mapping[str, Picture], rows: Path | None, same: str | None) -> dict[str, str]:
    """The prompt of each picture: by a file with the columns `picture` and `prompt`, or one for all."""
    if (rows is None) == (same is None):
        raise InputError("what do the pictures show? Give --prompts FILE (columns picture, prompt) or --prompt TEXT")
    if rows is None:
        return dict.fromkeys(pictures, same or "")
    prompts = {picture: prompt for _, picture, prompt, _ in _told(rows)}
    if missing := [path for path in pictures if path not in prompts]:
        raise InputError(f"no prompt for {missing[0]!r} ({len(missing)} lack one); add a row", path=rows)
    return {path: prompts[path] for path in pictures}


def group(name: str, prompt: str, rows: Path) -> Built:
    """People of a grid with their pictures: a file with the columns `picture` and `prompt`, and one for each axis."""
    shown = []
    for line, picture, words, axes in _told(rows):
        if not picture:
            raise InputError("the row names no picture; draw one for its prompt and name it", path=rows, line=line)
        shown.append((Shown(words, axes), read_picture(rows.parent, picture, path=rows, line=line).data()))
    if not any(person.groups for person, _ in shown):
        raise InputError("no column says how people differ; add one for each axis, such as age", path=rows)
    return Built([people(name, prompt, shown)])


def _told(path: Path) -> Iterator[tuple[int, str, str, dict[str, str]]]:
    """Line, picture, prompt and what else stands in each row."""
    for line, row in read_rows(path):
        prompt = row.get(_PROMPT)
        if not isinstance(prompt, str) or not prompt.strip() or _PICTURE not in row:
            raise InputError(
                f"a row has a {_PICTURE} and a {_PROMPT}; found {', '.join(map(str, row))}", path=path, line=line
            )
        rest = {key: str(value) for key, value in row.items() if key not in {_PICTURE, _PROMPT} and value is not None}
        yield line, str(row[_PICTURE] or ""), prompt, rest
