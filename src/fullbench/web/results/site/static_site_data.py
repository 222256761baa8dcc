"""The data of a static copy's list of verdicts, as scripts that call `fullbench.chunk(NAME, VALUE)`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from typing import Any

import orjson
from sqlalchemy import Connection, Select, select

from fullbench.core.case import Case
from fullbench.ledger.ledger import Ledger
from fullbench.web.results.catalogue import catalogue_tables
from fullbench.web.results.catalogue.row_helpers import chunks
from fullbench.web.results.catalogue.verdict_flags import FLAGS
from fullbench.web.results.lists.case_list import CaseRow, case_rows

CHUNK = 5_000
TEXT = 400
"""So many characters of each question and answer can be searched for."""
Write = Callable[[str, str], None]


def script(value: Any) -> str:
    """A JSON value as part of a script: nothing in it can end the script element or begin another.

    >>> script("</script>")
    '"\\\\u003c/script>"'
    """
    text = orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS).decode("utf-8", "replace")
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def write_data(
    connection: Connection,
    ledger: Ledger,
    write: Write,
    most: int,
    pages: frozenset[str],
    *,
    withheld: Select[Any] | None = None,
    thumb: Callable[[str, Mapping[str, str]], str],
    shown: Callable[[str], str],
) -> int:
    """Write the newest `most` verdicts, the names they speak of, and what can be searched; say how many chunks.

    `thumb` gives the address of a small picture by digest and tags; items of cases that have a page have one.
    `shown` gives the name that pages show a judge or contestant by; the data have the full one beside it.
    Nothing is written of the items `withheld`: neither verdicts on them nor what was asked.
    """
    n, v, c = catalogue_tables.names.c, catalogue_tables.verdicts.c, catalogue_tables.cases.c
    names: dict[int, int] = {}
    listed: list[str] = []
    kinds: list[str] = []
    for id_, kind, name in connection.execute(select(n.id, n.kind, n.name).order_by(n.id)):
        names[id_] = len(listed)
        listed.append(name)
        kinds.append(kind)
    items = _items(connection, withheld)
    keys: list[str] = []
    asked = select(*v, c.key.label("case_key")).join_from(
        catalogue_tables.verdicts, catalogue_tables.cases, c.id == v.case_id
    )
    if withheld is not None:
        asked = asked.where(v.item_id.not_in(withheld))
    newest = connection.execute(asked.order_by(v.id.desc()).limit(most))
    places = {id_: place for place, id_ in enumerate(items)}
    places_by_name = {name: place for place, (name, _, _) in enumerate(items.values())}
    numbers = {(kind, name): place for place, (kind, name) in enumerate(zip(kinds, listed, strict=True))}
    written: dict[int, CaseRow] = {}
    count = 0
    for chunk in chunks(newest, CHUNK):
        fresh = {row.meeting_id: None for row in chunk if row.meeting_id not in written}
        for some in chunks(fresh):
            written |= {one.meeting: one for one in case_rows(connection, some, shown=shown)}
        keys += [row.case_key for row in chunk]
        rows = [_row(row, written[row.meeting_id], names, listed, places[row.item_id]) for row in chunk]
        cases = {id_: _case(written[id_], places_by_name[written[id_].item], numbers, pages, shown) for id_ in fresh}
        write(f"data/verdicts-{count}.js", f'fullbench.chunk("verdicts-{count}", {script([rows, cases])});\n')
        count += 1
    thumbs: dict[int, str] = {}

    def look(case: Case, place: int) -> None:
        if case.key in pages and place not in thumbs and (first := first_picture(case)) is not None:
            thumbs[place] = thumb(*first)

    texts = _texts(ledger, write, keys, {name: names[id_] for id_, name in _contestants(connection)}, items, look=look)
    known = [[name, title, tags, thumbs.get(place, "")] for place, (name, title, tags) in enumerate(items.values())]
    called = {
        place: shown(name)
        for place, (kind, name) in enumerate(zip(kinds, listed, strict=True))
        if kind in {"judge", "contestant"} and shown(name) != name
    }
    head = {"names": listed, "called": called, "kinds": kinds, "items": known, "texts": texts}
    write("data/names.js", f"window.fullbench = {script(head)};\n")
    return count


def _contestants(connection: Connection) -> list[tuple[int, str]]:
    n = catalogue_tables.names.c
    return [(row.id, row.name) for row in connection.execute(select(n.id, n.name).where(n.kind == "contestant"))]


def _items(connection: Connection, withheld: Select[Any] | None) -> dict[int, tuple[str, str, dict[str, str]]]:
    i, t = catalogue_tables.items.c, catalogue_tables.tags.c
    asked = select(i.id, i.name, i.title).order_by(i.id)
    if withheld is not None:
        asked = asked.where(i.id.not_in(withheld))
    items: dict[int, tuple[str, str, dict[str, str]]] = {
        row.id: (row.name, row.title, {}) for row in connection.execute(asked)
    }
    for row in connection.execute(select(t.item_id, t.name, t.value)):
        if row.item_id in items:
            items[row.item_id][2][row.name] = row.value
    return items


def _row(row: Any, case: CaseRow, names: dict[int, int], listed: Sequence[str], item: int) -> list[Any]:
    """A verdict as `site.js` filters it; items are known by their place, who ruled by the place of the dot."""
    flags = sum(getattr(row, name) << place for place, name in enumerate(FLAGS))
    shown = [names[number] for number in orjson.loads(row.shown)]
    judge = names[row.judge_id]
    voice = listed[judge], listed[names[row.rater_id]]
    dot = next((place for place, one in enumerate(case.dots) if (one.judge, one.rater) == voice), -1)
    return [
        row.meeting_id, dot, judge, item, names[row.ballot_id], names[row.criterion_id], row.fault, row.shape, shown,
        flags,
    ]  # fmt: skip


def _case(
    row: CaseRow, item: int, numbers: Mapping[tuple[str, str], int], pages: frozenset[str], shown: Callable[[str], str]
) -> list[Any]:
    """A case as `site.js` shows it; who is ahead of whom by places in its list of contestants."""
    outcomes = list(dict.fromkeys(outcome for dot in row.dots for outcome in dot.outcomes))
    dots = [
        [
            numbers["judge", dot.judge],
            dot.rater if dot.people else None,
            [outcomes.index(outcome) for outcome in dot.outcomes],
            int(dot.turned),
            dot.anchor,
        ]
        for dot in row.dots
    ]
    return [
        next((key for key in row.cases if key in pages), ""),
        item,
        row.criterion,
        row.doubt,
        int(row.split) + 2 * int(row.opposed),
        [[shown(name), name, row.seats[name]] for name in row.contestants],
        int(row.by_people),
        [[row.contestants.index(name) for name in group] for group in row.placing],
        [[row.contestants.index(name), mark] for name, mark in row.joint],
        [[outcome.kind, outcome.words, outcome.seat] for outcome in outcomes],
        dots,
        row.verdicts,
    ]


def first_picture(case: Case) -> tuple[str, Mapping[str, str]] | None:
    """The picture that stands for a case in a list, by its digest, and the tags that say whether it is veiled."""
    pictures = ((picture.digest, case.item.tags) for picture in case.item.pictures)
    answers = ((picture.digest, response.tags) for response in case.responses for picture in response.pictures)
    return next(chain(pictures, answers), None)


def _texts(
    ledger: Ledger,
    write: Write,
    keys: list[str],
    names: dict[str, int],
    items: dict[int, tuple[str, str, Any]],
    *,
    look: Callable[[Case, int], None],
) -> list[str]:
    """What was asked and answered, by item; the names of the files. `look` sees every case and its item's place."""
    places = {name: place for place, (name, _, _) in enumerate(items.values())}
    by_place: dict[int, tuple[str, dict[int, str]]] = {}
    for some in chunks(dict.fromkeys(keys)):
        for case in ledger.cases(some):
            place = places[case.item.id]
            look(case, place)
            asked = "\n".join([*(turn.text[:TEXT] for turn in case.item.turns), (case.item.reference or "")[:TEXT]])
            _, answers = by_place.setdefault(place, (asked, {}))
            answers.update({names[response.contestant]: response.text[:TEXT] for response in case.responses})
    files: list[str] = []
    for chunk in chunks(by_place.items(), 1_000):
        name = f"texts-{len(files)}"
        write(f"data/{name}.js", f'fullbench.chunk("{name}", {script(dict(chunk))});\n')
        files.append(name)
    return files
