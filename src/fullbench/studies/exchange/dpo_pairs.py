"""Preference pairs for training, in the forms that trainers read.

Answers in words are conversations as TRL's DPO trainer takes them: `prompt` (the turns up to the question), `chosen`
and `rejected` (one turn each), and `images`, the paths of the pictures in the prompt. Answers that are pictures go into
a Parquet file with their bytes: `prompt`, `chosen` and `rejected` as the library `datasets` holds pictures; and once
more as `caption`, `jpg_0`, `jpg_1` and `label_0`, which trainers of diffusion models read (Pick-a-Pic's layout, as in
the Diffusion-DPO example of diffusers).
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from statistics import fmean
from typing import Any

from fullbench.core.item import SENSITIVE, Item, Part
from fullbench.core.picture import Picture
from fullbench.core.record import Record
from fullbench.core.response import Response
from fullbench.errors import InputError
from fullbench.files.writers import Columns, replacing, write_rows


def preferences(record: Record, judge: str, *, margin: float = 0.0) -> Iterator[tuple[Item, Response, Response]]:
    """Item, the better and the worse response, for every two that the judge tells apart.

    Both orders count: a pair whose winner changes with the order, or that ties, is left out. Marks given apart must
    differ by more than `margin`.
    """
    ruled = record.where(judge=judge, fault=None)
    if not len(ruled):
        raise InputError(f"no marked verdict of {judge!r} is in the ledger; judges there: {', '.join(record.judges)}")
    outcomes: dict[tuple[str, str, str], list[float]] = defaultdict(list)
    for duel in ruled.duels(margin):
        left, right = sorted((duel.first, duel.second))
        outcomes[duel.item, left, right].append(duel.outcome if duel.first == left else 1 - duel.outcome)
    for (item, left, right), points in outcomes.items():
        share = fmean(points)
        if share == 0.5:
            continue
        better, worse = (left, right) if share > 0.5 else (right, left)
        pair = record.responses.get((item, better)), record.responses.get((item, worse))
        if item in record.items and pair[0] is not None and pair[1] is not None:
            yield record.items[item], pair[0], pair[1]


def export_dpo(
    record: Record, judge: str, out: Path, *, margin: float = 0.0, unveiled: bool = False
) -> tuple[int, int]:
    """Write the pairs to a file, pictures beside it in `pictures/`; give how many were written and how many left out.

    Left out are pairs with a sensitive picture, unless `unveiled` asks for them: a veiled one would teach nothing.
    """
    pairs = list(preferences(record, judge, margin=margin))
    shareable = [pair for pair in pairs if unveiled or not any(_sensitive(shown) for shown in pair)]
    drawn = [pair for pair in shareable if pair[1].pictures or pair[2].pictures]
    if drawn and out.suffix != ".parquet":
        raise InputError(
            "answers that are pictures are written with their bytes, as trainers read them: give --out FILE.parquet",
            path=out,
        )
    if drawn and len(drawn) < len(shareable):
        raise InputError("some answers are pictures and some are words: no trainer takes both in one file", path=out)
    rows = _pictures(shareable) if drawn else _rows(shareable, out)
    return write_rows(out, rows, _COLUMNS if drawn else None), len(pairs) - len(shareable)


def exporter(record: Record, out: Path, options: Mapping[str, str]) -> dict[str, int]:
    """The exporter `dpo`; its options are judge, margin and unveiled (yes or no)."""
    if "judge" not in options:
        raise InputError("whose preferences? Say --judge NAME, as `fullbench ledger show` lists it")
    unveiled = options.get("unveiled") == "yes"
    count, veiled = export_dpo(
        record, options["judge"], out, margin=float(options.get("margin", 0.0)), unveiled=unveiled
    )
    return {"pairs": count, "sensitive pairs left out": veiled}


def _sensitive(shown: Item | Response) -> bool:
    return bool(shown.tags.get(SENSITIVE) and shown.pictures)


def _rows(pairs: Iterable[tuple[Item, Response, Response]], out: Path) -> Iterator[dict[str, Any]]:
    for item, better, worse in pairs:
        yield _conversation(item, better, worse, out)


_COLUMNS: Columns = {
    "prompt": "text", "chosen": "picture", "rejected": "picture", "caption": "text", "jpg_0": "bytes",
    "jpg_1": "bytes", "label_0": "int",
}  # fmt: skip


def _pictures(pairs: Iterable[tuple[Item, Response, Response]]) -> Iterator[dict[str, Any]]:
    for item, better, worse in pairs:
        drawn = [response.pictures for response in (better, worse)]
        if better.text or worse.text or not len(drawn[0]) == len(drawn[1]) == 1:
            raise InputError(f"the responses to item {item.id!r} are neither words nor one picture each")
        chosen, rejected = (pictures[0] for pictures in drawn)
        # Which of the two comes first is a lot that everybody draws alike, so that no trainer learns the place.
        first = chosen.digest < rejected.digest
        both = (chosen, rejected) if first else (rejected, chosen)
        yield {
            "prompt": item.question, "caption": item.question, "label_0": int(first),
            "chosen": _held(chosen), "rejected": _held(rejected),
            "jpg_0": both[0].data(), "jpg_1": both[1].data(),
        }  # fmt: skip


def _held(picture: Picture) -> dict[str, Any]:
    return {"bytes": picture.data(), "path": f"{picture.digest}.{picture.media.removeprefix('image/')}"}


def _conversation(item: Item, better: Response, worse: Response, out: Path) -> dict[str, Any]:
    seen = [_path(picture, out) for picture in item.pictures]
    row = {
        "prompt": [{"role": turn.role, "content": _content(turn.parts, bool(seen))} for turn in item.turns],
        "chosen": [{"role": "assistant", "content": _content(better.parts, bool(seen))}],
        "rejected": [{"role": "assistant", "content": _content(worse.parts, bool(seen))}],
    }
    return {"images": seen, **row} if seen else row


def _content(parts: Iterable[Part], pictures: bool) -> Any:
    """Plain words; where the conversation has pictures, typed parts, as vision models take them."""
    if not pictures:
        return "\n".join(part for part in parts if isinstance(part, str))
    return [{"type": "text", "text": part} if isinstance(part, str) else {"type": "image"} for part in parts]


def _path(picture: Picture, out: Path) -> str:
    """Where the picture lies, seen from the file; it is copied there under its digest."""
    copy = out.parent / "pictures" / f"{picture.digest}.{picture.media.removeprefix('image/')}"
    if not copy.exists():
        with replacing(copy) as part:
            part.write_bytes(picture.data())
    return os.path.relpath(copy, out.parent)
