"""The Chinese interface, walked: all data are Chinese here, so whatever is English on a page is ours, and a mistake."""

from __future__ import annotations

import random
import re
import time
from collections import Counter, deque
from dataclasses import replace
from html.parser import HTMLParser
from itertools import combinations
from urllib.parse import urlsplit

import pytest

from fullbench.core.ballot import Choice, Ranking, Score
from fullbench.core.case import Case
from fullbench.core.item import Item
from fullbench.core.model_call import Usage
from fullbench.core.picture import Picture
from fullbench.core.response import Response
from fullbench.core.verdict import Verdict
from fullbench.ledger.ledger import Ledger
from fullbench.web.app import create_app
from fullbench.web.campaigns import campaigns
from fullbench.web.campaigns.tasks.task_content import Content, parts_json
from fullbench.web.database import read_transaction, write_transaction
from fullbench.web.results.actions import rejudge_requests
from fullbench.web.results.catalogue import catalogue_board_and_page_updater, panels_created_on_site
from fullbench.web.site_settings_and_worker_transfer import Settings
from tests.support.campaign_tasks import add_tasks
from tests.support.data_builders import png
from tests.web.conftest import person, signed_in

WORTH = {"红队": 3.0, "蓝队": 2.0, "绿队": 1.0}
JUDGES = ("稳重", "偏爱第一", "古怪")
PEOPLE = ("安娜", "小红")
NAMES = {
    "fullbench", "English", "API", "JSON", "JSONL", "CSV", "SVG", "URL", "id", "curl", "openapi", "Krippendorff",
    "Fleiss", "Pearson", "Spearman", "Kendall", "Bradley", "Terry", "McNemar", "Benjamini", "Hochberg", "Wilson",
    "Dawid", "Skene", "alpha", "kappa", "Parquet", "jsonl", "csv", "parquet", "sensitive", "gpt", "Markdown", "PNG",
    "JPEG", "WebP", "GIF", "UTC", "Enter", "Esc", "Ctrl", "Shift", "Tab", "human", "panel", "people", "majority",
    "mean", "agrees", "hallucinates", "reasons", "Prolific", "Mechanical", "Turk",
    "overall", "choice", "tie", "score", "ranking", "likert", "Bearer", "Authorization", "application", "problem",
}  # fmt: skip
"""Proper names, and words that are part of the data: ballots, kinds of judges, criteria by name."""
MARKED = (
    r"\{\w+\}", r"`[^`]+`", r"[0-9a-f]{16,}|\b[0-9a-f]{12}\b", r"“[a-z]+”", r" \([a-z]+\)$",
    r"[a-z]+(?:、[a-z]+)+(?: 或 [a-z]+)?",
    r"(?:openai|https?|likert):\S+", r"application/\S+", r"openapi\.json",
    r"mllm-as-a-judge|visitbench|mjbench|upme|alignmmbench",
    r"已知的有：.*", r"^votes (?=应)", r"^testclient$", r"'[\w.-]+'", r"!\[[^]]+\]\([\w.]+\)",
)  # fmt: skip
"""What stands for something else, is marked as a machine's word, or is an id."""
MACHINES = {"code", "pre", "kbd", "script", "style", "textarea"}
SHOWN = ("alt", "title", "aria-label", "placeholder", "data-saved", "data-waiting", "data-offline", "data-refused")
MOST = {"verdicts": 25, "cases": 8, "charts": 12, "boards": 30}


class Words(HTMLParser):
    """The texts that a page shows or says aloud, and its links."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.links: list[str] = []
        self._open: list[str] = []

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        if tag not in {"input", "img", "meta", "link", "br", "hr"}:
            self._open.append(tag)
        if "svg" not in self._open:  # a chart is a picture: what it is called inside is not said
            self.texts += [found[name] for name in SHOWN if found.get(name)]
        if tag == "a" and found.get("href"):
            self.links.append(found["href"])
        if tag == "input" and found.get("type") in {"submit", "button"}:
            self.texts.append(found.get("value", ""))

    def handle_endtag(self, tag):
        if tag in self._open:
            while self._open.pop() != tag:
                pass

    def handle_data(self, data):
        if not MACHINES & set(self._open) and data.strip():
            self.texts.append(data.strip())


def english(text: str) -> list[str]:
    """The English words of a text that are no names."""
    plain = re.sub("|".join(MARKED), "", text)
    return [word for word in re.findall(r"[A-Za-z]{2,}", plain) if word not in NAMES]


def read(page: str) -> Words:
    found = Words()
    found.feed(page)
    return found


def left_over(found: Words) -> list[str]:
    return [text for text in dict.fromkeys(found.texts) if english(text)]


def questions() -> list[Item]:
    return [
        Item.ask(f"题{n}", f"图中第{n}张有几个方块？", Picture.from_bytes(png((n * 9, 80, 120))), reference="四个",
                 captions=("方块",), tags={"任务": "计数" if n % 2 else "比较"})
        for n in range(6)
    ]  # fmt: skip


def verdict(case: Case, judge: str, draw: random.Random, trial: int = 0) -> Verdict:
    if judge == "古怪" and draw.random() < 0.2:
        ruling: object = draw.choice(["refused", "unreadable", "abstained"])
    else:
        worth = [WORTH[name] + draw.gauss(0, 1) for name in case.contestants]
        if len(worth) == 1:
            ruling = (float(min(5, max(1, round(worth[0] + 1)))),)
        elif case.ballot.spec == "ranking":
            ruling = [float(1 + sum(other < one for other in worth)) for one in worth]
        else:
            worth[0] += 2 * (judge == "偏爱第一")
            ruling = (
                (0.5, 0.5)
                if abs(worth[0] - worth[1]) < 0.4
                else (float(worth[0] > worth[1]), float(worth[0] < worth[1]))
            )
    judge, rater = ("human", judge) if judge in PEOPLE else (judge, "")
    usage = Usage(1, 0, 900, 40, 0.002, 0.5)
    told = Verdict.from_case(case, judge, ruling, text="第一个更好", usage=usage, at=1000.0, rater=rater)
    return replace(told, trial=trial)


def _under_another_criterion(ledger: Ledger, item: Item, said: list[Response], draw: random.Random) -> None:
    for pair in combinations(said, 2):
        case = Case(item, pair, Choice(), criterion="流畅")
        ledger.add(case, *(verdict(case, judge, draw) for judge in (*JUDGES, *PEOPLE)))
    for one in said:
        case = Case(item, (one,), Score(1, 5), criterion="流畅")
        ledger.add(case, *(verdict(case, judge, draw) for judge in (*JUDGES, *PEOPLE)))


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A site with one of everything, and all of it in Chinese."""
    folder = tmp_path_factory.mktemp("zh")
    draw = random.Random(1)
    with Ledger(folder / "账本", study="第一项") as ledger:
        for item in questions():
            said = [Response.say(item.id, name, f"{name}：有四个方块") for name in WORTH]
            for pair in combinations(said, 2):
                for order in (pair, pair[::-1]):
                    case = Case(item, order, Choice())
                    ledger.add(case, *(verdict(case, judge, draw) for judge in (*JUDGES, *PEOPLE)))
            for one in said:
                case = Case(item, (one,), Score(1, 5))
                ledger.add(case, *(verdict(case, judge, draw) for judge in (*JUDGES, *PEOPLE)))
                ledger.add(*(verdict(case, "稳重", draw, trial) for trial in (1, 2)))
            case = Case(item, tuple(said), Ranking())
            ledger.add(case, *(verdict(case, judge, draw) for judge in (*JUDGES, *PEOPLE)))
            _under_another_criterion(ledger, item, said, draw)
    with Ledger(folder / "账本", study="另一项") as ledger:
        for item in questions()[:3]:
            said = [Response.say(item.id, name, f"{name}：有四个方块") for name in WORTH]
            for pair in combinations(said, 2):
                case = Case(item, pair, Choice())
                ledger.add(case, *(verdict(case, judge, draw) for judge in ("稳重", *PEOPLE)))
    settings = Settings(f"sqlite:///{folder / 'web.sqlite'}", str(folder / "账本"), data=folder / "data")
    app = create_app(settings)
    catalogue_board_and_page_updater.update_catalogue(app.state.engine, app.state.ledger)
    with write_transaction(app.state.engine) as connection:
        panels_created_on_site.add_panel(connection, "两位", "mean", ["稳重", "古怪"])
        panels_created_on_site.add_panel(connection, "三位", "majority", list(JUDGES))
    catalogue_board_and_page_updater.update_catalogue(app.state.engine, app.state.ledger)
    with write_transaction(app.state.engine) as connection:
        panels_created_on_site.close_panel(connection, "三位")
    yield app
    app.state.engine.dispose()
    app.state.ledger.close()


def content(kind: str, number: int) -> Content:
    item = Item.ask(f"题{number}", "这是什么？", Picture.from_bytes(png((9 * number, 1, 1))))
    one, two = Response.say(item.id, "红队", "一只猫"), Response.say(item.id, "蓝队", "一只狗")
    if kind in {"pair", "rank"}:
        return Content(item, (one, two))
    if kind == "rate":
        shown = Picture.from_bytes(png((1, 9 * number, 1)))
        return Content(item, tuple(Response(item.id, name, (shown,)) for name in ("红队", "蓝队")))
    if kind == "write":
        return Content(item, about={"family": "计数"})
    if kind == "agree":
        about = {"judged": [parts_json(one.parts), parts_json(two.parts)], "verdict": "A"}
        return Content(item, (Response.say(item.id, "稳重", "第一个更好"),), about)
    return Content(item, (one,))


ANSWERS = {
    "pair": {"best": "0"},
    "score": {"mark": "4", "reason": "差不多"},
    "rank": {"order": "1,0"},
    "agree": {"agree": "yes", "grade": "4", "hallucination": "no"},
    "rate": {"mark0": "7", "mark1": "10"},
    "verify": {"follows": "no", "fault": "the reference", "complaint": "incomplete"},
    "write": {"instruction": "几个？", "caption": "一只猫。"},
    "rewrite": {"same": "yes", "text": "你看到什么？"},
}


FILES = ("/static", "/pictures", "/logos", "/results.", "/api/")
"""What pages lead to and no reader reads: pictures, and data with the names that scripts know."""


def walk(visitor, starts) -> tuple[dict[str, list[str]], Counter]:
    """Every page that can be reached by links, a few of each kind; what is English on each."""
    wrong: dict[str, list[str]] = {}
    seen: set[str] = set()
    kinds: Counter = Counter()
    waiting = deque(starts)
    while waiting:
        path = waiting.popleft()
        kind = "charts" if "/charts/" in path else urlsplit(path).path.split("/")[1]
        outside = not path.startswith("/") or path.startswith(FILES) or "/votes." in path
        if path in seen or outside or kinds[kind] >= MOST.get(kind, 60):
            continue
        seen.add(path)
        kinds[kind] += 1
        answer = visitor.get(path, follow_redirects=True)
        assert answer.status_code in {200, 400, 404, 422}, path
        found = read(answer.text)
        if bad := left_over(found):
            wrong[path] = bad
        waiting.extend(link.split("#")[0] for link in found.links if link.split("#")[0])
    return wrong, kinds


def work_a_little(site, annotator) -> None:
    """A study of every kind, and a vote in each; the second task is left."""
    for number, (kind, answer) in enumerate(ANSWERS.items()):
        with write_transaction(site.state.engine) as connection:
            made = campaigns.create_campaign(connection, campaigns.CampaignPlan(name=f"研究{number}", kind=kind))
            add_tasks(connection, made, [content(kind, number) for number in range(2)])
        task = annotator.get(f"/work/{made.id}").text
        fields = dict(re.findall(r'<input type="hidden" name="(lease|key|replaces|started)" value="([^"]*)"', task))
        assert annotator.submit(f"/work/{made.id}/vote", {**fields, **answer}).status_code == 303, kind


def ask_for_judgements(site) -> None:
    """A request in every state."""
    key = next(iter(site.state.ledger.verdicts("稳重"))).case
    viewer = person(site, "观众", "viewer")
    with write_transaction(site.state.engine) as connection:
        for state, judge in zip(rejudge_requests.STATES, (*JUDGES, "甲", "乙"), strict=True):
            assert rejudge_requests.add_request(connection, viewer, key, judge, "看起来不对")
            newest = rejudge_requests.list_requests(connection, state="open")[0]
            beat = time.time() + 1000 if state == "queued" else None
            rejudge_requests.change_request(
                connection, newest.id, "open", state="queued" if state == "interrupted" else state, beat=beat
            )


def act(site, organiser, annotator) -> None:
    """What leaves a trace in the audit trail."""
    organiser.submit("/people/invite", {"role": "viewer", "note": "给小明"})
    organiser.submit("/account/tokens", {"name": "脚本", "scope": "write"})
    for change in ("viewer", "close", "open", "annotator"):
        organiser.submit(f"/people/{annotator.user.id}", {"change": change})
    with read_transaction(site.state.engine) as connection:
        study = next(one for one in campaigns.list_campaigns(connection) if one.kind_name == "pair")
    organiser.submit(f"/organise/{study.id}/guidelines", {"guidelines": "请认真看图。"})
    organiser.submit(f"/organise/{study.id}/state", {"to": "closed"})
    organiser.submit(f"/organise/{study.id}/keep", {})
    organiser.submit("/panels", {"name": "又两位", "rule": "mean", "judges": ["稳重", "古怪"]})


def refused(organiser) -> dict[str, list[str]]:
    """What a page says to those who fill in a form wrongly."""
    pair = ("稳重", "古怪")
    forms = [
        ("/panels", {"name": "人", "rule": "odd", "judges": pair}), ("/panels", {"name": "", "rule": "mean"}),
        ("/panels", {"name": "两位", "rule": "mean", "judges": pair}), ("/panels/close", {"name": "三位"}),
        ("/panels/delete", {"name": "没有"}), ("/account/password", {"old": "x", "new": "y", "again": "z"}),
        ("/account/tokens", {"name": "", "scope": "read"}), ("/people/x", {"change": "viewer"}),
        ("/people/invite", {"role": "king"}), ("/organise/new", {"name": "", "kind": "pair"}),
        ("/organise/new", {"name": "研究0", "kind": "pair"}), ("/organise/new", {"name": "一", "kind": "none"}),
        ("/organise/new", {"name": "一", "kind": "pair", "votes": "x"}), ("/language", {"to": "xx"}),
        ("/organise/new", {"name": "一", "kind": "pair", "votes": "900"}), ("/login", {"name": "甲", "password": "乙"}),
    ]  # fmt: skip
    wrong = {}
    for path, data in forms:
        answer = organiser.submit(path, data)
        assert 400 <= answer.status_code < 500, (path, data, answer.status_code)
        if bad := left_over(read(answer.text)):
            wrong[f"{path} {data}"] = bad
    return wrong


def test_no_page_says_anything_in_english(site):
    annotator, organiser = signed_in(site, "安娜", "annotator"), signed_in(site, "组织者", "organiser")
    for visitor in (annotator, organiser):
        visitor.headers["Accept-Language"] = "zh"
    work_a_little(site, annotator)
    ask_for_judgements(site)
    wrong, _ = walk(annotator, ["/work", "/account"])
    wrong |= refused(organiser)
    act(site, organiser, annotator)
    starts = ["/", "/people", "/audit", "/account", "/api", "/panels", "/organise", "/organise/new"]
    starts += [f"/requests?state={state}" for state in rejudge_requests.STATES]
    starts += ["/nowhere", "/cases/x", "/verdicts?fault=x", "/verdicts?shown=x", "/boards/x", "/join/nothing"]
    more, kinds = walk(organiser, starts)
    told = [f"{path}: {text!r}" for path, texts in (wrong | more).items() for text in texts]
    if told:
        pytest.fail("English is left on Chinese pages:\n" + "\n".join(told))
    assert {"boards", "judges", "verdicts", "cases", "charts", "organise", "requests"} <= set(kinds)
