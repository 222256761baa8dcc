"""Batch replies that answer no request, or one that was already answered: reported and billed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from fullbench.core.digests import digest
from fullbench.core.model import Prompt
from fullbench.core.verdict import Failure
from fullbench.models.chat_model import ChatModel
from fullbench.models.wire.batch_lines import parse_batch_line, reply_from_line
from fullbench.studies.batches.batch_folders import BatchFolder

Kind = Literal["unknown", "second"]
NOTHING_ASKED = Prompt(())
_NAME = re.compile(r"(.+)-(\d+)-([0-9a-f]{8})-[0-9a-f]{8}")


@dataclass(frozen=True)
class ExtraReply:
    """An unmatched reply, and the failure that bills it.

    A reply with an unknown name is billed to a request without a reply, if there is one: it most likely belongs to it.
    Of several replies to a request, the last successful one counts.
    """

    kind: Kind
    failure: Failure


def find_extra_replies(folder: BatchFolder, model: ChatModel) -> Iterator[ExtraReply]:
    """Yield the replies of a finished batch that lead to no verdict."""
    names = dict.fromkeys(folder.names())
    replies_by_name: dict[str, list[tuple[str, Mapping[str, Any]]]] = {}
    strays: list[tuple[str, str, Mapping[str, Any]]] = []
    for where, name, line in _reply_lines(folder):
        if name in names:
            replies_by_name.setdefault(name, []).append((where, line))
        else:
            strays.append((where, name, line))
    silent = [name for name in names if name not in replies_by_name] or list(names)
    for number, (where, name, line) in enumerate(strays):
        why = f"a reply bears the name {name[:80]!r}, which no request has ({where})"
        yield ExtraReply("unknown", _billed_failure(folder, model, silent[number % len(silent)], why, line))
    for name, lines in replies_by_name.items():
        good = [
            place for place, (_, line) in enumerate(lines) if reply_from_line(model, NOTHING_ASKED, line).error is None
        ]
        counted_place = good[-1] if good else len(lines) - 1
        for place, (where, line) in enumerate(lines):
            if place != counted_place:
                yield ExtraReply(
                    "second", _billed_failure(folder, model, name, f"a second reply to one request ({where})", line)
                )


def _reply_lines(folder: BatchFolder) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    for path in folder.replies:
        with path.open("rb") as file:
            for number, line in enumerate(file, 1):
                answer = parse_batch_line(line) if line.strip() else None
                if answer is not None:
                    yield f"{path.name}, line {number}", *answer


def _billed_failure(folder: BatchFolder, model: ChatModel, name: str, why: str, line: Mapping[str, Any]) -> Failure:
    match = _NAME.fullmatch(name)
    key, trial, tail = (match[1], int(match[2]), match[3]) if match else (name, 0, "")
    asks = folder.state.asks
    who = next((asker for asker in asks if digest(asker)[:8] == tail), asks[0])
    usage = reply_from_line(model, NOTHING_ASKED, line, folder.state.rate).usage
    return Failure(key, who, trial, f"batch {folder.path.name}: {why}", usage)
