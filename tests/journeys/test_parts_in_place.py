"""Contestants and judges get the parts of a question in the same order: request bodies, batches, `show`, pages."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from functools import partial
from itertools import product

import pytest

from fullbench import Ledger
from fullbench.web.results.site.static_site import SiteOptions, export_site
from tests.support.batch_server import BatchService
from tests.support.commands import cli, write_rows
from tests.support.data_builders import png
from tests.support.json_server import JsonServer
from tests.support.ray_cluster import RayCluster, installed
from tests.support.wait_until import until

COLOURS = [(200, 30, 30), (30, 160, 60), (40, 60, 200), (230, 200, 20)]
CAPTIONS = ["a red sheet", "a green sheet", "a blue sheet", "a yellow sheet"]
ITEMS = {
    "frames": [("user", ["What happens #11?", "[0.0 s]", 0, "[1.0 s]", 1, "[2.0 s]", 2])],
    "albums": [("user", ["Album A:", 3, "Album B:", 1, 2, "Which album has the blue one? #12"])],
    "talk": [
        ("user", [0, "What is this #13?"]),
        ("assistant", ["A red sheet."]),
        ("user", ["And this one?", 1, "compared with ", 2, "?"]),
    ],
    "usual": [("user", [0, 1, "Which is warmer #14?"])],
}
DIALECTS = {"openai": "v1", "anthropic": "v1", "gemini": "v1beta", "responses": "v1"}
STYLES = [
    "mode=analyze", "mode=steps&steps=picture,question", "mode=direct&language=zh", "mode=direct&form=json",
    "mode=direct&benchmark_template=mjbench", "mode=direct&benchmark_template=visitbench",
    "mode=direct&benchmark_template=mllm-as-a-judge", "mode=direct&template=bare.txt",
]  # fmt: skip


def pictures():
    return [png(colour) for colour in COLOURS]


def digest(number):
    return hashlib.sha256(pictures()[number]).hexdigest()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for number, data in enumerate(pictures()):
        (tmp_path / f"{number}.png").write_bytes(data)
    rows = []
    for name, turns in ITEMS.items():
        numbers = [part for _, parts in turns for part in parts if isinstance(part, int)]
        rows.append({
            "id": name, "captions": [CAPTIONS[number] for number in numbers],
            "turns": [
                {"role": role, "parts": [{"picture": f"{part}.png"} if isinstance(part, int) else part
                                         for part in parts]}
                for role, parts in turns
            ],
        })  # fmt: skip
    write_rows(tmp_path / "items.jsonl", rows)
    (tmp_path / "bare.txt").write_text(
        "=== user\nAsked:\n{question}\n--- case\n{responses}\n{verdict}\n--- direct\n{text}\n--- analyze\n{text}\n"
    )
    return tmp_path


class Recorder:
    """What arrived, as (model, stream): all texts and pictures of the request in their order."""

    def __init__(self):
        self.arrived = []

    def __call__(self, path, headers, body):
        model = body.get("model") or re.search(r"models/([^:]+):", path)[1]
        self.arrived.append((model, stream_of(body)))
        text = "[[4]]" if model.startswith("j") else f"an answer of {model}"
        if "chat/completions" in path:
            choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
            return {"model": model, "choices": [choice], "usage": {"prompt_tokens": 9, "completion_tokens": 2}}
        if path.endswith("/messages"):
            usage = {"input_tokens": 9, "output_tokens": 2}
            return {"type": "message", "model": model, "content": [{"type": "text", "text": text}],
                    "stop_reason": "end_turn", "usage": usage}  # fmt: skip
        if path.endswith("/responses"):
            content = [{"type": "output_text", "text": text}]
            return {"model": model, "status": "completed", "usage": {"input_tokens": 9, "output_tokens": 2},
                    "output": [{"type": "message", "role": "assistant", "content": content}]}  # fmt: skip
        usage = {"promptTokenCount": 9, "candidatesTokenCount": 2}
        return {"candidates": [{"content": {"parts": [{"text": text}], "role": "model"}, "finishReason": "STOP"}],
                "usageMetadata": usage}  # fmt: skip

    def of(self, model):
        return [stream for name, stream in self.arrived if name == model]


def stream_of(body):
    """Every text and the digest of every picture of a request, in the order in which they are sent."""
    stream = []

    def walk(value):
        if isinstance(value, list):
            for entry in value:
                walk(entry)
        elif isinstance(value, dict):
            data = value.get("data") or value.get("image_url") or value.get("url") or ""
            data = data.get("url", "") if isinstance(data, dict) else data
            head, comma, encoded = data.rpartition(",")
            if (comma and "base64" in head) or {"media_type", "mimeType"} & value.keys():
                stream.append(("picture", hashlib.sha256(base64.b64decode(encoded)).hexdigest()))
            elif isinstance(value.get("text"), str):
                stream.append(("text", value["text"]))
            else:
                for name in ("content", "parts", "source", "inlineData"):
                    if isinstance(value.get(name), str):
                        stream.append(("text", value[name]))
                    else:
                        walk(value.get(name))

    for name in ("messages", "input", "contents"):
        walk(body.get(name))
    return stream


def order_in(stream, name, shown=lambda number, place: f"<{digest(number)}>"):
    """Where the parts of an item are in a stream, first to last; each is looked for behind the one before."""
    words = "".join(f"<{value}>" if kind == "picture" else value for kind, value in stream)
    places, at, picture = [], 0, 0
    for _, parts in ITEMS[name]:
        for part in parts:
            if isinstance(part, int):
                picture += 1
                wanted = shown(part, picture)
            else:
                wanted = part
            found = words.find(wanted, at)
            assert found >= 0, (name, wanted, words)
            places.append(found)
            at = found + len(wanted)
    assert places == sorted(places)
    return words[places[0] : at]


def item_of(stream):
    words = "".join(value for kind, value in stream if kind == "text")
    return next(name for name, number in zip(ITEMS, (11, 12, 13, 14), strict=True) if f"#{number}" in words)


def run_study(folder, contestants, judges, **more):
    settings = {
        "name": "s", "items": "items.jsonl", "contestants": contestants, "judges": judges,
        "ballots": ["score:1-5"], "ledger": "l.ledger", **more,
    }  # fmt: skip
    (folder / "study.toml").write_text("".join(f"{key} = {json.dumps(value)}\n" for key, value in settings.items()))
    cli("run", folder / "study.toml", "--quiet")


def bare(words):
    """Without speakers' names and white space: what is left of the parts of an item."""
    return re.sub(r"\s|user:|assistant:|The question:|问题：|\[The user's request\]|Instruction:|"
                  r"The prompt that the picture was made for:", "", words)  # fmt: skip


def test_judges_get_the_parts_of_a_question_as_contestants_do(folder):
    recorder = Recorder()
    with JsonServer(recorder) as server:
        contestants = [f"{dialect}:c-{dialect}@{server.url}/{v}" for dialect, v in DIALECTS.items()]
        judges = [f"{dialect}:j-{dialect}@{server.url}/{v}?mode=direct" for dialect, v in DIALECTS.items()]
        judges += [f"openai:j-style{n}@{server.url}/v1?{style}" for n, style in enumerate(STYLES)]
        run_study(folder, contestants, judges)
    names = [f"j-{dialect}" for dialect in DIALECTS] + [f"j-style{n}" for n in range(len(STYLES))]
    sent = {}
    for dialect in DIALECTS:
        streams = recorder.of(f"c-{dialect}")
        assert sorted(map(item_of, streams)) == sorted(ITEMS)
        for stream in streams:
            sent[dialect, item_of(stream)] = order_in(stream, item_of(stream))
    assert len({bare(words) for (_, name), words in sent.items() if name == "frames"}) == 1
    for model in names:
        streams = recorder.of(model)
        # `usual` has its pictures before one text, and every prompt keeps that order.
        assert {item_of(stream) for stream in streams} == set(ITEMS)
        for stream in streams:
            name = item_of(stream)
            words = order_in(stream, name)
            assert sum(kind == "picture" for kind, _ in stream) == sum(
                isinstance(part, int) for _, parts in ITEMS[name] for part in parts
            )
            if name in {"frames", "albums"}:  # nothing at all stands between the parts
                assert bare(words) == bare(sent["openai", name]), model
            if name == "talk" and not re.search("style[4-7]", model):
                assert bare(re.sub(r"The conversation before.*?:|提问之前.*?：", "", words)) == bare(
                    sent["openai", name]
                )


def test_neighbouring_texts_are_never_joined_to_one_line(folder):
    recorder = Recorder()
    write_rows(folder / "items.jsonl", [
        {"id": "frames", "turns": [{"role": "user", "parts": ["What happens #11?", "[0.0 s]", {"picture": "0.png"}]}]}
    ])  # fmt: skip
    write_rows(folder / "steps.jsonl", [
        {"item": "frames", "contestant": "ann", "parts": ["Step 1.", "Step 2.", {"picture": "1.png"}]}
    ])  # fmt: skip
    with JsonServer(recorder) as server:
        specs = [f"{dialect}:c-{dialect}@{server.url}/{v}" for dialect, v in DIALECTS.items()]
        words = [word for spec in specs for word in ("--contestant", spec)]
        cli("answer", "--items", "items.jsonl", *words, "--out", "answers.jsonl", "--quiet")
        words = [word for spec in specs for word in ("--judge", f"{spec.replace(':c-', ':j-')}?mode=direct")]
        cli("judge", "--items", "items.jsonl", "--responses", "steps.jsonl", "--ballot", "score:1-5", *words, "--quiet")
    for dialect in DIALECTS:
        (asked,), (judged,) = recorder.of(f"c-{dialect}"), recorder.of(f"j-{dialect}")
        assert "What happens #11?\n[0.0 s]" in "".join(words for kind, words in asked if kind == "text")
        sent = "".join(words if kind == "text" else f"<{words}>" for kind, words in judged)
        assert "What happens #11?\n[0.0 s]" in sent
        assert f"Step 1.\nStep 2.<{digest(1)}>" in sent


def test_judges_without_pictures_get_placeholders_and_descriptions_in_their_places(folder):
    recorder = Recorder()
    modes = list(product(("none", "described"), ("en", "zh")))
    with JsonServer(recorder) as server:
        judges = [
            f"openai:j-{mode}-{language}@{server.url}/v1?mode=direct&picture_mode={mode}&language={language}"
            for mode, language in modes
        ]
        styled = {
            f"j-style{n}-{mode}": (style, mode) for n, style in enumerate(STYLES) for mode in ("none", "described")
        }
        judges += [
            f"openai:{name}@{server.url}/v1?{style}&picture_mode={mode}" for name, (style, mode) in styled.items()
        ]
        run_study(folder, [f"openai:c1@{server.url}/v1"], judges)
    named = {f"j-{mode}-{language}": (mode, language) for mode, language in modes}
    named |= {name: (mode, "zh" if "zh" in style else "en") for name, (style, mode) in styled.items()}
    for judge, (mode, language) in named.items():
        streams = recorder.of(judge)
        assert {item_of(stream) for stream in streams} == set(ITEMS)
        for stream in streams:
            assert all(kind == "text" for kind, _ in stream)
            name = item_of(stream)
            if name == "usual":
                continue
            order_in(stream, name, partial(placeholder, mode, language))


def placeholder(mode, language, number, place):
    """What stands in the place of a picture for a judge that sees none."""
    word, colon = ("picture", ": ") if language == "en" else ("图片", "：")
    return f"[{word} {place}]" if mode == "none" else f"[{word} {place}{colon}{CAPTIONS[number]}]"


def test_batches_show_and_site_keep_the_places(folder):
    reply = "[[4]]"
    with BatchService(reply=lambda body, turn: reply) as service:
        judge = f"openai:j@{service.url}?mode=direct"
        write_rows(folder / "answers.jsonl", [
            {"item": name, "contestant": who, "text": f"{who} on {name}"} for name in ITEMS for who in ("x", "y")
        ])  # fmt: skip
        (folder / "study.toml").write_text(
            'name = "s"\nitems = "items.jsonl"\nresponses = "answers.jsonl"\nballots = ["score:1-5"]\n'
            f'ledger = "l.ledger"\njudges = ["{judge}"]\n'
        )
        cli("batch", "write", folder / "study.toml")
        cli("batch", "submit", folder / "study.toml")
        until(lambda: "completed" in cli("batch", "status", folder / "study.toml").output)
        cli("batch", "collect", folder / "study.toml")
        bodies = [line["body"] for batch in service.batches.values() for line in batch["lines"]]
    assert len(bodies) == 2 * len(ITEMS)
    for body in bodies:
        stream = stream_of(body)
        order_in(stream, item_of(stream))
    with Ledger(folder / "l.ledger", read_only=True) as ledger:
        verdicts = list(ledger.verdicts())
        assert len(verdicts) == len(bodies)
        export_site(ledger, folder / "site", SiteOptions(charts=False))
    for verdict in verdicts:
        shown = cli("show", verdict.case, "--judge", judge, "--ledger", "l.ledger").stdout
        item, _, sent = shown.partition("what was sent")
        for words in (item, sent):
            order_in([("text", words)], verdict.item, lambda number, _: f"<picture {digest(number)}>")
        page = (folder / "site" / "cases" / f"{verdict.case}.html").read_text(encoding="utf-8")
        question = page[page.index('class="asked"') : page.index('id="answers"')]
        if verdict.item != "usual":
            order_on_page(question, verdict.item)
        sent = page[page.index(">Sent<") :]
        order_on_page(sent, verdict.item)


@pytest.mark.slow
@pytest.mark.skipif(not installed(), reason="no Ray: scripts/localray.sh could not install it")
def test_a_cluster_keeps_the_places(folder):
    recorder = Recorder()
    with JsonServer(recorder) as server, RayCluster(1) as cluster:
        contestants = [f"{dialect}:c-{dialect}@{server.url}/{v}" for dialect, v in DIALECTS.items()]
        judges = [f"{dialect}:j-{dialect}@{server.url}/{v}?mode=commit" for dialect, v in DIALECTS.items()]
        judges.append(f"openai:j-described@{server.url}/v1?picture_mode=described")
        run_study(folder, contestants, judges, engine=f"ray:{cluster.address}")
    for dialect in DIALECTS:
        for who in (f"c-{dialect}", f"j-{dialect}"):
            streams = recorder.of(who)
            assert {item_of(stream) for stream in streams} == set(ITEMS)
            for stream in streams:
                order_in(stream, item_of(stream))
        # Each item is answered once by the judge itself, and once for each contestant's response.
        assert len(recorder.of(f"j-{dialect}")) == len(ITEMS) * (1 + len(DIALECTS))
    described = [stream for stream in recorder.of("j-described") if item_of(stream) != "usual"]
    assert len(described) == (len(ITEMS) - 1) * len(DIALECTS)
    for stream in described:
        order_in(stream, item_of(stream), partial(placeholder, "described", "en"))


def order_on_page(html, name):
    """The texts and pictures of an item on a page, in their order."""
    at = 0
    for _, parts in ITEMS[name]:
        for part in parts:
            wanted = digest(part)[:16] if isinstance(part, int) else part.strip().replace("#", "#")
            found = html.find(wanted, at)
            assert found >= 0, (name, part, html)
            at = found + 1
