"""Data files for the list of verdicts of a static copy: scripts that call `fullbench.chunk(NAME, VALUE)`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from typing import Any

import orjson
from sqlalchemy import Connection, Select, select

from fullbench.core.case import Case
from fullbench.core.media import Media
from fullbench.ledger.ledger import Ledger
from fullbench.web.results.catalogue import catalogue_tables
from fullbench.web.results.catalogue.catalogue_state_name_ids_and_inserts import split_into_chunks
from fullbench.web.results.catalogue.verdict_flag_definitions import FLAGS
from fullbench.web.results.lists.case_list import CaseRow, case_rows

# A browser loads a chunk when it scrolls there: some hundred kilobytes each.
CHUNK_ROWS = 5_000
MAX_TEXT_LENGTH = 400
"""Searchable characters of each question and answer."""
Write = Callable[[str, str], None]


def script_json(value: Any) -> str:
    r"""Serialize a value as JSON that cannot end its script element or start another one.

    >>> script_json("</script>")
    '"\\u003c/script>"'
    """
    text = orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS).decode("utf-8", "replace")
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def write_data(
    connection: Connection,
    ledger: Ledger,
    write: Write,
    max_verdicts: int,
    pages: frozenset[str],
    *,
    withheld_items: Select[Any] | None = None,
    thumbnail_url: Callable[[Media, Mapping[str, str]], str],
    display_name: Callable[[str], str],
) -> int:
    """Write the newest `max_verdicts` verdicts, their names and the searchable texts. Return the number of chunks.

    Args:
        pages: Keys of the cases that have a page; only their items get a thumbnail.
        withheld_items: Items of which nothing is written, neither verdicts nor questions.
        thumbnail_url: Returns the URL of a small picture of a file, by its tags.
        display_name: Returns the shown name of a judge or contestant; the data also contain the full name.
    """
    n, v, c = catalogue_tables.names.c, catalogue_tables.verdicts.c, catalogue_tables.cases.c
    names: dict[int, int] = {}
    name_list: list[str] = []
    kinds: list[str] = []
    for id_, kind, name in connection.execute(select(n.id, n.kind, n.name).order_by(n.id)):
        names[id_] = len(name_list)
        name_list.append(name)
        kinds.append(kind)
    items = _items_by_id(connection, withheld_items)
    keys: list[str] = []
    query = select(*v, c.key.label("case_key")).join_from(
        catalogue_tables.verdicts, catalogue_tables.cases, c.id == v.case_id
    )
    if withheld_items is not None:
        query = query.where(v.item_id.not_in(withheld_items))
    newest = connection.execute(query.order_by(v.id.desc()).limit(max_verdicts))
    places = {id_: place for place, id_ in enumerate(items)}
    places_by_name = {name: place for place, (name, _, _) in enumerate(items.values())}
    numbers = {(kind, name): place for place, (kind, name) in enumerate(zip(kinds, name_list, strict=True))}
    rows_by_response_set: dict[int, CaseRow] = {}
    count = 0
    for chunk in split_into_chunks(newest, CHUNK_ROWS):
        new_response_sets = {
            row.response_set_id: None for row in chunk if row.response_set_id not in rows_by_response_set
        }
        for response_set_ids in split_into_chunks(new_response_sets):
            rows_by_response_set |= {
                case_row.response_set: case_row
                for case_row in case_rows(connection, response_set_ids, display_name=display_name)
            }
        keys += [row.case_key for row in chunk]
        rows = [
            _verdict_entry(row, rows_by_response_set[row.response_set_id], names, name_list, places[row.item_id])
            for row in chunk
        ]
        cases = {
            id_: _case_entry(
                rows_by_response_set[id_], places_by_name[rows_by_response_set[id_].item], numbers, pages, display_name
            )
            for id_ in new_response_sets
        }
        write(f"data/verdicts-{count}.js", f'fullbench.chunk("verdicts-{count}", {script_json([rows, cases])});\n')
        count += 1
    thumbs: dict[int, str] = {}

    def add_thumbnail(case: Case, place: int) -> None:
        if case.key in pages and place not in thumbs and (first := first_picture(case)) is not None:
            thumbs[place] = thumbnail_url(*first)

    texts = _write_texts(
        ledger,
        write,
        keys,
        {name: names[id_] for id_, name in _contestant_names(connection)},
        items,
        visit_case=add_thumbnail,
    )
    item_entries = [
        [name, title, tags, thumbs.get(place, "")] for place, (name, title, tags) in enumerate(items.values())
    ]
    display_names = {
        place: display_name(name)
        for place, (kind, name) in enumerate(zip(kinds, name_list, strict=True))
        if kind in {"judge", "contestant"} and display_name(name) != name
    }
    head = {"names": name_list, "called": display_names, "kinds": kinds, "items": item_entries, "texts": texts}
    write("data/names.js", f"window.fullbench = {script_json(head)};\n")
    return count


def _contestant_names(connection: Connection) -> list[tuple[int, str]]:
    n = catalogue_tables.names.c
    return [(row.id, row.name) for row in connection.execute(select(n.id, n.name).where(n.kind == "contestant"))]


def _items_by_id(
    connection: Connection, withheld_items: Select[Any] | None
) -> dict[int, tuple[str, str, dict[str, str]]]:
    i, t = catalogue_tables.items.c, catalogue_tables.tags.c
    query = select(i.id, i.name, i.title).order_by(i.id)
    if withheld_items is not None:
        query = query.where(i.id.not_in(withheld_items))
    items: dict[int, tuple[str, str, dict[str, str]]] = {
        row.id: (row.name, row.title, {}) for row in connection.execute(query)
    }
    for row in connection.execute(select(t.item_id, t.name, t.value)):
        if row.item_id in items:
            items[row.item_id][2][row.name] = row.value
    return items


def _verdict_entry(row: Any, case: CaseRow, names: dict[int, int], name_list: Sequence[str], item: int) -> list[Any]:
    """For `static_copy.js`: items by their index, judge or rater by the index of the dot."""
    # Bit i is the i-th flag: `static_copy.js` relies on the order of FLAGS.
    flags = sum(getattr(row, name) << place for place, name in enumerate(FLAGS))
    shown_numbers = [names[number] for number in orjson.loads(row.shown)]
    judge = names[row.judge_id]
    voice = name_list[judge], name_list[names[row.rater_id]]
    dot = next((place for place, case_dot in enumerate(case.dots) if (case_dot.judge, case_dot.rater) == voice), -1)
    return [
        row.response_set_id,
        dot,
        judge,
        item,
        names[row.ballot_id],
        names[row.criterion_id],
        row.fault,
        row.shape,
        shown_numbers,
        flags,
    ]


def _case_entry(
    row: CaseRow,
    item: int,
    numbers: Mapping[tuple[str, str], int],
    pages: frozenset[str],
    display_name: Callable[[str], str],
) -> list[Any]:
    """For `static_copy.js`: rankings are indexes into its list of contestants."""
    outcomes = list(dict.fromkeys(outcome for dot in row.dots for outcome in dot.outcomes))
    dots = [
        [
            numbers["judge", dot.judge],
            dot.rater if dot.people else None,
            [outcomes.index(outcome) for outcome in dot.outcomes],
            int(dot.is_swapped),
            dot.anchor,
        ]
        for dot in row.dots
    ]
    return [
        next((key for key in row.cases if key in pages), ""),
        item,
        row.criterion,
        row.doubt,
        int(row.is_split) + 2 * int(row.is_opposed),
        [[display_name(name), name, row.colours[name]] for name in row.contestants],
        int(row.by_people),
        [[row.contestants.index(name) for name in group] for group in row.placing],
        [[row.contestants.index(name), mark] for name, mark in row.joint],
        [[outcome.kind, outcome.words, outcome.colour] for outcome in outcomes],
        dots,
        row.verdicts,
    ]


def first_picture(case: Case) -> tuple[Media, Mapping[str, str]] | None:
    """Return the picture, video or document that represents a case, and the tags that may veil it."""
    of_item = ((media, case.item.tags) for media in case.item.media)
    of_answers = ((media, response.tags) for response in case.responses for media in response.media)
    return next((pair for pair in chain(of_item, of_answers) if pair[0].kind != "audio"), None)


def _write_texts(
    ledger: Ledger,
    write: Write,
    keys: list[str],
    names: dict[str, int],
    items: dict[int, tuple[str, str, Any]],
    *,
    visit_case: Callable[[Case, int], None],
) -> list[str]:
    """Write questions and answers by item; return the file names. `visit_case` is called for every case."""
    places = {name: place for place, (name, _, _) in enumerate(items.values())}
    by_place: dict[int, tuple[str, dict[int, str]]] = {}
    for case_keys in split_into_chunks(dict.fromkeys(keys)):
        for case in ledger.cases(case_keys):
            place = places[case.item.id]
            visit_case(case, place)
            question_text = "\n".join(
                [
                    *(turn.text[:MAX_TEXT_LENGTH] for turn in case.item.turns),
                    (case.item.reference or "")[:MAX_TEXT_LENGTH],
                ]
            )
            _, answers = by_place.setdefault(place, (question_text, {}))
            answers.update({names[response.contestant]: response.text[:MAX_TEXT_LENGTH] for response in case.responses})
    files: list[str] = []
    for chunk in split_into_chunks(by_place.items(), 1_000):
        name = f"texts-{len(files)}"
        write(f"data/{name}.js", f'fullbench.chunk("{name}", {script_json(dict(chunk))});\n')
        files.append(name)
    return files
