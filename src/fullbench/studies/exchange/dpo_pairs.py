"""Preference pairs for training, in the formats of common trainers.

Text answers become conversations for TRL's DPO trainer: `prompt` (turns up to the question), `chosen` and `rejected`
(one turn each), and `images` (paths of the pictures in the prompt). Picture answers go into a Parquet file with their
bytes: `prompt`, `chosen` and `rejected` as the library `datasets` stores pictures. The same file also has `caption`,
`jpg_0`, `jpg_1` and `label_0` for trainers of diffusion models (Pick-a-Pic's layout, as in the Diffusion-DPO example of
diffusers).
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
from fullbench.core.response import Response
from fullbench.core.verdict_record import Record
from fullbench.errors import InputError
from fullbench.files.row_writers import Columns, replace_atomically, write_rows


def preference_pairs(record: Record, judge: str, *, margin: float = 0.0) -> Iterator[tuple[Item, Response, Response]]:
    """Yield item, better and worse response for every pair that the judge distinguishes.

    Both orders count. A pair is excluded if it ties or its winner changes with the order. Separate marks must differ by
    more than `margin`.
    """
    judge_record = record.where(judge=judge, fault=None)
    if not len(judge_record):
        raise InputError(f"no marked verdict of {judge!r} is in the ledger; judges there: {', '.join(record.judges)}")
    outcomes: dict[tuple[str, str, str], list[float]] = defaultdict(list)
    for match in judge_record.matches(margin):
        left, right = sorted((match.first, match.second))
        outcomes[match.item, left, right].append(match.outcome if match.first == left else 1 - match.outcome)
    for (item, left, right), points in outcomes.items():
        share = fmean(points)
        if share == 0.5:
            continue
        better, worse = (left, right) if share > 0.5 else (right, left)
        pair = record.responses.get((item, better)), record.responses.get((item, worse))
        if item in record.items and pair[0] is not None and pair[1] is not None:
            yield record.items[item], pair[0], pair[1]


def export_dpo(
    record: Record, judge: str, out: Path, *, margin: float = 0.0, include_sensitive: bool = False
) -> tuple[int, int]:
    """Write the pairs to a file, and pictures to `pictures/` next to it; return the pairs written and excluded.

    Pairs with a sensitive picture are excluded unless `include_sensitive` is set: a veiled picture teaches nothing.
    """
    pairs = list(preference_pairs(record, judge, margin=margin))
    for item, *both in pairs:
        other = next((part for part in (*item.media, *both[0].media, *both[1].media) if part.kind != "image"), None)
        if other is not None:
            raise InputError(
                f"the item {item.id!r} has a {other.noun}; pairs for trainers take texts and pictures only"
            )
    shareable = [pair for pair in pairs if include_sensitive or not any(_has_sensitive_picture(part) for part in pair)]
    picture_pairs = [pair for pair in shareable if pair[1].pictures or pair[2].pictures]
    if picture_pairs and out.suffix != ".parquet":
        raise InputError(
            "answers that are pictures are written with their bytes, as trainers read them: give --out FILE.parquet",
            path=out,
        )
    if picture_pairs and len(picture_pairs) < len(shareable):
        raise InputError("some answers are pictures and some are words: no trainer takes both in one file", path=out)
    rows = _picture_rows(shareable) if picture_pairs else (_conversation_row(*pair, out) for pair in shareable)
    return write_rows(out, rows, _COLUMNS if picture_pairs else None), len(pairs) - len(shareable)


def run_dpo_exporter(record: Record, out: Path, options: Mapping[str, str]) -> dict[str, int]:
    """Exporter `dpo`; its options are judge, margin and include_sensitive (yes or no)."""
    if "judge" not in options:
        raise InputError("whose preferences? Say --judge NAME, as `fullbench ledger show` lists it")
    include_sensitive = options.get("include_sensitive") == "yes"
    count, excluded_count = export_dpo(
        record, options["judge"], out, margin=float(options.get("margin", 0.0)), include_sensitive=include_sensitive
    )
    return {"pairs": count, "sensitive pairs left out": excluded_count}


def _has_sensitive_picture(item_or_response: Item | Response) -> bool:
    return bool(item_or_response.tags.get(SENSITIVE) and item_or_response.pictures)


_COLUMNS: Columns = {
    "prompt": "text", "chosen": "picture", "rejected": "picture", "caption": "text", "jpg_0": "bytes",
    "jpg_1": "bytes", "label_0": "int",
}  # fmt: skip


def _picture_rows(pairs: Iterable[tuple[Item, Response, Response]]) -> Iterator[dict[str, Any]]:
    for item, better, worse in pairs:
        picture_lists = [response.pictures for response in (better, worse)]
        if better.text or worse.text or not len(picture_lists[0]) == len(picture_lists[1]) == 1:
            raise InputError(f"the responses to item {item.id!r} are neither words nor one picture each")
        chosen_picture, rejected_picture = (pictures[0] for pictures in picture_lists)
        # The order is pseudo-random but reproducible (by digest), so that a trainer cannot learn it.
        first = chosen_picture.digest < rejected_picture.digest
        both = (chosen_picture, rejected_picture) if first else (rejected_picture, chosen_picture)
        yield {
            "prompt": item.question, "caption": item.question, "label_0": int(first),
            "chosen": _picture_cell(chosen_picture), "rejected": _picture_cell(rejected_picture),
            "jpg_0": both[0].data(), "jpg_1": both[1].data(),
        }  # fmt: skip


def _picture_cell(picture: Picture) -> dict[str, Any]:
    return {"bytes": picture.data(), "path": f"{picture.digest}.{picture.media_type.removeprefix('image/')}"}


def _conversation_row(item: Item, better: Response, worse: Response, out: Path) -> dict[str, Any]:
    picture_paths = [_copy_picture(picture, out) for picture in item.pictures]
    row = {
        "prompt": [
            {"role": turn.role, "content": _message_content(turn.parts, bool(picture_paths))} for turn in item.turns
        ],
        "chosen": [{"role": "assistant", "content": _message_content(better.parts, bool(picture_paths))}],
        "rejected": [{"role": "assistant", "content": _message_content(worse.parts, bool(picture_paths))}],
    }
    return {"images": picture_paths, **row} if picture_paths else row


def _message_content(parts: Iterable[Part], pictures: bool) -> Any:
    """Typed parts, as vision models take them, if the conversation has pictures."""
    if not pictures:
        return "\n".join(part for part in parts if isinstance(part, str))
    return [{"type": "text", "text": part} if isinstance(part, str) else {"type": "image"} for part in parts]


def _copy_picture(picture: Picture, out: Path) -> str:
    copy = out.parent / "pictures" / f"{picture.digest}.{picture.media_type.removeprefix('image/')}"
    if not copy.exists():
        with replace_atomically(copy) as part:
            part.write_bytes(picture.data())
    return os.path.relpath(copy, out.parent)
