"""MLLM-as-a-Judge on new data: every table and figure, with servers, three raters and six trials."""

from __future__ import annotations

import itertools
import json
import random
import re
from collections import Counter, defaultdict

import numpy as np
import pytest
from PIL import Image

from tests.journeys import jury
from tests.support.commands import cells, cli, read_jsonl, write_rows
from tests.support.data_builders import png
from tests.support.scripted_server import Asked, ScriptedServer

SETS = ("chart", "photo", "地图")
ABILITIES = ("recognition", "inference")
WORTH = {"acme-2b": 1.2, "birch": 2.4, "cedar": 3.1, "acme-7b": 2.0}
RATERS = ("r1", "r2", "r3")
TRIALS = 6


def chance(*what: object) -> random.Random:
    return random.Random("/".join(map(str, what)))


def write_items(folder, items: int) -> list[dict]:
    """Items of three data sets and two abilities, a third of them for each task; every fifth has two pictures."""
    (folder / "p").mkdir(parents=True)
    rows = []
    for n in range(items):
        names = [f"p/{n}.png"] + ([f"p/{n}b.png"] if n % 5 == 0 else [])
        for place, name in enumerate(names):
            (folder / name).write_bytes(png((n * 5 % 256, n * 11 % 256, 90 + 100 * place), (12, 12)))
        tags = {
            "task": ("score", "pair", "batch")[n % 3],
            "dataset": SETS[n // 3 % 3],
            "abilities": ABILITIES[n // 9 % 2],
        }
        rows.append({"id": f"题{n}", "question": f"What of {n}?", "pictures": names, "tags": tags})
    write_rows(folder / "items.jsonl", rows)
    return rows


def contestant(name: str):
    def say(asked: Asked) -> str:
        number = re.findall(r"What of (\d+)\?", asked.words)[0]
        return f"<{name}|{number}> " + "word " * (3 + chance("length", name, number).randrange(40))

    return say


def judge(kin: float):
    """A judge whose replies vary from trial to trial, and which adds so much to answers of the family acme."""
    hearings = defaultdict(itertools.count)

    def rule(asked: Asked) -> str:
        shown = re.findall(r"<([\w-]+)\|(\d+)>", asked.last)
        luck = chance(kin, shown, next(hearings[asked.last]))
        worth = [WORTH[name] + luck.gauss(0, 0.7) + (kin if name.startswith("acme") else 0) for name, _ in shown]
        opening = "因为 " + "so " * luck.randrange(1, 30)
        if len(worth) == 1:
            return f"{opening}[[{min(5, max(1, round(worth[0])))}]]"
        best = sorted(range(len(worth)), key=lambda place: -worth[place])
        if len(worth) == 2:
            return f"{opening}[[{'C' if abs(worth[0] - worth[1]) < 0.3 else 'AB'[best[0]]}]]"
        return opening + ", ".join(f"[[{'ABCD'[place]}]]" for place in best)

    return rule


def votes(items, answers) -> list[dict]:
    """Three people with noise; on rankings they say the same, so that their mean ranks have no ties."""
    names = sorted({row["contestant"] for row in answers})
    rows = []
    for item, rater in itertools.product(items, RATERS):
        task, base = item["tags"]["task"], {"item": item["id"], "judge": "human", "rater": rater}
        luck = chance(item["id"], rater if task != "batch" else "")
        worth = {name: WORTH[name.partition("@")[0]] + luck.gauss(0, 0.8) for name in names}
        base["ballot"] = jury.BALLOTS[task]
        if task == "score":
            rows += [{**base, "contestants": [name], "marks": [min(5, max(1, round(worth[name])))]} for name in names]
        elif task == "pair":
            for one, two in itertools.combinations(names, 2):
                gap = worth[one] - worth[two]
                marks = [0.5, 0.5] if abs(gap) < 0.3 else [float(gap > 0), float(gap < 0)]
                rows.append({**base, "contestants": [one, two], "marks": marks})
        else:
            ranks = [float(sorted(worth.values()).index(worth[name]) + 1) for name in names]
            rows.append({**base, "contestants": names, "marks": ranks})
    return rows


def journey(folder, items: int, contestants: tuple[str, ...], kins: dict[str, float]) -> None:
    asked_items = write_items(folder, items)
    models = {name: contestant(name) for name in contestants} | {name: judge(kin) for name, kin in kins.items()}
    with ScriptedServer(models) as server:
        manner = f"@{server.url}?asking=mllm-as-a-judge"
        specs = [word for name in contestants for word in ("--contestant", f"vllm:{name}{manner}")]
        where = ("--items", folder / "items.jsonl", "--out", folder / "answers.jsonl", "--ledger", folder / "a.ledger")
        cli("answer", *where, *specs, "--quiet")
        answers = read_jsonl(folder / "answers.jsonl")
        labels = votes(asked_items, answers)
        write_rows(folder / "labels.jsonl", labels)
        judges = [f"vllm:{name}@{server.url}" for name in kins]
        keys = {"name": "s", "benchmark": "mllm-as-a-judge", "data": "items.jsonl", "responses": "answers.jsonl",
                "labels": "labels.jsonl", "ledger": "s.ledger", "report": "page.html", "orders": "sorted",
                "trials": TRIALS, "judges": judges}  # fmt: skip
        text = "".join(f"{key} = {json.dumps(value)}\n" for key, value in keys.items())
        (folder / "s.toml").write_text(text, encoding="utf-8")
        cli("run", folder / "s.toml", "--quiet")
        pictures = {row["id"]: len(row["pictures"]) for row in asked_items}
        for asked in server.asked:
            number = re.findall(r"What of (\d+)\?", asked.words)[0]
            assert len(asked.pictures) == pictures[f"题{number}"], "sequences of pictures arrive whole"
        assert len({asked.pictures for asked in server.asked}) == items, "and always in the same order"
    report = ("report", "--ledger", folder / "s.ledger", "--benchmark", "mllm-as-a-judge")
    tables = cli(*report, "--charts", folder / "charts", "--json").tables
    cli("ledger", "export", "--ledger", folder / "s.ledger", "--what", "verdicts", "--to", folder / "v.jsonl")
    ruled = defaultdict(list)
    for row in read_jsonl(folder / "v.jsonl"):
        ruled[row["judge"]].append(row)
    assert len(ruled.pop("human")) == len(labels)
    assert len(ruled) == len(kins)
    drawn = {path.stem: jury.said(path.read_text(encoding="utf-8")) for path in (folder / "charts").glob("*.svg")}
    agreement(tables, drawn, asked_items, ruled, jury.together(labels))
    trials(tables, drawn, ruled)
    lengths(tables, drawn, ruled, answers, jury.together(labels))
    leanings(folder, tables, drawn, ruled, labels)
    choices(tables, drawn, ruled, labels)
    assert any("all trials are pooled" in note for note in tables["table 2"]["notes"])
    for name in drawn:
        with Image.open(folder / "charts" / f"{name}.png") as image:
            assert image.width > 300, name
    page = (folder / "page.html").read_text(encoding="utf-8").replace("\u2212", "-")
    for name in (
        "radar-scores",
        "steadiness",
        "score-density",
        "scores-by-length",
        "bias-by-contestant",
        "answer-lengths",
    ):
        missing = [text for text in drawn[name] if text not in page]
        assert not missing, f"{name} is on the page too"


def shown(tables, text: str) -> str:
    """A text as a chart writes it: display names in place of full names."""
    names = {full: name for table in tables.values() for full, name in table.get("names", {}).items()}
    assert names, "the tables carry them"
    for full in sorted(names, key=len, reverse=True):
        text = text.replace(full, names[full])
    return text


def figures(rows, truth) -> dict[str, dict[str, float]]:
    return {
        "scores": jury.scores(rows, truth),
        "pairs": jury.choices(rows, truth),
        "rankings": jury.orders(rows, truth),
    }


def agreement(tables, drawn, items, ruled, truth) -> None:
    """Tables 2 and 9: per data set and per ability, averages of every figure, p-values; the radars and heat maps."""
    tags = {item["id"]: item["tags"] for item in items}
    for tag, groups in (("dataset", SETS), ("abilities", ABILITIES)):
        for name, rows in ruled.items():
            parts = {group: [row for row in rows if tags[row["item"]][tag] == group] for group in groups}
            by_group = {group: figures(part, truth) for group, part in parts.items()}
            for kind in ("scores", "pairs", "rankings"):
                for figure in by_group[groups[0]][kind]:
                    table = next(table for title, table in tables.items()
                                 if title.startswith(f"{kind} by {tag}") and figure in table["columns"])  # fmt: skip
                    column = cells(table, figure, "judge", tag)
                    for group in groups:
                        expected = pytest.approx(by_group[group][kind][figure], abs=1e-9)
                        assert column[name, group] == expected, (name, group, figure)
                    if figure != "p":
                        mean = np.mean([by_group[group][kind][figure] for group in groups])
                        assert column[name, f"mean of {len(groups)}"] == pytest.approx(mean, abs=1e-9), figure
                    if tag == "dataset" and figure in RADARS:
                        radar(tables, drawn, kind, name, {group: by_group[group][kind][figure] for group in groups})
            for group in groups:
                r = by_group[group]["scores"]["Pearson"]
                assert any(text.startswith(shown(tables, f"column: {group}; row: {name}; Pearson: "))
                           and float(text.rpartition(" ")[2]) == pytest.approx(r, abs=1e-9)
                           for text in drawn[f"scores-by-{tag}"]), "a cell of the heat map"  # fmt: skip


RADARS = ("Pearson", "accuracy without ties", "edit distance")


def radar(tables, drawn, kind: str, name: str, values: dict[str, float]) -> None:
    """Out is good: a correlation below zero is drawn at the centre, and of a distance what is left to one."""
    for group, value in values.items():
        out = 1 - value if kind == "rankings" else max(value, 0.0)
        assert cells(tables[f"radar {kind}"], group, "judge")[name] == pytest.approx(out, abs=1e-9)
        assert shown(tables, f"{name}, {group}: {out:.3g}") in drawn[f"radar-{kind}"]


def trials(tables, drawn, ruled) -> None:
    """Table 4 and Figure 5: six trials of judges that do not always say the same."""
    for name, rows in ruled.items():
        for kind, ballot in zip(("scores", "pairs", "rankings"), jury.BALLOTS.values(), strict=True):
            heard = [row for row in rows if row["ballot"] == ballot]
            consistency, majority, times = jury.steadiness(heard)
            assert consistency < 1, "the replies vary"
            table = tables["steadiness"]
            assert cells(table, "consistency", "judge", "verdict")[name, kind] == pytest.approx(consistency)
            assert cells(table, "majority", "judge", "verdict")[name, kind] == pytest.approx(majority)
            assert cells(table, "cases", "judge", "verdict")[name, kind] == len(heard) / TRIALS == times.total()
            counts = cells(
                tables["steadiness histogram"], "cases", "judge", "verdict", "share of the most common verdict"
            )
            for often, cases in times.items():
                assert counts[name, kind, f"{often} of {TRIALS}"] == cases
                text = shown(tables, f"{often} of {TRIALS}, {kind}, {name}: {cases}")
                assert text in drawn["steadiness-histogram"]
            start = shown(tables, f"{name}, {kind}: {consistency:.2f} [")
            assert any(text.startswith(start) for text in drawn["steadiness"])


def lengths(tables, drawn, ruled, answers, truth) -> None:
    """Figures 4, 6, 8 and 14 to 17: densities of scores and lengths, and scores over the length of answers."""
    texts = {(row["item"], row["contestant"]): row["text"] for row in answers}
    said = defaultdict(list)
    for (_, who), text in texts.items():
        said[who].append(jury.words(text))
    judged = {name: [jury.words(row["text"]) for row in rows] for name, rows in ruled.items()}
    for title, label, expected in (
        ("answer lengths", "contestant", jury.density(said)), ("judgment lengths", "judge", jury.density(judged)),
    ):  # fmt: skip
        table = tables[title]
        for name, shares in expected.items():
            points = [row for row in table["rows"] if row[0] == name]
            assert table["columns"] == [label, "length in words", "share"]
            assert [row[2] for row in points] == pytest.approx(shares)
            for _, middle, share in points:
                text = f"length in words: {middle:.12g}; share: {share:.12g}; label: {name}"
                assert shown(tables, text) in drawn[title.replace(" ", "-")]
    for name, rows in ruled.items():
        marks = Counter(row["marks"][0] for row in rows if row["ballot"] == "score:1-5")
        shares = cells(tables["score density"], "share", "judge", "mark")
        assert [shares[name, mark] for mark in range(1, 6)] == pytest.approx(
            [marks[mark] / marks.total() for mark in range(1, 6)]
        )
        assert all(
            shown(tables, f"mark: {mark}; share: {shares[name, mark]:.12g}; label: {name}") in drawn["score-density"]
            for mark in range(1, 6)
        )
        assert {who for who, _ in shares} == {*ruled, "human"}, "people beside the judges"
        curve = jury.by_length(rows, texts, truth)
        for who, place in ((name, 1), (f"people, on cases of {name}", 2)):
            points = [row[1:3] for row in tables["scores by length"]["rows"] if row[0] == who]
            np.testing.assert_allclose(points, [(each[0], each[place]) for each in curve])
            for length, mark in points:
                text = f"length in words: {length:.12g}; mean mark: {mark:.12g}; label: {who}"
                assert shown(tables, text) in drawn["scores-by-length"]


def choices(tables, drawn, ruled, labels) -> None:
    """Figures 4 (left), 19 and 20: places chosen, scores by contestant, and contestants chosen, people included."""
    places = cells(tables["choice shares"], "share", "judge", "place")
    scored = cells(tables["score shares by contestant"], "share", "judge", "contestant", "mark")
    chosen = tables["chosen by contestant"]
    for name, rows in {**ruled, "human": labels}.items():
        pairs = [row for row in rows if row["ballot"] == "choice+tie"]
        leads = [row["marks"][0] - row["marks"][1] for row in pairs]
        for place, share in (
            ("first shown", np.mean([lead > 0 for lead in leads])),
            ("tie", np.mean([lead == 0 for lead in leads])),
            ("second shown", np.mean([lead < 0 for lead in leads])),
        ):
            assert places[name, place] == pytest.approx(share)
            assert any(
                text.startswith(shown(tables, f"{place}, {name}: {share:.2f}")) for text in drawn["choice-shares"]
            )
        marks = defaultdict(Counter)
        for row in rows:
            if row["ballot"] == "score:1-5":
                marks[row["contestants"][0]][row["marks"][0]] += 1
        for who, counts in marks.items():
            shares = {mark: counts[mark] / counts.total() for mark in range(1, 6)}
            assert {mark: scored[name, who, mark] for mark in shares} == pytest.approx(shares)
            label = shown(tables, f"row: {name}, {who}; share: {scored[name, who, 5]:.12g}")
            assert any(label in text for text in drawn["score-shares-by-contestant"])
        won, met, tied = Counter(), Counter(), Counter()
        for row, lead in zip(pairs, leads, strict=True):
            for who, own in zip(row["contestants"], (lead, -lead), strict=True):
                met[who], won[who], tied[who] = met[who] + 1, won[who] + (own > 0), tied[who] + (own == 0)
        for who in met:
            found = {column: cells(chosen, column, "judge", "contestant")[name, who]
                     for column in ("chosen, ties counted", "chosen, ties left out", "ties")}  # fmt: skip
            decided = met[who] - tied[who]
            expected = (won[who] / met[who], won[who] / decided if decided else None, tied[who])
            assert tuple(found.values()) == (pytest.approx(expected[0]), pytest.approx(expected[1]), expected[2])


def leanings(folder, tables, drawn, ruled, labels) -> None:
    """Figures 19 and 20 and the paragraphs on bias: whom each judge favours, its own family, the place shown."""
    truth = jury.together(labels)
    rows = tables["biases"]["rows"]
    for name, heard in ruled.items():
        gaps = defaultdict(list)
        for row in heard:
            if row["ballot"] == "score:1-5":
                gaps[row["contestants"][0]].append(row["marks"][0] - truth[jury.place_of(row)][0])
        favours = cells(tables["bias by contestant"], "difference", "judge", "contestant")
        for who, each in gaps.items():
            assert favours[name, who] == pytest.approx(np.mean(each))
            text = shown(tables, f"column: {who}; row: {name}; difference: {favours[name, who]:.12g}")
            assert text in drawn["bias-by-contestant"]
        pairs = [row["marks"] for row in heard if row["ballot"] == "choice+tie"]
        places = cells(tables["positions"], "judge's", "judge", "verdict", "place")
        assert places[name, "pairs", "1 of 2"] == pytest.approx(np.mean([one > two for one, two in pairs]))
        assert places[name, "pairs", "tie"] == pytest.approx(np.mean([one == two for one, two in pairs]))
        own = {who for who in gaps if who.startswith("acme")} if name.startswith("acme") else set()
        mine = {row[2]: row[3:5] for row in rows if row[0] == name}
        assert ("own above people's" in mine) == bool(own)
        if own:
            above, wins, by_people = jury.ego(heard, labels, own)
            assert mine["own above people's"][0]["value"] == pytest.approx(above)
            assert mine["own answers preferred"][0]["value"] == pytest.approx(wins)
            assert mine["own answers preferred"][1]["value"] == pytest.approx(by_people)
            card(folder, name, own, {"own above people's": above, "own answers preferred": wins})
    units = defaultdict(list)
    for row in labels:
        if row["ballot"] == "score:1-5":
            units[jury.place_of(row)].append(row["marks"][0])
    among = cells(tables["among people"], "alpha", "ballot")
    assert among["score:1-5"] == pytest.approx(jury.alpha(list(units.values())))


def card(folder, name: str, own: set[str], expected: dict[str, float]) -> None:
    """The judge's own card says the same of its family, which is named by hand; who was not judged is refused."""
    kin = [word for who in sorted(own) for word in ("--own", who.partition("/")[0])]
    asked = ("card", name.partition("+")[0], "--ledger", folder / "s.ledger", "--json")
    shown = json.loads(cli(*asked, *kin).stdout)
    table = next(table for table in shown["tables"] if table["name"] == "biases")
    column = cells(table, "judge's", "metric")
    assert {figure: column[figure] for figure in expected} == pytest.approx(expected)
    assert "there is no contestant 'nobody'" in cli(*asked, "--own", "nobody", code=2).output


def test_every_table_and_figure_of_the_paper_on_a_few_items(tmp_path):
    journey(tmp_path / "few", 18, ("acme-2b", "birch", "cedar"), {"acme-judge": 1.5, "fair-judge": 0.0})


@pytest.mark.slow
def test_every_table_and_figure_of_the_paper_on_fifty_items(tmp_path):
    journey(tmp_path / "fifty", 50, tuple(WORTH), {"acme-judge": 1.5, "fair-judge": 0.0, "stern-judge": -1.0})
