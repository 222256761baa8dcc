"""Votes of all eight kinds, given by scripts that know only what the API says, are found again value by value."""

from __future__ import annotations

import html
import random
import re
from collections import Counter, defaultdict
from itertools import combinations, pairwise
from statistics import fmean

import httpx2 as httpx
import pytest

from fullbench import Case, Choice, Item, Ledger, Picture, Response, Verdict
from fullbench.files.item_response_verdict_files import write_items
from fullbench.web.route_access_connection_and_csrf_checks import SESSION
from tests.journeys.voting import Site, column, shown, tables
from tests.support.commands import read_jsonl, write_rows
from tests.support.data_builders import png
from tests.support.wait_until import until

PEOPLE = ["ann", "bob", "cid"]
NAMES = ("x", "y", "z")
ITEMS = [f"q{n}" for n in range(2)]
QUESTION = "What is {}? 是什么？"
KINDS = {
    "pair": ("--ballot", "choice+tie"),
    "score": ("--ballot", "score:1-10"),
    "rank": (),
    "rate": ("--ballot", "score:1-10"),
    "agree": ("--reason",),
    "verify": (),
    "write": (),
    "rewrite": (),
}


def drawn(*what: object) -> random.Random:
    return random.Random("/".join(map(str, what)))


def fill_form(person: str, task: dict) -> dict[str, str]:
    """Fill in a vote by the task's list of fields alone."""
    luck, fields = drawn(person, task["kind"], *sorted(shown(task)), task["turns"]), {}
    for one in task["form"]:
        wanted = one["only_if"]
        if one["name"] == "abstained" or (wanted and any(fields[name] != value for name, value in wanted.items())):
            continue
        if one["options"]:
            fields[one["name"]] = luck.choice(one["options"])
        elif one["name"] == "order":
            places = re.search(r"numbers (\S+) ", one["question"])[1].split(",")
            fields["order"] = ",".join(luck.sample(places, len(places)))
        else:
            fields[one["name"]] = f"{one['name']} by {person}: {luck.randrange(10**6)}"
    return fields


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kinds")
    items = [
        Item.ask(
            name, f"What is {name}? 是什么？", Picture.from_bytes(png((n, 5, 9))), reference=f"reference of {name}"
        )
        for n, name in enumerate(ITEMS)
    ]
    with Ledger(folder / "l.ledger") as ledger:
        for item in items:
            drawing = Picture.from_bytes(png((9, 5, 1)))  # the kind `rate` is for pictures
            answers = [Response(item.id, who, (f"answer {who} to {item.id} 答案", drawing)) for who in NAMES]
            for pair in combinations(answers, 2):
                case = Case(item, pair, Choice())
                text = f"judged {item.id} {pair[0].contestant}{pair[1].contestant}"
                ledger.add(case, Verdict.from_case(case, "a-model", (0.0, 1.0), text=text))
    write_items(folder / "items.jsonl", items)
    queue = folder / "rewordings.jsonl"
    rewordings = [
        {"seed": name, "question": QUESTION.format(name), "text": f"Which thing is {name}?", "writer": "a-writer"}
        for name in ITEMS
    ]
    write_rows(queue, rewordings)
    served = Site(folder, folder / "l.ledger")
    served.client("boss", "organiser")
    for kind, options in KINDS.items():
        sources = {"verify": ("--items", folder / "items.jsonl"), "write": ("--items", folder / "items.jsonl"),
                   "rewrite": ("--queue", queue, "--items", folder / "items.jsonl")}  # fmt: skip
        source = sources.get(kind, ("--ledger", served.ledger))
        served.people("add", kind, "--kind", kind, "--votes", 3, *source, *options)
    served.votes = {}

    def choose(person: str, task: dict) -> dict[str, str]:
        fields = fill_form(person, task)
        served.votes[task["kind"], person, tuple(shown(task)), str(task["turns"])] = (task, fields)
        return fields

    for kind in KINDS:
        served.vote(kind, PEOPLE, choose)
        if kind != "write":
            served.people("keep", kind, "--ledger", served.ledger)
    yield served
    served.close()


def expected_verdicts(task: dict, fields: dict[str, str]) -> list[tuple[str, str, dict[str, float]]]:
    """What a vote means: criterion, ballot and the mark of each text, computed from the form alone."""
    texts, kind = shown(task), task["kind"]
    if kind == "pair":
        best = fields["best"]
        return [("overall", "choice+tie", {text: 0.5 if best == "tie" else float(best == str(place))
                                           for place, text in enumerate(texts)})]  # fmt: skip
    if kind == "score":
        return [("overall", "score:1-10", {texts[0]: float(fields["mark"])})]
    if kind == "rank":
        order = [int(place) for place in fields["order"].split(",")]
        return [("overall", "ranking", {texts[place]: float(len(order) - at) for at, place in enumerate(order)})]
    if kind == "rate":
        return [("overall", "score:1-10", {text: float(fields[f"mark{place}"]) for place, text in enumerate(texts)})]
    if kind == "rewrite":
        return [("overall", "likert:no|yes", {texts[0]: 1.0 + (fields["same"] == "yes")})]
    if kind == "agree":
        return [
            ("agrees", "likert:no|yes", {texts[0]: 1.0 + (fields["agree"] == "yes")}),
            ("reasons", "score:1-5", {texts[0]: float(fields["grade"])}),
            ("hallucinates", "likert:no|yes", {texts[0]: 1.0 + (fields["hallucination"] == "yes")}),
        ]
    fault = fields.get("fault")
    return [
        ("reference verified", "likert:no|yes", {texts[0]: 1.0 + (fields["follows"] == "yes")}),
        ("caption at fault", "likert:no|yes", {texts[0]: 1.0 + (fault in {"the caption", "more than one"})}),
        ("reference at fault", "likert:no|yes", {texts[0]: 1.0 + (fault in {"the reference", "more than one"})}),
    ]


def all_expected(site) -> list[tuple]:
    """Every expected verdict, with the reason, as a sorted list."""
    return sorted(
        (site.rater(person), criterion, ballot, sorted(marks.items()), fields.get("reason", ""))
        for (kind, person, *_), (task, fields) in site.votes.items()
        if kind != "write"
        for criterion, ballot, marks in expected_verdicts(task, fields)
    )


def test_agree_tasks_show_what_was_judged_and_other_values_are_refused(site):
    tasks = [(person, task) for (_, person, *_), (task, _) in site.votes.items()]
    assert Counter(task["kind"] for _, task in tasks) == {
        "pair": 18, "score": 18, "rank": 6, "rate": 6, "agree": 18, "verify": 6, "write": 6, "rewrite": 6,
    }  # fmt: skip
    for _, task in tasks:
        if task["kind"] == "agree":
            item, first, second = re.match(r"judged (q\d) (\w)(\w)", shown(task)[0]).groups()
            judged = ["".join(part.get("text", "") for part in one["parts"]) for one in task["judged"]]
            assert judged == [f"answer {first} to {item} 答案", f"answer {second} to {item} 答案"]
            assert (task["verdict"], task["scale"]) == ("B", [])
            grade = next(one for one in task["form"] if one["name"] == "grade")
            assert grade["options"] == list("12345")
            assert {"1", "5"} <= set(grade["meanings"])
        else:
            assert (task["judged"], task["verdict"]) == ([], "")
    # A field left out, or with a value that is not among its options, is refused: what was kept stays as it is.
    checked = 0
    for kind in KINDS:
        (_, person, *_), (task, fields) = next(vote for vote in site.votes.items() if vote[0][0] == kind)
        path = f"/api/v1/studies/{site.study(kind)}/votes"
        for one in task["form"]:
            if one["name"] not in fields or not (one["required"] or one["options"]):
                continue
            wrong = [{name: value for name, value in fields.items() if name != one["name"]}] if one["required"] else []
            wrong += [{**fields, one["name"]: "no such value"}] if one["options"] else []
            for number, some in enumerate(wrong):
                sent = {"lease": task["lease"], "key": f"{task['lease']}-{one['name']}-{number}", "fields": some,
                        "replaces": 1}  # fmt: skip
                answer = site.client(person).post(path, json=sent)
                assert answer.status_code == 400, (kind, one["name"], answer.text)
                checked += 1
    assert checked >= 20


def test_every_vote_is_found_by_value_in_the_results_api(site):
    boss, rows, cursor = site.client("boss"), [], None
    expected = all_expected(site)
    until(lambda: boss.get("/api/v1/verdicts", params={"judge": "human"}).json().get("count") == len(expected))
    while cursor != "end":
        page = boss.get(
            "/api/v1/verdicts", params={"judge": "human", "limit": 50, **({"before": cursor} if cursor else {})}
        )
        rows += page.json()["rows"]
        cursor = page.json()["next"] or "end"
    found = []
    for row in rows:
        case = boss.get(f"/api/v1/cases/{row['case']}").json()
        texts = case["answers"]
        (own,) = [one for one in case["verdicts"] if (one["rater"], one["case"]) == (row["rater"], row["case"])]
        assert {mark["contestant"]: mark["mark"] for mark in row["shown"]} == own["marks"]
        marks = sorted((texts[name], mark) for name, mark in own["marks"].items())
        found.append((row["rater"], row["criterion"], row["ballot"], marks, own["text"]))
    assert sorted(found) == expected


def test_every_vote_is_found_by_value_on_case_pages_and_in_the_static_copy(site):
    site.cli("export", "site", "--ledger", site.ledger, "--out", site.folder / "copy", "--no-charts")
    with Ledger(site.ledger, read_only=True) as ledger:
        votes = list(ledger.verdicts("human"))
        live = {SESSION: site.live.cookie("lead", "organiser")["value"]}
    with httpx.Client(base_url=site.live.url, cookies=live, timeout=60) as browser:
        for vote in votes:
            pages = [browser.get(f"/cases/{vote.case}").text]
            pages.append((site.folder / "copy" / "cases" / f"{vote.case}.html").read_text(encoding="utf-8"))
            marks = dict(zip(vote.contestants, vote.marks, strict=True))
            ranked = sorted(marks.items(), key=lambda pair: -pair[1])
            assert [vote.rater[:12] in page for page in pages] == [True, False], "a copy has other names of people"
            for page in pages:
                sections = re.findall(
                    r'<section class="judge" id="[^"]+"><h3>Person (\w{12})</h3>(.*?)</section>', page, re.DOTALL
                )
                # The reason that each person gave is unique.
                (section,) = [text for _, text in sections if html.escape(vote.text, quote=False) in text]
                header = " ".join(html.unescape(re.sub(r"<[^>]+>", " ", section.split("</header>")[0])).split())
                if vote.ballot.startswith(("choice", "ranking")):
                    signs = [">" if one[1] > other[1] else "=" for one, other in pairwise(ranked)]
                    names = re.findall(r"\b[xyz]\b", header)
                    assert re.findall(r"[>=]", header) == signs
                    assert "=" in signs or names == [name for name, _ in ranked], header
                else:
                    words = {name: {1.0: "no", 2.0: "yes"}[mark] if "likert" in vote.ballot else f"{mark:g}"
                             for name, mark in ranked}  # fmt: skip
                    shown_marks = dict(re.findall(r"([\w-]+) (\w+)", header))
                    assert shown_marks == words, header


def test_the_card_has_the_shares_and_means_of_the_votes(site):
    card = tables(site.cli("card", "a-model", "--ledger", site.ledger, "--json"))["reviews"]
    labels = [entry["label"] if isinstance(entry, dict) else entry for entry in card["columns"]]
    marked = {row[labels.index("criterion")]: dict(zip(labels, row, strict=True)) for row in card["rows"]}
    votes = [verdict for verdict in all_expected(site) if verdict[1] in marked]
    for criterion, row in marked.items():
        marks = [mark for _, name, _, ((_, mark),), _ in votes if name == criterion]
        column_name, value = (
            ("mean mark", fmean(marks)) if criterion == "reasons" else ("share of yes", fmean(marks) - 1)
        )
        assert row[column_name]["value"] == pytest.approx(value)
    assert set(marked) == {"agrees", "reasons", "hallucinates"}
    human = tables(site.cli("card", "human", "--ledger", site.ledger, "--json"))
    joined = defaultdict(list)
    for _, criterion, ballot, marks, _ in all_expected(site):
        for text, mark in marks if len(marks) == 1 else ():
            joined[criterion, ballot, text].append(mark)
    for criterion, behind in (
        ("agrees", " on agrees"),
        ("reference verified", " on reference verified"),
        ("overall", ""),
    ):
        for ballot in ("likert:no|yes", "score:1-10"):
            panels = [
                (text, marks) for (name, form, text), marks in joined.items() if (name, form) == (criterion, ballot)
            ]
            if not panels:
                continue
            who = {"agrees": lambda text: "a-model", "reference verified": lambda text: "reference"}.get(
                criterion, lambda text: text.split()[1] if text.startswith("answer") else "a-writer"
            )
            by = defaultdict(list)
            for text, marks in panels:
                by[who(text)].append(fmean(marks) if ballot == "score:1-10" else float(fmean(marks) > 1.5))
            heading = "mean score:1-10" if ballot == "score:1-10" else 'share of "yes"'
            means = column(human[f"leaderboard human{behind}, score"], heading)
            assert {name: mean for name, mean in means.items() if mean is not None} == pytest.approx(
                {name: fmean(values) for name, values in by.items()}
            )
    written = site.folder / "written.jsonl"
    site.people("export", "write", "--what", "items", "--to", written)
    texts = {(row["question"], *row["captions"]) for row in read_jsonl(written)}
    assert texts == {
        (fields["instruction"], fields["caption"]) for key, (_, fields) in site.votes.items() if key[0] == "write"
    }


def test_verdicts_of_a_lead_open_no_report(site):
    """One adjudication beside many votes has no board, and no output begins with it."""
    boss, path = site.client("boss"), f"/api/v1/studies/{site.study('pair')}"
    tasks = (
        boss.get(f"{path}/tasks", params={"status": "split"}).json()["rows"] or boss.get(f"{path}/tasks").json()["rows"]
    )
    sent = boss.post(f"{path}/tasks/{tasks[0]['task']}/adjudications", json={"fields": {"best": "0"}})
    assert sent.status_code == 201, sent.text
    site.people("keep", "pair", "--ledger", site.ledger)
    with Ledger(site.ledger, read_only=True) as ledger:
        assert len(list(ledger.verdicts("adjudication"))) == 1
    for options in ((), ("--all",)):
        report = site.cli("report", "--ledger", site.ledger, *options)
        assert "Leaderboard by adjudication" not in report, options
    found = tables(site.cli("report", "--ledger", site.ledger, "--json"))
    assert [name for name in found if "adjudication" in name] == []
    page = site.folder / "report.html"
    site.cli("report", "--ledger", site.ledger, "--out", page)
    assert "adjudication" not in page.read_text(encoding="utf-8").split("</h2>")[0]
