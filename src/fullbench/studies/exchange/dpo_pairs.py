"""Preference pairs for training, in the formats of common trainers.

Text answers become conversations for TRL's DPO trainer: `prompt` (turns up to the question), `chosen` and `rejected`
(one turn each), and `images` (paths of the pictures in the prompt); trainers that take videos and recordings find them
in `videos` and `audios`. Answers that are a picture, a video or a recording go into a Parquet file with their bytes:
`prompt`, `chosen` and `rejected` as the library `datasets` stores them. Pairs of pictures also have `caption`, `jpg_0`,
`jpg_1` and `label_0` for trainers of diffusion models (Pick-a-Pic's layout, as in the Diffusion-DPO example of
diffusers).
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

from fullbench.core.item import SENSITIVE, Item, Part
from fullbench.core.media import COLUMN_NAMES, Media
from fullbench.core.media import Kind as MediaKind
from fullbench.core.response import Response
from fullbench.core.verdict_record import Record
from fullbench.errors import InputError
from fullbench.files.row_writers import Columns, Kind, replace_atomically, write_rows


def preference_pairs(record: Record, judge: str, *, margin: float = 0.0) -> Iterator[tuple[Item, Response, Response]]:
    """Yield item, better and worse response for every pair that the judge distinguishes.

    Both orders count. A pair is excluded if it ties or its winner changes with the order. Separate marks must differ by
    more than `margin`.
    """
    judge_record = record.where(judge=judge, fault=None)
    if not len(judge_record):
        raise InputError(f"the ledger has no marked verdict of {judge!r}; judges there: {', '.join(record.judges)}")
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


class PairCounts(NamedTuple):
    """Number of pairs that were written, and of those that were excluded, by reason."""

    written: int
    sensitive: int
    with_documents: int


def export_dpo(
    record: Record, judge: str, out: Path, *, margin: float = 0.0, include_sensitive: bool = False
) -> PairCounts:
    """Write the pairs to a file, and files of their prompts to folders next to it.

    Pairs with a sensitive file are excluded unless `include_sensitive` is set: a veiled picture teaches nothing. Pairs
    with a document are excluded, since no trainer takes any.
    """
    pairs = list(preference_pairs(record, judge, margin=margin))
    readable = [pair for pair in pairs if not any(_has_document(part) for part in pair)]
    shareable = [pair for pair in readable if include_sensitive or not any(_has_sensitive_file(part) for part in pair)]
    media_pairs = [pair for pair in shareable if pair[1].media or pair[2].media]
    if media_pairs and out.suffix != ".parquet":
        raise InputError(
            "answers that are pictures, videos or recordings are written with their bytes, as trainers read them: give "
            "--out FILE.parquet",
            path=out,
        )
    kinds = sorted({part.kind for pair in media_pairs for response in pair[1:] for part in response.media})
    if media_pairs and (len(media_pairs) < len(shareable) or len(kinds) > 1):
        raise InputError(
            "the answers are of several kinds (text, picture, ...), but no trainer takes these in one file; export "
            "them separately",
            path=out,
        )
    rows = _media_rows(shareable) if media_pairs else (_conversation_row(*pair, out) for pair in shareable)
    columns = _media_row_columns(kinds[0]) if media_pairs else None
    written = write_rows(out, rows, columns)
    return PairCounts(written, len(readable) - len(shareable), len(pairs) - len(readable))


def run_dpo_exporter(record: Record, out: Path, options: Mapping[str, str]) -> dict[str, int]:
    """Exporter `dpo`; its options are judge, margin and include_sensitive (yes or no)."""
    if "judge" not in options:
        raise InputError("No judge given. Add --judge NAME, as `fullbench ledger show` lists it")
    include_sensitive = options.get("include_sensitive") == "yes"
    counts = export_dpo(
        record, options["judge"], out, margin=float(options.get("margin", 0.0)), include_sensitive=include_sensitive
    )
    return {
        "pairs": counts.written, "sensitive pairs left out": counts.sensitive,
        "pairs with documents left out": counts.with_documents,
    }  # fmt: skip


def _has_sensitive_file(item_or_response: Item | Response) -> bool:
    return bool(item_or_response.tags.get(SENSITIVE) and item_or_response.media)


def _has_document(item_or_response: Item | Response) -> bool:
    return any(part.kind == "document" for part in item_or_response.media)


def _media_row_columns(kind: MediaKind) -> Columns:
    if kind == "image":
        return {
            "prompt": "text", "chosen": "picture", "rejected": "picture", "caption": "text", "jpg_0": "bytes",
            "jpg_1": "bytes", "label_0": "int",
        }  # fmt: skip
    column: Kind = "video" if kind == "video" else "audio"
    return {"prompt": "text", "chosen": column, "rejected": column}


def _media_rows(pairs: Iterable[tuple[Item, Response, Response]]) -> Iterator[dict[str, Any]]:
    for item, better, worse in pairs:
        media = [response.media for response in (better, worse)]
        if better.text or worse.text or not len(media[0]) == len(media[1]) == 1:
            raise InputError(f"the responses to item {item.id!r} are neither words nor one file each")
        (chosen,), (rejected,) = media
        row: dict[str, Any] = {
            "prompt": item.question,
            "chosen": _media_cell(chosen),
            "rejected": _media_cell(rejected),
        }
        if chosen.kind == "image":
            # The order is pseudo-random but reproducible (by digest), so that a trainer cannot learn it.
            first = chosen.digest < rejected.digest
            both = (chosen, rejected) if first else (rejected, chosen)
            row |= {"caption": item.question, "label_0": int(first), "jpg_0": both[0].data(), "jpg_1": both[1].data()}
        yield row


def _media_cell(media: Media) -> dict[str, Any]:
    return {"bytes": media.data(), "path": f"{media.digest}.{media.suffix}"}


_PATH_COLUMNS: Mapping[MediaKind, str] = {"image": "images", "video": "videos", "audio": "audios"}
"""Columns in which trainers look for the files of a conversation, in the order of its parts."""


def _conversation_row(item: Item, better: Response, worse: Response, out: Path) -> dict[str, Any]:
    paths = {
        column: [_copy_file(part, out) for part in item.media if part.kind == kind]
        for kind, column in _PATH_COLUMNS.items()
        if any(part.kind == kind for part in item.media)
    }
    row = {
        "prompt": [{"role": turn.role, "content": _message_content(turn.parts, bool(paths))} for turn in item.turns],
        "chosen": [{"role": "assistant", "content": _message_content(better.parts, bool(paths))}],
        "rejected": [{"role": "assistant", "content": _message_content(worse.parts, bool(paths))}],
    }
    return {**paths, **row}


def _message_content(parts: Iterable[Part], is_typed: bool) -> Any:
    """Typed parts, as vision models take them, if the conversation has files."""
    if not is_typed:
        return "\n".join(part for part in parts if isinstance(part, str))
    return [{"type": "text", "text": part} if isinstance(part, str) else {"type": part.kind} for part in parts]


def _copy_file(media: Media, out: Path) -> str:
    copy = out.parent / COLUMN_NAMES[media.kind] / f"{media.digest}.{media.suffix}"
    if not copy.exists():
        with replace_atomically(copy) as temporary, temporary.open("wb") as file:
            file.writelines(media.pieces())
    return os.path.relpath(copy, out.parent)
