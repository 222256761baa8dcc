"""Studies by the file, against a batch service on this machine."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from fullbench import Ledger
from fullbench.errors import InputError, ModelError
from fullbench.parsing.random_check_codes import nonce_of
from fullbench.studies.batches.batch_folders import BatchFolder
from fullbench.studies.batches.batch_steps import BatchRun
from fullbench.studies.batches.reply_lookup_and_missing_requests import FileLimits
from fullbench.studies.run.judging_study_kind import StudyRun
from fullbench.studies.study_file import Study
from tests.support.batch_server import AnthropicService, BatchService, GeminiService, chat
from tests.support.data_builders import png
from tests.support.fake_chat_server import CONTENTS, COUNTS, UNREADABLE, poisoned

ITEMS = 6
CASES = ITEMS * 2
PRICE = "price_in=2&price_out=10"


@pytest.fixture
def folder(tmp_path) -> Path:
    items = [{"id": f"i{i}", "question": f"图里有几只猫 #{i}?", "picture": "cat.png"} for i in range(ITEMS)]
    answers = [{"item": it["id"], "contestant": name, "text": f"{name} says {i}"}
               for i, it in enumerate(items) for name in "ab"]  # fmt: skip
    for name, rows in (("items", items), ("answers", answers)):
        (tmp_path / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    (tmp_path / "cat.png").write_bytes(png())
    return tmp_path


def study(folder: Path, *judges: str, **rest: Any) -> Study:
    given = {
        "name": "filed", "items": "items.jsonl", "responses": "answers.jsonl", "judges": list(judges),
        "ledger": "l.ledger", "ballots": ["score:1-5"], **rest,
    }  # fmt: skip
    words = "\n".join(f"{key} = {json.dumps(value)}" for key, value in given.items() if value is not None)
    (folder / "study.toml").write_text(words, encoding="utf-8")
    return Study.read(folder / "study.toml")


PROVIDERS = {BatchService: "openai", AnthropicService: "anthropic", GeminiService: "gemini"}
SERVICES = pytest.mark.parametrize("speaks", PROVIDERS, ids=PROVIDERS.values())


def spec(service: BatchService, **options: Any) -> str:
    given = {"mode": "direct", "backoff": 0.01, **options}
    provider = PROVIDERS[type(service)]
    return f"{provider}:judge@{service.url}?{PRICE}&" + "&".join(f"{key}={value}" for key, value in given.items())


@contextmanager
def rounds(of: Study) -> Iterator[BatchRun]:
    with Ledger(of.ledger) as ledger:
        yield BatchRun(StudyRun(of), ledger)


def once(of: Study) -> None:
    """Submit what was written, and wait for it."""
    with rounds(of) as made:
        made.submit()
        made.wait(lambda _: True, first=0.0, sleep=lambda _: None)


def lines_of(batch: BatchFolder) -> list[bytes]:
    return (batch.path / "requests.jsonl").read_bytes().splitlines(keepends=True)


def verdicts(of: Study) -> list[Any]:
    with Ledger(of.ledger, read_only=True) as ledger:
        return list(ledger.verdicts())


@SERVICES
def test_a_study_by_the_file_gives_the_verdicts_of_live_calls_at_half_the_price(folder, speaks):
    from tests.support.fake_chat_server import FakeServer

    with speaks() as service:
        filed = study(folder, spec(service))
        with rounds(filed) as made:
            done = made.write(rate=0.5)
            assert (done.count.written_requests, done.settled_count, len(done.batches)) == (CASES, 0, 1)
            assert made.write(rate=0.5).count.written_requests == 0, "what is on its way is not written again"
        once(filed)
        with rounds(filed) as made:
            done = made.collect()
            assert (done.settled_count, done.failure_count, done.count.due) == (CASES, 0, 0)
            again = made.collect()
            assert (again.settled_count, again.stored_count) == (0, CASES)
        assert set(service.asked.values()) == {1}
    by_file = verdicts(filed)
    with FakeServer(says="[[4]]") as server:
        called = study(folder, f"{PROVIDERS[speaks]}:judge@{server.url}?{PRICE}&mode=direct", ledger="live.ledger")
        with Ledger(called.ledger) as ledger:
            StudyRun(called).execute(ledger, quiet=True)
    told = {(v.case, v.trial, v.marks, v.text, v.prompt) for v in by_file}
    assert told == {(v.case, v.trial, v.marks, v.text, v.prompt) for v in verdicts(called)}
    assert {v.usage.dollars for v in by_file} == {0.5 * (1000 * 2 + 100 * 10) / 1e6}


def test_a_request_is_the_one_a_live_call_sends(folder):
    with BatchService() as service:
        filed = study(folder, spec(service, temperature=0))
        with rounds(filed) as made:
            (batch,) = made.write(rate=0.5).batches
        line = json.loads(lines_of(batch)[0])
        assert (line["method"], line["url"]) == ("POST", "/v1/chat/completions")
        assert (line["body"]["model"], line["body"]["temperature"]) == ("judge", 0)
        judge = StudyRun(filed).judges[0]
        (case,) = [case for case in StudyRun(filed).cases(StudyRun(filed).input_responses)
                   if line["custom_id"].startswith(f"{case.key}-0-")]  # fmt: skip
        with Ledger(filed.ledger, read_only=True) as ledger:
            case = case.with_nonce(nonce_of(ledger.salt, case.key, 0))
        sent = judge.model.dialect.body("judge", judge.prompt(case), judge.model.sampling)
        assert json.loads(sent) == line["body"]
        assert "图里有几只猫" in json.dumps(line["body"], ensure_ascii=False)


@SERVICES
def test_files_are_split_by_requests_and_by_size(folder, speaks):
    with speaks() as service:
        filed = study(folder, spec(service))
        with rounds(filed) as made:
            batches = made.write(rate=0.5, size=FileLimits(requests=5)).batches
        assert [batch.state.requests for batch in batches] == [5, 5, 2]
        most = max(len(line) for batch in batches for line in lines_of(batch))
        other = study(folder, spec(service), ledger="sized.ledger")
        with rounds(other) as made:
            batches = made.write(rate=0.5, size=FileLimits(size=most * 4)).batches
            assert sum(batch.state.requests for batch in batches) == CASES
            assert all((batch.path / "requests.jsonl").stat().st_size <= most * 4 for batch in batches)
            assert len(batches) == 3
        with rounds(study(folder, spec(service), ledger="small.ledger")) as made:
            with pytest.raises(InputError, match=r"one request of .* takes .* bytes"):
                made.write(rate=0.5, size=FileLimits(size=100))
            assert made.store.folders() == []
            assert not made.store.path.exists()


@SERVICES
def test_a_key_that_a_service_repeats_is_in_no_file_and_no_error(folder, speaks, monkeypatch, tmp_path):
    key = "sk-a-key-of-batches"
    monkeypatch.setenv("BATCH_KEY", key)
    with speaks(lambda body, turn: f"Your key is {key}. [[4]]", troubles={"poll": [429]}) as service:
        filed = study(folder, spec(service, key_env="BATCH_KEY"))
        with rounds(filed) as made:
            made.write(rate=0.5)
        once(filed)
        with rounds(filed) as made:
            made.collect()
        assert any(key in (header or "") for header in service.headers)
    texts = [verdict.text for verdict in verdicts(filed)]
    assert texts == ["Your key is ***. [[4]]"] * CASES
    files = [file for file in tmp_path.rglob("*") if file.is_file()]
    assert [file.name for file in files if key.encode() in file.read_bytes()] == []


def test_troubles_on_the_way_are_ridden_out(folder):
    troubles = {"upload": [500, 429], "create": [429], "poll": [429, 503], "content": [500]}
    with BatchService(troubles=troubles, looks=2) as service:
        filed = study(folder, spec(service))
        with rounds(filed) as made:
            made.write(rate=0.5)
        once(filed)
        with rounds(filed) as made:
            assert made.collect().settled_count == CASES
        assert len(service.batches) == 1
        assert service.steps == {"upload": 3, "create": 2, "poll": 5, "content": 2}


@SERVICES
def test_a_batch_that_was_created_without_a_word_is_found_again(folder, speaks):
    with speaks(troubles={"create": ["drop"]}) as service:
        for _ in range(7):
            service.stranger(CASES)
        filed = study(folder, spec(service))
        with rounds(filed) as made:
            made.write(rate=0.5)
            (sent,) = made.submit()
        assert sent.state.batch.removeprefix("batches/") == "batch_7"
        assert len(service.batches) == 8


def test_where_batches_cannot_be_listed_a_doubtful_one_is_not_created_again(folder):
    with BatchService(troubles={"create": ["drop"]}, lists=False) as service:
        filed = study(folder, spec(service))
        with rounds(filed) as made:
            made.write(rate=0.5)
            for _ in range(2):
                with pytest.raises(ModelError, match="--again"):
                    made.submit()
            assert len(service.batches) == 1
            made.submit(again=True)
        assert len(service.batches) == 2


@pytest.mark.parametrize("arrived", [True, False])
def test_where_a_batch_bears_no_token_ours_is_known_by_the_names_it_gives_back(folder, arrived):
    """Anthropic: nobody knows whether the order arrived, and a stranger's batch of the same size is newer.

    That one may be ours until it has ended; then it is not. Ours is found where it is, and else created, once.
    """
    with AnthropicService(troubles={"create": ["drop" if arrived else 500]}) as service:
        service.stranger(CASES)
        filed = study(folder, spec(service))

        def meanwhile(step: str) -> None:
            if step == "create" and len(service.batches) == 1 + arrived:
                service.stranger(CASES + 1)
                service.stranger(CASES)

        service.on = service.lost = meanwhile
        with rounds(filed) as made:
            made.write(rate=0.5)
            seen = []
            for _ in range(4):
                made.submit()
                made.wait(lambda folders: bool(seen.extend(f.state.sure for f in folders)) or True, first=0.0,
                          sleep=lambda _: None)  # fmt: skip
            assert made.collect().settled_count == CASES
        assert False in seen, "a stranger's batch was suspected"
        assert set(service.asked.values()) == {1}
        assert sum(line["custom_id"].count("-") > 1 for batch in service.batches.values()
                   for line in batch["lines"]) == CASES, "created once"  # fmt: skip


@SERVICES
def test_a_cancelled_batch_keeps_what_was_answered_and_the_rest_is_due(folder, speaks):
    with speaks(looks=100) as service:
        filed = study(folder, spec(service))
        with rounds(filed) as made:
            made.write(rate=0.5, size=FileLimits(requests=8))
            made.submit()
            made.cancel()
            made.wait(lambda _: True, first=0.0, sleep=lambda _: None)
            assert {batch.state.status for batch in made.store.folders()} == {"cancelled"}
            assert made.collect().settled_count == CASES // 2
            service.looks = 1
            assert made.write(rate=0.5).count.written_requests == CASES // 2
            assert [batch.state.stage for batch in made.cancel()] == ["ended", "ended"], "what was not sent is given up"
            assert made.write(rate=0.5).count.written_requests == CASES // 2
            made.submit()
            made.wait(lambda _: True, first=0.0, sleep=lambda _: None)
            assert made.collect().settled_count == CASES // 2
        assert set(service.asked.values()) == {1}


def spoiled(lines: list[str]) -> list[str]:
    """A line missing, one torn, one twice, one without a name, one of somebody else."""
    return [
        lines[0],
        lines[0],
        lines[1][:-20],
        *lines[3:],
        '{"no": "name"}',
        '{"custom_id": "x", "response": null}',
        "",
    ]


@SERVICES
def test_lines_that_are_missing_torn_doubled_or_strange(folder, speaks):
    with speaks(spoil=spoiled) as service:
        filed = study(folder, spec(service))
        with rounds(filed) as made:
            made.write(rate=0.5)
        once(filed)
        service.spoil = lambda lines: lines
        with rounds(filed) as made:
            done = made.collect()
            assert (done.settled_count, done.count.due, done.count.unreadable) == (CASES - 2, 2, 2)
            assert made.write(rate=0.5).count.written_requests == 2
        once(filed)
        with rounds(filed) as made:
            assert made.collect().settled_count == 2
    assert len({v.case for v in verdicts(filed)}) == len(verdicts(filed)) == CASES


IN_LINES = [*CONTENTS, *COUNTS, "surrogate", "nul", "nan", "usage list", "message text"]


def test_a_poisoned_line_is_read_or_is_a_failure_of_its_case(folder):
    """What stops no live study stops none by the file: one of each kind, in a batch of its own size."""
    items = [{"id": f"i{i}", "question": f"How many #{i}?"} for i in range(len(IN_LINES))]
    answers = [{"item": item["id"], "contestant": "a", "text": f"a says {item['id']}"} for item in items]
    for name, rows in (("items", items), ("answers", answers)):
        (folder / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")

    def spoil(lines: list[str]) -> list[str]:
        spoiled = []
        for kind, line in zip(IN_LINES, lines, strict=True):
            content = json.loads(line)
            body, _, _ = poisoned(kind, content["response"]["body"])
            head = json.dumps({**content, "response": {**content["response"], "body": "HERE"}})
            spoiled.append(head.replace('"HERE"', body.decode()))
        return spoiled

    with BatchService(spoil=spoil) as service:
        filed = study(folder, spec(service, resample=0))
        with rounds(filed) as made:
            made.write(rate=0.5)
        once(filed)
        with rounds(filed) as made:
            done = made.collect()
        (judge,) = StudyRun(filed).judges
        with Ledger(filed.ledger, read_only=True) as ledger:
            (account,) = (account for account in ledger.bill() if account.role == "judge")
            failures = list(ledger.failures(judge.name))
    unread = [kind for kind in IN_LINES if kind in UNREADABLE]
    assert (done.settled_count, done.failure_count, done.count.unreadable) == (
        len(IN_LINES) - len(unread),
        len(unread),
        0,
    )
    assert len(failures) == len(unread)
    assert all("200 with an answer of another form" in failure.error for failure in failures)
    assert account.usage.calls == len(IN_LINES)
    assert 0 < (account.usage.dollars or 0) < 1


@SERVICES
def test_an_error_line_is_a_failure_once_and_then_due_again(folder, speaks):
    def reply(body: dict[str, Any], turn: int) -> str | tuple[int, str]:
        return "[[4]]" if turn > 1 or "#3" not in json.dumps(body) else (500, "boom")

    with speaks(reply) as service:
        filed = study(folder, spec(service))
        with rounds(filed) as made:
            made.write(rate=0.5)
        once(filed)
        with rounds(filed) as made:
            first, second = made.collect(), made.collect()
            assert (first.settled_count, first.failure_count) == (CASES - 2, 2)
            assert (second.settled_count, second.failure_count, second.count.due) == (0, 0, 2)
            (judge,) = StudyRun(filed).judges
            with Ledger(filed.ledger, read_only=True) as ledger:
                failures = list(ledger.failures(judge.name))
            assert [failure.error for failure in failures] == ["batch 0001-judge: 500: boom"] * 2
            assert made.write(rate=0.5).count.written_requests == 2
        once(filed)
        with rounds(filed) as made:
            assert made.collect().settled_count == 2


def test_a_failure_that_is_in_the_ledger_is_not_told_twice_after_a_kill(folder):
    with BatchService(lambda body, turn: (500, "boom")) as service:
        filed = study(folder, spec(service))
        with rounds(filed) as made:
            made.write(rate=0.5)
        once(filed)
        with rounds(filed) as made:
            made.collect()
            (batch,) = made.store.folders()
            state = json.loads((batch.path / "state.json").read_text())
            (batch.path / "state.json").write_text(json.dumps({**state, "is_settled": False}))
            assert made.collect().failure_count == 0
            with Ledger(filed.ledger, read_only=True) as ledger:
                assert len(list(ledger.failures(StudyRun(filed).judges[0].name))) == CASES


@pytest.mark.parametrize(
    ("speaks", "end"),
    [(speaks, end) for speaks in PROVIDERS for end in ("expired", "cancelled", "failed")
     if (speaks, end) != (AnthropicService, "failed")],
)  # fmt: skip
def test_what_a_batch_left_undone_is_due_again(folder, speaks, end):
    with speaks(ends=[end]) as service:
        filed = study(folder, spec(service))
        with rounds(filed) as made:
            made.write(rate=0.5)
        once(filed)
        half = 0 if end == "failed" else CASES // 2
        with rounds(filed) as made:
            assert made.collect().settled_count == half
            (batch,) = made.store.folders()
            assert (batch.state.status, batch.state.note) == (
                end, "enqueued token limit reached" if end == "failed" else ""
            )  # fmt: skip
            assert made.write(rate=0.5).count.written_requests == CASES - half
        once(filed)
        with rounds(filed) as made:
            assert made.collect().settled_count == CASES - half
        assert set(service.asked.values()) == {1}


def test_steps_second_samples_and_second_readers_take_further_batches(folder):
    """A judge that reasons first, is unreadable twice, and is read by another model: four rounds, one verdict each."""

    def reply(body: dict[str, Any], turn: int) -> str:
        return "It rules 4. [[4]]" if body["model"] == "reader" else "hm"

    with BatchService(reply) as service:
        reader = f"openai:reader@{service.url}"
        filed = study(folder, spec(service, mode="steps", steps="both").replace("?", f"?reader={reader}&"))
        settled = []
        with rounds(filed) as made:
            for _ in range(5):
                done = made.write(rate=0.5)
                if not done.count.written_requests:
                    break
                made.submit()
                made.wait(lambda _: True, first=0.0, sleep=lambda _: None)
                settled.append(made.collect().settled_count)
        assert settled == [0, 0, 0, CASES]
    found = verdicts(filed)
    assert {v.marks for v in found} == {(4.0,)}
    assert {v.usage.calls for v in found} == {4}
    assert {len(v.earlier) for v in found} == {3}


@SERVICES
def test_contestants_answer_by_the_file_before_anybody_judges(folder, speaks):
    # A verdict that repeats the whole answer would be unreadable.
    with speaks(lambda body, turn: "[[4]]" if "[[" in json.dumps(body) else "Two cats.") as service:
        contestant = f"{PROVIDERS[speaks]}:speaker@{service.url}"
        filed = study(folder, spec(service), contestants=[contestant], responses=None)
        with rounds(filed) as made:
            assert made.write(rate=0.5).count.written_requests == ITEMS
            made.submit()
            made.wait(lambda _: True, first=0.0, sleep=lambda _: None)
            done = made.write(rate=0.5)
            assert (done.settled_count, done.count.written_requests) == (ITEMS, ITEMS), (
                "answers are in, verdicts are asked for"
            )
            made.submit()
            made.wait(lambda _: True, first=0.0, sleep=lambda _: None)
            assert made.collect().settled_count == ITEMS
    assert len(verdicts(filed)) == ITEMS


def test_vllm_offline_a_file_there_and_a_file_back(folder):
    with BatchService() as service:
        pass
    filed = study(folder, spec(service))
    with rounds(filed) as made:
        (batch,) = made.write(rate=0.0).batches
        asked = [json.loads(line) for line in lines_of(batch)]
        back = [{"id": "vllm-1", "custom_id": line["custom_id"], "error": None,
                 "response": {"status_code": 200, "request_id": "v", "body": chat("好 [[4]]")}}
                for line in reversed(asked[2:])]  # fmt: skip
        out = folder / "out.jsonl"
        out.write_text("\n".join(json.dumps(line, ensure_ascii=False) for line in back), encoding="utf-8")
        assert made.collect([out]).settled_count == CASES - 2
        assert made.collect([out]).settled_count == 0
        assert made.write(rate=0.0).count.written_requests == 2
        strange = folder / "strange.jsonl"
        strange.write_text('{"custom_id": "x"}\n', encoding="utf-8")
        with pytest.raises(InputError, match="none of the 1 line"):
            made.collect([strange])
    assert {v.text for v in verdicts(filed)} == {"好 [[4]]"}
    assert {v.usage.dollars for v in verdicts(filed)} == {0.0}


def test_a_batch_that_is_with_a_server_may_be_brought_whole_but_not_in_part(folder):
    with BatchService(looks=100) as service:
        filed = study(folder, spec(service))
        with rounds(filed) as made:
            (batch,) = made.write(rate=0.5).batches
            made.submit()
            good = {"status_code": 200, "body": chat("[[2]]")}
            back = [{"custom_id": json.loads(line)["custom_id"], "response": good}
                    for line in lines_of(batch)]  # fmt: skip
            for count, settled in ((CASES - 1, 0), (CASES, CASES)):
                (folder / "out.jsonl").write_text("\n".join(map(json.dumps, back[:count])))
                assert made.collect([folder / "out.jsonl"]).settled_count == settled


def test_a_live_run_does_not_ask_what_is_in_a_batch(folder):
    with BatchService() as service:
        filed = study(folder, spec(service))
        with rounds(filed) as made:
            made.write(rate=0.5)
        with Ledger(filed.ledger) as ledger, pytest.raises(InputError, match="are in the batch 0001-judge"):
            StudyRun(filed).execute(ledger, quiet=True)


def test_requests_that_were_filed_under_an_aliased_name_are_found(folder):
    with BatchService() as service:
        first = study(folder, spec(service))
        (before,) = StudyRun(first).judges
        with rounds(first) as made:
            assert made.write(rate=0.5).count.written_requests == CASES
        renamed = study(folder, spec(service, label="lab"))
        (after,) = StudyRun(renamed).judges
        assert before.name != after.name
        with Ledger(renamed.ledger) as ledger:
            ledger.alias("judge", before.name, after.name)
        with rounds(renamed) as made:
            assert made.write(rate=0.5).count.written_requests == 0
        once(renamed)
        with rounds(renamed) as made:
            assert made.collect().settled_count == CASES
        assert set(service.asked.values()) == {1}
    assert {verdict.judge for verdict in verdicts(renamed)} == {after.name}


def test_judges_without_a_model_on_a_server_are_left_to_a_live_run(folder):
    with BatchService() as service:
        filed = study(folder, spec(service), "length", "offline:first")
        with rounds(filed) as made:
            done = made.write(rate=0.5)
        assert done.count.written_requests == CASES
        assert [name.split("+")[0].split("#")[0] for name in done.left_out] == ["length", "first"]
        with rounds(study(folder, "length")) as made, pytest.raises(InputError, match="supports batches"):
            made.write(rate=0.5)


def test_a_judge_that_answers_first_gets_its_answers_in_a_batch_before_the_verdicts(folder):
    with BatchService() as service:
        filed = study(folder, spec(service, mode="commit"))
        for written in (ITEMS, CASES):
            with rounds(filed) as made:
                done = made.write(rate=0.5)
                assert (done.count.written_requests, done.failure_count) == (written, 0)
                assert made.write(rate=0.5).count.written_requests == 0
            with Ledger(filed.ledger) as ledger, pytest.raises(InputError, match="batch"):
                StudyRun(filed).execute(ledger, quiet=True)
            once(filed)
            with rounds(filed) as made:
                assert made.collect().settled_count == written
        assert set(service.asked.values()) == {1}
    given = verdicts(filed)
    assert len(given) == CASES
    assert len({verdict.exchanges[0].id for verdict in given}) == ITEMS
    with Ledger(filed.ledger, read_only=True) as ledger:
        assert ledger.study_cost(ledger.study) == pytest.approx((ITEMS + CASES) * 0.5 * (1000 * 2 + 100 * 10) / 1e6)


def test_a_batch_has_the_frames_that_a_live_call_sends_and_finds_its_replies_though_the_decoder_changed(
    folder, monkeypatch
):
    from fullbench.models.wire import video_frames_and_document_pages as stills
    from tests.support.media_files import colour_frames, write_gif

    monkeypatch.setenv("FULLBENCH_CACHE", str(folder / "cache"))
    write_gif(folder / "cat.gif", colour_frames(3))
    (folder / "items.jsonl").write_text(json.dumps({"id": "i0", "question": "What happens?", "video": "cat.gif"}))
    answers = [json.dumps({"item": "i0", "contestant": name, "text": name}) for name in "ab"]
    (folder / "answers.jsonl").write_text("\n".join(answers))
    with BatchService() as service:
        filed = study(folder, spec(service, frames=2))
        with rounds(filed) as made:
            (batch,) = made.write(rate=0.5).batches
        parts = json.loads(lines_of(batch)[0])["body"]["messages"][-1]["content"]
        assert [part["type"] for part in parts].count("image_url") == 2
        once(filed)
        # As on another machine: the frames that were sent are in the batch's folder only.
        monkeypatch.setenv("FULLBENCH_CACHE", str(folder / "other"))
        monkeypatch.setattr(stills, "_picture_frames", None)
        with rounds(filed) as made:
            assert made.collect().settled_count == 2
    with Ledger(filed.ledger, read_only=True) as ledger:
        assert list(ledger.verify()) == []
        (sent, _) = [call.sent for verdict in ledger.verdicts() for call in verdict.exchanges]
        frames = [part for turn in json.loads(sent)["turns"] for part in turn["parts"] if isinstance(part, dict)]
        assert [part["place"] for part in frames] == ["0.0 s", "1.0 s"]
        assert all(ledger.picture(part["picture"]).data() for part in frames)


def test_a_file_too_large_for_a_batch_is_named_and_the_other_requests_are_written(folder, monkeypatch):
    from fullbench.models.dialects import gemini
    from tests.support.media_files import empty_mp4

    monkeypatch.setattr(gemini, "LARGEST_INLINE", 10_000)
    for name, size in (("small", 100), ("large", 20_000)):
        (folder / f"{name}.mp4").write_bytes(empty_mp4(size))
    rows = [{"id": name, "question": "What happens?", "video": f"{name}.mp4"} for name in ("small", "large")]
    (folder / "items.jsonl").write_text("\n".join(map(json.dumps, rows)))
    answers = [json.dumps({"item": row["id"], "contestant": name, "text": name}) for row in rows for name in "ab"]
    (folder / "answers.jsonl").write_text("\n".join(answers))
    filed = study(folder, "gemini:flash@http://127.0.0.1:9/v1beta?mode=direct")
    with rounds(filed) as made:
        assert made.write(rate=0.5).count.written_requests == 2
        (judge,) = made._study_run.judges
    with Ledger(filed.ledger, read_only=True) as ledger:
        errors = [failure.error for failure in ledger.failures(judge.name)]
    assert len(errors) == 2
    assert "is too large for a batch; a live call uploads it (fullbench run)" in errors[0]
