"""Replies of a batch that answer no request, or one that was answered already: told, and put on the bill."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from fullbench.core.digests import digest
from fullbench.core.model import Prompt
from fullbench.core.verdict import Failure
from fullbench.models.chat_model import ChatModel
from fullbench.models.wire.batch_lines import named, reply_of
from fullbench.studies.batches.batch_folders import Folder

Kind = Literal["unknown", "second"]
NOTHING_ASKED = Prompt(())
_NAME = re.compile(r"(.+)-(\d+)-([0-9a-f]{8})-[0-9a-f]{8}")


@dataclass(frozen=True)
class Extra:
    """One such reply, and the failure by which it stands on the bill.

    A reply whose name nobody knows is billed to a request that got none, where there is one: most likely it is that
    one's. Of several replies to a request the last good one counts, as everywhere in batches.
    """

    kind: Kind
    failure: Failure


def extras(folder: Folder, model: ChatModel) -> Iterator[Extra]:
    """The replies of a batch that ended which lead to no verdict of their own."""
    names = dict.fromkeys(folder.names())
    answered: dict[str, list[tuple[str, Mapping[str, Any]]]] = {}
    strays: list[tuple[str, str, Mapping[str, Any]]] = []
    for where, name, line in _lines(folder):
        if name in names:
            answered.setdefault(name, []).append((where, line))
        else:
            strays.append((where, name, line))
    silent = [name for name in names if name not in answered] or list(names)
    for number, (where, name, line) in enumerate(strays):
        why = f"a reply bears the name {name[:80]!r}, which no request has ({where})"
        yield Extra("unknown", _failure(folder, model, silent[number % len(silent)], why, line))
    for name, lines in answered.items():
        good = [place for place, (_, line) in enumerate(lines) if reply_of(model, NOTHING_ASKED, line).error is None]
        counted = good[-1] if good else len(lines) - 1
        for place, (where, line) in enumerate(lines):
            if place != counted:
                yield Extra("second", _failure(folder, model, name, f"a second reply to one request ({where})", line))


def _lines(folder: Folder) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    for path in folder.replies:
        with path.open("rb") as file:
            for number, line in enumerate(file, 1):
                answer = named(line) if line.strip() else None
                if answer is not None:
                    yield f"{path.name}, line {number}", *answer


def _failure(folder: Folder, model: ChatModel, name: str, why: str, line: Mapping[str, Any]) -> Failure:
    found = _NAME.fullmatch(name)
    key, trial, tail = (found[1], int(found[2]), found[3]) if found else (name, 0, "")
    asks = folder.state.asks
    who = next((one for one in asks if digest(one)[:8] == tail), asks[0])
    usage = reply_of(model, NOTHING_ASKED, line, folder.state.rate).usage
    return Failure(key, who, trial, f"batch {folder.path.name}: {why}", usage)
