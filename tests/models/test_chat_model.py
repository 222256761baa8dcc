"""`ChatModel` against a real server in another process: what arrives, what comes back, what is said when it cannot."""

from __future__ import annotations

import asyncio
import gc
import json
import re
import subprocess
import sys
import threading
import time
from contextlib import closing

import pytest

from fullbench.core.item import Turn
from fullbench.core.model import Model, Prompt
from fullbench.core.picture import Picture
from fullbench.errors import InputError, ModelError
from fullbench.models.chat_model import ChatModel
from fullbench.models.dialects import Anthropic, Gemini, OpenAI
from fullbench.models.model_settings import Key, Limits, Sampling
from tests.models.conftest import ask, noise
from tests.models.rounds import CountedTime, answer_in_rounds
from tests.support.fake_chat_server import KEY, FakeServer

FAST = Limits(backoff=0.01, attempts=8)
DIALECTS = (OpenAI(), Anthropic(), Gemini())
by_dialect = pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)


@by_dialect
def test_pictures_and_words_arrive_byte_for_byte(server, dialect):
    pictures = [Picture.from_bytes(noise(300, 200, "JPEG")), Picture.from_bytes(noise(90, 120, "PNG", seed=1))]
    words = 'Ein "Bild"? 图里有什么？ \\ {answer} \u2028 🐈'
    model = ChatModel("x", server.url, dialect, limits=FAST)
    assert isinstance(model, Model)
    replies = list(model.answer([ask(1, words, *pictures), ask(2, words, pictures[1])]))
    told = {json.loads(reply.text)["id"]: json.loads(reply.text) for reply in replies}
    assert told["1"]["pictures"] == [picture.digest for picture in pictures]
    assert told["1"]["media"] == ["image/jpeg", "image/png"]
    assert told["2"]["pictures"] == [pictures[1].digest]
    for reply in replies:
        assert (reply.error, reply.stop) == (None, "stop")
        assert (reply.usage.calls, reply.usage.retries) == (1, 0)
        assert (reply.usage.tokens_in, reply.usage.tokens_out, reply.usage.dollars) == (100, 20, 0.0)
        assert reply.usage.seconds > 0


@by_dialect
def test_how_a_reply_ended_is_told_in_one_word(server, dialect):
    model = ChatModel("x", server.url, dialect, limits=FAST)
    words = ["please refuse", "please filter", "please be long", "please call", "tell"]
    stops = {reply.prompt.turns[0].text.split(" #")[0]: reply for reply in model.answer(map(ask, range(5), words))}
    declined = {"openai": ("refused", "filter"), "anthropic": ("refused", "refused"), "gemini": ("filter", "filter")}
    assert {word: reply.stop for word, reply in stops.items()} == dict(
        zip(words, [*declined[dialect.name], "length", "tool", "stop"], strict=True)
    )
    assert all(reply.error is None and reply.usage.calls == 1 for reply in stops.values())


def test_openai_body(server):
    sampling = Sampling(temperature=0.5, top_p=0.9, max_tokens=77, seed=3, system="Be brief.", extra={"top_k": 1})
    dialect = OpenAI("max_completion_tokens")
    prompt = Prompt((Turn("user", ("Hi", "there")), Turn("assistant", ("Yes",)), Turn("user", ("#1",))), 9, True)
    assert json.loads(dialect.body("m", prompt, sampling)) == {
        "model": "m",
        "temperature": 0.5,
        "top_p": 0.9,
        "max_completion_tokens": 77,
        "seed": 9,
        "response_format": {"type": "json_object"},
        "top_k": 1,
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": [{"type": "text", "text": "Hi"}, {"type": "text", "text": "there"}]},
            {"role": "assistant", "content": "Yes"},
            {"role": "user", "content": "#1"},
        ],
    }


def test_a_reply_is_held_to_a_schema_where_the_dialect_can():
    prompt = Prompt((Turn("user", ("Hi",)),), schema='{"type": "object"}')
    body = json.loads(OpenAI().body("m", prompt, Sampling()))
    assert body["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "verdict", "strict": True, "schema": {"type": "object"}},
    }
    assert prompt.digest != Prompt(prompt.turns).digest
    assert ChatModel("m", "http://localhost:1").takes_schemas
    assert not ChatModel("m", "http://localhost:1", Gemini()).takes_schemas


def test_anthropic_body_and_headers(server, monkeypatch):
    monkeypatch.setenv("SOME_KEY", KEY)
    sampling = Sampling(temperature=0.0, system="Be brief.")
    prompt = Prompt((Turn("system", ("Look.",)), Turn("user", ("#1",))), seed=9)
    assert json.loads(Anthropic().body("m", prompt, sampling)) == {
        "model": "m",
        "max_tokens": 4096,
        "temperature": 0.0,
        "system": "Be brief.\n\nLook.",
        "messages": [{"role": "user", "content": [{"type": "text", "text": "#1"}]}],
    }
    list(ChatModel("m", server.url, Anthropic(), Key(("SOME_KEY",))).answer([prompt]))
    head = server.books()["last"]["head"].lower()
    assert f"x-api-key: {KEY}" in head
    assert "anthropic-version: 2023-06-01" in head
    assert "content-type: application/json" in head


def test_gemini_body_and_path(server):
    sampling = Sampling(temperature=0.0, max_tokens=5, system="Be brief.")
    turns = (Turn("user", ("a",)), Turn("assistant", ("b",)), Turn("user", ("#1",)))
    prompt = Prompt(turns, seed=9, json=True)
    assert json.loads(Gemini().body("m", prompt, sampling)) == {
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "generationConfig": {
            "temperature": 0.0,
            "maxOutputTokens": 5,
            "seed": 9,
            "responseMimeType": "application/json",
        },
        "contents": [
            {"role": "user", "parts": [{"text": "a"}]},
            {"role": "model", "parts": [{"text": "b"}]},
            {"role": "user", "parts": [{"text": "#1"}]},
        ],
    }
    list(ChatModel("gemini-x", server.url, Gemini()).answer([prompt]))
    assert server.books()["last"]["path"] == "/v1/models/gemini-x:generateContent"


def test_words_that_utf8_cannot_carry_do_not_stop_a_run(server):
    (reply,) = ChatModel("x", server.url, sampling=Sampling(system="a \ud83d b")).answer([ask(1, "half \ud83d pair")])
    assert reply.error is None


def test_a_body_above_a_megabyte(server):
    picture = Picture.from_bytes(noise(1500, 1500, "PNG", seed=5))
    assert len(picture.data()) > 2**20
    (reply,) = ChatModel("x", server.url).answer([ask(1, "Big?", picture)])
    assert json.loads(reply.text)["pictures"] == [picture.digest]


def test_a_picture_that_is_gone_is_the_prompt_s_own_error(server, tmp_path):
    """But for a small one that was just read: its bytes are still at hand, and are those of its digest."""
    pictures = {}
    for name, side in (("large", 1500), ("small", 9)):
        file = tmp_path / f"{name}.png"
        file.write_bytes(noise(side, side, "PNG"))
        pictures[name] = Picture.read(file)
        file.unlink()
    prompts = [ask(1, "a", pictures["large"], tag="gone"), ask(2, "b", tag="there"), ask(3, "c", pictures["small"])]
    replies = {reply.prompt.tag: reply for reply in ChatModel("x", server.url).answer(prompts)}
    assert "the picture was deleted or moved" in (replies.pop("gone").error or "")
    assert replies.pop("there").error is None
    (small,) = replies.values()
    assert json.loads(small.text)["pictures"] == [pictures["small"].digest]


def test_what_the_server_does_not_count_is_estimated(server):
    (reply,) = ChatModel("x", server.url, listed_price=(1.0, 1.0)).answer([ask(1, "do not count")])
    assert reply.usage.tokens_in > 0
    assert reply.usage.tokens_out > 0
    assert reply.usage.dollars == pytest.approx((reply.usage.tokens_in + reply.usage.tokens_out) / 1e6)


def test_prompts_are_pulled_only_when_there_is_room(server):
    pulled = []

    def prompts():
        for number in range(200):
            pulled.append(number)
            yield ask(number)

    replies = ChatModel("x", server.url, limits=Limits(concurrency=4)).answer(prompts())
    assert pulled == []
    most = 0
    for given, _ in enumerate(replies, start=1):
        most = max(most, len(pulled) - given)
    assert len(pulled) == 200
    assert most <= 4


def test_concurrency_is_used_and_kept_to():
    with FakeServer(answers=0) as server:
        model = ChatModel("x", server.url, limits=Limits(concurrency=16))
        replies = answer_in_rounds(server, model, 200)
        assert len(replies) == 200
        assert server.books()["most"] == 16


def test_concurrency_grows_by_itself_where_that_helps():
    with FakeServer(answers=0) as server:
        model = ChatModel("x", server.url)
        assert len(answer_in_rounds(server, model, 150)) == 150
        first = server.books()["most"]
        assert first >= 64, "8, 16, 32 and 64 take 8 + 16 + 32 answers"
        limits = CountedTime()
        answer_in_rounds(server, model, 4, limits)
        assert limits.started_with >= first // 2, "what was learned is kept"


def test_closing_early_leaves_nothing_behind():
    threads = threading.active_count()
    with FakeServer(latency=0.05) as server:
        model = ChatModel("x", server.url, limits=Limits(concurrency=32))
        with closing(model.answer(map(ask, range(1000)))) as replies:
            next(replies)
        assert sum(server.books()["attempts"].values()) < 200
        never_started = model.answer([ask(1)])
        del never_started
        abandoned = model.answer(map(ask, range(1000)))
        next(abandoned)
        del abandoned
        gc.collect()
        assert threading.active_count() == threads


def test_a_stream_may_feed_a_stream(server):
    first, second = ChatModel("a", server.url), ChatModel("b", server.url)
    again = (ask(int(json.loads(reply.text)["id"]) + 1000) for reply in first.answer(map(ask, range(50))))
    ids = sorted(int(json.loads(reply.text)["id"]) for reply in second.answer(again))
    assert ids == list(range(1000, 1050))


def test_a_slow_source_does_not_hold_back_what_is_asked():
    """While the source takes its time and there is room for many more, calls are sent and answered."""
    most, pulled = 500, []
    with FakeServer(latency=0.01) as server:

        def prompts():
            while len(pulled) < most and sum(server.books()["answered"].values()) < 5:
                time.sleep(0.02)  # a pull that takes more than a millisecond is a slow one
                pulled.append(len(pulled))
                yield ask(pulled[-1])

        replies = list(ChatModel("x", server.url, limits=Limits(concurrency=2 * most)).answer(prompts()))
    assert 5 <= len(replies) == len(pulled) < most


def test_inside_a_running_loop(server):
    async def notebook() -> int:
        return len(list(ChatModel("x", server.url).answer(map(ask, range(20)))))

    threads = threading.active_count()
    assert asyncio.run(notebook()) == 20
    assert threading.active_count() == threads


def test_a_slow_caller_makes_no_call_time_out():
    with FakeServer(latency=0.05) as server:
        model = ChatModel("x", server.url, limits=Limits(timeout=3.0, concurrency=2, backoff=0.01))
        replies = []
        for reply in model.answer(map(ask, range(3))):
            replies.append(reply)
            if len(replies) < 3:  # while the caller is away, one call is in flight and one has not been sent
                time.sleep(3.1)
        assert [reply.usage.retries for reply in replies] == [0] * 3
        assert max(reply.usage.seconds for reply in replies) < 3.0, "the caller's own time is not the server's"


def test_the_time_of_a_call_is_the_servers_though_many_are_in_flight():
    """A caller that takes a millisecond for each of 64 replies is not there half of the time; the server is."""
    with FakeServer(latency=0.05) as server:
        seconds = []
        for reply in ChatModel("x", server.url, limits=Limits(concurrency=64)).answer(map(ask, range(600))):
            seconds.append(reply.usage.seconds)
            until = time.perf_counter() + 0.001
            while time.perf_counter() < until:
                pass
    assert min(seconds) >= 0.05


def test_many_threads_may_share_a_model(server):
    model = ChatModel("x", server.url, limits=Limits(rpm=60_000))
    counts = []
    threads = [
        threading.Thread(target=lambda: counts.append(len(list(model.answer(map(ask, range(50))))))) for _ in "ab"
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counts == [50, 50]


@pytest.mark.parametrize("limits", [Limits(rpm=1200), Limits(tpm=1200 * 120)], ids=["requests", "tokens"])
def test_so_many_a_minute(server, limits):
    """At twenty calls of 120 tokens a second, the twelfth has its turn after eleven twentieths of one."""
    started = time.monotonic()
    model = ChatModel("x", server.url, limits=limits, sampling=Sampling(max_tokens=20))
    assert len(list(model.answer(map(ask, range(11))))) == 11
    list(model.answer([ask(12)]))
    assert time.monotonic() - started >= 11 / 20


def test_a_source_that_gives_up_loses_nothing_that_was_asked():
    def prompts():
        yield from map(ask, range(8))
        raise InputError("the budget is spent")

    with FakeServer(latency=0.05) as server:
        replies = []
        with pytest.raises(InputError, match="the budget is spent"):
            replies.extend(ChatModel("x", server.url, limits=Limits(concurrency=16)).answer(prompts()))
    assert len(replies) == 8


def test_making_a_model_imports_nothing_heavy():
    code = (
        "import sys; from fullbench.models.model_specs import build_openai_model; build_openai_model('gpt-4o', {});"
        "print([name for name in ('httptools', 'PIL', 'numpy', 'genai_prices', 'litellm') if name in sys.modules])"
    )
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "[]"


def test_names_tell_apart_what_may_answer_differently():
    url = "http://localhost:1/v1"
    settings = [Sampling(), Sampling(temperature=0.0), Sampling(temperature=0.7), Sampling(top_p=0.5),
                Sampling(max_tokens=5), Sampling(seed=1), Sampling(system="a"), Sampling(system="b"),
                Sampling(extra={"top_k": 1}), Sampling(extra={"top_k": 2}), Sampling(pixels=512)]  # fmt: skip
    names = [ChatModel("gpt-4o", url, sampling=sampling).name for sampling in settings]
    assert names[:3] == ["gpt-4o@localhost:1/v1", "gpt-4o@localhost:1/v1+t0", "gpt-4o@localhost:1/v1+t0.7"]
    assert len(set(names)) == len(names)
    assert ChatModel("gpt-4o", OpenAI.home, limits=Limits(rpm=5)).name == "gpt-4o"
    assert ChatModel("gpt-4o", url, label="lab").name == "gpt-4o@lab"


def test_a_server_that_is_not_the_providers_own_is_part_of_the_name_and_the_settings():
    spellings = ["http://Lab.Example:8000/v1", "http://lab.example:8000/v1/"]
    assert {ChatModel("qwen", url).name for url in spellings} == {"qwen@lab.example:8000/v1"}
    elsewhere = [
        "http://lab.example:8001/v1", "http://lab.example/v1", "https://lab.example/v1", "http://lab.example:8000/v2",
        "http://[::1]:8000/v1", "https://api.openai.com/v2", "http://api.openai.com/v1", spellings[0],
    ]  # fmt: skip
    assert len({ChatModel("qwen", url).name for url in elsewhere}) == len(elsewhere)
    for dialect in DIALECTS:
        assert ChatModel("m", dialect.home, dialect).name == "m"
    assert ChatModel("m", Anthropic.home).name == "m@api.anthropic.com/v1", "another dialect there is another server"
    model = ChatModel("qwen", spellings[0], label="lab")
    assert (model.name, model.settings["server"]) == ("qwen@lab", "lab.example:8000/v1")


@pytest.mark.parametrize(
    ("model", "sampling", "temperature"),
    [
        ("gpt-4o", {}, 0.0),
        ("Qwen/Qwen3-VL", {}, 0.0),
        ("gpt-4o", {"temperature": 0.7}, 0.7),
        ("gpt-4o", {"temperature": "default"}, None),
        ("gpt-4o", {"top_p": 0.5}, None),
        ("gpt-5-chat-latest", {}, 0.0),
        ("gpt-5-mini", {}, None),
        ("openai/o4-mini", {}, None),
        ("o3", {}, None),
        ("olmo-2", {}, 0.0),
        ("claude-sonnet-4-5", {}, 0.0),
        ("claude-sonnet-4-5", {"extra": {"thinking": {"type": "enabled"}}}, None),
    ],
)
def test_a_judge_is_asked_at_temperature_0_where_nothing_is_said_and_the_model_takes_one(model, sampling, temperature):
    said = ChatModel(model, OpenAI.home, sampling=Sampling(**sampling))
    judge = said.as_judge()
    body = json.loads(judge.dialect.body(model, ask(1), judge.sampling))
    assert body.get("temperature") == temperature
    assert judge.name == said.name + ("+t0" if (sampling, temperature) == ({}, 0.0) else "")
    assert "temperature" not in json.loads(said.dialect.body(model, ask(1), ChatModel(model, OpenAI.home).sampling))


def test_settings_are_what_changes_answers(server):
    model = ChatModel("x", server.url + "/", sampling=Sampling(temperature=0.0), listed_price=(1.0, 2.0))
    assert json.loads(json.dumps(dict(model.settings))) == {
        "model": "x",
        "dialect": "openai",
        "label": "",
        "sampling": {"temperature": 0.0},
        "server": server.url.removeprefix("http://"),
    }
    faster = ChatModel("x", server.url, sampling=Sampling(temperature=0.0), limits=Limits(rpm=9))
    assert faster.settings == model.settings


@pytest.mark.parametrize("url", ["ftp://a/b", "localhost:8000", f"https://u:{KEY}@a/v1", f"https://a/v1?key={KEY}"])
def test_a_url_that_will_not_do(url):
    with pytest.raises(InputError, match="the URL of 'x' must") as caught:
        ChatModel("x", url)
    assert KEY not in str(caught.value)


def test_a_dialect_without_seeds_says_so():
    with pytest.raises(InputError, match="takes no seed"):
        ChatModel("x", "http://localhost:1", Anthropic(), sampling=Sampling(seed=1))


class TestErrors:
    """Every way of failing: raised where no prompt can do, data where it is one prompt's; the key in none of them."""

    @pytest.fixture(autouse=True)
    def key(self, monkeypatch):
        monkeypatch.setenv("SOME_KEY", KEY)

    def model(self, server: FakeServer, **limits) -> ChatModel:
        wire = Limits(**{"backoff": 0.001, "attempts": 3, **limits})
        return ChatModel("m1", server.url, key=Key(("SOME_KEY",)), limits=wire)

    @pytest.mark.parametrize(
        ("words", "said"),
        [
            ("complain: key", "refused the key .* check the variable SOME_KEY"),
            ("complain: forbidden", "refused the key"),
            ("complain: model", "has no model 'm1' at this address"),
            ("complain: setting", "will not serve 'm1' as it is asked.*say temperature=default"),
            ("complain: quota", "account is used up"),
            ("complain: move", "neither keys nor pictures are sent after it"),
        ],
    )
    def test_no_prompt_can_do(self, server, words, said):
        model = self.model(server)
        with pytest.raises(ModelError, match=said) as caught:
            list(model.answer(map(ask, range(30), [words] * 30)))
        assert server.url in str(caught.value)
        assert KEY not in f"{caught.value!r} {caught.value.__cause__!r} {caught.value.__context__!r} {model!r}"

    @pytest.mark.parametrize(
        ("words", "error", "attempts"),
        [
            ("complain: context", "400: maximum context length", 1),
            ("complain: large", "413: request too large", 1),
            ("complain: odd", "400: something is off", 1),
            ("complain: always", "no answer after 3 attempts; the last one: 500: boom \\*\\*\\*", 3),
        ],
    )
    def test_one_prompt_is_at_fault(self, server, words, error, attempts):
        replies = {r.prompt.tag: r for r in self.model(server).answer([ask(1, words, tag=1), ask(2, tag=2)])}
        assert replies[2].error is None
        assert replies[1].text == ""
        assert (replies[1].usage.calls, replies[1].usage.retries) == (0, attempts)
        assert re.search(error, replies[1].error or "")
        assert KEY not in repr(replies)

    def test_policy_is_a_refusal_not_an_error(self, server):
        (reply,) = self.model(server).answer([ask(1, "complain: policy")])
        assert (reply.error, reply.stop, reply.text) == (None, "refused", "")

    def test_an_unclear_400_for_every_prompt_is_the_model_s(self, server):
        with pytest.raises(ModelError, match="something is off"):
            list(self.model(server).answer(map(ask, range(30), ["complain: odd"] * 30)))

    def test_what_was_on_its_way_is_kept(self):
        with FakeServer(latency=0.05) as server:
            words = ["fine"] * 15 + ["complain: key"] + ["fine"] * 100
            replies, model = [], self.model(server, concurrency=16)
            with pytest.raises(ModelError):
                replies.extend(model.answer(map(ask, range(116), words)))
            books = server.books()
            good = [reply for reply in replies if reply.error is None]
            assert len(good) == sum(books["answered"].values()) == 15
            assert [reply.usage.retries for reply in replies if reply.error] == [1], "and what it cost to find out"

    def test_no_server(self):
        with FakeServer() as server:
            pass
        model = self.model(server)
        with pytest.raises(ModelError, match=r"cannot be reached: no connection .* start it, or check the URL"):
            list(model.answer(map(ask, range(30))))

    def test_a_server_that_dies_half_way_leaves_errors_not_a_crash(self):
        with FakeServer() as server:
            replies = []
            for reply in self.model(server, concurrency=4, breaks=1000).answer(map(ask, range(40))):
                replies.append(reply)
                if len(replies) == 10:
                    server.kill()
            assert len(replies) == 40
            errors = [reply.error for reply in replies if reply.error]
            assert len(errors) >= 25
            assert all("no answer after 3 attempts" in error for error in errors)

    def test_a_missing_key_names_the_variable(self, monkeypatch):
        monkeypatch.delenv("SOME_KEY")
        model = ChatModel("x", "https://example.org/v1", key=Key(("SOME_KEY",)))
        with pytest.raises(ModelError, match=r"set SOME_KEY \(or write .* .env here\), or give key_file=PATH"):
            model.answer([])

    def test_a_key_file(self, server, tmp_path):
        file = tmp_path / "key"
        file.write_text(f"{KEY}\n")
        model = ChatModel("x", server.url, key=Key(file=file))
        list(model.answer([ask(1)]))
        assert f"Authorization: Bearer {KEY}" in server.books()["last"]["head"]
        assert KEY not in repr(model) + json.dumps(dict(model.settings))
        file.write_text(f"{KEY}\nx")
        with pytest.raises(ModelError, match="contains spaces, quotes, line breaks") as caught:
            model.answer([])
        assert KEY not in str(caught.value)
        file.write_text("")
        with pytest.raises(ModelError, match="is empty"):
            model.answer([])
        file.unlink()
        with pytest.raises(ModelError, match="cannot be read"):
            model.answer([])
