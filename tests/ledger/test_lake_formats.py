"""What a lake holds is the ledger's, row by row, also if rows are stored within others; other formats are refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from fullbench import Case, Item, Ledger, Response, Score, Verdict
from fullbench.core.model_call import Call, Usage
from fullbench.ledger import schema
from fullbench.ledger.lake import manifest, write_lake
from fullbench.ledger.lake.calls_and_memberships_inside_host_rows import RowidSet
from fullbench.ledger.lake.storage import LakeFolder
from tests.ledger.lakes import fill
from tests.support.commands import call, cli

USED = Usage(1, 0, 700, 40, 0.002, 1.25)


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("FULLBENCH_CACHE", str(tmp_path / "own-cache"))


def rows(place: Path) -> dict[str, list[tuple]]:
    """All rows of all tables, in their places; but for the salt, which stays with the ledger, and links of rows."""
    with Ledger(place, read_only=True) as ledger, ledger.reader() as reader:
        return {
            table: [
                row
                for row in reader.stream(
                    f"SELECT rowid, {', '.join(schema.table_columns(table))}, writer, number FROM {table} ORDER "
                    "BY rowid"
                )
                if table != "settings" or row[1] != write_lake.SALT
            ]
            for table in schema.TABLES
        }


def same(ledger: Path, lake: Path) -> None:
    """A lake, and the ledger that it becomes again, are the ledger that it came from."""
    assert rows(lake) == rows(ledger)
    assert "sound" in cli("lake", "verify", lake).stdout
    assert "sound" in cli("ledger", "verify", lake).stdout
    again = lake.with_name("again.ledger")
    cli("ledger", "copy", lake, again, "--quiet")
    with Ledger(ledger, read_only=True) as one, Ledger(lake, read_only=True) as two, Ledger(again) as three:
        assert one.digest() == two.digest() == three.digest()
        assert list(one.verdicts()) == list(two.verdicts())


@pytest.mark.parametrize(
    ("other", "advice"),
    [(manifest.FORMAT - 1, "use the build that wrote it."), (manifest.FORMAT + 1, "Install a newer fullbench.")],
)
def test_a_lake_of_another_format_is_refused(tmp_path, other, advice):
    place, lake = tmp_path / "x.ledger", tmp_path / "lake"
    fill(place, items=1)
    cli("lake", "write", place, "--out", lake)
    entry = lake / manifest.entry_name(1)
    entry.write_text(entry.read_text().replace(f'"format": {manifest.FORMAT}', f'"format": {other}'))
    said = f"{lake}: the lake has format {other}, and this fullbench reads format {manifest.FORMAT}. "
    for command in (("lake", "verify", lake), ("report", "--ledger", lake), ("lake", "write", place, "--out", lake)):
        code, done = call(*command)
        assert code == 2, done.output
        assert said in " ".join(done.stderr.split())
        assert advice in " ".join(done.stderr.split())


def hearing(ledger: Ledger, number: int, *, said: str = "两条腿 [[3]]") -> tuple[Case, Call]:
    """A case, and a call that was made of it."""
    item = Item.ask(f"item-{number}", f"第{number}题")
    case = Case(item, (Response.say(item.id, "alpha", f"答 {number}"),), Score(1, 5))
    ledger.add(case)
    call = Call(f"{number:032x}", said, f"{number + 1000:032x}", stop="stop", nonce="bcdfghjk", usage=USED, at=5.0)
    return case, call


def verdict(case: Case, judge: str, *calls: Call, **rest: object) -> Verdict:
    last = calls[-1]
    usual = {"text": last.text, "prompt": last.prompt, "usage": last.usage, "at": last.at, "exchanges": calls,
             "earlier": tuple(call.text for call in calls[:-1])}  # fmt: skip
    return Verdict.from_case(case, judge, [3.0], **(usual | rest))


def test_calls_and_memberships_that_do_not_fit_into_one_row_are_kept_too(tmp_path):
    place, lake = tmp_path / "x.ledger", tmp_path / "lake"
    with Ledger(place, study="one") as ledger:
        case, call = hearing(ledger, 1)
        ledger.add(verdict(case, "plain", call))
        case, call = hearing(ledger, 2)  # one call, two verdicts
        clarity = replace(case, criterion="clarity")
        ledger.add(clarity, verdict(case, "rubric", call), verdict(clarity, "rubric", call))
        case, call = hearing(ledger, 3)  # two calls, one verdict
        ledger.add(verdict(case, "steps", replace(call, id="ab" * 16, text="先想"), call))
        case, call = hearing(ledger, 4)  # what the verdict used is not what its call used
        ledger.add(verdict(case, "shared bill", call, usage=Usage(1, 0, 1, 1, None, 0.5)))
        case, call = hearing(ledger, 5)  # another time, and a price that nobody knows
        ledger.add(verdict(case, "late", replace(call, usage=replace(USED, dollars=None)), at=9.0))
        case, call = hearing(ledger, 6)
        ledger.add(verdict(case, "no price", replace(call, usage=replace(USED, dollars=None))))
        case, call = hearing(ledger, 7)  # an id of another make
        ledger.add(verdict(case, "own ids", replace(call, id='chatcmpl-"7"')))
        case, call = hearing(ledger, 9)  # what the server had in its cache
        cached = replace(USED, cached=512, stored=0)
        ledger.add(verdict(case, "cached", replace(call, usage=cached)))
        case, call = hearing(ledger, 10)  # which the verdict does not say
        ledger.add(verdict(case, "uncounted", replace(call, usage=cached), usage=USED))
        case, call = hearing(ledger, 8)  # a text that is not the call's
        ledger.add(verdict(case, "own words", call, text="别的话"))
        ledger.add(Item.ask("item-1", "第1题", tags={"topic": "legs"}))
    with Ledger(place, study="two") as ledger:
        ledger.join([case.key])
        hearing(ledger, 20)
    cli("lake", "write", place, "--out", lake)
    same(place, lake)
    inside = {}
    for segment in manifest.read_entries(LakeFolder(lake))[0].segments:
        inside[segment.table] = (segment.rows, segment.within)
    calls = len(rows(place)["calls"])
    assert inside["verdicts"][1]["calls"][0] + inside["calls"][0] == calls
    assert inside["verdicts"][1]["calls"][0] == 5  # plain, the first of the rubric's, no price, cached, own words
    assert inside["study_cases"][0] == 1

    with Ledger(place, study="one") as ledger:  # a verdict from a call that lies in the lake already
        ledger.add(verdict(case, "second reader", call))
    cli("lake", "write", place, "--out", lake)
    same(place, lake)


def test_calls_are_found_by_their_ids_wherever_they_stand(tmp_path):
    place, lake = tmp_path / "x.ledger", tmp_path / "lake"
    fill(place, items=1)
    cli("lake", "write", place, "--out", lake)
    with Ledger(lake, read_only=True) as ledger, ledger.reader() as reader:
        stored = {row[1]: row for row in rows(place)["calls"]}
        for name, row in [*stored.items()][::20]:
            sql = f"SELECT rowid, {', '.join(schema.table_columns('calls'))}, writer, number FROM calls WHERE id = ?"
            assert reader.execute(sql, (name,)).fetchall() == [row]


@pytest.mark.slow
def test_segments_of_few_rows_hold_the_same(tmp_path):
    place = tmp_path / "x.ledger"
    fill(place, items=1)
    with Ledger(place, read_only=True) as ledger:
        write_lake.update_lake(ledger, LakeFolder(tmp_path / "lake"), rows=50)
    segments = manifest.read_entries(LakeFolder(tmp_path / "lake"))[0].segments
    assert len([segment for segment in segments if segment.table == "verdicts"]) > 2
    same(place, tmp_path / "lake")


def test_places_are_a_set():
    places, plain = RowidSet(1000), set()
    for place in (1001, 1001, 700_000, 1009, 1008, 700_000):
        assert places.add(place) == (place not in plain)
        plain.add(place)
    assert [place for place in range(1001, 700_020) if place in places] == sorted(plain)
